use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::hierarchy::{self, Quality};
use crate::{CostKind, CostKinds, Grid, Prediction, References, SetupError, SubSample, Window};

/// Which vectors are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The best of all candidates of the window.
    #[default]
    Full,
    /// Three-step search (Bonanno): few candidates, far ones first.
    ///
    /// The centre starts at `(0, 0)`. For each step `s` of [`Window::steps`] the nine candidates
    /// `centre + {-s, 0, s}²` are compared, and the best of them by [`OrderKey`](crate::OrderKey),
    /// which sees the whole displacement, is the next centre. Candidates outside the window do not
    /// count, nor do those that the border excludes; the centre always counts. The result is the
    /// last centre and its cost.
    ThreeStep,
    /// Hierarchical search: motion near the true one, finer than a sample, over a pyramid of frames.
    ///
    /// [`algorithms`](crate::algorithms) defines it. Of the other parameters only the block size and [`Quality`] apply.
    Hierarchical,
}

impl Algorithm {
    /// Its name in properties and errors.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Full => "full",
            Algorithm::ThreeStep => "three-step",
            Algorithm::Hierarchical => "hierarchical",
        }
    }

    /// Whether rows of blocks can be searched without the others.
    #[inline]
    pub fn divides_rows(self) -> bool {
        self != Algorithm::Hierarchical
    }

    /// Its block sizes, in words.
    fn block_sizes(self) -> &'static str {
        match self {
            Algorithm::Full | Algorithm::ThreeStep => "a multiple of 4 from 4 to 64",
            Algorithm::Hierarchical => "4, 8, 16, 32 or 64",
        }
    }

    /// Units of its vectors per sample.
    #[inline]
    pub fn scale(self) -> i32 {
        match self {
            Algorithm::Full | Algorithm::ThreeStep => 4,
            Algorithm::Hierarchical => 32,
        }
    }
}

/// The measure of difference of two blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Sum of absolute differences.
    #[default]
    Sad,
    /// Sum of squared differences.
    Ssd,
}

impl Metric {
    /// What two samples of this absolute difference add to the cost.
    #[inline]
    pub fn term(self, difference: u16) -> u32 {
        match self {
            Metric::Sad => u32::from(difference),
            Metric::Ssd => u32::from(difference) * u32::from(difference),
        }
    }

    /// Its name in the metadata: `sad` or `ssd`.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Sad => "sad",
            Metric::Ssd => "ssd",
        }
    }
}

/// How candidates outside the reference frame are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Border {
    /// Outside the reference frame, its edge samples repeat without limit.
    #[default]
    Extend,
    /// A candidate counts only if its block lies inside the block-extended frame.
    Restrict,
}

/// Everything that decides *what* is found, and in which frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Frame width in samples.
    pub width: usize,
    /// Frame height in samples.
    pub height: usize,
    /// Side of a block in samples: a multiple of 4 from 4 to 64.
    pub block_size: usize,
    /// The displacements that are candidates.
    pub window: Window,
    /// Bits of a sample, 8 to 16. Those of hierarchical search are 8: it searches eight bits of deeper
    /// frames.
    pub bit_depth: u32,
    /// Which candidates are compared.
    pub algorithm: Algorithm,
    /// How much [`Algorithm::Hierarchical`] does.
    pub quality: Quality,
    /// How much finer than whole samples the vectors of the other algorithms are.
    pub sub_sample: SubSample,
    /// How blocks are compared.
    pub metric: Metric,
    /// How candidates outside the reference frame are treated.
    pub border: Border,
    /// Whether vectors are predicted from their neighbours.
    pub prediction: Prediction,
    /// What is computed for each block besides its vector.
    pub costs: CostKinds,
    /// Whether frames are found that begin another scene than the frame before.
    pub scene_cut: bool,
    /// The frames in which each frame of a stream is searched.
    pub references: References,
}

impl Parameters {
    /// The most bits of a sample with which squared differences fit 32 bits.
    pub const MAX_SSD_DEPTH: u32 = 10;

    /// The most samples of a frame on an axis.
    pub const MAX_FRAME_SIDE: usize = 32768;

