//! What is compared with x264 alone.

use std::error::Error;

use gst_motion_fields::meta::{self, Extras, FieldCosts, MotionVectorMeta};
use gst_motion_fields::quantizer::{self, PERIOD, QuantizerOffsets, Rule};
use gst_video::VideoRegionOfInterestMeta;

use crate::clip::Clip;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// x264 alone.
    Plain,
    /// What the element does.
    Motion,
    /// The rule `past` in its place.
    Past,
    /// Fields of zero vectors, with their costs.
    Zero,
    /// The offsets of each frame in random order.
    Shuffled,
    /// The period alone, without a field.
    Same,
    /// x264 alone, with a weaker adaptive quantiser.
    Adaptive,
    /// x264 alone, which looks ten frames ahead.
    Tree,
}

/// Frames with offsets in place of fields.
type Offsets<'a> = &'a mut dyn FnMut(usize, &[f32]) -> Vec<f32>;

impl Variant {
    pub const ALL: [Self; 8] = [
        Self::Plain,
        Self::Motion,
        Self::Past,
        Self::Zero,
        Self::Shuffled,
        Self::Same,
        Self::Adaptive,
        Self::Tree,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Motion => "motion",
            Self::Past => "past",
            Self::Zero => "zero",
            Self::Shuffled => "shuffled",
            Self::Same => "same",
            Self::Adaptive => "aq-0.8",
            Self::Tree => "mbtree-10",
        }
    }

    /// Properties of the encoder.
    pub fn encoder(self) -> &'static str {
        match self {
            Self::Motion | Self::Zero => "",
            Self::Adaptive => "motion-strength=0 option-string=aq-strength=0.8",
            Self::Tree => "motion-strength=0 option-string=rc-lookahead=10:mbtree=1",
            _ => "motion-strength=0",
        }
    }

    /// The frames for the encoder.
    pub fn prepare(self, clip: &Clip) -> Result<Vec<gst::Buffer>, Box<dyn Error>> {
        match self {
            Self::Plain | Self::Motion | Self::Adaptive | Self::Tree => Ok(clip.frames.clone()),
            Self::Zero => clip.frames.iter().map(with_zero_vectors).collect(),
            Self::Past => Ok(with_offsets(clip, Rule::Past, &mut |_, offsets| offsets.to_vec())),
            Self::Shuffled => {
                let mut random = fastrand::Rng::with_seed(1);
                Ok(with_offsets(clip, Rule::Pulse, &mut |_, offsets| {
                    let mut offsets = offsets.to_vec();
                    random.shuffle(&mut offsets);
                    offsets
                }))
            }
            Self::Same => Ok(with_offsets(clip, Rule::Pulse, &mut |number, offsets| {
                let is_first = (number as u32).is_multiple_of(PERIOD);
                vec![if is_first { -3.0 } else { 1.0 }; offsets.len()]
            })),
        }
    }
}

/// The frames with a region of interest for each macroblock.
fn with_offsets(clip: &Clip, rule: Rule, offsets: Offsets<'_>) -> Vec<gst::Buffer> {
    let size = (clip.info.width(), clip.info.height());
    let mut quantizer = QuantizerOffsets::new(size);
    let (columns, _) = quantizer.grid();
    let frame = |(number, frame): (usize, &gst::Buffer)| {
        let mut frame = frame.copy();
        let field = quantizer::field_of(&frame, size).ok().flatten();
        let origins = quantizer.next(&frame, field.as_ref(), (1.0, rule));
        if origins.motion {
            for (index, offset) in offsets(number, quantizer.offsets()).into_iter().enumerate() {
                let place = ((index % columns * 16) as u32, (index / columns * 16) as u32, 16, 16);
                let buffer = frame.make_mut();
                let mut region = VideoRegionOfInterestMeta::add(buffer, "macroblock", place);
                let delta = gst::Structure::builder("roi/motionx264enc").field("delta-qp", f64::from(offset));
                region.add_param(delta.build());
            }
        }
        frame
    };
    clip.frames.iter().enumerate().map(frame).collect()
}

fn with_zero_vectors(frame: &gst::Buffer) -> Result<gst::Buffer, Box<dyn Error>> {
    let mut frame = frame.copy();
    let Some(field) = MotionVectorMeta::at_offset(&frame, -1).transpose()? else { return Ok(frame) };
    let zero: Vec<u32> = field.costs().and_then(|costs| costs.of("zero")).ok_or("no costs")?.collect();
    let intra = field.costs().and_then(|costs| costs.of("intra")).ok_or("no costs")?;
    let bytes: Vec<u8> =
        intra.zip(zero).flat_map(|(intra, zero)| [intra, zero]).flat_map(u32::to_ne_bytes).collect();
    let costs = FieldCosts::new(vec!["intra".into(), "satd".into()], glib::Bytes::from_owned(bytes))?;
    let buffer = frame.make_mut();
    meta::remove(buffer);
    let vectors = glib::Bytes::from_owned(vec![0_u8; field.vectors().len() * 8]);
    meta::attach(buffer, field.description(), vectors, Extras { costs: Some(costs), ..Extras::default() })?;
    Ok(frame)
}
