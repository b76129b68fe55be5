//! The frames that are searched in place of those of the stream.

use std::cell::RefCell;
use std::sync::Arc;

use super::halved;
use crate::estimator::{Frame, FrameView, RecordPool, SetupError};
use motion_base::memory;
use motion_base::sampling::{CompensationError, check_plane};
use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::threads::each_band;

/// Rows that a task makes: with fewer, starting the task costs more than it saves.
const ROWS_A_TASK: usize = 16;

thread_local! {
    /// Two rows of the frame that is halved. Tasks take no memory for them.
    static PAIR: RefCell<[Vec<u8>; 2]> = RefCell::default();
}

/// Makes search frames from luma planes of one size.
pub struct SearchFrames {
    /// The frames between the luma plane and the search frame, which are halved again.
    larger: Vec<Vec<u8>>,
    size: (usize, usize),
    is_halved: bool,
    pool: RecordPool<u8>,
}

impl SearchFrames {
    /// For luma planes of this size, which are halved so often.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new((width, height): (usize, usize), halvings: u32) -> Result<Self, SetupError> {
        let size = |halvings| (halved(width, halvings), halved(height, halvings));
        let larger = |halvings| {
            let (width, height) = size(halvings);
            memory::values("a smaller frame", width * height)
        };
        Ok(Self {
            larger: (1..halvings).map(larger).collect::<Result<_, _>>()?,
            size: size(halvings),
            is_halved: halvings > 0,
            pool: RecordPool::default(),
        })
    }

    /// Checks that `frame` may be a search frame.
    ///
    /// # Errors
    /// As [`check_plane`].
    pub fn check(&self, frame: &FrameView<'_>) -> Result<(), CompensationError> {
        check_plane(frame, self.size, 8)
    }

    /// The search frame of `luma`.
    pub fn make(&mut self, instructions: Instructions, luma: &FrameView<'_>) -> Frame {
        let (width, height) = self.size;
        let mut samples = self.pool.take(width * height);
        if self.is_halved {
            let mut whole = *luma;
            for half in &mut self.larger {
                halve(instructions, &whole, half);
                whole = view(half, halved(whole.width(), 1), halved(whole.height(), 1));
            }
            halve(instructions, &whole, &mut samples);
        } else {
            samples.chunks_exact_mut(width).enumerate().for_each(|(y, row)| luma.read_row(y, row));
        }
        Frame::new(Arc::new(samples), width, height, width)
            .unwrap_or_else(|error| unreachable!("a frame without padding: {error}"))
    }
}

fn view(samples: &[u8], width: usize, height: usize) -> FrameView<'_> {
    FrameView::new(samples, width, height, width)
        .unwrap_or_else(|error| unreachable!("a frame without padding: {error}"))
}

/// Writes the eight bits of `whole` that are searched, at half its size.
fn halve(instructions: Instructions, whole: &FrameView<'_>, half: &mut [u8]) {
    let (width, height) = whole.size();
    let row = halved(width, 1);
    each_band(half, row * ROWS_A_TASK, &|task, rows| {
        PAIR.with_borrow_mut(|pair| {
            // Of an even length, with the last sample twice if need be.
            pair.iter_mut().for_each(|samples| samples.resize(2 * row, 0));
            for (index, half) in rows.chunks_exact_mut(row).enumerate() {
                let y = 2 * (task * ROWS_A_TASK + index);
                for (y, samples) in [y, y + 1].into_iter().zip(&mut *pair) {
                    whole.read_row(y.min(height - 1), &mut samples[..width]);
                    samples[2 * row - 1] = samples[width - 1];
                }
                instructions.run(HalvedRow { pair: [&pair[0], &pair[1]], half });
            }
        });
    });
}

/// A row of means of 2 x 2 samples.
struct HalvedRow<'a> {
    pair: [&'a [u8]; 2],
    half: &'a mut [u8],
}

impl<E: InstructionSet> Work<E> for HalvedRow<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let [upper, lower] = self.pair.map(|row| row.as_chunks::<2>().0);
        for ((half, upper), lower) in self.half.iter_mut().zip(upper).zip(lower) {
            let [a, b, c, d] = [upper[0], upper[1], lower[0], lower[1]].map(u16::from);
            *half = ((a + b + c + d + 2) >> 2) as u8;
        }
    }
}
