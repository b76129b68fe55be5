use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::frame_view::{bytes_needed, check};
use crate::{EstimateError, FrameError, FrameView, Parameters, PooledRecords, SampleFormat, SetupError};

/// Memory that holds the samples of a [`Frame`] and keeps them unchanged while it lives.
#[allow(clippy::len_without_is_empty)]
pub trait FrameSource: Send + Sync {
    /// The bytes, the frame's first sample first. Every call returns the same slice. Those of memory on a device are copied
    /// to the host by the first call.
    fn bytes(&self) -> &[u8];

    /// How many bytes there are. Unlike [`Self::bytes`] it never waits for a device.
    fn len(&self) -> usize {
        self.bytes().len()
    }

    /// The block of a device's memory that holds the bytes, if they are in such a block: of [`HostMemory`], or memory on
    /// the device.
    #[inline]
    fn block(&self) -> Option<&BlockHandle> {
        None
    }
}

impl FrameSource for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl FrameSource for PooledRecords<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A luma plane, owned and shared, read only: clones share the samples.
///
/// The samples are in memory of this crate or of others, for instance a mapped buffer of GStreamer, which
/// the frame keeps alive and unchanged. Whoever needs the samples keeps a clone.
#[derive(Clone)]
pub struct Frame {
    source: Arc<dyn FrameSource>,
    width: usize,
    height: usize,
    stride: usize,
    format: SampleFormat,
    rows: Range<usize>,
}

impl Frame {
    /// A frame of `height` rows of `width` samples of eight bits, `stride` bytes apart, in the bytes of `source`.
    ///
    /// # Errors
    /// [`FrameError`] as [`FrameView::new`].
    pub fn new(
        source: Arc<dyn FrameSource>,
        width: usize,
        height: usize,
        stride: usize,
    ) -> Result<Self, FrameError> {
        Self::with_format(source, (width, height), stride, SampleFormat::EIGHT_BITS)
    }

    /// A frame of `height` rows of `width` samples in `format`, `stride` bytes apart, in the bytes of `source`.
    ///
    /// # Errors
    /// [`FrameError`] as [`FrameView::new`].
    pub fn with_format(
        source: Arc<dyn FrameSource>,
        (width, height): (usize, usize),
        stride: usize,
        format: SampleFormat,
    ) -> Result<Self, FrameError> {
        let (needed, present) = (bytes_needed((width, height), stride, format)?, source.len());
        if present < needed {
            return Err(FrameError::Short { needed, present });
        }
        Ok(Self { source, width, height, stride, format, rows: 0..height })
    }

    /// A frame of these samples of eight bits, rows without padding, at most [`Parameters::MAX_FRAME_SIDE`] on an axis to be
    /// searched. A slice is copied, a [`Vec`] is not. [`Self::new`] takes other memory.
    ///
    /// # Errors
    /// [`FrameError`] as [`FrameView::new`].
    pub fn from_samples<'a>(
        samples: impl Into<Cow<'a, [u8]>>,
        width: usize,
        height: usize,
    ) -> Result<Self, FrameError> {
        let samples = samples.into();
        // Nothing is copied in vain.
        FrameView::new(&samples, width, height, width)?;
        Self::new(Arc::new(samples.into_owned()), width, height, width)
    }

    /// A frame of samples of eight bits, whose sample at `(x, y)` is `sample(x, y)`.
    ///
    /// # Panics
    /// If `width` or `height` is 0.
    pub fn from_fn(width: usize, height: usize, mut sample: impl FnMut(usize, usize) -> u8) -> Self {
        let samples = positions(width, height).map(|(x, y)| sample(x, y));
        Self::from_samples(samples.collect::<Vec<_>>(), width, height)
            .unwrap_or_else(|error| panic!("no such frame: {error}"))
    }

    /// A frame of samples of `depth` bits, whose sample at `(x, y)` is `sample(x, y)`.
    ///
    /// # Panics
    /// If `width` or `height` is 0, or `depth` is not from 8 to 16.
    pub fn deep_from_fn(
        width: usize,
        height: usize,
        depth: u32,
        mut sample: impl FnMut(usize, usize) -> u16,
    ) -> Self {
        let fail = |error| -> SampleFormat { panic!("no such frame: {error}") };
        let format = SampleFormat::new(depth, 0).unwrap_or_else(fail);
        if format.bytes() == 1 {
            return Self::from_fn(width, height, |x, y| sample(x, y) as u8);
        }
        let samples: Vec<u8> =
            positions(width, height).flat_map(|(x, y)| format.bytes_of(sample(x, y))).collect();
        Self::with_format(Arc::new(samples), (width, height), 2 * width, format)
            .unwrap_or_else(|error| panic!("no such frame: {error}"))
    }

    /// The same frame, of whose deep samples hierarchical search sees those from `black` to `white`:
    /// [`SampleFormat::with_levels`].
    #[must_use]
    pub fn with_levels(&self, black: u16, white: u16) -> Self {
        Self { format: self.format.with_levels(black, white), ..self.clone() }
    }

    /// The same frame, of which only these rows are needed: the other rows may hold anything when it is
    /// loaded. At least one row remains.
    #[must_use]
    pub fn with_rows(&self, rows: Range<usize>) -> Self {
        let start = rows.start.min(self.height - 1);
        Self { rows: start..rows.end.clamp(start + 1, self.height), ..self.clone() }
    }

    /// The rows that are needed: all of them but after [`Self::with_rows`].
    #[inline]
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Samples a row, and rows.
    #[inline]
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// How the samples lie in memory.
    #[inline]
    pub fn format(&self) -> SampleFormat {
        self.format
    }

    /// Bytes from one row to the next.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Checks that the frame has the size and the bit depth of `parameters`, as [`FrameView::check`].
    ///
    /// # Errors
    /// As [`FrameView::check`].
    #[inline]
    pub fn check(&self, parameters: &Parameters) -> Result<(), EstimateError> {
        check((self.width, self.height), self.format, parameters)
    }

    /// All samples, in memory of the host.
    #[inline]
    pub fn view(&self) -> FrameView<'_> {
        FrameView::with_format(self.source.bytes(), (self.width, self.height), self.stride, self.format)
            .unwrap_or_else(|_| unreachable!("the source has been checked, and it does not change"))
    }

    /// The block of a device's memory that holds the samples, if they are in such a block.
    #[inline]
    pub fn block(&self) -> Option<&BlockHandle> {
        self.source.block()
    }
}

