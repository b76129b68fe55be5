//! Encoding a clip, and decoding what comes out.

use std::error::Error;

use gst::prelude::*;

use crate::clip::Clip;
use crate::quality;
use crate::variants::Variant;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RateControl {
    Quality,
    Bitrate,
}

#[derive(Clone)]
pub struct Settings {
    pub preset: &'static str,
    pub control: RateControl,
}

impl Settings {
    pub fn all() -> Vec<Self> {
        let controls = [RateControl::Quality, RateControl::Bitrate];
        ["veryfast", "medium"]
            .iter()
            .flat_map(|&preset| controls.map(|control| Self { preset, control }))
            .collect()
    }

    pub fn name(&self) -> String {
        let control = if self.control == RateControl::Quality { "crf" } else { "cbr" };
        format!("{}-{control}", self.preset)
    }
}

/// What an encode came to.
pub struct Point {
    pub kilobits: f64,
    /// In dB, of luma, the mean of the frames.
    pub psnr: f64,
    pub ssim: f64,
    /// Of the encoder's thread.
    pub seconds: f64,
}

/// An encode of `clip` for each factor, or for each of `bitrates`.
pub fn points(
    clip: &Clip,
    settings: &Settings,
    variant: Variant,
    factors: &[u32],
    bitrates: Option<&[u32]>,
) -> Result<Vec<Point>, Box<dyn Error>> {
    let frames = variant.prepare(clip)?;
    let rates: Vec<String> = match bitrates {
        Some(bitrates) => bitrates.iter().map(|rate| format!("pass=cbr bitrate={rate}")).collect(),
        None => {
            factors.iter().map(|factor| format!("pass=qual quantizer={factor} vbv-buf-capacity=0")).collect()
        }
    };
    rates.iter().map(|rate| point(clip, &frames, &settings.encoder(rate, variant))).collect()
}

impl Settings {
    fn encoder(&self, rate: &str, variant: Variant) -> String {
        format!(
            "motionx264enc name=encoder tune=zerolatency speed-preset={} {rate} threads=1 sliced-threads=false \
             key-int-max=250 {}",
            self.preset,
            variant.encoder()
        )
    }
}

/// The processor time of this thread, in which the encoder runs.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is of this function.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn point(clip: &Clip, frames: &[gst::Buffer], encoder: &str) -> Result<Point, Box<dyn Error>> {
    let mut encoding = gst_check::Harness::new_parse(encoder);
    encoding.set_src_caps(clip.info.to_caps()?);
    encoding.set_sink_caps_str("video/x-h264,stream-format=byte-stream,alignment=au");
    let mut decoding = gst_check::Harness::new_parse("avdec_h264 max-threads=1");
    decoding.set_sink_caps_str("video/x-raw,format=I420");
    let (mut bytes, mut psnr, mut ssim, mut count) = (0, 0.0, 0.0, 0_usize);
    let mut seconds = 0.0;
    let mut compare = |decoding: &mut gst_check::Harness, count: &mut usize| -> Result<(), Box<dyn Error>> {
        while let Some(decoded) = decoding.try_pull() {
            let (of_psnr, of_ssim) = quality::compare(&clip.info, &clip.frames[*count], &decoded)?;
            psnr += of_psnr;
            ssim += of_ssim;
            *count += 1;
        }
        Ok(())
    };
    let mut has_caps = false;
    for number in 0..=frames.len() {
        let begun = processor_seconds();
        match frames.get(number) {
            Some(frame) => _ = encoding.push(frame.clone())?,
            None => _ = encoding.push_event(gst::event::Eos::new()),
        }
        seconds += processor_seconds() - begun;
        while let Some(encoded) = encoding.try_pull() {
            bytes += encoded.size();
            if !std::mem::replace(&mut has_caps, true) {
                let caps = encoding.sinkpad().and_then(|pad| pad.current_caps()).ok_or("no caps")?;
                decoding.set_src_caps(caps);
            }
            decoding.push(encoded)?;
        }
        compare(&mut decoding, &mut count)?;
    }
    decoding.push_event(gst::event::Eos::new());
    compare(&mut decoding, &mut count)?;
    if count != frames.len() {
        return Err(format!("{count} of {} frames were decoded", frames.len()).into());
    }
    let mean = |sum: f64| sum / count as f64;
    Ok(Point {
        kilobits: bytes as f64 * 8.0 / 1000.0 / clip.seconds(),
        psnr: mean(psnr),
        ssim: mean(ssim),
        seconds,
    })
}
