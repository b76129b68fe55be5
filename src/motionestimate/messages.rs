//! Converts errors to messages for the bus.

use super::stream::{Stream, StreamError};

/// The error message for the bus about an error while streaming.
pub fn stream_message(error: &StreamError, stream: &Stream) -> gst::ErrorMessage {
    match error {
        StreamError::Luma(_) => gst::error_msg!(
            gst::StreamError::Format,
            ("A buffer does not hold the frame its caps promise"),
            ["{error}; {:?}", stream.info()]
        ),
        StreamError::Search(error) => {
            gst::error_msg!(gst::LibraryError::Failed, ("The search failed: {error}"), ["{error:?}"])
        }
        StreamError::Attach(error) => {
            gst::error_msg!(gst::LibraryError::Failed, ("Cannot attach the vectors: {error}"), ["{error:?}"])
        }
    }
}
