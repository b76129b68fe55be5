//! A picture that several threads read.

use std::sync::Arc;

use rayon::prelude::*;

use crate::estimator::{HostBlock, HostMemory, Parameters, Picture, PictureBuf};

/// Bytes that one task copies: fewer and starting it costs more than the copy.
const BYTES_A_TASK: usize = 256 << 10;

/// Memory of one picture.
enum Samples {
    Own(Vec<u8>),
    /// From which one of the devices reads without a copy.
    Host(Box<dyn HostBlock>),
}

/// A picture and its number, which no other picture of the group ever has.
pub(super) struct Frame {
    number: u64,
    samples: Samples,
    width: usize,
    height: usize,
}

impl Frame {
    fn new(parameters: &Parameters, memory: Option<&Arc<dyn HostMemory>>) -> Self {
        let Parameters { width, height, .. } = *parameters;
        let bytes = width * height;
        // Without such memory it takes a copy more, nothing else.
        let host = memory.and_then(|memory| memory.allocate(bytes).ok());
        let samples = host.map_or_else(|| Samples::Own(vec![0; bytes]), Samples::Host);
        Self { number: 0, samples, width, height }
    }

    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The picture.
    pub(super) fn view(&self) -> Picture<'_> {
        let samples = match &self.samples {
            Samples::Own(samples) => samples,
            Samples::Host(block) => (**block).as_ref(),
        };
        Picture::new(samples, self.width, self.height, self.width)
            .unwrap_or_else(|_| unreachable!("there is memory for every sample"))
    }

    /// A copy of the picture.
    pub(super) fn picture(&self) -> Option<PictureBuf> {
        PictureBuf::new(self.view().as_bytes().to_vec(), self.width, self.height).ok()
    }

    fn fill(&mut self, number: u64, picture: &Picture<'_>) {
        self.number = number;
        let samples = match &mut self.samples {
            Samples::Own(samples) => samples,
            Samples::Host(block) => (**block).as_mut(),
        };
        if picture.stride() == self.width {
            let from = picture.as_bytes();
            let parts = samples[..from.len()].par_chunks_mut(BYTES_A_TASK).zip(from.par_chunks(BYTES_A_TASK));
            parts.for_each(|(to, from)| to.copy_from_slice(from));
        } else {
            let rows = samples.par_chunks_exact_mut(self.width).take(self.height).enumerate();
            rows.with_min_len(BYTES_A_TASK.div_ceil(self.width))
                .for_each(|(y, row)| row.copy_from_slice(picture.row(y)));
        }
    }
}

/// Frames that nobody reads any more, to be filled again.
pub(super) struct Frames {
    parameters: Parameters,
    memory: Option<Arc<dyn HostMemory>>,
    /// Some of them may be read still.
    spare: Vec<Arc<Frame>>,
    filled: u64,
}

impl Frames {
    /// Frames for pictures as `parameters` say, in `memory` where there is any.
    pub(super) fn new(parameters: &Parameters, memory: Option<Arc<dyn HostMemory>>) -> Self {
        Self { parameters: parameters.clone(), memory, spare: Vec::new(), filled: 0 }
    }

    /// A copy of `picture`, which must be of the parameters' size. In a running stream nothing is
    /// allocated for it.
    pub(super) fn fill(&mut self, picture: &Picture<'_>) -> Arc<Frame> {
        self.filled += 1;
        let free = self.spare.iter_mut().position(|frame| Arc::get_mut(frame).is_some());
        let mut frame = match free {
            Some(index) => self.spare.swap_remove(index),
            None => Arc::new(Frame::new(&self.parameters, self.memory.as_ref())),
        };
        if let Some(frame) = Arc::get_mut(&mut frame) {
            frame.fill(self.filled, picture);
        }
        frame
    }

    /// Takes a frame back that is wanted no longer, though it may be read.
    pub(super) fn put_back(&mut self, frame: Arc<Frame>) {
        self.spare.push(frame);
    }
}
