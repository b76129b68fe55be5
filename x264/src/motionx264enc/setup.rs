//! x264's parameters, of properties, input caps and output caps.

use gst_video::{
    VideoChromaSite, VideoColorRange, VideoFieldOrder, VideoFormat, VideoInfo, VideoInterlaceMode,
};

use super::caps::Target;
use super::settings::{Settings, nick};
use super::values::*;
use crate::encoder::{self, OptionError, Parameters};
use crate::ffi;

/// Why there are no parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// An option that x264 does not take.
    #[error("{0}")]
    Option(#[from] OptionError),
    /// A level that is too low for the video.
    #[error("level {0} of the caps downstream allows no frames of this size at this rate")]
    Level(String),
}

/// x264's constant for frames of `format`.
fn color_space(format: VideoFormat) -> u32 {
    match format {
        VideoFormat::Gray8 => ffi::X264_CSP_I400,
        VideoFormat::Nv12 => ffi::X264_CSP_NV12,
        VideoFormat::Y42b => ffi::X264_CSP_I422,
        VideoFormat::Y444 => ffi::X264_CSP_I444,
        VideoFormat::I42010le => ffi::X264_CSP_I420 | ffi::X264_CSP_HIGH_DEPTH,
        VideoFormat::I42210le => ffi::X264_CSP_I422 | ffi::X264_CSP_HIGH_DEPTH,
        VideoFormat::Y44410le => ffi::X264_CSP_I444 | ffi::X264_CSP_HIGH_DEPTH,
        // YV12 too: its planes are exchanged when they are read.
        _ => ffi::X264_CSP_I420,
    }
}

/// The numbers of PAL, NTSC and unspecified video in H.264's usability information.
fn video_format(info: &VideoInfo) -> i32 {
    let (size, rate) = ((info.width(), info.height()), (info.fps().numer(), info.fps().denom()));
    let is_of = |wide: u32, half: u32| {
        matches!(size, (720 | 704 | 352, height) if height == wide) || size == (352, half)
    };
    if is_of(576, 288) && rate == (25, 1) {
        1
    } else if is_of(480, 240) && matches!(rate, (30000 | 24000, 1001)) {
        2
    } else {
        5
    }
}

/// The parameters for frames of `info` in a stream as `target` says; messages of x264 come from `sender`.
///
/// # Errors
/// [`SetupError`].
pub fn parameters(
    settings: &Settings,
    info: &VideoInfo,
    target: &Target,
    sender: &str,
) -> Result<Parameters, SetupError> {
    let mut parameters = from_settings(settings, sender)?;
    let raw = parameters.raw();
    raw.b_annexb = target.byte_stream.into();
    (raw.i_timebase_num, raw.i_timebase_den) = (1, 1_000_000_000);
    raw.i_bitdepth = info.comp_depth(0) as i32;
    raw.i_csp = color_space(info.format()) as i32;
    (raw.i_width, raw.i_height) = (info.width() as i32, info.height() as i32);
    set_rate(raw, settings, info);
    set_usability(raw, settings, info);
    raw.analyse.b_psnr = 0;
    set_rate_control(raw, settings);
    set_pass(&mut parameters, settings.pass);
    if let Some(profile) = target.profile {
        parameters.limit_to_profile(profile);
    }
    let raw = parameters.raw();
    if target.is_intra {
        (raw.i_keyint_max, raw.i_keyint_min) = (1, 1);
    }
    if let Some((level_idc, name)) = &target.level {
        limit_to_level(raw, info, *level_idc).ok_or_else(|| SetupError::Level(name.clone()))?;
    }
    set_fields(raw, info);
    raw.i_frame_packing = frame_packing(settings, info) as i32;
    // The option string may ask for it too.
    if settings.nal_hrd != MotionX264EncNalHrd::None {
        raw.i_nal_hrd = settings.nal_hrd as i32;
    }
    // x264 then keeps the quantiser of each macroblock, which costs a little.
    raw.analyse.b_mb_info = (settings.motion_strength > 0.0 && !info.is_interlaced()).into();
    Ok(parameters)
}

