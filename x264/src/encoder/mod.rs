//! x264 with a safe face.

mod parameters;
mod picture;

use std::collections::VecDeque;
use std::ptr::{self, NonNull};

use crate::ffi;

pub use parameters::{OptionError, Parameters, level};
use picture::Held;
pub use picture::{Kind, Picture};

/// x264 has failed; its log says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncoderError {
    /// It refuses its parameters.
    #[error("x264 refuses these settings; GST_DEBUG=motionx264enc:4 shows why")]
    Open,
    /// It returned an error.
    #[error("x264 failed with {0}")]
    Failed(i32),
}

/// A frame that has been encoded.
#[derive(Debug)]
pub struct Encoded<'a> {
    /// The access unit.
    pub data: &'a [u8],
    /// The number of its picture.
    pub number: u32,
    /// Its decoding time.
    pub dts: i64,
    /// Whether decoding can begin with it.
    pub is_key: bool,
}

/// A network abstraction layer unit.
pub struct Unit<'a> {
    /// Its type.
    pub kind: u32,
    /// The unit without start code or length.
    pub data: &'a [u8],
}

/// What x264 makes of its settings.
#[derive(Clone, Copy, Debug)]
pub struct Effective {
    /// Whether it takes offsets.
    pub has_adaptive_quantiser: bool,
    /// Whether it finds scene cuts itself.
    pub finds_scene_cuts: bool,
    /// Whether it chooses quantisers by frames that it looks ahead to.
    pub has_macroblock_tree: bool,
    /// Whether it refreshes frames column by column in place of key units.
    pub refreshes: bool,
    /// The most B-frames in a row.
    pub b_frames: u32,
    /// The most frames from one key unit to the next.
    pub key_unit_interval: u32,
}

/// An open encoder.
pub struct Encoder {
    raw: NonNull<ffi::x264_t>,
    parameters: Parameters,
    /// Memory that x264 reads until it has encoded the picture.
    held: VecDeque<Held>,
}

// SAFETY: x264 ties an encoder to no thread; it must only not be called by two at once, and it has no call with a shared
// reference.
unsafe impl Send for Encoder {}

impl Encoder {
    /// Opens an encoder.
    ///
    /// # Errors
    /// [`EncoderError::Open`].
    pub fn open(mut parameters: Parameters) -> Result<Self, EncoderError> {
        // SAFETY: the parameters are initialised, and the encoder, which copies them, is closed before the name of their
        // sender of messages is gone.
        let raw = unsafe { ffi::motionx264_open(parameters.raw()) };
        let raw = NonNull::new(raw).ok_or(EncoderError::Open)?;
        Ok(Self { raw, parameters, held: VecDeque::new() })
    }

    /// What the encoder does.
    pub fn effective(&mut self) -> Effective {
        // SAFETY: all fields are numbers or raw pointers, for which zero is a value; the encoder is open.
        let raw = unsafe {
            let mut raw: ffi::x264_param_t = std::mem::zeroed();
            ffi::x264_encoder_parameters(self.raw.as_ptr(), &mut raw);
            raw
        };
        Effective {
            has_adaptive_quantiser: raw.rc.i_aq_mode != 0,
            finds_scene_cuts: raw.i_scenecut_threshold > 0 || raw.rc.b_stat_read != 0,
            has_macroblock_tree: raw.rc.b_mb_tree != 0,
            refreshes: raw.b_intra_refresh != 0,
            b_frames: raw.i_bframe.max(0) as u32,
            key_unit_interval: raw.i_keyint_max.max(0) as u32,
        }
    }

    /// Changes the parameters of the running encoder, those that x264 allows. Returns whether it took them.
    pub fn change(&mut self, change: impl FnOnce(&mut ffi::x264_param_t)) -> bool {
        change(self.parameters.raw());
        // SAFETY: the encoder is open, and copies the parameters.
        unsafe { ffi::x264_encoder_reconfig(self.raw.as_ptr(), self.parameters.raw()) >= 0 }
    }

