//! The frames that are searched in place of those in memory of the device (`kernels/search_frame.cl`).

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::groups::{GroupedKernel, PLANE_GROUP};
use super::kernel_file::KernelFile;
use super::layout::InterpolationLayout;
use crate::interpolation::{FrameFormat, halved};
use motion_base::{BlockHandle, Frame, FrameSource, SetupError};
use motion_gpu::context::{Context, begin_copy};
use motion_gpu::device::OpenClDevice;
use motion_gpu::host::PinnedBlock;
use motion_gpu::launcher::{self, Arg, Buffer, Event, Queue, QueueKind, Rectangle};
use motion_gpu::program;

/// Makes search frames on the device, and downloads them: the CPU tells scene cuts by them.
pub(super) struct DeviceSearchFrames {
    narrow: GroupedKernel,
    halve: GroupedKernel,
    /// The eight bits of luma, if it has others or is not halved.
    narrowed: Option<Buffer>,
    /// What each halving makes.
    halved: Vec<Buffer>,
    size: (usize, usize),
    pitch: usize,
    sample_bytes: usize,
    /// Those in use are held by their frames too.
    blocks: Vec<Arc<PinnedBlock>>,
    queue: Arc<Queue>,
    context: Arc<Context>,
}

/// A search frame in page-locked memory.
struct PinnedSamples {
    block: Arc<PinnedBlock>,
    handle: BlockHandle,
    bytes: usize,
}

impl FrameSource for PinnedSamples {
    fn bytes(&self) -> &[u8] {
        // SAFETY: a block is written to only while no frame holds it.
        let samples = unsafe { self.block.as_slice() };
        &samples[..self.bytes]
    }

    fn block(&self) -> Option<&BlockHandle> {
        Some(&self.handle)
    }
}

impl DeviceSearchFrames {
    /// # Errors
    /// [`SetupError`]: too little memory, kernels that do not build, what the device reports.
    pub(super) fn new(
        context: &Arc<Context>,
        device: &OpenClDevice,
        format: &FrameFormat,
        layout: &InterpolationLayout,
    ) -> Result<Self, SetupError> {
        let ((black, lower), samples) = (format.samples.levels(), format.samples);
        let options = format!(
            "-D DEPTH={} -D SHIFT={} -D BLACK={black} -D LOWER={lower}",
            samples.depth(),
            samples.shift()
        );
        let source = KernelFile::SearchFrame.source();
        let program = program::build(context, device, super::kernels::NAME, &source, &options)?;
        let grouped = |name| GroupedKernel::new(device, &program, name, PLANE_GROUP);
        let (size, halvings) = (format.size, layout.halvings);
        let buffer = |bytes| device.buffer(context, "a smaller frame", bytes);
        let is_narrowed = samples.depth() > 8 || halvings == 0;
        let queue = context.queue(QueueKind::Ordered).map_err(|error| device.refused(error))?;
        Ok(Self {
            narrow: grouped(c"narrow_luma")?,
            halve: grouped(c"halve_luma")?,
            narrowed: is_narrowed.then(|| buffer(size.0 * size.1)).transpose()?,
            halved: (1..=halvings)
                .map(|halvings| buffer(halved(size.0, halvings) * halved(size.1, halvings)))
                .collect::<Result<_, _>>()?,
            size,
            pitch: layout.planes[0].pitch,
            sample_bytes: samples.bytes(),
            blocks: Vec::new(),
            queue: queue.into(),
            context: context.clone(),
        })
    }

    /// The search frame of `luma`, a plane of the stream's format that is copied to `buffer`, made within `limit`.
    pub(super) fn copy_and_make(
        &mut self,
        luma: &Frame,
        buffer: &Buffer,
        limit: Duration,
    ) -> launcher::Result<Frame> {
        let (width, height) = self.size;
        let rows = Rectangle { left: 0, top: 0, width: width * self.sample_bytes, height, pitch: self.pitch };
        self.context.watch().check()?;
        // SAFETY: the plane has all rows of its size, and is read no more when this returns, unless the device does not
        // answer.
        unsafe { begin_copy(&self.context, &self.queue, luma, buffer, rows)? };
        let made = self.make(buffer, limit);
        if self.context.watch().is_lost() {
            // The device may read it yet.
            mem::forget(luma.clone());
        }
        made
    }

