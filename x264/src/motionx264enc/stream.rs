//! The frames of a stream from one caps to the next.

use gst_motion_fields::frame::{FrameLayout, PlaneError};
use gst_motion_fields::quantizer::{self, Origins, PERIOD, QuantizerOffsets, Rule};
use gst_video::{VideoBufferFlags, VideoFormat, VideoInfo, VideoInterlaceMode};

use motion_search::estimator::{Frame, FrameView};

use super::captions;
use super::constant::ConstantBlocks;
use crate::encoder::{Effective, Encoded, Encoder, EncoderError, Kind, Picture, Unit};
use crate::ffi;

/// A frame to encode.
pub struct Incoming<'a> {
    pub buffer: &'a gst::Buffer,
    pub pts: Option<gst::ClockTime>,
    pub number: u32,
    /// Whether it is to begin a key unit.
    pub is_key_unit: bool,
    /// The property `motion-strength`.
    pub strength: f32,
}

/// An encoded frame.
pub struct Outgoing {
    pub buffer: gst::Buffer,
    pub number: u32,
    pub dts: gst::ClockTime,
    pub is_key: bool,
}

impl Outgoing {
    fn of(encoded: Encoded<'_>) -> Self {
        Self {
            buffer: gst::Buffer::from_mut_slice(encoded.data.to_vec()),
            number: encoded.number,
            // The element adds so much to timestamps that there is no time before the first one.
            dts: gst::ClockTime::from_nseconds(encoded.dts.max(0) as u64),
            is_key: encoded.is_key,
        }
    }
}

/// What is to be told of a frame.
#[derive(Default)]
pub struct Remarks {
    /// Why its motion field is not used.
    pub field_error: Option<gst_motion_fields::meta::MetaError>,
    /// Where offsets came from.
    pub origins: Origins,
    /// Whether motion would have been used.
    pub wants_motion: bool,
    /// Whether x264 ignores offsets.
    pub is_quantizer_fixed: bool,
}

/// Why a frame is not encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The buffer does not hold a frame.
    #[error("{0}")]
    Frame(#[from] PlaneError),
    /// x264 has failed.
    #[error("{0}")]
    Encoder(#[from] EncoderError),
}

/// An encoder with what it is told of frames.
pub struct EncoderStream {
    encoder: Encoder,
    effective: Effective,
    layout: FrameLayout,
    quantizer: QuantizerOffsets,
    /// In x264's order.
    offsets: Vec<f32>,
    constants: ConstantBlocks,
}

impl EncoderStream {
    /// Of frames of `info`.
    pub fn new(mut encoder: Encoder, info: &VideoInfo) -> Self {
        let size = (info.width(), info.height());
        let quantizer = QuantizerOffsets::new(size);
        let (columns, rows) = quantizer.grid();
        let rows = if info.is_interlaced() { rows.next_multiple_of(2) } else { rows };
        Self {
            effective: encoder.effective(),
            encoder,
            layout: FrameLayout::new(info.clone()),
            quantizer,
            offsets: vec![0.0; columns * rows],
            constants: ConstantBlocks::default(),
        }
    }

    pub fn info(&self) -> &VideoInfo {
        self.layout.info()
    }

    /// The most frames that it holds back.
    pub fn most_delayed(&mut self) -> u32 {
        self.encoder.most_delayed()
    }

    /// As [`Encoder::headers`].
    ///
    /// # Errors
    /// As there.
    pub fn headers(&mut self) -> Result<Vec<Unit<'_>>, EncoderError> {
        self.encoder.headers()
    }

    /// As [`Encoder::change`].
    pub fn change(&mut self, change: impl FnOnce(&mut ffi::x264_param_t)) -> bool {
        self.encoder.change(change)
    }

    /// Encodes a frame. What comes out may be an earlier one.
    ///
    /// # Errors
    /// [`EncodeError`].
    pub fn encode(&mut self, frame: &Incoming<'_>) -> Result<(Option<Outgoing>, Remarks), EncodeError> {
        let mapped = self.layout.read(frame.buffer)?;
        let mut planes = mapped.planes()?;
        let mut remarks = Remarks { wants_motion: self.takes_motion(frame), ..Remarks::default() };
        let field = quantizer::field_of(frame.buffer, (self.info().width(), self.info().height()));
        let field = field.unwrap_or_else(|error| {
            remarks.field_error = Some(error);
            None
        });
        let begins_scene = field.as_ref().is_some_and(|field| field.is_scene_cut() == Some(true));
        let is_key_unit = frame.is_key_unit || (begins_scene && !self.effective.finds_scene_cuts);
        let field = field.filter(|_| remarks.wants_motion);
        if self.begins_key_unit(is_key_unit) {
            self.quantizer.set_distance(0);
        }
        let motion = (frame.strength, self.rule());
        remarks.origins = self.quantizer.next(frame.buffer, field.as_ref(), motion);
        remarks.is_quantizer_fixed = remarks.origins.any() && !self.effective.has_adaptive_quantiser;
        let has_offsets = remarks.origins.any() && self.effective.has_adaptive_quantiser;
        if has_offsets {
            order_offsets(&mut self.offsets, &self.quantizer, self.layout.info().is_interlaced());
        }
        let grid = self.quantizer.grid();
        let constant = self.constants.find(&self.layout, (frame.buffer, &planes), field.as_ref(), grid)?;
        if self.info().format() == VideoFormat::Yv12 {
            planes.swap(1, 2);
        }
        let cleared = without_excess(&planes);
        if let Some(cleared) = &cleared {
            planes = cleared.iter().map(Frame::view).collect();
        }

        let refreshes = self.effective.refreshes;
        if is_key_unit && refreshes {
            self.encoder.refresh();
        }
        let encoded = self.encoder.encode(Some(Picture {
            planes: &planes,
            pts: frame.pts.map_or(-1, |pts| pts.nseconds() as i64),
            number: frame.number,
            kind: if is_key_unit && !refreshes { Kind::KeyUnit } else { Kind::Auto },
            structure: structure(self.layout.info(), frame.buffer),
            offsets: has_offsets.then_some(&mut self.offsets[..]),
            constant,
            payloads: captions::payloads(frame.buffer),
        }))?;
        let outgoing = encoded.map(Outgoing::of);
        if outgoing.as_ref().is_some_and(|out| out.number == frame.number && out.is_key) && !refreshes {
            self.quantizer.set_distance(1);
        }
        Ok((outgoing, remarks))
    }

    /// An encoded frame that was held back, while there is one.
    ///
    /// # Errors
    /// [`EncoderError`].
    pub fn drain(&mut self) -> Result<Option<Outgoing>, EncoderError> {
        while self.encoder.has_delayed() {
            if let Some(encoded) = self.encoder.encode(None)? {
                return Ok(Some(Outgoing::of(encoded)));
            }
        }
        Ok(None)
    }

    /// Whether offsets of motion are of use: x264's own tree looks ahead, and fields are of whole frames.
    fn takes_motion(&self, frame: &Incoming<'_>) -> bool {
        frame.strength > 0.0 && !self.effective.has_macroblock_tree && !self.info().is_interlaced()
    }

    /// Whether the next frame begins a key unit, as far as that is known before it is encoded.
    fn begins_key_unit(&self, is_asked: bool) -> bool {
        let is_due = self.quantizer.distance() >= self.effective.key_unit_interval;
        !self.effective.refreshes && (is_asked || is_due)
    }

    /// A period needs frames that follow each other.
    fn rule(&self) -> Rule {
        let is_cut = self.effective.b_frames > 0 || self.effective.key_unit_interval < PERIOD;
        if is_cut { Rule::Past } else { Rule::Pulse }
    }
}

