use std::sync::OnceLock;

use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Algorithm, EstimateError, FrameError, Parameters, Sample, SampleFormat};

/// Bytes that one task copies.
const BYTES_A_TASK: usize = 256 << 10;

/// Bytes for which one more thread is woken: waking a thread takes about as long as copying this much.
const BYTES_A_HELPER: usize = 512 << 10;

/// The threads that help to copy large frames. They are not those of the global pool: a copy would wait
/// there until a search on the CPU is finished.
/// A process that was forked from the one that started them has none: threads stay behind.
fn copy_threads() -> Option<&'static ThreadPool> {
    static THREADS: OnceLock<(u32, Option<ThreadPool>)> = OnceLock::new();
    let start = || {
        let helpers = std::thread::available_parallelism().map_or(1, usize::from) - 1;
        let pool = ThreadPoolBuilder::new().thread_name(|index| format!("motion-copy-{index}"));
        (helpers > 0).then(|| pool.num_threads(helpers.min(MOST_HELPERS)).build().ok())?
    };
    let (process, threads) = THREADS.get_or_init(|| (std::process::id(), start()));
    threads.as_ref().filter(|_| *process == std::process::id())
}

/// More threads do not copy faster: memory is the limit.
const MOST_HELPERS: usize = 15;

/// Rows of a plane, and where they are copied to: rows that begin `pitch` bytes apart.
#[derive(Debug)]
pub struct PlaneCopy<'a> {
    /// The rows.
    pub from: FrameView<'a>,
    /// Where they are copied to.
    pub to: &'a mut [u8],
    /// Bytes from one row there to the next.
    pub pitch: usize,
}

impl<'a> PlaneCopy<'a> {
    /// Copies of some of its rows each.
    fn tasks(self) -> impl Iterator<Item = Self> {
        let Self { from, to, pitch } = self;
        let (width, height) = (from.row_bytes(), from.height);
        assert!(to.len() >= pitch * (height - 1) + width, "{} bytes for {height} rows", to.len());
        let rows = (BYTES_A_TASK / width).max(1);
        let to = &mut to[..pitch * (height - 1) + width];
        to.chunks_mut(rows * pitch).enumerate().map(move |(task, to)| {
            let first = task * rows;
            Self { from: from.band(first..first + to.len().div_ceil(pitch)), to, pitch }
        })
    }

    fn run(self) {
        let (width, pitch) = (self.from.row_bytes(), self.pitch);
        if self.from.stride == width && pitch == width {
            self.to.copy_from_slice(self.from.as_bytes());
        } else {
            let rows = self.to.chunks_mut(pitch).enumerate();
            rows.for_each(|(y, to)| to[..width].copy_from_slice(self.from.row(y)));
        }
    }
}

/// Copies planes as [`FrameView::copy_to_rows`] does. Those of a frame are copied together, as the threads are then woken once.
///
/// # Panics
/// If one has fewer rows to copy to.
pub fn copy_planes(planes: Vec<PlaneCopy<'_>>) {
    let bytes: usize = planes.iter().map(|plane| plane.from.row_bytes() * plane.from.height).sum();
    let tasks = Mutex::new(planes.into_iter().flat_map(PlaneCopy::tasks));
    let work = || {
        loop {
            let next = tasks.lock().next();
            let Some(task) = next else { return };
            task.run();
        }
    };
    let wanted = bytes / BYTES_A_HELPER;
    let Some(threads) = (wanted > 0).then(copy_threads).flatten() else { return work() };
    let helpers = wanted.min(threads.current_num_threads());
    threads.in_place_scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| work()));
        work();
    });
}

/// A view of a luma plane, read only: `height` rows of `width` samples, `stride` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'a> {
    samples: &'a [u8],
    width: usize,
    height: usize,
    stride: usize,
    format: SampleFormat,
}

impl<'a> FrameView<'a> {
    /// A view of `samples` of eight bits. The last row may end with its last sample.
    ///
    /// # Errors
    /// [`FrameError`] if the frame is empty, its rows overlap or `samples` is too short.
    #[inline]
    pub fn new(samples: &'a [u8], width: usize, height: usize, stride: usize) -> Result<Self, FrameError> {
        Self::with_format(samples, (width, height), stride, SampleFormat::EIGHT_BITS)
    }

    /// A view of samples in `format`, in the bytes `samples`.
    ///
    /// # Errors
    /// As [`Self::new`].
    #[inline]
    pub fn with_format(
        samples: &'a [u8],
        (width, height): (usize, usize),
        stride: usize,
        format: SampleFormat,
    ) -> Result<Self, FrameError> {
        let needed = bytes_needed((width, height), stride, format)?;
        if samples.len() < needed {
            return Err(FrameError::Short { needed, present: samples.len() });
        }
        Ok(Self { samples, width, height, stride, format })
    }

    /// Samples a row.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    #[inline]
    pub fn height(&self) -> usize {
        self.height
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

    /// Bytes of a row, without what lies between rows.
    #[inline]
    pub fn row_bytes(&self) -> usize {
        self.width * self.format.bytes()
    }

    /// Bytes from one row to the next.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All bytes from the first sample to the last, padding between rows included.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        &self.samples[..self.stride * (self.height - 1) + self.row_bytes()]
    }

