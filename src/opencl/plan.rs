//! One description a kernel: where it is written, how it is launched, what limits it.

use std::ffi::CStr;

use super::device::{Device, DeviceKind};
use super::program::Source;
use super::tiled::Shape;
use crate::estimator::{Kernel, Parameters, SetupError, Window};

/// Bytes of an order key.
const KEY: usize = size_of::<u64>();

/// Local memory that a group uses at most, so that several groups fit a compute unit.
const LOCAL_MEMORY_WANTED: usize = 32 << 10;

/// Work-items of a group that reduces costs: adjacent blocks, and shares of their jobs.
pub(super) const REDUCE_ITEMS: [usize; 2] = [32, 8];

/// The kernel that is fastest for `device` as measured so far: `benches/RESULTS.md` has the figures.
pub(super) fn fastest(device: &Device) -> Kernel {
    match device.kind {
        DeviceKind::Gpu => Kernel::Tiled,
        DeviceKind::Cpu => Kernel::CollaborativeUnaligned,
        DeviceKind::Accelerator => Kernel::Reference,
    }
}

/// The file and the name of `kernel`.
pub(super) fn entry(kernel: Kernel) -> (Source, &'static CStr) {
    match kernel {
        Kernel::ReferenceNaive => (Source::Reference, c"reference_naive"),
        Kernel::Auto | Kernel::Reference => (Source::Reference, c"reference_staged"),
        Kernel::CollaborativeNaive => (Source::Collaborative, c"collaborative_naive"),
        Kernel::Collaborative => (Source::Collaborative, c"collaborative_staged"),
        Kernel::CollaborativeUnaligned => (Source::Collaborative, c"collaborative_unaligned"),
        Kernel::Tiled => (Source::Tiled, c"tiled"),
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// A group a block; the group has an item a candidate.
    ReferenceNaive { items: usize },
    /// A group a block; its items share the candidates of one tile after the other.
    Reference { items: usize, tile: Tile },
    /// An item a block and job.
    CollaborativePlain { items: usize, jobs: usize },
    /// A group a part of a row of blocks and job.
    CollaborativeRows { items: usize, segments: usize, jobs: usize },
    /// As its shape says.
    Tiled(Shape),
}

/// A part of the window, and the pitch of its search area in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) area_words: usize,
    area_rows: usize,
}

impl Tile {
    fn new(columns: usize, rows: usize, block_size: usize) -> Self {
        let area_words = (columns + block_size + 2) / 4 + 1;
        Self { columns, rows, area_words, area_rows: rows + block_size - 1 }
    }

    pub(super) fn area_bytes(&self) -> usize {
        4 * self.area_words * self.area_rows
    }

    /// The largest tile of `window` whose area fits `bytes`: whole rows of candidates if one fits,
    /// else part of a row. `None` where not even one candidate fits.
    fn largest(window: &Window, block_size: usize, bytes: usize) -> Option<Self> {
        let fits = |tile: &Self| tile.area_bytes() <= bytes;
        let row = Self::new(window.columns(), 1, block_size);
        let mut tile = if fits(&row) {
            let rows = bytes / (4 * row.area_words) + 1 - block_size;
            Self::new(window.columns(), rows.min(window.rows()), block_size)
        } else {
            let words = bytes / (4 * block_size);
            let columns = (4 * words).checked_sub(block_size + 6)?;
            Self::new(columns.min(window.columns()).max(1), 1, block_size)
        };
        // Tiles of one size: the last is not left with a few candidates for the whole group.
        let across = window.columns().div_ceil(tile.columns);
        let down = window.rows().div_ceil(tile.rows);
        tile = Self::new(window.columns().div_ceil(across), window.rows().div_ceil(down), block_size);
        fits(&tile).then_some(tile)
    }
}

/// What a plan is made for.
pub(super) struct Task<'a> {
    pub(super) device: &'a Device,
    pub(super) parameters: &'a Parameters,
    pub(super) window: &'a Window,
    /// The largest group that device and kernel allow.
    pub(super) largest_group: usize,
    /// The most bytes of costs kept at once.
    pub(super) cost_bytes: u64,
}

