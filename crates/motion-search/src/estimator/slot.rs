use std::fmt;

/// One of the places in which a [`Device`](super::Device) keeps a frame, numbered from 0.
///
/// There is at least one slot more than there may be searches in flight. A caller that searches one frame
/// at a time needs two, [`Self::A`] and [`Self::B`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(usize);

impl Slot {
    /// The first slot.
    pub const A: Self = Self(0);

    /// The second slot.
    pub const B: Self = Self(1);

    /// The slot of this number, counted from 0.
    pub fn new(index: usize) -> Self {
        Self(index)
    }

    /// Its number, counted from 0.
    pub fn index(self) -> usize {
        self.0
    }

    /// The other one of the first two slots; the first slot for every later one.
    pub fn other(self) -> Self {
        if self == Self::A { Self::B } else { Self::A }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u8::try_from(self.0) {
            Ok(index @ 0..26) => write!(f, "{}", char::from(b'A' + index)),
            _ => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_have_letters_and_the_first_two_change_roles() {
        assert_eq!(format!("{:?} {:?} {:?}", Slot::A, Slot::new(16), Slot::new(99)), "A Q 99");
        assert_eq!((Slot::A.other(), Slot::B.other(), Slot::new(5).other()), (Slot::B, Slot::A, Slot::A));
    }
}
