//! The frames to search: synthetic frames, and the first ones of a clip.

use std::path::{Path, PathBuf};

use motion_search::estimator::Frame;
use test_support::gstreamer::clips::luma;

/// A reference frame and a current frame.
#[derive(Clone)]
pub struct Scene {
    pub reference: Frame,
    pub current: Frame,
}

impl Scene {
    /// Texture that moves by (5, -3) samples, under grain that does not.
    pub fn moving(width: usize, height: usize) -> Self {
        let wave: Vec<u8> = (0..1024)
            .map(|i| (28.0 + 27.0 * (f64::from(i) * std::f64::consts::TAU / 1024.0).sin()) as u8)
            .collect();
        let mut grain = 1_u32;
        let mut frame = |shift_x: usize, shift_y: usize| {
            Frame::from_fn(width, height, |x, y| {
                let (x, y) = (x + shift_x, y + shift_y);
                grain = grain.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let phases = [34 * x + 8 * y, 27 * y + 1019 * x, x * y / 9];
                let texture: u8 = phases.iter().map(|&phase| wave[phase % wave.len()]).sum();
                40 + texture + (grain >> 29) as u8
            })
        };
        Self { reference: frame(0, 3), current: frame(5, 0) }
    }

    /// A still scene seen by a camera that moves by `shift` samples to the right and down. As in
    /// nature, finer detail is weaker: layers of smooth noise, each of half the size and two thirds of
    /// the strength of the one before.
    pub fn shifted(width: usize, height: usize, shift: usize) -> Self {
        let view = |shift: usize| {
            Frame::from_fn(width, height, |x, y| {
                let (x, y) = ((x + shift) as u32, (y + shift) as u32);
                let layer = |i| (noise(x, y, 8 - i, i) - 0.5) * (2.0_f64 / 3.0).powi(i as i32);
                (128.0 + 180.0 * (0..7).map(layer).sum::<f64>()) as u8
            })
        };
        Self { reference: view(0), current: view(shift) }
    }
}

/// Noise from 0 to 1: random at the corners of squares of `2^log_side` samples, smooth between.
fn noise(x: u32, y: u32, log_side: u32, layer: u32) -> f64 {
    let corner = |x: u32, y: u32| {
        let mut hash =
            x.wrapping_mul(0x9E37_79B1) ^ y.wrapping_mul(0x85EB_CA77) ^ layer.wrapping_mul(0xC2B2_AE3D);
        for shift in [15, 13, 16] {
            hash = (hash ^ (hash >> shift)).wrapping_mul(0x2C1B_3C6D);
        }
        f64::from(hash >> 8) / f64::from(1 << 24)
    };
    let (column, row) = (x >> log_side, y >> log_side);
    let side = f64::from(1 << log_side);
    let ease = |t: f64| t * t * (3.0 - 2.0 * t);
    let across = ease(f64::from(x & ((1 << log_side) - 1)) / side);
    let down = ease(f64::from(y & ((1 << log_side) - 1)) / side);
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let above = mix(corner(column, row), corner(column + 1, row), across);
    mix(above, mix(corner(column, row + 1), corner(column + 1, row + 1), across), down)
}

/// The first two frames of a video.
pub struct Clip {
    pub path: PathBuf,
    pub scene: Scene,
}

impl Clip {
    /// Reads the luma of the first two frames: of a `.y4m` directly, of other files by decodebin.
    ///
    /// # Errors
    /// Names the file, and what cannot be read, decoded or found in it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let [reference, current] = <[Frame; 2]>::try_from(read(path, 2)?)
            .map_err(|frames| format!("{}: {} frames, two are needed", path.display(), frames.len()))?;
        Ok(Self { path: path.to_owned(), scene: Scene { reference, current } })
    }

    /// Its first frames, at most `count`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn frames(&self, count: usize) -> Result<Vec<Frame>, String> {
        read(&self.path, count)
    }

    /// Width and height.
    pub fn size(&self) -> (usize, usize) {
        (self.scene.current.view().width(), self.scene.current.view().height())
    }

    /// The name of its file.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The luma planes of the first `count` frames of a file, fewer if it has no more.
fn read(path: &Path, count: usize) -> Result<Vec<Frame>, String> {
    luma(path, count).map_err(|error| format!("{}: {error}", path.display()))
}
