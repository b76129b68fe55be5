//! Pictures for x264.

use motion_search::estimator::FrameView;

use crate::ffi;

/// How a picture is to be encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// As x264 chooses.
    #[default]
    Auto,
    /// As the first of a key unit.
    KeyUnit,
}

/// A picture, and what x264 is to know of it.
pub struct Picture<'a> {
    /// Luma, then chroma.
    pub planes: &'a [FrameView<'a>],
    /// Presentation time.
    pub pts: i64,
    /// Which picture it is.
    pub number: u32,
    /// How it is to be encoded.
    pub kind: Kind,
    /// How its fields are shown, a `pic_struct_e`; 0: as x264 chooses.
    pub structure: u32,
    /// Offsets of the quantisers of macroblocks, row-major.
    pub offsets: Option<&'a mut [f32]>,
    /// What is known of macroblocks, row-major: `X264_MBINFO_CONSTANT`.
    pub constant: Option<Vec<u8>>,
    /// Supplemental enhancement information: payloads of type 4.
    pub payloads: Vec<Vec<u8>>,
}

/// Registered user data of ITU-T T.35.
const REGISTERED_USER_DATA: i32 = 4;

/// Memory that x264 reads until it has encoded a picture.
pub struct Held {
    pub number: u32,
    constant: Option<Vec<u8>>,
    /// What `payloads` point to.
    _bytes: Vec<Vec<u8>>,
    payloads: Vec<ffi::x264_sei_payload_t>,
}

/// How many macroblocks x264 has.
pub fn macroblocks(parameters: &ffi::x264_param_t) -> (usize, usize) {
    let blocks = |samples: i32, of: usize| (samples.max(0) as usize).div_ceil(of);
    let rows = if parameters.b_interlaced != 0 {
        2 * blocks(parameters.i_height, 32)
    } else {
        blocks(parameters.i_height, 16)
    };
    (blocks(parameters.i_width, 16), rows)
}

impl Picture<'_> {
    /// Checks what x264 relies on.
    pub fn check(&self, parameters: &ffi::x264_param_t) {
        let size = (parameters.i_width as usize, parameters.i_height as usize);
        assert_eq!(self.planes[0].size(), size, "the size of the picture");
        let planes = match (parameters.i_csp & ffi::X264_CSP_MASK as i32) as u32 {
            ffi::X264_CSP_I400 => 1,
            ffi::X264_CSP_NV12 => 2,
            _ => 3,
        };
        assert_eq!(self.planes.len(), planes, "planes");
        let (columns, rows) = macroblocks(parameters);
        let is_of_all = |length: usize| length == columns * rows;
        assert!(self.offsets.as_ref().is_none_or(|offsets| is_of_all(offsets.len())), "offsets");
        assert!(self.constant.as_ref().is_none_or(|flags| is_of_all(flags.len())), "flags");
    }

    /// Takes what x264 reads later.
    pub fn hold(&mut self) -> Held {
        let mut bytes = std::mem::take(&mut self.payloads);
        let payload = |bytes: &mut Vec<u8>| ffi::x264_sei_payload_t {
            payload_size: bytes.len() as i32,
            payload_type: REGISTERED_USER_DATA,
            payload: bytes.as_mut_ptr(),
        };
        let payloads = bytes.iter_mut().map(payload).collect();
        Held { number: self.number, constant: self.constant.take(), _bytes: bytes, payloads }
    }

    /// x264's structure, with pointers into the planes, the offsets and `held`.
    pub fn raw(&mut self, parameters: &ffi::x264_param_t, held: &mut Held) -> ffi::x264_picture_t {
        // SAFETY: all fields are numbers, raw pointers or optional functions, for which zero is a value.
        let mut raw: ffi::x264_picture_t = unsafe { std::mem::zeroed() };
        raw.i_type = match self.kind {
            Kind::Auto => ffi::X264_TYPE_AUTO,
            Kind::KeyUnit => ffi::X264_TYPE_IDR,
        } as i32;
        raw.i_pic_struct = self.structure as i32;
        raw.i_pts = self.pts;
        raw.opaque = self.number as usize as *mut _;
        raw.img.i_csp = parameters.i_csp;
        raw.img.i_plane = self.planes.len() as i32;
        for (index, plane) in self.planes.iter().enumerate() {
            // x264 only reads them.
            raw.img.plane[index] = plane.as_bytes().as_ptr().cast_mut();
            raw.img.i_stride[index] = plane.stride() as i32;
        }
        if let Some(offsets) = &mut self.offsets {
            raw.prop.quant_offsets = offsets.as_mut_ptr();
        }
        if let Some(flags) = &mut held.constant {
            raw.prop.mb_info = flags.as_mut_ptr();
        }
        raw.extra_sei.num_payloads = held.payloads.len() as i32;
        raw.extra_sei.payloads = held.payloads.as_mut_ptr();
        raw
    }
}
