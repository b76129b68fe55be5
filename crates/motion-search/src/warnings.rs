//! Warnings of the layers that do not know GStreamer, for its log.

use std::fmt;
use std::sync::OnceLock;

/// Where warnings go.
type Receiver = fn(fmt::Arguments);

static RECEIVER: OnceLock<Receiver> = OnceLock::new();

/// Sends all later warnings to `receiver`, unless they have one.
pub fn send_to(receiver: Receiver) {
    let _ = RECEIVER.set(receiver);
}

/// Warns of what does not stop the work. Without a receiver, in a Rust application without the elements, nothing is said.
pub(crate) fn warn(text: fmt::Arguments) {
    if let Some(receiver) = RECEIVER.get() {
        receiver(text);
    }
}
