//! What tests of misuse begin with, and how they look at what they get.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use motion_search::estimator::{Frame, MotionVector, Parameters, Window};

/// A search that is made where nothing is wrong.
pub fn parameters() -> Parameters {
    Parameters::new(16, 12, 8, Window::symmetric(3, 3).expect("a window"))
}

/// A field of [`parameters`] without motion.
pub const VECTORS: [MotionVector; 4] = [MotionVector { x: 0, y: 0, cost: 0 }; 4];

/// A frame of [`parameters`].
pub fn frame() -> Frame {
    Frame::from_fn(16, 12, |x, y| (x * 13 + y * 7) as u8)
}

/// A frame that is smaller than theirs.
pub fn small() -> Frame {
    Frame::from_fn(8, 8, |_, _| 0)
}

/// One whose samples have more bits.
pub fn deep() -> Frame {
    Frame::deep_from_fn(16, 12, 10, |_, _| 0)
}

/// Checks that `call` panics, as its documentation says.
///
/// # Panics
/// If it does not.
pub fn panics<T>(name: &str, call: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err(), "{name} does not panic");
}

/// Checks that `result` is the error that `is_expected` describes.
///
/// # Panics
/// If it is not.
pub fn fails<T, E: Debug>(name: &str, result: Result<T, E>, is_expected: impl FnOnce(&E) -> bool) {
    match result {
        Ok(_) => panic!("{name} is accepted"),
        Err(error) => assert!(is_expected(&error), "{name}: {error:?}"),
    }
}
