//! Searches one picture in another one and draws the motion. The colour is the direction: red to the right, then clockwise
//! green-yellow down, cyan to the left, violet up. The longest motion has the brightest colour.
//!
//! `cargo run --release --example flow -- FROM TO OUT [DEVICE]`. FROM and TO are PNG, PGM or PPM files of one size: a frame
//! of a video, and a later frame of it. OUT gets a colour for each sample of FROM: where TO has it. With the library's feature
//! `image`, `Frame::try_from` and `MotionField::to_image` do the same.

use std::env;
use std::error::Error;

use image::{GrayImage, Rgb, RgbImage};
use motion_search::estimator::motion_color;
use motion_search::{Algorithm, Frame, MotionSearch};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let (from, to, out, device) = match &args[..] {
        [from, to, out] => (from, to, out, "auto"),
        [from, to, out, device] => (from, to, out, device.as_str()),
        _ => return Err("usage: flow FROM TO OUT [DEVICE]".into()),
    };
    let (from, to) = (read(from)?, read(to)?);
    let (width, height) = from.dimensions();

    let mut search = MotionSearch::builder(width as usize, height as usize)
        .algorithm(Algorithm::Hierarchical)
        .block_size(4)
        .device(device)
        .build()?;
    let field = search.search(&frame(from)?, &frame(to)?)?;

    let motion_at = |x, y| field.motion_at(x as usize, y as usize).unwrap_or_default();
    let lengths = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| {
        let (right, down) = motion_at(x, y);
        right.hypot(down)
    });
    let longest = lengths.fold(f32::MIN_POSITIVE, f32::max);
    let colors = RgbImage::from_fn(width, height, |x, y| {
        Rgb(motion_color(motion_at(x, y), longest).map(|part| (255.0 * part).round() as u8))
    });
    colors.save(out).map_err(|error| format!("{out}: {error}"))?;
    println!("{out}: {} x {} vectors, found on {}", field.grid.columns, field.grid.rows, search.device());
    Ok(())
}

/// The luma of the picture in a file.
fn read(path: &str) -> Result<GrayImage, Box<dyn Error>> {
    Ok(image::open(path).map_err(|error| format!("{path}: {error}"))?.into_luma8())
}

fn frame(picture: GrayImage) -> Result<Frame, Box<dyn Error>> {
    let (width, height) = picture.dimensions();
    Ok(Frame::from_samples(picture.into_raw(), width as usize, height as usize)?)
}