/// The preset, the tunings, and the options that users give.
fn from_settings(settings: &Settings, sender: &str) -> Result<Parameters, SetupError> {
    let preset = (settings.speed_preset != MotionX264EncPreset::None).then(|| nick(settings.speed_preset));
    let psy = (settings.psy_tune != MotionX264EncPsyTune::None).then(|| nick(settings.psy_tune));
    let tunes = [
        (MotionX264EncTune::STILL_IMAGE, "stillimage"),
        (MotionX264EncTune::FAST_DECODE, "fastdecode"),
        (MotionX264EncTune::ZERO_LATENCY, "zerolatency"),
    ];
    let tunings: Vec<_> = psy
        .into_iter()
        .chain(
            tunes
                .iter()
                .filter(|(flag, _)| settings.tune.contains(*flag))
                .map(|(_, name)| (*name).to_owned()),
        )
        .collect();
    let tunings = (!tunings.is_empty()).then(|| tunings.join(","));
    let mut parameters = Parameters::new(preset.as_deref(), tunings.as_deref(), sender)?;
    if preset.is_none() && tunings.is_none() {
        for (option, value) in Settings::default_options() {
            parameters.set(option, Some(&value))?;
        }
    } else {
        parameters.raw().b_aud = settings.aud.into();
    }
    let given = settings.option_string.as_deref().unwrap_or_default();
    for option in given.split(':').filter(|option| !option.is_empty()) {
        let (name, value) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        parameters.set(name, value)?;
    }
    for (option, value) in settings.options() {
        parameters.set(option, Some(value))?;
    }
    Ok(parameters)
}

fn set_rate(raw: &mut ffi::x264_param_t, settings: &Settings, info: &VideoInfo) {
    let interval = settings.key_int_max as i32;
    let (numerator, denominator) = (info.fps().numer(), info.fps().denom());
    let is_known = numerator > 0 && denominator > 0;
    raw.b_vfr_input = (!is_known).into();
    if is_known {
        (raw.i_fps_num, raw.i_fps_den) = (numerator as u32, denominator as u32);
    }
    match interval {
        0 if is_known => raw.i_keyint_max = (10 * i64::from(numerator) / i64::from(denominator)) as i32,
        0 => {}
        interval => raw.i_keyint_max = interval,
    }
}

fn set_usability(raw: &mut ffi::x264_param_t, settings: &Settings, info: &VideoInfo) {
    let vui = &mut raw.vui;
    if info.par().denom() > 0 {
        (vui.i_sar_width, vui.i_sar_height) = (info.par().numer(), info.par().denom());
    }
    vui.i_vidformat = video_format(info);
    if !settings.insert_vui {
        return;
    }
    let colorimetry = info.colorimetry();
    vui.i_colorprim = colorimetry.primaries().to_iso() as i32;
    vui.i_transfer = colorimetry.transfer().to_iso() as i32;
    vui.i_colmatrix = colorimetry.matrix().to_iso() as i32;
    vui.b_fullrange = (colorimetry.range() == VideoColorRange::Range0_255).into();
    vui.i_chroma_loc = match info.chroma_site() {
        VideoChromaSite::JPEG => 1,
        VideoChromaSite::DV => 2,
        VideoChromaSite::V_COSITED => 3,
        _ => 0,
    };
}

/// Sets what may change while frames are encoded, as well.
pub fn set_rate_control(raw: &mut ffi::x264_param_t, settings: &Settings) {
    let (quantizer, bitrate) = (settings.quantizer, settings.bitrate as i32);
    let rc = &mut raw.rc;
    match settings.pass {
        MotionX264EncPass::Quantizer => {
            rc.i_rc_method = ffi::X264_RC_CQP as i32;
            rc.i_qp_constant = quantizer as i32;
            return;
        }
        MotionX264EncPass::Quality => {
            rc.i_rc_method = ffi::X264_RC_CRF as i32;
            rc.f_rf_constant = quantizer as f32;
        }
        _ => {
            rc.i_rc_method = ffi::X264_RC_ABR as i32;
            rc.i_bitrate = bitrate;
        }
    }
    rc.i_vbv_max_bitrate = bitrate;
    let capacity = i64::from(settings.vbv_buf_capacity);
    rc.i_vbv_buffer_size = (i64::from(bitrate) * capacity / 1000) as i32;
}

