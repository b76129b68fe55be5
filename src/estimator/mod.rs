//! The vocabulary of motion estimation, and the trait every backend implements.
//!
//! Nothing here knows of GStreamer, OpenCL or SIMD. [`oracle`] is the definition of what is
//! found: every backend returns the very field it returns.

#[cfg(feature = "opencl")]
pub(crate) mod clock;
mod error;
mod frame;
mod host_memory;
mod kernel;
pub mod oracle;
mod order;
pub(crate) mod pace;
mod parameters;
mod part;
pub mod prediction;
pub mod recurrence;
mod report;
mod slot;
mod tuning;
mod vector;
mod window;

pub use error::{EstimateError, FrameError, SetupError};
pub use frame::{FrameBuf, FrameView};
pub use host_memory::{HostBlock, HostMemory};
pub use kernel::Kernel;
pub use order::OrderKey;
pub use parameters::{Algorithm, Border, Metric, Parameters};
pub use part::Part;
pub use prediction::{Prediction, Predictor};
pub use recurrence::Difference;
pub use report::{DeviceShare, Notice};
pub use slot::Slot;
pub use tuning::{Launch, Tuning};
pub use vector::{Grid, MotionField, MotionVector, UNITS_PER_SAMPLE};
pub use window::{Displacement, MAX_DISPLACEMENT, Window};

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use slot::{Flights, InFlight};

/// How long each stage took for the last frame, as the backend measured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Bringing the frame to where it is searched, borders included.
    pub upload: Duration,
    /// The search itself.
    pub search: Duration,
    /// Bringing the vectors back.
    pub download: Duration,
    /// Predicting the vectors, with bringing the predictors back; zero without prediction.
    pub prediction: Duration,
}

/// Finds the motion between frames, with everything allocated when it was made.
///
/// A frame is loaded once, into a [`Slot`], and stays there: as current frame of one search
/// and, as a rule, as reference of the next. [`Self::search`] does one search and waits for it. To
/// have several in flight, so that a device is kept busy, [`Self::begin`] them, up to
/// [`Self::depth`], and [`Self::finish`] them in the same order.
pub trait Estimator: Send {
    /// What this estimator was made for.
    fn parameters(&self) -> &Parameters;

    /// The device that does the work, in words a user knows it by.
    fn device(&self) -> &str;

    /// The kernel in use; [`Kernel::Auto`] where the device has but one for the algorithm.
    fn kernel(&self) -> Kernel;

    /// The most searches that can be in flight, at least 1. There is one slot more than that.
    fn depth(&self) -> usize;

    /// Whether it can fail in mid-stream: a device may be lost, the CPU's own arithmetic is not.
    fn can_fail(&self) -> bool {
        true
    }

    /// How many searches are in flight.
    fn in_flight(&self) -> usize;

    /// Copies `frame` into `slot`, extended to whole blocks. Its samples are free when this
    /// returns, though the device may not have them yet.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchSlot`], [`EstimateError::SlotInUse`] where a search in flight needs
    /// the frame that is there, [`EstimateError::FrameSize`] where the size is not that of
    /// [`Self::parameters`], and whatever the device reports. The slot is empty after an error but
    /// for the first two.
    fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError>;

    /// As [`Self::load`], but where the samples lie in a block of [`Self::host_memory`] they may be
    /// read until a search of the frame is finished or given up: written to before, the vectors
    /// may be those of another frame. The block itself may be dropped at any time.
    ///
    /// # Errors
    /// As [`Self::load`].
    fn load_shared(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.load(slot, frame)
    }

    /// As [`Self::load_shared`], but of the rows of samples outside `rows` nothing is needed: a search
    /// of a [`Part`] that compares others finds anything in them. Samples above the first row and
    /// below the last repeat these rows, so they need nothing else.
    ///
    /// # Errors
    /// As [`Self::load`].
    fn load_rows(
        &mut self,
        slot: Slot,
        frame: &FrameView<'_>,
        rows: Range<usize>,
    ) -> Result<(), EstimateError> {
        let _ = rows;
        self.load_shared(slot, frame)
    }

    /// Memory from which [`Self::load_shared`] takes frames without copying them; `None` where it
    /// would win nothing.
    fn host_memory(&self) -> Option<Arc<dyn HostMemory>> {
        None
    }

    /// Copies the frame in `slot` back to the host, without the block extension; `None` where
    /// the slot is empty. Meant for moving a reference to another estimator, not for every frame.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError>;

