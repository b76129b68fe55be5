/// The frames in which each frame of a stream is searched. Each gives a field.
///
/// An *offset* is the number of frames from the current frame to the reference frame: -1 is the previous frame, +1 the
/// next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct References {
    /// The number of earlier frames: offsets -1, -2, and so on.
    pub backward: usize,
    /// The number of later frames: offsets +1, +2, and so on.
    pub forward: usize,
}

impl Default for References {
    /// The previous frame.
    fn default() -> Self {
        Self { backward: 1, forward: 0 }
    }
}

impl References {
    /// The most frames each way.
    pub const MOST: usize = 4;

    /// Whether there is a reference frame, and no more than [`Self::MOST`] each way.
    #[inline]
    pub fn is_usable(&self) -> bool {
        (1..=Self::MOST).contains(&self.reach())
    }

    /// The number of reference frames, and of fields, of a frame.
    #[inline]
    pub fn count(&self) -> usize {
        self.backward.saturating_add(self.forward)
    }

    /// The most frames from a frame to one of its reference frames.
    #[inline]
    pub fn reach(&self) -> usize {
        self.backward.max(self.forward)
    }

    /// The offsets of the reference frames: -1, -2, and so on, then +1, +2, and so on.
    pub fn offsets(&self) -> impl Iterator<Item = i64> {
        let Self { backward, forward } = *self;
        (1..=backward as i64).map(|distance| -distance).chain(1..=forward as i64)
    }

    /// The place of `offset` among the offsets, 0 if it is none of them: where to keep what is known from the previous
    /// search at this offset.
    #[inline]
    pub fn index_of(&self, offset: i64) -> usize {
        self.offsets().position(|other| other == offset).unwrap_or(0)
    }

    /// The searches in flight with `depth` frames in flight. With a frame begin the searches between it and the
    /// frames before it.
    #[inline]
    pub fn searches(&self, depth: usize) -> usize {
        depth * self.count()
    }

    /// The slots for `depth` frames in flight: each for a frame, and for those before the first of them that are
    /// searched together with it.
    #[inline]
    pub fn slots(&self, depth: usize) -> usize {
        depth + self.reach()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_backward_then_forward() {
        let both = References { backward: 2, forward: 3 };
        assert_eq!(both.offsets().collect::<Vec<_>>(), [-1, -2, 1, 2, 3]);
        assert_eq!([-1, -2, 1, 3, -3, 7].map(|offset| both.index_of(offset)), [0, 1, 2, 4, 0, 0]);
        assert_eq!(References::default().offsets().collect::<Vec<_>>(), [-1]);
    }

    #[test]
    fn no_frame_and_too_many_are_refused() {
        for (backward, forward, is_usable) in
            [(0, 0, false), (1, 0, true), (0, 1, true), (4, 4, true), (5, 0, false), (1, 5, false)]
        {
            assert_eq!(References { backward, forward }.is_usable(), is_usable, "{backward} {forward}");
        }
    }
}
