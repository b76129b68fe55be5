//! Offsets of regions of interest.

use gst_video::VideoRegionOfInterestMeta;

use super::{MACROBLOCK, MAX_OFFSET};

/// The structures whose `delta-qp` is a region's offset; of a region that has both, the first counts.
const PARAMETERS: [&str; 2] = ["roi/motionx264enc", "roi/x264enc"];

/// The offset that a region asks for.
fn delta_of(region: &VideoRegionOfInterestMeta) -> Option<f32> {
    let parameter = PARAMETERS.iter().find_map(|name| region.param(name))?;
    let whole = parameter.get::<i32>("delta-qp").map(|delta| delta as f32);
    let delta = whole.or_else(|_| parameter.get::<f64>("delta-qp").map(|delta| delta as f32)).ok()?;
    delta.is_finite().then_some(delta)
}

/// The macroblocks that touch `length` samples from `start` on, of a frame of `samples`.
fn macroblocks(start: u32, length: u32, samples: u32) -> std::ops::Range<usize> {
    let end = start.saturating_add(length).min(samples) as usize;
    if length == 0 || start >= samples { 0..0 } else { start as usize / MACROBLOCK..end.div_ceil(MACROBLOCK) }
}

/// The offsets that the regions of a frame ask for.
pub struct Regions {
    columns: usize,
    /// Infinite where there is no region.
    offsets: Vec<f32>,
}

impl Regions {
    /// For frames of so many columns and rows of macroblocks.
    pub fn new((columns, rows): (usize, usize)) -> Self {
        Self { columns, offsets: vec![f32::INFINITY; columns * rows] }
    }

    /// Adds the offsets of the regions of `buffer`, whose frame is of `size`, to `offsets`. Where regions overlap, the smallest
    /// counts. Returns whether there are any.
    pub fn add_to(
        &mut self,
        offsets: &mut [f32],
        buffer: &gst::BufferRef,
        (width, height): (u32, u32),
    ) -> bool {
        let mut is_any = false;
        for region in buffer.iter_meta::<VideoRegionOfInterestMeta>() {
            let Some(delta) = delta_of(&region) else { continue };
            if !std::mem::replace(&mut is_any, true) {
                self.offsets.fill(f32::INFINITY);
            }
            let (x, y, region_width, region_height) = region.rect();
            let columns = macroblocks(x, region_width, width);
            for row in macroblocks(y, region_height, height) {
                let row = &mut self.offsets[row * self.columns..][..self.columns];
                row[columns.clone()].iter_mut().for_each(|offset| *offset = offset.min(delta));
            }
        }
        if is_any {
            for (offset, region) in offsets.iter_mut().zip(&self.offsets).filter(|(_, of)| of.is_finite()) {
                *offset = (*offset + region).clamp(-MAX_OFFSET, MAX_OFFSET);
            }
        }
        is_any
    }
}