    /// As [`Self::copy_and_make`], of the plane of luma at the start of `luma` when `loaded` is done.
    pub(super) fn make_of_loaded(
        &mut self,
        luma: &Buffer,
        loaded: &Event,
        limit: Duration,
    ) -> launcher::Result<Frame> {
        self.context.watch().check()?;
        self.queue.barrier(&[loaded])?;
        self.make(luma, limit)
    }

    /// Makes the search frame of the plane of luma at the start of `luma`.
    fn make(&mut self, luma: &Buffer, limit: Duration) -> launcher::Result<Frame> {
        let watch = self.context.watch();
        let (mut width, mut height) = self.size;
        let (mut whole, mut pitch) = (luma, self.pitch);
        if let Some(narrowed) = &self.narrowed {
            let in_samples = Arg::Int((pitch / self.sample_bytes) as i32);
            let [x, y] = [width, height].map(|side| Arg::Int(side as i32));
            let args = [Arg::Buffer(whole), in_samples, Arg::Buffer(narrowed), x, y];
            // SAFETY: it leaves out items outside the plane, which both buffers hold.
            unsafe { self.narrow.launch(&self.queue, &args, [width, height, 1])? };
            (whole, pitch) = (narrowed, width);
        }
        for half in &self.halved {
            let [x, y, pitch_of_whole] = [width, height, pitch].map(|number| Arg::Int(number as i32));
            let args = [Arg::Buffer(whole), pitch_of_whole, Arg::Buffer(half), x, y];
            (width, height) = (halved(width, 1), halved(height, 1));
            // SAFETY: it leaves out items outside the smaller plane, and limits what it reads to the larger one.
            unsafe { self.halve.launch(&self.queue, &args, [width, height, 1])? };
            (whole, pitch) = (half, width);
        }
        let bytes = width * height;
        let made = self.queue.marker()?;
        let block = match self.blocks.iter().position(|block| Arc::strong_count(block) == 1) {
            Some(free) => self.blocks.swap_remove(free),
            None => Arc::new(PinnedBlock::map(&self.context, &self.queue, bytes)?),
        };
        // SAFETY: the block is held by this alone until the samples are there, and is leaked if they never are.
        let read = unsafe { self.queue.begin_read(whole, block.target(), bytes, &made)? };
        let read = self.queue.flush().and_then(|()| watch.wait(&read, limit));
        self.blocks.push(block.clone());
        read?;
        let samples = PinnedSamples { handle: block.clone(), block, bytes };
        Ok(Frame::new(Arc::new(samples), width, height, width)
            .unwrap_or_else(|error| unreachable!("a frame without padding: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compensation::Sampling;
    use crate::interpolation::oracle::search_frame;
    use motion_base::{Launcher, SampleFormat};
    use motion_gpu::devices;

    #[test]
    fn search_frames_are_those_of_the_definition() {
        let deep = |depth, shift| SampleFormat::new(depth, shift).unwrap();
        let formats = [
            ((61, 33), SampleFormat::EIGHT_BITS),
            ((1025, 531), SampleFormat::EIGHT_BITS),
            ((2051, 1025), SampleFormat::EIGHT_BITS),
            ((40, 24), deep(10, 6).with_levels(64, 940)),
            ((1026, 529), deep(12, 0)),
        ];
        for device in devices() {
            let context = Arc::new(device.new_context(Launcher::OpenCl).unwrap());
            for (size, samples) in formats {
                let format = FrameFormat { size, samplings: vec![Sampling::LUMA], samples };
                let layout = InterpolationLayout::new(&format);
                let mut makes = DeviceSearchFrames::new(&context, &device, &format, &layout).unwrap();
                let stride = (size.0 + 3) * samples.bytes();
                // Any samples: with bits outside those that count, too.
                let bytes: Vec<_> = (0..stride * size.1).map(|at| (at * at / 7 % 251) as u8).collect();
                let luma = Frame::with_format(Arc::new(bytes), size, stride, samples).unwrap();
                let expected = search_frame(&luma.view());
                let limit = Duration::from_secs(60);
                let buffer = context.buffer(layout.luma_bytes()).unwrap();
                let mut make = || makes.copy_and_make(&luma, &buffer, limit).unwrap();
                let made: Vec<_> = (0..3).map(|_| make()).collect();
                assert!(made.iter().all(|made| *made == expected), "{}: {format:?}", device.name);
                assert!(made.iter().all(PinnedBlock::holds), "{}", device.name);
                drop(made);
                make();
                assert_eq!(makes.blocks.len(), 3, "blocks are used again");
            }
        }
    }
}