    /// From now on keeps what [`Self::salvage`] needs. `false` where there is no device that could fail,
    /// and nothing is kept.
    fn keep_frames(&mut self) -> bool {
        false
    }

    /// Where frames are kept: whether that in `slot` is kept where [`Self::load_shared`] found it. Then
    /// its samples must not be written to either while another frame is searched in it, or may be
    /// next.
    fn needs_samples(&self, slot: Slot) -> bool {
        let _ = slot;
        false
    }

    /// Copies the samples that [`Self::needs_samples`] tells of, so that they are needed no longer. None
    /// of it may be in flight as current frame.
    fn copy_samples(&mut self, slot: Slot) {
        let _ = slot;
    }

    /// A copy of the frame in `slot` from the host's memory, without a question to the device, which
    /// may have failed; `None` where it was not kept.
    fn salvage(&mut self, slot: Slot) -> Option<FrameBuf> {
        let _ = slot;
        None
    }

    /// Begins to find for every block of the frame in `current` its match in the frame in
    /// `reference`. Neither slot can be loaded again before the search is finished or given up.
    ///
    /// # Errors
    /// As [`Self::begin_part`].
    fn begin(&mut self, current: Slot, reference: Slot) -> Result<(), EstimateError> {
        self.begin_part(current, reference, Part::whole(self.parameters()))
    }

    /// As [`Self::begin`], for a part of the search. [`Self::finish`] then takes room for the vectors
    /// of its blocks alone, and [`Self::predict`] has no field to predict unless the part is the whole.
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`] where a frame is missing, [`EstimateError::InFlight`] where
    /// [`Self::depth`] searches are in flight, [`EstimateError::NoSuchPart`], also where this estimator
    /// does not divide its searches, and whatever the device reports. Nothing has begun after an error.
    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError>;

    /// Waits for the search that began first of those in flight, and writes its vectors, one a
    /// block, to `vectors` (`rows × columns`, row-major).
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`], [`EstimateError::FieldSize`] where `vectors` does not
    /// hold one record a block, and whatever the device reports. After the last the search is given
    /// up; those that began later are not.
    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError>;

    /// Gives up all searches in flight, and forgets the field found last. When it returns, nothing
    /// runs and no memory is read any more; the frames stay in their slots.
    fn cancel(&mut self);

    /// Finds for every block of the frame in `current` its match in the frame in the other
    /// slot of [`Slot::A`] and [`Slot::B`], and writes one vector a block to `vectors`
    /// (`rows × columns`, row-major).
    ///
    /// # Errors
    /// [`EstimateError::InFlight`] where searches are in flight, and those of [`Self::begin`] and
    /// [`Self::finish`].
    fn search(&mut self, current: Slot, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        if self.in_flight() > 0 {
            return Err(EstimateError::InFlight(self.in_flight()));
        }
        let checked = self.parameters().grid().check(vectors);
        let found =
            checked.and_then(|()| self.begin(current, current.other())).and_then(|()| self.finish(vectors));
        if found.is_err() {
            self.cancel();
        }
        found
    }

    /// Writes one predictor a block of the field that was finished last to `predictors`
    /// (`rows × columns`, row-major), as [`Parameters::prediction`] says.
    ///
    /// # Errors
    /// [`EstimateError::NotPredicting`] where the parameters ask for no prediction,
    /// [`EstimateError::NoField`] where no search was finished since the last that failed or was
    /// given up, [`EstimateError::FieldSize`] where `predictors` does not hold one record a block,
    /// and whatever the device reports.
    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError>;

    /// How long the stages took: of the search finished last, or, where a frame was loaded since
    /// with no search in flight, its upload.
    fn stage_times(&self) -> StageTimes;

    /// How long the search finished last kept the device from the next, where it works on several beside
    /// each other and can tell: less than from beginning to end, where one is uploaded while another is
    /// searched.
    fn occupied(&self) -> Option<Duration> {
        None
    }

    /// Writes to `shares` what each of its devices does; nothing where there is only one.
    fn shares(&self, shares: &mut Vec<DeviceShare>) {
        shares.clear();
    }

    /// Which member of [`Self::shares`] each row of blocks of the field that was finished last came
    /// from, written to `rows`; nothing where that cannot be said by rows.
    fn row_devices(&self, rows: &mut Vec<u8>) {
        rows.clear();
    }

    /// What has happened since this was called last.
    fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}