fn set_pass(parameters: &mut Parameters, pass: MotionX264EncPass) {
    let (reads, writes) = match pass {
        MotionX264EncPass::First => (false, true),
        MotionX264EncPass::Second => (true, false),
        MotionX264EncPass::Third => (true, true),
        _ => (false, false),
    };
    parameters.raw().rc.b_stat_read = reads.into();
    parameters.raw().rc.b_stat_write = writes.into();
    if pass == MotionX264EncPass::First {
        parameters.limit_to_first_pass();
        let raw = parameters.raw();
        raw.i_frame_reference = 1;
        raw.analyse.b_transform_8x8 = 0;
        raw.analyse.inter = 0;
        raw.analyse.i_me_method = ffi::X264_ME_DIA as i32;
        raw.analyse.i_subpel_refine = raw.analyse.i_subpel_refine.min(2);
        raw.analyse.i_trellis = 0;
        raw.analyse.b_fast_pskip = 1;
    }
}

/// Reduces the parameters to what the level allows; `None` if no frames of `info` are allowed.
fn limit_to_level(raw: &mut ffi::x264_param_t, info: &VideoInfo, level_idc: u8) -> Option<()> {
    let level = encoder::level(level_idc)?;
    let [columns, rows] = [info.width(), info.height()].map(|side| i64::from(side.div_ceil(16)));
    let (macroblocks, most) = (columns * rows, i64::from(level.frame_size));
    let is_small = most >= macroblocks && [columns, rows].iter().all(|side| side * side <= 8 * most);
    let (numerator, denominator) = (i64::from(info.fps().numer()), i64::from(info.fps().denom()));
    let is_slow =
        denominator == 0 || macroblocks.saturating_mul(numerator) / denominator <= i64::from(level.mbps);
    if !is_small || !is_slow {
        return None;
    }
    raw.i_level_idc = level.level_idc.into();
    raw.rc.i_bitrate = raw.rc.i_bitrate.min(level.bitrate);
    raw.rc.i_vbv_max_bitrate = raw.rc.i_vbv_max_bitrate.min(level.bitrate);
    raw.rc.i_vbv_buffer_size = raw.rc.i_vbv_buffer_size.min(level.cpb);
    raw.analyse.i_mv_range = raw.analyse.i_mv_range.min(level.mv_range.into());
    if level.frame_only != 0 {
        (raw.b_interlaced, raw.b_fake_interlaced) = (0, 0);
    }
    Some(())
}

fn set_fields(raw: &mut ffi::x264_param_t, info: &VideoInfo) {
    raw.b_interlaced = info.is_interlaced().into();
    if info.is_interlaced() {
        if info.interlace_mode() == VideoInterlaceMode::Mixed {
            raw.b_pic_struct = 1;
        }
        raw.b_tff = (info.field_order() == VideoFieldOrder::TopFieldFirst).into();
    }
}

/// How the two views of stereoscopic video lie in frames.
fn frame_packing(settings: &Settings, info: &VideoInfo) -> MotionX264EncFramePacking {
    use gst_video::VideoMultiviewMode as Mode;
    match settings.frame_packing {
        MotionX264EncFramePacking::Auto => match info.multiview_mode() {
            Mode::Checkerboard => MotionX264EncFramePacking::Checkerboard,
            Mode::ColumnInterleaved => MotionX264EncFramePacking::ColumnInterleaved,
            Mode::RowInterleaved => MotionX264EncFramePacking::RowInterleaved,
            Mode::SideBySide => MotionX264EncFramePacking::SideBySide,
            Mode::TopBottom => MotionX264EncFramePacking::TopBottom,
            Mode::FrameByFrame => MotionX264EncFramePacking::FrameInterleaved,
            _ => MotionX264EncFramePacking::Auto,
        },
        given => given,
    }
}
