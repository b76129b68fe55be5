//! Parts of frames that are drawn over a made frame.

use super::Phase;
use super::rules::halvings;
use crate::compensation::{PlaneMut, Sampling};
use motion_base::FrameView;

/// Some samples of a search frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mask {
    /// The first column and row.
    pub first: [i32; 2],
    pub size: [usize; 2],
    /// Row by row, whether each sample is one of them.
    pub samples: Vec<u8>,
}

impl Mask {
    /// No samples of the rectangle from `first` to `last`.
    pub fn empty(first: [i32; 2], last: [i32; 2]) -> Self {
        let size = [0, 1].map(|axis| (last[axis] + 1 - first[axis]).max(0) as usize);
        Self { first, size, samples: vec![0; size[0] * size[1]] }
    }

    /// Makes the samples at most `reach` away on each axis from one at `place` some of them, where they are in the rectangle.
    pub fn add_around(&mut self, place: [i32; 2], reach: i32) {
        let [columns, rows] = [0, 1].map(|axis| {
            let at = place[axis] - self.first[axis];
            let end = (at + reach + 1).clamp(0, self.size[axis] as i32) as usize;
            ((at - reach).max(0) as usize).min(end)..end
        });
        for row in rows {
            self.samples[row * self.size[0]..][columns.clone()].fill(1);
        }
    }

    /// Leaves out the samples that are not `wanted`.
    pub fn retain(&mut self, wanted: impl Fn([i32; 2]) -> bool) {
        for (at, sample) in self.samples.iter_mut().enumerate() {
            let place = [at % self.size[0], at / self.size[0]].map(|at| at as i32);
            *sample &= u8::from(wanted([self.first[0] + place[0], self.first[1] + place[1]]));
        }
    }

    /// Whether the sample at a place is one of them.
    pub fn has(&self, [x, y]: [i32; 2]) -> bool {
        let [x, y] = [x - self.first[0], y - self.first[1]];
        let is_inside = |at: i32, length: usize| (0..length as i32).contains(&at);
        is_inside(x, self.size[0])
            && is_inside(y, self.size[1])
            && self.samples[y as usize * self.size[0] + x as usize] != 0
    }
}

/// Which frame shows a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Previous,
    Next,
    /// The one nearer in time.
    Nearer,
}

/// A part of both frames that moves as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where it is in the search frame of the previous frame.
    pub(crate) mask: Mask,
    /// From there to its place in the next frame, in whole samples of search frames.
    pub(crate) motion: [i32; 2],
    pub(crate) shown: Shown,
}

/// From which frame a patch is copied, in whole luma samples from its place in the previous frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatchCopy {
    pub frame: usize,
    pub from: [i32; 2],
    pub to: [i32; 2],
}

impl Patch {
    /// The pixels of a plane on an axis that it may cover where it is drawn `to` its place in the previous frame: of a plane with
    /// so many of them, `halved` once or not.
    pub(crate) fn range(
        &self,
        axis: usize,
        to: [i32; 2],
        halvings: u32,
        halved: i32,
        length: usize,
    ) -> std::ops::Range<i32> {
        let start = (self.mask.first[axis] << halvings) + to[axis];
        let end = start + ((self.mask.size[axis] as i32) << halvings);
        (start >> halved).max(0)..(((end - 1) >> halved) + 1).min(length as i32)
    }

    /// How it is copied at `phase`, between frames that are halved so often to be searched.
    pub(crate) fn copy(&self, phase: Phase, halvings: u32) -> PatchCopy {
        let frame = match self.shown {
            Shown::Previous => 0,
            Shown::Next => 1,
            Shown::Nearer => usize::from(!phase.is_nearer_previous()),
        };
        let motion = self.motion.map(|length| length << halvings);
        let (n, d) = (i64::from(phase.numerator()), i64::from(phase.denominator()));
        let to = motion.map(|length| (2 * n * i64::from(length) + d).div_euclid(2 * d) as i32);
        PatchCopy { frame, from: motion.map(|length| length * frame as i32), to }
    }
}

/// Draws `patches` over a plane of the frame at `phase` between `frames`, whose luma has this size.
pub(super) fn draw(
    patches: &[Patch],
    phase: Phase,
    luma: (usize, usize),
    sampling: Sampling,
    frames: [&FrameView<'_>; 2],
    plane: &mut PlaneMut<'_>,
) {
    let halvings = halvings(luma.0, luma.1);
    let halved = [sampling.halved_x, sampling.halved_y].map(i32::from);
    let stride = plane.stride();
    let pixel = sampling.pixel() * frames[0].format().bytes();
    let size = [frames[0].width() / sampling.pixel(), frames[0].height()].map(|length| length as i32);
    for patch in patches {
        let PatchCopy { frame, from, to } = patch.copy(phase, halvings);
        let range = |axis: usize| patch.range(axis, to, halvings, halved[axis], size[axis] as usize);
        let away = [0, 1].map(|axis| (from[axis] - to[axis]) >> halved[axis]);
        for y in range(1) {
            for x in range(0) {
                // A pixel of chroma is copied if one of its luma samples is.
                let covers = |right: i32, down: i32| {
                    let [x, y] = [(x << halved[0]) + right - to[0], (y << halved[1]) + down - to[1]];
                    patch.mask.has([x >> halvings, y >> halvings])
                };
                if !(0..=halved[1]).any(|down| (0..=halved[0]).any(|right| covers(right, down))) {
                    continue;
                }
                let [from_x, from_y] = [(x + away[0], size[0]), (y + away[1], size[1])]
                    .map(|(at, length)| at.clamp(0, length - 1) as usize);
                let source = &frames[frame].row(from_y)[from_x * pixel..][..pixel];
                plane.bytes_mut()[y as usize * stride + x as usize * pixel..][..pixel]
                    .copy_from_slice(source);
            }
        }
    }
}