/// Brings the offsets of `quantizer` into x264's order: of interlaced frames, a macroblock of each field covers the same two
/// rows.
fn order_offsets(offsets: &mut [f32], quantizer: &QuantizerOffsets, is_interlaced: bool) {
    let found = quantizer.offsets();
    if !is_interlaced {
        offsets.copy_from_slice(found);
        return;
    }
    let (columns, _) = quantizer.grid();
    for (pair, both) in offsets.chunks_exact_mut(2 * columns).zip(found.chunks(2 * columns)) {
        let (upper, lower) = pair.split_at_mut(columns);
        for column in 0..columns {
            let below = both.get(columns + column).copied().unwrap_or(f32::INFINITY);
            upper[column] = both[column].min(below);
        }
        lower.copy_from_slice(upper);
    }
}

/// The planes with the bits above their samples cleared, if any is set: x264 ends the process where its costs overflow.
fn without_excess(planes: &[FrameView<'_>]) -> Option<Vec<Frame>> {
    let format = planes[0].format();
    let has_excess = |plane: &FrameView<'_>| {
        let samples = plane.as_bytes().as_chunks().0.iter();
        samples.fold(0, |bits, &sample| bits | u16::from_le_bytes(sample)) > format.peak()
    };
    (format.depth() > 8 && planes.iter().any(has_excess)).then(|| {
        let cleared = |plane: &FrameView<'_>| {
            Frame::deep_from_fn(plane.width(), plane.height(), format.depth(), |x, y| {
                plane.sample(x as i32, y as i32)
            })
        };
        planes.iter().map(cleared).collect()
    })
}

/// How the fields of the frame in `buffer` are shown, if frames of the stream differ in that.
fn structure(info: &VideoInfo, buffer: &gst::BufferRef) -> u32 {
    if info.interlace_mode() != VideoInterlaceMode::Mixed {
        return ffi::pic_struct_e_PIC_STRUCT_AUTO;
    }
    let flags = VideoBufferFlags::from_bits_truncate(buffer.flags().bits());
    let has = |flag| flags.contains(flag);
    match (has(VideoBufferFlags::INTERLACED), has(VideoBufferFlags::RFF), has(VideoBufferFlags::TFF)) {
        (false, ..) => ffi::pic_struct_e_PIC_STRUCT_PROGRESSIVE,
        (true, true, true) => ffi::pic_struct_e_PIC_STRUCT_TOP_BOTTOM_TOP,
        (true, true, false) => ffi::pic_struct_e_PIC_STRUCT_BOTTOM_TOP_BOTTOM,
        (true, false, true) => ffi::pic_struct_e_PIC_STRUCT_TOP_BOTTOM,
        (true, false, false) => ffi::pic_struct_e_PIC_STRUCT_BOTTOM_TOP,
    }
}
