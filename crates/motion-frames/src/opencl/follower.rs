//! What estimates the noise of frames from what the device tells of their blocks, on threads of the host.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use super::denoising::{DeviceTold, ToldLayout};
use crate::denoising::{Evidence, NoiseHistory, NoiseLevel, NoiseMap, NoiseMemory, flickers};
use crate::interpolation::FrameFormat;
use motion_base::{SetupError, threads};
use motion_gpu::context::Context;
use motion_gpu::host::PinnedBlock;
use motion_gpu::launcher::{self, Event};

/// Follows the noise of a stream, one frame after the other, beside the thread that asks for it.
pub(super) struct NoiseFollower {
    /// Away while a frame is followed.
    estimate: Option<Box<NoiseEstimate>>,
    followed: Option<Receiver<FollowedFrame>>,
    level: NoiseLevel,
    blocks: usize,
    /// Where the host reads what the device tells.
    told: Arc<PinnedBlock>,
    layout: Arc<ToldLayout>,
    threads: Arc<rayon::ThreadPool>,
    context: Arc<Context>,
}

/// The noise of a stream.
struct NoiseEstimate {
    noise: NoiseMap,
    memory: NoiseMemory,
    /// What the noise was before.
    history: NoiseHistory,
}

/// The noise, and what became of the frame: it panicked, or the device has failed, or all is well.
type FollowedFrame = (Box<NoiseEstimate>, thread::Result<launcher::Result<()>>);

/// A frame beside the one whose noise is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    /// Its number among the frames that the device compares.
    pub(super) reference: usize,
    /// Whether it comes before.
    pub(super) is_previous: bool,
}

impl NoiseFollower {
    /// For frames of `format` and so many blocks, of which the device writes to `told`, as `layout` says. It has so many `threads`, 0
    /// for one a core.
    ///
    /// # Errors
    /// [`SetupError`] if memory or threads are missing.
    pub(super) fn new(
        context: &Arc<Context>,
        format: &FrameFormat,
        blocks: usize,
        (told, layout): (&Arc<PinnedBlock>, &Arc<ToldLayout>),
        threads: usize,
    ) -> Result<Self, SetupError> {
        let estimate = NoiseEstimate {
            noise: NoiseMap::new(format.size, format.samples.depth())?,
            memory: NoiseMemory::new(format.size, format.samplings.len() > 1)?,
            history: NoiseHistory::default(),
        };
        Ok(Self {
            estimate: Some(Box::new(estimate)),
            followed: None,
            level: NoiseLevel::MEASURED,
            blocks,
            told: told.clone(),
            layout: layout.clone(),
            threads: threads::pool(threads)?,
            context: context.clone(),
        })
    }

    /// Whether the noise of the frames that are followed from now on is measured, or known.
    pub(super) fn set_level(&mut self, level: NoiseLevel) {
        self.level = level;
    }

    pub(super) fn level(&self) -> NoiseLevel {
        self.level
    }

    /// Notes the noise, so that [`Self::go_back`] forgets what is followed from now on.
    pub(super) fn note(&mut self) {
        let mut estimate = self.take();
        estimate.noise.note(&mut estimate.history);
        self.estimate = Some(estimate);
    }

    /// Begins to follow the noise to a frame, of which the device has told when `read` is done, within `limit`.
    pub(super) fn start(&mut self, read: Event, limit: Duration, beside: Vec<Beside>) {
        let mut estimate = self.take();
        let (told, layout, context) = (self.told.clone(), self.layout.clone(), self.context.clone());
        let (blocks, level) = (self.blocks, self.level);
        let (send, receive) = sync_channel(1);
        self.followed = Some(receive);
        self.threads.spawn(move || {
            let follow = || {
                context.watch().wait(&read, limit)?;
                // SAFETY: the device has written it, and writes it again only for a frame that is started later.
                let bytes = unsafe { told.as_slice() };
                estimate.follow(DeviceTold { bytes, layout: &layout }, level, blocks, &beside);
                Ok(())
            };
            let done = catch_unwind(AssertUnwindSafe(follow));
            // Nobody waits for it any more once the denoiser is dropped.
            let _ = send.send((estimate, done));
        });
    }

    /// Waits until the frame that was started is followed.
    ///
    /// # Errors
    /// What the device reports.
    pub(super) fn finish(&mut self) -> launcher::Result<()> {
        let Some(followed) = self.followed.take() else { return Ok(()) };
        let (estimate, done) = followed
            .recv()
            .unwrap_or_else(|error| unreachable!("each frame that is started is sent: {error}"));
        self.estimate = Some(estimate);
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The noise of the frame that was followed last.
    ///
    /// # Panics
    /// If one that was started is not finished.
    pub(super) fn noise(&self) -> &NoiseMap {
        match &self.estimate {
            Some(estimate) => &estimate.noise,
            None => unreachable!("a frame is followed"),
        }
    }

    /// Forgets the frames since [`Self::note`].
    pub(super) fn go_back(&mut self) {
        let mut estimate = self.take();
        estimate.noise.go_back(&estimate.history);
        self.estimate = Some(estimate);
    }

    /// Forgets the noise of the frames up to now.
    pub(super) fn restart(&mut self) {
        let mut estimate = self.take();
        estimate.noise.restart();
        self.estimate = Some(estimate);
    }

    /// The noise, of no frame that is being followed: what became of that does not matter.
    fn take(&mut self) -> Box<NoiseEstimate> {
        let _ = self.finish();
        self.estimate.take().unwrap_or_else(|| unreachable!("no frame is followed"))
    }
}

impl Drop for NoiseFollower {
    fn drop(&mut self) {
        // It reads memory that the device writes to.
        let _ = self.followed.take().map(|followed| followed.recv());
    }
}

impl NoiseEstimate {
    fn follow(&mut self, told: DeviceTold<'_>, level: NoiseLevel, blocks: usize, beside: &[Beside]) {
        self.noise.set_level(level);
        let evidence = beside.iter().enumerate().map(|(number, &Beside { reference, is_previous })| {
            let (luma, chroma) = told.errors(number);
            let flickers = flickers(told.of_other_light()[reference] as usize, blocks);
            Evidence { is_previous, flickers, luma, chroma }
        });
        let evidence: Vec<_> = evidence.collect();
        self.noise.follow(told.luma(), told.chroma(), &evidence, &mut self.memory);
    }
}
