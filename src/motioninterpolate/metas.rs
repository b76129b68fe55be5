//! Which output frame has the metadata of an input frame.
//!
//! What describes how to show a frame is on every output frame, and what belongs to the moment of an input frame, such as
//! captions and time codes, on one: the first at that moment or after it. The element's documentation has the table.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use gst::buffer::BufferMetaForeachAction;
use gst::meta::tags::{Memory, MemoryReference};
use gst::prelude::*;
use gst_video::{
    VideoAFDMeta, VideoAffineTransformationMeta, VideoBarMeta, VideoCropMeta, VideoOverlayCompositionMeta,
};

use crate::meta;

/// What becomes of a meta of an input frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It describes the memory, which only frames in the same memory have.
    Memory,
    /// It says how the frame is shown.
    Display,
    /// It belongs to one moment.
    Moment,
}

fn kind_of(meta: &gst::MetaRef<'_, gst::Meta>) -> Kind {
    let display = [
        VideoCropMeta::meta_api(),
        VideoAffineTransformationMeta::meta_api(),
        VideoAFDMeta::meta_api(),
        VideoBarMeta::meta_api(),
        VideoOverlayCompositionMeta::meta_api(),
    ];
    if meta.has_tag::<Memory>() || meta.has_tag::<MemoryReference>() {
        Kind::Memory
    } else if display.contains(&meta.api()) {
        Kind::Display
    } else {
        Kind::Moment
    }
}

/// Takes all metas off `buffer` but those of `kinds`.
fn retain(buffer: &mut gst::BufferRef, kinds: &[Kind]) {
    buffer.foreach_meta_mut(|meta| {
        let keeps = kinds.contains(&kind_of(meta.upcast_ref()));
        ControlFlow::Continue(if keeps {
            BufferMetaForeachAction::Keep
        } else {
            BufferMetaForeachAction::Remove
        })
    });
}

/// Whether `buffer` has metas of `kind`.
fn has(buffer: &gst::BufferRef, kind: Kind) -> bool {
    !buffer.foreach_meta(|meta| match kind_of(&meta) == kind {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
}

/// Copies the metas of `from` to `to`.
fn copy(from: &gst::BufferRef, to: &mut gst::BufferRef) {
    // It fails for sizes of memory, none of which is copied.
    let _ = from.copy_into(to, gst::BufferCopyFlags::META, ..);
}

/// An empty buffer with the metas of `buffer` that are of `kind`, if there are any.
fn copies(buffer: &gst::BufferRef, kind: Kind) -> Option<gst::Buffer> {
    has(buffer, kind).then(|| {
        let mut copies = gst::Buffer::new();
        let writable = copies.make_mut();
        copy(buffer, writable);
        retain(writable, &[kind]);
        // Its neighbours are others in the output.
        meta::remove(writable);
        copies
    })
}

/// An empty buffer with the metas of `buffer` that belong to its moment, if there are any.
pub fn of_moment(buffer: &gst::BufferRef) -> Option<gst::Buffer> {
    copies(buffer, Kind::Moment)
}

/// Makes `buffer`, a copy of an input frame, one of its output frames.
pub fn retain_display(buffer: &mut gst::BufferRef) {
    retain(buffer, &[Kind::Memory, Kind::Display]);
}

/// Lets `made` be shown as the input frame in `buffer`.
pub fn copy_display(buffer: &gst::BufferRef, made: &mut gst::BufferRef) {
    if let Some(display) = copies(buffer, Kind::Display) {
        copy(&display, made);
    }
}

/// The metas that belong to one moment and have not left.
#[derive(Default)]
pub struct MomentMetas {
    /// Those of input frames before the newest one.
    due: VecDeque<gst::Buffer>,
    /// Those of frames between the one before and the newest one that were dropped.
    dropped: Vec<gst::Buffer>,
    newest: Option<gst::Buffer>,
}

impl MomentMetas {
    /// Takes those of the input frame in `buffer`, which follows the others, and those of frames before it that were `dropped`.
    pub fn take(&mut self, dropped: Vec<gst::Buffer>, buffer: &gst::BufferRef) {
        self.finish(Vec::new());
        (self.dropped, self.newest) = (dropped, of_moment(buffer));
    }

    /// All leave with the next output frame, those of frames that were `dropped` after the newest one last.
    pub fn finish(&mut self, dropped: Vec<gst::Buffer>) {
        let newest = self.dropped.drain(..).chain(self.newest.take());
        self.due.extend(newest.chain(dropped));
    }

    /// Whether those of the newest input frame are the only ones.
    pub fn is_newest_alone(&self) -> bool {
        self.due.is_empty() && self.dropped.is_empty()
    }

    /// Those of the newest input frame leave with it.
    pub fn leave_with_newest(&mut self) {
        self.newest = None;
    }

    /// Lets those that are due leave on `buffer`, and those of the newest input frame if it `is_reached`.
    pub fn attach(&mut self, buffer: &mut gst::BufferRef, is_reached: bool) {
        if is_reached {
            self.finish(Vec::new());
        }
        for metas in self.due.drain(..) {
            copy(&metas, buffer);
        }
    }
}