    /// The most frames that it holds back.
    pub fn most_delayed(&mut self) -> u32 {
        // SAFETY: the encoder is open.
        let frames = unsafe { ffi::x264_encoder_maximum_delayed_frames(self.raw.as_ptr()) };
        u32::try_from(frames).unwrap_or(0)
    }

    /// The units that a decoder needs first.
    ///
    /// # Errors
    /// [`EncoderError::Failed`].
    pub fn headers(&mut self) -> Result<Vec<Unit<'_>>, EncoderError> {
        let (mut units, mut count) = (ptr::null_mut(), 0);
        // SAFETY: the encoder is open, and both places are of this function.
        let result = unsafe { ffi::x264_encoder_headers(self.raw.as_ptr(), &mut units, &mut count) };
        if result < 0 {
            return Err(EncoderError::Failed(result));
        }
        // SAFETY: `units` are `count` units, each with `i_payload` bytes, which live until the encoder is called again; it is
        // borrowed as long as the result.
        let units = unsafe { std::slice::from_raw_parts(units, count as usize) };
        let unit = |unit: &ffi::x264_nal_t| {
            // SAFETY: as above.
            let bytes = unsafe { std::slice::from_raw_parts(unit.p_payload, unit.i_payload as usize) };
            let long = unit.b_long_startcode != 0 || self.parameters.raw_ref().b_annexb == 0;
            Unit { kind: unit.i_type as u32, data: bytes.get(if long { 4 } else { 3 }..).unwrap_or_default() }
        };
        Ok(units.iter().map(unit).collect())
    }

    /// Begins to refresh frames column by column.
    pub fn refresh(&mut self) {
        // SAFETY: the encoder is open.
        unsafe { ffi::x264_encoder_intra_refresh(self.raw.as_ptr()) };
    }

    /// Takes a picture, or none to get those that it holds back. Returns a frame, which may be of an earlier picture.
    ///
    /// # Errors
    /// [`EncoderError::Failed`].
    ///
    /// # Panics
    /// If the picture does not have the size and the planes of the parameters.
    pub fn encode(&mut self, picture: Option<Picture<'_>>) -> Result<Option<Encoded<'_>>, EncoderError> {
        let (mut units, mut count) = (ptr::null_mut(), 0);
        // SAFETY: all fields are numbers, raw pointers or optional functions, for which zero is a value.
        let mut out: ffi::x264_picture_t = unsafe { std::mem::zeroed() };
        let size = match picture {
            Some(mut picture) => {
                picture.check(self.parameters.raw_ref());
                self.held.push_back(picture.hold());
                let held = self.held.back_mut().unwrap_or_else(|| unreachable!("it was just added"));
                let mut raw = picture.raw(self.parameters.raw_ref(), held);
                // SAFETY: the encoder is open. It copies planes and offsets before it returns; what it reads later, `held`,
                // lives until the frame comes out or the encoder is closed, and does not move, as it is on the heap.
                unsafe {
                    ffi::x264_encoder_encode(self.raw.as_ptr(), &mut units, &mut count, &mut raw, &mut out)
                }
            }
            // SAFETY: the encoder is open.
            None => unsafe {
                let none = ptr::null_mut();
                ffi::x264_encoder_encode(self.raw.as_ptr(), &mut units, &mut count, none, &mut out)
            },
        };
        if size < 0 {
            return Err(EncoderError::Failed(size));
        }
        if count == 0 {
            return Ok(None);
        }
        let number = out.opaque as usize as u32;
        self.held.retain(|held| held.number != number);
        // SAFETY: the units' payloads lie one behind the other, `size` bytes in all, and live until the encoder is called
        // again; it is borrowed as long as the result.
        let data = unsafe { std::slice::from_raw_parts((*units).p_payload, size as usize) };
        Ok(Some(Encoded { data, number, dts: out.i_dts, is_key: out.b_keyframe != 0 }))
    }

    /// Whether it holds frames back.
    pub fn has_delayed(&mut self) -> bool {
        // SAFETY: the encoder is open.
        unsafe { ffi::x264_encoder_delayed_frames(self.raw.as_ptr()) > 0 }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the encoder is open, and not used from here on. What it reads is dropped after it.
        unsafe { ffi::x264_encoder_close(self.raw.as_ptr()) };
    }
}