    /// Full search by SAD of samples of eight bits in the previous frame, of whole samples, with [`Border::Extend`], without
    /// prediction.
    pub fn new(width: usize, height: usize, block_size: usize, window: Window) -> Self {
        Self {
            width,
            height,
            block_size,
            window,
            bit_depth: 8,
            algorithm: Algorithm::default(),
            quality: Quality::default(),
            sub_sample: SubSample::default(),
            metric: Metric::default(),
            border: Border::default(),
            prediction: Prediction::default(),
            costs: CostKinds::NONE,
            scene_cut: false,
            references: References::default(),
        }
    }

    /// Checks the block size, the frame size, the bit depth, that the algorithm has the precision and the costs, and the references.
    ///
    /// # Errors
    /// [`SetupError::BlockSize`], [`SetupError::FrameSize`], [`SetupError::BitDepth`], [`SetupError::SubSample`],
    /// [`SetupError::SecondCost`], [`SetupError::References`],
    /// [`SetupError::SceneCut`].
    pub fn validate(&self) -> Result<(), SetupError> {
        let is_block_size = (4..=64).contains(&self.block_size)
            && match self.algorithm {
                Algorithm::Full | Algorithm::ThreeStep => self.block_size.is_multiple_of(4),
                Algorithm::Hierarchical => self.block_size.is_power_of_two(),
            };
        if !is_block_size {
            return Err(SetupError::BlockSize {
                size: self.block_size,
                algorithm: self.algorithm.name(),
                supported: self.algorithm.block_sizes(),
            });
        }
        Self::check_frame_size((self.width, self.height))?;
        if self.algorithm == Algorithm::Hierarchical && self.sub_sample != SubSample::None {
            return Err(SetupError::SubSample { sub_sample: self.sub_sample.name() });
        }
        if self.algorithm == Algorithm::Hierarchical && self.costs.contains(CostKind::Second) {
            return Err(SetupError::SecondCost);
        }
        let References { backward, forward } = self.references;
        if !self.references.is_usable() {
            return Err(SetupError::References { backward, forward });
        }
        if self.scene_cut && backward == 0 {
            return Err(SetupError::SceneCut);
        }
        self.validate_depth()
    }

    fn validate_depth(&self) -> Result<(), SetupError> {
        let depth = self.bit_depth;
        let refused = |searched_by, advice| Err(SetupError::BitDepth { depth, searched_by, advice });
        match (self.algorithm, self.metric) {
            _ if !(8..=16).contains(&depth) => refused("any algorithm", "use 8 to 16 bits"),
            (Algorithm::Hierarchical, _) if depth > 8 => {
                refused("algorithm hierarchical", "use 8: it searches eight bits of frames of any depth")
            }
            // A block of 64 x 64 differences of 1023 costs just below 2^32.
            (Algorithm::Full | Algorithm::ThreeStep, Metric::Ssd) if depth > Self::MAX_SSD_DEPTH => refused(
                "metric ssd, whose costs would not fit 32 bits",
                "use metric sad, or samples of at most 10 bits",
            ),
            _ => Ok(()),
        }
    }

    /// Whether the displacements of a search can be divided: not if it goes from one to the next, or on from the best
    /// of all.
    #[inline]
    pub fn divides_displacements(&self) -> bool {
        self.algorithm == Algorithm::Full && self.sub_sample == SubSample::None
    }

    /// Checks that frames have 1 to [`Self::MAX_FRAME_SIDE`] samples an axis.
    ///
    /// # Errors
    /// [`SetupError::FrameSize`].
    pub fn check_frame_size((width, height): (usize, usize)) -> Result<(), SetupError> {
        let sides = 1..=Self::MAX_FRAME_SIDE;
        if sides.contains(&width) && sides.contains(&height) {
            return Ok(());
        }
        Err(SetupError::FrameSize { width, height })
    }

    /// The metric of the costs that come with the vectors: hierarchical search has no other than SAD.
    #[inline]
    pub fn metric_of_costs(&self) -> Metric {
        if self.algorithm == Algorithm::Hierarchical { Metric::Sad } else { self.metric }
    }

    /// What is computed for [`Self::costs`]: those, and what [`CostKind::Confidence`] is made of.
    pub fn computed_costs(&self) -> CostKinds {
        let sources: &[CostKind] = match self.algorithm {
            Algorithm::Hierarchical => &[CostKind::Intra, CostKind::Satd],
            Algorithm::Full | Algorithm::ThreeStep => &[CostKind::Second],
        };
        let sources = if self.costs.contains(CostKind::Confidence) { sources } else { &[] };
        self.costs.iter().chain(sources.iter().copied()).collect()
    }

