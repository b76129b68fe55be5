//! Frames: noise, other sample depths, strides and memory.

use std::sync::Arc;

use motion_search::estimator::{
    BlockHandle, Device, Frame, FrameSource, FrameView, HostBlock, MotionVector, Parameters,
};

/// A small generator of noise: the same numbers everywhere.
pub struct Noise(u32);

impl Noise {
    /// The numbers that follow `seed`.
    pub fn new(seed: u32) -> Self {
        Self(seed.wrapping_mul(2_654_435_761) | 1)
    }

    /// The next one.
    #[expect(clippy::should_implement_trait)] // It never ends, and is no `Option`.
    pub fn next(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 24) as u8
    }
}

/// `frame` with samples of `depth` bits: the same from 0 to the largest, and noise in the bits that are new where
/// `is_noisy`.
pub fn deepened(frame: &Frame, depth: u32, is_noisy: bool) -> Frame {
    let (view, mut noise) = (frame.view(), Noise::new(depth));
    let new_bits = depth - 8;
    Frame::deep_from_fn(view.width(), view.height(), depth, |x, y| {
        let sample = view.row(y)[x];
        let lower = if is_noisy { noise.next() } else { sample };
        u16::from(sample) << new_bits | u16::from(lower) >> (8 - new_bits)
    })
}

/// The eight bits of each sample that hierarchical search sees.
pub fn eight_bits(frame: &Frame) -> Frame {
    let view = frame.view();
    let seen = |x, y| view.format().eight_bits(view.sample(x as i32, y as i32));
    Frame::from_fn(view.width(), view.height(), seen)
}

/// `reference` rebuilt block by block as `vectors` say, over the frame extended to whole blocks.
pub fn reconstruct(parameters: &Parameters, reference: &FrameView<'_>, vectors: &[MotionVector]) -> Frame {
    let (columns, side) = (parameters.grid().columns, parameters.block_size);
    Frame::from_fn(parameters.extended_width(), parameters.extended_height(), |x, y| {
        let vector = vectors[y / side * columns + x / side];
        reference.extended(x as i32 + i32::from(vector.x) / 4, y as i32 + i32::from(vector.y) / 4)
    })
}

/// The samples of `view` in rows `stride` bytes apart, with garbage between the rows.
pub fn with_stride(view: &FrameView<'_>, stride: usize) -> Vec<u8> {
    let mut bytes = vec![0xa5; stride * (view.height() - 1) + view.row_bytes()];
    for y in 0..view.height() {
        bytes[y * stride..][..view.row_bytes()].copy_from_slice(view.row(y));
    }
    bytes
}

/// A copy of `frame` with `padding` bytes between its rows.
pub fn padded(frame: &Frame, padding: usize) -> Frame {
    let view = frame.view();
    let stride = view.row_bytes() + padding;
    Frame::with_format(Arc::new(with_stride(&view, stride)), view.size(), stride, view.format()).unwrap()
}

/// A block of a device's memory that holds a frame from its fourth byte on.
struct InBlock(Box<dyn HostBlock>, Option<BlockHandle>);

impl FrameSource for InBlock {
    fn bytes(&self) -> &[u8] {
        &(*self.0).as_ref()[3..]
    }

    fn block(&self) -> Option<&BlockHandle> {
        self.1.as_ref()
    }
}

/// A copy of `frame` in memory of `device`, if it has such memory, with `padding` bytes between its rows.
pub fn in_memory_of(device: &dyn Device, frame: &Frame, padding: usize) -> Frame {
    let Some(memory) = &device.info().memory else { return padded(frame, padding) };
    let view = frame.view();
    let stride = view.row_bytes() + padding;
    let rows = with_stride(&view, stride);
    let mut block = memory.allocate(rows.len() + 7).unwrap();
    (*block).as_mut()[3..][..rows.len()].copy_from_slice(&rows);
    let handle = block.handle();
    Frame::with_format(Arc::new(InBlock(block, handle)), view.size(), stride, view.format()).unwrap()
}

/// `count` frames of texture that moves, with grain.
pub fn stream(width: usize, height: usize, count: usize) -> Vec<Frame> {
    let mut noise = Noise::new(count as u32);
    let sample = |time: usize, x: usize, y: usize| {
        let (x, y) = (x + 3 * time, y + 2 * time);
        ((x / 5 * 97 + y / 3 * 57 + (x / 5) * (y / 3)) % 180) as u8
    };
    let mut frame = |time| Frame::from_fn(width, height, |x, y| sample(time, x, y) + noise.next() % 40);
    (0..count).map(&mut frame).collect()
}
