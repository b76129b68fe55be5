use std::sync::Mutex;

use super::{EstimateError, FrameError, Parameters};
use crate::lock::lock;

/// Bytes that are copied at a time.
const BYTES_A_TASK: usize = 256 << 10;

/// Bytes for which one more thread is woken: it takes about as long as copying so many.
const BYTES_A_HELPER: usize = 512 << 10;

/// A luma plane, read only: `height` rows of `width` samples, `stride` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'a> {
    samples: &'a [u8],
    width: usize,
    height: usize,
    stride: usize,
}

impl<'a> FrameView<'a> {
    /// The frame in `samples`, whose last row may end with its last sample.
    ///
    /// # Errors
    /// [`FrameError`] where the frame is empty, rows overlap or `samples` is too short.
    pub fn new(samples: &'a [u8], width: usize, height: usize, stride: usize) -> Result<Self, FrameError> {
        if width == 0 || height == 0 {
            return Err(FrameError::Empty(width, height));
        }
        if stride < width {
            return Err(FrameError::Stride { width, stride });
        }
        let needed = (stride.saturating_mul(height - 1)).saturating_add(width);
        if samples.len() < needed {
            return Err(FrameError::Short { needed, present: samples.len() });
        }
        Ok(Self { samples, width, height, stride })
    }

    /// Samples a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Bytes from one row to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All bytes from the first sample to the last, padding between rows included.
    pub fn as_bytes(&self) -> &'a [u8] {
        &self.samples[..self.stride * (self.height - 1) + self.width]
    }

    /// The samples of row `y`.
    ///
    /// # Panics
    /// Where the frame has no such row.
    #[inline]
    pub fn row(&self, y: usize) -> &'a [u8] {
        &self.samples[y * self.stride..][..self.width]
    }

    /// These rows alone, at least one.
    ///
    /// # Panics
    /// Where the frame does not have them.
    pub fn band(&self, rows: std::ops::Range<usize>) -> Self {
        assert!(rows.start < rows.end && rows.end <= self.height, "rows {rows:?} of {}", self.height);
        Self { samples: &self.samples[rows.start * self.stride..], height: rows.len(), ..*self }
    }

    /// Copies the samples to `to`, rows without padding. Of a large frame others copy a part: the
    /// caller begins at once, as those may have to be woken.
    ///
    /// # Panics
    /// Where `to` has no room for every sample.
    pub(crate) fn copy_to(&self, to: &mut [u8]) {
        let Self { width, height, stride, .. } = *self;
        let to = &mut to[..width * height];
        let rows_a_task = (BYTES_A_TASK / width).max(1);
        let tasks = Mutex::new(to.chunks_mut(rows_a_task * width).enumerate());
        let work = || {
            loop {
                let next = lock(&tasks).next();
                let Some((task, to)) = next else { return };
                let from = self.band(task * rows_a_task..task * rows_a_task + to.len() / width);
                if stride == width {
                    to.copy_from_slice(from.as_bytes());
                } else {
                    to.chunks_exact_mut(width)
                        .enumerate()
                        .for_each(|(y, to)| to.copy_from_slice(from.row(y)));
                }
            }
        };
        let helpers = (width * height / BYTES_A_HELPER).min(rayon::current_num_threads() - 1);
        if helpers == 0 {
            return work();
        }
        rayon::in_place_scope(|scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| work()));
            work();
        });
    }

    /// A copy of the frame.
    pub(crate) fn to_buf(self) -> FrameBuf {
        let Self { width, height, .. } = self;
        let mut samples = vec![0; width * height];
        self.copy_to(&mut samples);
        FrameBuf { samples, width, height }
    }

    /// The sample at `(x, y)` of the frame continued outside by its edge samples.
    #[inline]
    pub fn extended(&self, x: i32, y: i32) -> u8 {
        let x = x.clamp(0, self.width as i32 - 1) as usize;
        let y = y.clamp(0, self.height as i32 - 1) as usize;
        self.samples[y * self.stride + x]
    }

    /// Checks that the frame has the size of `parameters`.
    ///
    /// # Errors
    /// [`EstimateError::FrameSize`] where it has not.
    pub fn check_size(&self, parameters: &Parameters) -> Result<(), EstimateError> {
        let Parameters { width, height, .. } = *parameters;
        if (self.width, self.height) == (width, height) {
            Ok(())
        } else {
            Err(EstimateError::FrameSize(self.width, self.height, width, height))
        }
    }
}

/// A luma plane that owns its samples, rows without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameBuf {
    samples: Vec<u8>,
    width: usize,
    height: usize,
}

impl FrameBuf {
    /// The frame in `samples`, `height` rows of `width`.
    ///
    /// # Errors
    /// [`FrameError`] as [`FrameView::new`].
    pub fn new(samples: Vec<u8>, width: usize, height: usize) -> Result<Self, FrameError> {
        FrameView::new(&samples, width, height, width)?;
        Ok(Self { samples, width, height })
    }

    /// A frame whose sample at `(x, y)` is `sample(x, y)`.
    ///
    /// # Panics
    /// Where it has no samples.
    pub fn from_fn(width: usize, height: usize, mut sample: impl FnMut(usize, usize) -> u8) -> Self {
        assert!(width > 0 && height > 0, "a frame needs at least one sample");
        let samples = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| sample(x, y));
        Self { samples: samples.collect(), width, height }
    }

    /// The frame as a view.
    pub fn view(&self) -> FrameView<'_> {
        FrameView { samples: &self.samples, width: self.width, height: self.height, stride: self.width }
    }
}