    /// The grid of blocks over the frame.
    ///
    /// # Panics
    /// If the block size is 0, which [`Self::validate`] refuses.
    #[inline]
    pub fn grid(&self) -> Grid {
        Grid { columns: self.width.div_ceil(self.block_size), rows: self.height.div_ceil(self.block_size) }
    }

    /// Width of the frame extended to whole blocks.
    #[inline]
    pub fn extended_width(&self) -> usize {
        self.grid().columns * self.block_size
    }

    /// Height of the frame extended to whole blocks.
    #[inline]
    pub fn extended_height(&self) -> usize {
        self.grid().rows * self.block_size
    }

    /// The most candidates that the algorithm compares for a block. The effective rate counts these.
    pub fn candidates(&self) -> usize {
        // The centre of a step has been compared.
        let refinement = 8 * self.sub_sample.steps().len();
        match self.algorithm {
            Algorithm::Full => self.window.candidates() + refinement,
            Algorithm::ThreeStep => 1 + 8 * self.window.steps().count() + refinement,
            // On level 0, in samples of a cell; the coarser levels are a third of it.
            Algorithm::Hierarchical => {
                let preset = self.quality.preset();
                let directions = if preset.checked_from == 0 { 2 } else { 1 };
                directions * hierarchy::most_candidates(preset.jumps_on_finest, preset.iterations[0])
            }
        }
    }

    /// The displacements that count for the block at `column`, `row` of the grid.
    ///
    /// # Panics
    /// With [`Border::Restrict`], if the grid has no such block.
    #[inline]
    pub fn window_of_block(&self, column: usize, row: usize) -> Window {
        match self.border {
            Border::Extend => self.window,
            Border::Restrict => {
                let grid = self.grid();
                assert!(column < grid.columns && row < grid.rows, "no block {column}, {row} in {grid:?}");
                let (x, y) = (column * self.block_size, row * self.block_size);
                let right = self.extended_width() - self.block_size - x;
                let below = self.extended_height() - self.block_size - y;
                self.window.clipped(-(x as i32)..=right as i32, -(y as i32)..=below as i32)
            }
        }
    }

    /// The displacements that can win for the block at `column`, `row` of the grid.
    #[inline]
    pub fn winning_window(&self, column: usize, row: usize) -> Window {
        self.winning_window_of(column..=column, row..=row)
    }

    /// The part of the window that can win for the blocks in `columns` and `rows` of the grid: they need no
    /// candidate outside it.
    ///
    /// With [`Border::Restrict`], no candidate is further away than the edge of the frame. With
    /// [`Border::Extend`], a block that contains only repeated edge samples of an axis contains the same samples
    /// further out: the costs are equal, and the order prefers the shorter vector. So the search needs no more
    /// time and padding than for these, and no window needs more memory than nine frames.
    #[inline]
    pub fn winning_window_of(&self, columns: RangeInclusive<usize>, rows: RangeInclusive<usize>) -> Window {
        let side = self.block_size;
        let inside = match self.border {
            Border::Extend => 1,
            Border::Restrict => side,
        };
        let axis = |blocks: RangeInclusive<usize>, extended: usize| {
            let before = (blocks.end() + 1) * side - inside;
            let after = extended - inside - blocks.start() * side;
            -(before as i32)..=after as i32
        };
        let x = axis(columns, self.extended_width());
        self.window.clipped(x, axis(rows, self.extended_height()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_win_is_cut() {
        let ends = |border, columns, rows| {
            let window = Window::symmetric(1000, 1000).unwrap();
            let parameters = Parameters { border, ..Parameters::new(61, 47, 16, window) };
            let window = parameters.winning_window_of(columns, rows);
            let (x0, x1, y0, y1) = (window.x0(), window.x1(), window.y0(), window.y1());
            [x0, x1, y0, y1]
        };
        // The second block of the first row: from 16 to 31 across, 0 to 15 down, in 64 x 48 samples.
        assert_eq!(ends(Border::Extend, 1..=1, 0..=0), [-31, 47, -15, 47]);
        assert_eq!(ends(Border::Restrict, 1..=1, 0..=0), [-16, 32, 0, 32]);
        assert_eq!(ends(Border::Extend, 0..=3, 0..=2), [-63, 63, -47, 47]);
        assert_eq!(ends(Border::Restrict, 0..=3, 0..=2), [-48, 48, -32, 32]);
    }
}
