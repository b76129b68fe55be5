//! What holds of public types by their kinds: that they are shown by `Debug`, and which of them may go to other threads.

use std::fmt::Debug;

use motion_search::backend::{self, AvailableDevice, Choice, DeviceLimits, DeviceList, Grouping};
use motion_search::estimator::{
    CostKinds, Device, DeviceInfo, DeviceShare, FrameView, Grid, Notice, Output, Parameters, Part, Predictor,
    References, Request, SampleFormat, Slot, StageTimes, Ticket, Window,
};
use motion_search::native::Native;
use motion_search::session::{FrameSlot, Options, Session, WeightedDevice};
use motion_search::stages::SearchedFrames;
use motion_search::tuning::{Launch, Tuning};
use motion_search::{
    Algorithm, Balance, Border, CostKind, DeviceSelector, EstimateError, FieldError, Frame, FrameError,
    Kernel, Metric, MotionField, MotionSearch, MotionSearchBuilder, MotionVector, OnDeviceFailure,
    Prediction, Quality, SetupError, Split, SubSample,
};

fn shown<T: Debug + ?Sized>() {}
fn sent<T: Debug + Send + ?Sized>() {}
fn shared<T: Debug + Send + Sync + ?Sized>() {}

/// Calls `$check` for each of these types: the compiler finds what is missing.
macro_rules! each {
    ($check:ident: $($type:ty),+ $(,)?) => { $($check::<$type>();)+ };
}

/// Values, which any thread may read.
#[test]
fn values_are_shared_by_threads() {
    each!(shared: Frame, FrameView<'_>, MotionField, MotionVector, Predictor, Grid, CostKind, CostKinds);
    each!(shared: MotionSearchBuilder, Parameters, Window, References, SampleFormat, Tuning, Launch);
    each!(shared: Algorithm, Border, Metric, Prediction, Quality, SubSample, Kernel, Balance, Split);
    each!(shared: SetupError, EstimateError, FrameError, FieldError);
    each!(shared: DeviceSelector, DeviceList, AvailableDevice, DeviceLimits, Grouping, OnDeviceFailure, Choice);
    each!(shared: backend::TuningSource, backend::TuningWarning, DeviceInfo, DeviceShare, Notice);
    each!(shared: Output, StageTimes, Part, Request, Slot, Ticket, FrameSlot, SearchedFrames<'_>);
    #[cfg(feature = "opencl")]
    each!(shared: backend::Entry, backend::Table, backend::TableError, motion_search::opencl::OpenClDevice);
}

/// What searches: a thread has it for itself, and may give it to another.
#[test]
fn searches_move_between_threads() {
    each!(sent: MotionSearch, Session, Session<String>, Options, WeightedDevice, Native);
    #[cfg(feature = "opencl")]
    each!(sent: motion_search::opencl::OpenCl);
    fn is_send<T: Send + ?Sized>() {}
    is_send::<dyn Device>();
    shown::<MotionSearch>();
}

#[test]
fn a_search_is_shown_by_what_it_searches_for() {
    let builder = MotionSearch::builder(40, 30).device("native").block_size(8);
    let search = builder.build().unwrap();
    let text = std::thread::spawn(move || format!("{search:?}")).join().unwrap();
    assert!(text.starts_with("MotionSearch { device: \"native\", parameters: Parameters {"), "{text}");
    assert!(text.contains("width: 40") && text.contains("frames: 0"), "{text}");
}