/// Columns and rows of the samples of a frame, row by row.
fn positions(width: usize, height: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)))
}

impl PartialEq for Frame {
    /// Compares sizes, depths and samples.
    fn eq(&self, other: &Self) -> bool {
        let size = |frame: &Self| (frame.width, frame.height, frame.format.depth());
        let (a, b) = (self.view(), other.view());
        let is_equal_row = |y| match self.format == other.format {
            true => a.row(y) == b.row(y),
            false => (0..self.width as i32).all(|x| a.sample(x, y as i32) == b.sample(x, y as i32)),
        };
        size(self) == size(other) && (0..self.height).all(is_equal_row)
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height, stride, format, .. } = self;
        write!(f, "Frame({width} x {height}, {} bits, stride {stride})", format.depth())
    }
}

/// What a device recognises a block of its [`HostMemory`] by. It keeps the block allocated.
pub type BlockHandle = Arc<dyn Any + Send + Sync>;

/// Memory of the host from which a device loads frames without a copy: page-locked memory, as a rule.
pub trait HostMemory: Send + Sync {
    /// A block of `bytes`, at least 1, with any contents. It may outlive the device.
    ///
    /// # Errors
    /// What the device reports.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError>;
}

/// A block of [`HostMemory`].
pub trait HostBlock: AsRef<[u8]> + AsMut<[u8]> + Send + Sync {
    /// What the device recognises the block by: a [`FrameSource`] in the block returns it. `None` for
    /// memory that no device recognises.
    fn handle(&self) -> Option<BlockHandle> {
        None
    }
}

impl HostBlock for Vec<u8> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_compared_by_samples() {
        let frame = Frame::from_fn(5, 3, |x, y| (x + 10 * y) as u8);
        let padded: Vec<u8> = (0..27).map(|i| (i % 9 + 10 * (i / 9)) as u8).collect();
        let padded = Frame::new(Arc::new(padded), 5, 3, 9).unwrap();
        assert_eq!(frame, padded);
        assert_ne!(frame, Frame::from_fn(5, 3, |x, y| (x + 10 * y) as u8 + u8::from((x, y) == (4, 2))));
        assert_ne!(frame, Frame::from_fn(3, 5, |x, y| (x + 10 * y) as u8));
        assert!(Frame::from_samples(vec![0; 14], 5, 3).is_err());
        // Slices, arrays and vectors, of which the last is not copied.
        let samples: Vec<u8> = (0..15).collect();
        for frame in [
            Frame::from_samples(&samples[..], 5, 3),
            Frame::from_samples(&samples, 5, 3),
            Frame::from_samples(b"0123456789abcde", 5, 3),
        ] {
            assert_eq!(frame.unwrap().view().size(), (5, 3));
        }
        assert!(Frame::from_samples(&samples[1..], 5, 3).is_err());
        let address = samples.as_ptr();
        assert_eq!(Frame::from_samples(samples, 5, 3).unwrap().source.bytes().as_ptr(), address);
    }

    #[test]
    fn at_least_one_row_is_needed() {
        let frame = Frame::from_fn(5, 30, |_, _| 0);
        for (wanted, rows) in [(0..30, 0..30), (7..9, 7..9), (4..4, 4..5), (20..99, 20..30), (50..60, 29..30)]
        {
            assert_eq!(frame.with_rows(wanted).rows(), rows);
        }
    }
}
