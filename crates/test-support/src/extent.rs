//! How much the tests do.

use std::env;

/// How many cases the tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// A part of each kind of cases, for every day.
    Quick,
    /// All cases: what continuous integration runs.
    Complete,
    /// Also the faults of every single OpenCL call, which takes an hour.
    Long,
}

impl Extent {
    /// What is asked for: `MOTION_TESTS` is `quick`, `complete` or `long`. Without it the nextest profile `ci` means
    /// complete, and everything else quick.
    ///
    /// # Panics
    /// If the variable is something else.
    pub fn wanted() -> Self {
        match env::var("MOTION_TESTS").as_deref() {
            Ok("quick") => Self::Quick,
            Ok("complete") => Self::Complete,
            Ok("long") => Self::Long,
            Ok(other) => panic!("MOTION_TESTS is {other}: use quick, complete or long"),
            Err(_) if env::var("NEXTEST_PROFILE").is_ok_and(|profile| profile == "ci") => Self::Complete,
            Err(_) => Self::Quick,
        }
    }

    /// Whether all cases are run.
    pub fn is_complete() -> bool {
        Self::wanted() >= Self::Complete
    }
}

/// All of `cases`, or in the quick form every `step`th of them, and the first.
///
/// A `step` without a common factor with the lengths of the loops that made the cases takes some of each kind.
pub fn some_of<T>(step: usize, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if Extent::is_complete() { 1 } else { step })
}
