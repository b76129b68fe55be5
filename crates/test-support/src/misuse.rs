//! How tests of misuse look at what they get.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