    /// The bytes of row `y`: its samples, if they have eight bits.
    ///
    /// # Panics
    /// If the frame has no such row.
    #[inline]
    pub fn row(&self, y: usize) -> &'a [u8] {
        &self.samples[y * self.stride..][..self.row_bytes()]
    }

    /// Writes the samples of row `y`. Deeper samples than `S` holds become their
    /// [eight bits](SampleFormat::eight_bits).
    ///
    /// # Panics
    /// If the frame has no such row, or `to` is not as long.
    #[inline]
    pub fn read_row<S: Sample>(&self, y: usize, to: &mut [S]) {
        S::read_row(self.format, self.row(y), to);
    }

    /// Writes the samples of row `y` from pixel `x` on, all of their bits, in pixels of so many samples. Outside the plane,
    /// its edge pixels repeat.
    #[inline(always)]
    pub fn read_pixels(&self, pixel: usize, (x, y): (i32, i32), to: &mut [u16]) {
        let bytes = self.format.bytes();
        let row = self.row(y.clamp(0, self.height as i32 - 1) as usize);
        let inside =
            usize::try_from(x).ok().and_then(|x| row.get(x * pixel * bytes..)?.get(..to.len() * bytes));
        if let Some(inside) = inside {
            return u16::read_row(self.format, inside, to);
        }
        let last = (self.width / pixel) as i32 - 1;
        for (index, to) in to.iter_mut().enumerate() {
            let column = x.saturating_add((index / pixel) as i32).clamp(0, last) as usize;
            let at = column * pixel + index % pixel;
            *to = match bytes {
                1 => row[at].into(),
                _ => self.format.value([row[2 * at], row[2 * at + 1]]),
            };
        }
    }

    /// The samples of eight bits from `(x, y)` on, and the bytes from one row to the next, if `width` x `height` of them
    /// are inside.
    #[inline(always)]
    pub fn inside(&self, (x, y): (i32, i32), (width, height): (usize, usize)) -> Option<(&'a [u8], usize)> {
        debug_assert!(self.format.bytes() == 1);
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        (x + width <= self.width && y + height <= self.height)
            .then(|| (&self.samples[y * self.stride + x..], self.stride))
    }

    /// A view of these rows alone, at least one.
    ///
    /// # Panics
    /// If the frame does not have these rows.
    #[inline]
    pub fn band(&self, rows: std::ops::Range<usize>) -> Self {
        assert!(rows.start < rows.end && rows.end <= self.height, "rows {rows:?} of {}", self.height);
        Self { samples: &self.samples[rows.start * self.stride..], height: rows.len(), ..*self }
    }

    /// Copies the samples as they are to `to`, rows without padding. Several threads copy a large frame; the calling
    /// thread starts at once, because the others may have to be woken.
    ///
    /// # Panics
    /// If `to` is shorter than `row_bytes · height`.
    pub fn copy_to(&self, to: &mut [u8]) {
        self.copy_to_rows(&mut to[..self.row_bytes() * self.height], self.row_bytes());
    }

    /// The same to rows that begin `pitch` bytes apart; the last one may end with its last sample.
    ///
    /// # Panics
    /// If `to` has fewer rows.
    pub fn copy_to_rows(&self, to: &mut [u8], pitch: usize) {
        copy_planes(vec![PlaneCopy { from: *self, to, pitch }]);
    }

    /// The sample at `(x, y)`, of any depth. Outside the frame, its edge samples repeat.
    #[inline(always)]
    pub fn sample(&self, x: i32, y: i32) -> u16 {
        if self.format.bytes() == 1 {
            return u16::from(self.extended(x, y));
        }
        let x = x.clamp(0, self.width as i32 - 1) as usize;
        let y = y.clamp(0, self.height as i32 - 1) as usize;
        let at = y * self.stride + 2 * x;
        self.format.value([self.samples[at], self.samples[at + 1]])
    }

    /// The sample at `(x, y)` of a frame of eight bits. Outside the frame, its edge samples repeat.
    #[inline(always)]
    pub fn extended(&self, x: i32, y: i32) -> u8 {
        let x = x.clamp(0, self.width as i32 - 1) as usize;
        let y = y.clamp(0, self.height as i32 - 1) as usize;
        self.samples[y * self.stride + x]
    }

    /// Checks that the frame has the size and the bit depth of `parameters`. Hierarchical search takes any depth.
    ///
    /// # Errors
    /// [`EstimateError::FrameSize`], [`EstimateError::BitDepth`].
    #[inline]
    pub fn check(&self, parameters: &Parameters) -> Result<(), EstimateError> {
        check(self.size(), self.format, parameters)
    }
}

/// The bytes from the first sample to the last of a frame of this size, whose rows are `stride` bytes apart.
#[inline]
pub(super) fn bytes_needed(
    (width, height): (usize, usize),
    stride: usize,
    format: SampleFormat,
) -> Result<usize, FrameError> {
    if width == 0 || height == 0 {
        return Err(FrameError::Empty(width, height));
    }
    let row = width.saturating_mul(format.bytes());
    if stride < row {
        return Err(FrameError::Stride { width, stride });
    }
    Ok((stride.saturating_mul(height - 1)).saturating_add(row))
}

/// As [`FrameView::check`], of a frame of this size and format.
#[inline]
pub(super) fn check(
    (width, height): (usize, usize),
    format: SampleFormat,
    parameters: &Parameters,
) -> Result<(), EstimateError> {
    if (width, height) != (parameters.width, parameters.height) {
        return Err(EstimateError::FrameSize(width, height, parameters.width, parameters.height));
    }
    if format.depth() != parameters.bit_depth && parameters.algorithm != Algorithm::Hierarchical {
        return Err(EstimateError::BitDepth(format.depth(), parameters.bit_depth));
    }
    Ok(())
}
