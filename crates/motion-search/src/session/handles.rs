//! What a session calls its frames and searches by. Its devices have slots and tickets of their own.

/// The place of a frame in a [`Session`](super::Session), which holds it until another one is loaded there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameSlot(pub(super) usize);

/// A search in flight in a session, of which devices do parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SearchTicket(pub(super) u64);
