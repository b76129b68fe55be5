//! Whether two frames show different scenes, by a search on the CPU.

use motion_frames::interpolation::{SearchInput, search_parameters};
use motion_search::backend::{self, DeviceSelector, Grouping};
use motion_search::estimator::Frame;
use motion_search::session::Session;
use motion_search::tuning::{Kernel, Tuning};

/// What searches frames of one size, and tells cuts.
pub struct CutSearch {
    session: Session<()>,
    /// What makes search frames and tells cuts by a field.
    pub input: SearchInput,
}

impl CutSearch {
    /// For frames of `size`.
    ///
    /// # Panics
    /// If they are empty or too large.
    pub fn new(size: (usize, usize)) -> Self {
        let parameters = search_parameters(size.0, size.1).unwrap();
        let tuning = Tuning { threads: Some(1), depth: Some(1), ..Tuning::default() };
        let (native, grouping) = (DeviceSelector::Native, Grouping::default());
        let (session, _) = backend::open(&native, Kernel::Auto, &tuning, grouping, &parameters).unwrap();
        Self { session, input: SearchInput::new(size, 1).unwrap() }
    }

    /// Whether the next frame shows another scene than the previous one.
    ///
    /// # Panics
    /// If they have another size.
    pub fn is_cut(&mut self, [previous, next]: [&Frame; 2]) -> bool {
        let Self { session, input } = self;
        let frames = [previous, next].map(|frame| input.frame(&frame.view()).unwrap());
        let slots = frames.each_ref().map(|frame| session.add_frame(frame.clone()).unwrap());
        session.start_search(slots[0], slots[1], ()).unwrap();
        let ((), found) = session.finish_search().unwrap();
        session.release_frames();
        input.is_scene_cut(frames.each_ref(), &found.vectors).unwrap()
    }
}
