use std::fmt;
use std::sync::Arc;

use motion_base::{EstimateError, Frame, HostMemory, Launching, Parameters};

use super::{Output, Part, Slot};

/// A device that searches: the CPU with its own instructions, or an OpenCL device.
///
/// It allocates everything when it is made, for one set of [`Parameters`]. A frame is loaded into a
/// [`Slot`] once and stays there, as the current frame of one search and as the reference frame of
/// others. Searches in flight are begun and finished in the same order.
pub trait Device: Send {
    /// What the device is, and what it was made for.
    fn info(&self) -> &DeviceInfo;

    /// Loads the needed rows of `frame` into `slot`, extended to whole blocks. The device keeps a clone of
    /// the frame as long as it reads the samples.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchSlot`], [`EstimateError::SlotInUse`] if a search in flight needs the frame
    /// in the slot, [`EstimateError::FrameSize`], and what the device reports. After an error the slot is
    /// empty, except after the first two.
    fn load_frame(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError>;

    /// A copy of the frame in `slot`; `None` if the slot is empty. It moves a reference frame to another
    /// device; it is not meant for every frame.
    ///
    /// # Errors
    /// What the device reports.
    fn unload_frame(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError>;

    /// Begins a search. Its slots cannot be loaded before it is finished or cancelled.
    ///
    /// # Errors
    /// [`EstimateError::EmptySlot`], [`EstimateError::InFlight`] if [`DeviceInfo::depth`] searches are in
    /// flight, [`EstimateError::NoSuchPart`], and what the device reports. Nothing has begun after an
    /// error.
    fn start_search(&mut self, request: Request) -> Result<Ticket, EstimateError>;

    /// Waits for the search of `ticket`, the oldest in flight, and writes what it found to `output`:
    /// `vectors` has one record for each block of the part. `predictors` is not touched.
    ///
    /// # Errors
    /// [`EstimateError::NothingInFlight`] if the ticket is not that of the oldest search in flight,
    /// [`EstimateError::FieldSize`], and what the device reports. After the last one the search is over.
    fn finish_search(&mut self, ticket: Ticket, output: &mut Output) -> Result<(), EstimateError>;

    /// Cancels all searches in flight. When it returns, the device does nothing and reads no frame. Frames
    /// stay in their slots.
    fn cancel(&mut self);
}

/// Searches the frame in `current` in the frame in `reference`, and waits for the result.
///
/// # Errors
/// Those of [`Device::start_search`] and [`Device::finish_search`].
pub fn search(
    device: &mut dyn Device,
    current: Slot,
    reference: Slot,
    output: &mut Output,
) -> Result<(), EstimateError> {
    let part = Part::whole(&device.info().parameters);
    part.grid(&device.info().parameters).check(&output.vectors)?;
    let ticket = device.start_search(Request { current, reference, part, offset: -1 })?;
    let finished = device.finish_search(ticket, output);
    if finished.is_err() {
        device.cancel();
    }
    finished
}

/// What a [`Device`] is, and what it was made for.
#[derive(Clone)]
pub struct DeviceInfo {
    /// What it searches for.
    pub parameters: Parameters,
    /// Its name.
    pub name: Arc<str>,
    /// The name of its kernel.
    pub kernel: &'static str,
    /// What launches its kernels; `None` for a device whose kernels nothing launches.
    pub launching: Option<Launching>,
    /// The parts of the window that its kernel tries in less time than all of it.
    pub window_parts: WindowParts,
    /// The most searches in flight, at least 1.
    pub depth: usize,
    /// The number of its slots, at least 2.
    pub slots: usize,
    /// Whether it may fail in mid-stream. The CPU's own instructions do not.
    pub can_fail: bool,
    /// Whether it counts as failed if it does not answer for a long time. Not for a device on the CPU, which a
    /// loaded machine makes slow; such a device watches its own progress.
    pub can_hang: bool,
    /// Memory from which it loads frames without a copy, if there is such.
    pub memory: Option<Arc<dyn HostMemory>>,
}

/// The parts of a window that a kernel tries in less time than the whole window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowParts {
    /// None: it tries the whole window for each part.
    Whole,
    /// Rows of displacements. For a part of a row it may try the whole row.
    Rows,
    /// Single displacements.
    Displacements,
}

impl fmt::Debug for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            parameters,
            name,
            kernel,
            launching,
            window_parts,
            depth,
            slots,
            can_fail,
            can_hang,
            memory,
        } = self;
        f.debug_struct("DeviceInfo")
            .field("name", name)
            .field("kernel", kernel)
            .field("launching", launching)
            .field("parameters", parameters)
            .field("window_parts", window_parts)
            .field("depth", depth)
            .field("slots", slots)
            .field("can_fail", can_fail)
            .field("can_hang", can_hang)
            .field("has_memory", &memory.is_some())
            .finish()
    }
}

/// A search that a [`Device`] is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The slot of the current frame.
    pub current: Slot,
    /// The slot of the reference frame.
    pub reference: Slot,
    /// The part of the search that is wanted.
    pub part: Part,
    /// Frames from the current frame to the reference frame, see [`References`](super::References). A device may start
    /// from what its previous search with this offset found; the result does not depend on it.
    pub offset: i64,
}

impl Request {
    /// The numbers of both slots: that of the current frame, and that of the reference frame.
    pub(crate) fn slots(&self) -> [usize; 2] {
        [self.current, self.reference].map(Slot::index)
    }
}

/// A search in flight on a [`Device`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub(crate) u64);