impl Task<'_> {
    fn unsupported(&self, kernel: Kernel, reason: String, advice: &str) -> SetupError {
        SetupError::KernelUnsupported {
            kernel,
            device: self.device.name.clone(),
            reason,
            advice: advice.into(),
        }
    }

    /// The plan by which `kernel` does this task.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] where a limit of the device stands against it,
    /// [`SetupError::Memory`] where the costs of not even one job may be kept.
    pub(super) fn plan(&self, kernel: Kernel) -> Result<Plan, SetupError> {
        match kernel {
            Kernel::ReferenceNaive => self.reference_naive(),
            Kernel::Auto | Kernel::Reference => self.reference(),
            Kernel::CollaborativeNaive => {
                self.collaborative(if self.is_gpu() { 128 } else { 64 }, KernelShape::Plain)
            }
            // Figure 7's group is a row of blocks, on a CPU section 6.2.4's few.
            Kernel::Collaborative => {
                self.collaborative(if self.is_gpu() { 128 } else { 8 }, KernelShape::Rows)
            }
            // Section 8.4 finds 8 items the fastest.
            Kernel::CollaborativeUnaligned => {
                self.collaborative(if self.is_gpu() { 64 } else { 8 }, KernelShape::Plain)
            }
        }
    }

    fn is_gpu(&self) -> bool {
        self.device.kind == DeviceKind::Gpu
    }

    fn reference_naive(&self) -> Result<Plan, SetupError> {
        let (candidates, largest) = (self.window.candidates(), self.largest_group);
        let keys = self.device.local_memory / KEY;
        let limit = largest.min(keys);
        if candidates <= limit {
            return Ok(Plan::ReferenceNaive { items: candidates });
        }
        let what =
            if keys < largest { "local memory holds the costs of" } else { "its largest work-group has" };
        let reason = format!("it needs a work-item for each of {candidates} candidates and {what} {limit}");
        let advice = "choose reference, collaborative-naive, collaborative or collaborative-unaligned, \
                      which have no such limit, or a smaller search range";
        Err(self.unsupported(Kernel::ReferenceNaive, reason, advice))
    }

    fn reference(&self) -> Result<Plan, SetupError> {
        let block_size = self.parameters.block_size;
        // An item a candidate where that is possible; a CPU runs a group's items one after the
        // other and gains nothing from many.
        let most = self.largest_group.min(if self.is_gpu() { 256 } else { 16 });
        let items = self.window.candidates().next_power_of_two().min(1 << most.max(1).ilog2());
        let wanted = self.device.local_memory.min(LOCAL_MEMORY_WANTED);
        let fixed = KEY * items + block_size * block_size;
        let tile = wanted.checked_sub(fixed).and_then(|bytes| Tile::largest(self.window, block_size, bytes));
        tile.map(|tile| Plan::Reference { items, tile }).ok_or_else(|| {
            let reason =
                format!("its local memory of {wanted} bytes holds no search area for blocks of {block_size}");
            self.unsupported(Kernel::Reference, reason, "choose collaborative-unaligned, which uses none")
        })
    }

    fn collaborative(&self, most: usize, shape: KernelShape) -> Result<Plan, SetupError> {
        let grid = self.parameters.grid();
        let most = 1 << self.largest_group.min(most).max(1).ilog2();
        let job_bytes = 4 * grid.blocks() as u64;
        let limit = self.cost_bytes.min(self.device.largest_buffer);
        let jobs = (limit / job_bytes).min(self.window.candidates() as u64) as usize;
        if jobs == 0 {
            let device = self.device.name.clone();
            return Err(SetupError::Memory {
                device,
                what: "the costs of a displacement",
                needed: job_bytes,
                limit,
            });
        }
        match shape {
            KernelShape::Plain => Ok(Plan::CollaborativePlain { items: most, jobs }),
            KernelShape::Rows => {
                // A power of two, so that few sizes are ever compiled for.
                let fits_local = |items: usize| self.line_bytes(items) <= self.device.local_memory;
                let mut items = grid.columns.next_power_of_two().min(most);
                while items > 1 && !fits_local(items) {
                    items /= 2;
                }
                Ok(Plan::CollaborativeRows { items, segments: grid.columns.div_ceil(items), jobs })
            }
        }
    }

    /// Local memory of the two lines that a group of `items` stages.
    fn line_bytes(&self, items: usize) -> usize {
        line_bytes(items, self.parameters.block_size)
    }
}

/// Bytes of `lines` in `collaborative_staged`.
pub(super) fn line_bytes(items: usize, block_size: usize) -> usize {
    let span = [16, 8, 4].into_iter().find(|span| block_size.is_multiple_of(*span)).unwrap_or(4);
    2 * (items * block_size + span)
}

#[derive(Clone, Copy)]
enum KernelShape {
    Plain,
    Rows,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fit_and_cover_every_window() {
        for block_size in (4..=64).step_by(4) {
            for (x, y) in [(0, 0), (1, 0), (16, 16), (500, 1), (2000, 2000), (8191, 8191)] {
                let window = Window::symmetric(x, y).unwrap();
                for bytes in [6 << 10, 24 << 10, 1 << 20] {
                    let tile = Tile::largest(&window, block_size, bytes).unwrap();
                    assert!(tile.area_bytes() <= bytes, "{tile:?} in {bytes}");
                    assert!(1 <= tile.columns && tile.columns <= window.columns());
                    assert!(1 <= tile.rows && tile.rows <= window.rows());
                }
            }
        }
        assert!(Tile::largest(&Window::symmetric(1, 1).unwrap(), 64, 4000).is_none());
    }
}
