/// How much finer than whole samples the vectors of full and three-step search are.
///
/// After the winner of whole samples has been found, each step compares the eight vectors around it that are this step
/// away on each axis, and continues at the best of the nine in the order of
/// [`MotionVector::better`](crate::MotionVector::better). Samples between samples are those of H.264 luma
/// ([`algorithms`](crate::algorithms)), of the endlessly repeated reference frame. The window and the border limit whole samples
/// only: all eight vectors always count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SubSample {
    /// Whole samples.
    #[default]
    None,
    /// Half samples.
    Half,
    /// Half samples, then quarter samples.
    Quarter,
}

impl SubSample {
    /// Its name in properties and errors.
    pub fn name(self) -> &'static str {
        match self {
            SubSample::None => "none",
            SubSample::Half => "half",
            SubSample::Quarter => "quarter",
        }
    }

    /// The steps in quarter samples, longest first.
    #[inline]
    pub fn steps(self) -> &'static [i32] {
        match self {
            SubSample::None => &[],
            SubSample::Half => &[2],
            SubSample::Quarter => &[2, 1],
        }
    }

    /// The samples beyond a block on each side that its refinement reads: half a sample further, six taps reach two
    /// samples more.
    #[inline]
    pub fn reach(self) -> usize {
        if self == SubSample::None { 0 } else { 3 }
    }
}
