//! Frames that wait until they may go downstream, and the events between them.

use std::collections::VecDeque;

/// A frame of type `F`, or an event behind frames.
pub enum Item<F> {
    Frame(F),
    Event(gst::Event),
}

/// Frames and events in the order in which they came. The first item of all is a frame, except after [`Self::discard`].
pub struct Waiting<F>(VecDeque<Item<F>>);

impl<F> Default for Waiting<F> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<F> Waiting<F> {
    /// The frames, oldest first.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &F> {
        self.0.iter().filter_map(|item| match item {
            Item::Frame(frame) => Some(frame),
            Item::Event(_) => None,
        })
    }

    /// The frames, oldest first.
    pub fn frames_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut F> {
        self.0.iter_mut().filter_map(|item| match item {
            Item::Frame(frame) => Some(frame),
            Item::Event(_) => None,
        })
    }

    /// The number of frames.
    pub fn len(&self) -> usize {
        self.frames().count()
    }

    pub fn push(&mut self, frame: F) {
        self.0.push_back(Item::Frame(frame));
    }

    /// Takes `event`, which leaves behind the frames that wait; gives it back if nothing waits.
    pub fn hold(&mut self, event: gst::Event) -> Option<gst::Event> {
        if self.0.is_empty() {
            return Some(event);
        }
        self.0.push_back(Item::Event(event));
        None
    }

    /// The frame that leaves next, unless an event does or nothing waits.
    pub fn first(&self) -> Option<&F> {
        match self.0.front() {
            Some(Item::Frame(frame)) => Some(frame),
            _ => None,
        }
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<Item<F>> {
        self.0.pop_front()
    }

    /// Takes the oldest item if it is an event.
    pub fn pop_event(&mut self) -> Option<gst::Event> {
        match self.0.pop_front() {
            Some(Item::Event(event)) => Some(event),
            Some(frame) => {
                self.0.push_front(frame);
                None
            }
            None => None,
        }
    }

    /// Drops the frames, and the events among them that are not sticky.
    pub fn discard(&mut self) {
        self.0.retain(|item| matches!(item, Item::Event(event) if event.is_sticky()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_leaves_in_order_and_sticky_events_survive() {
        gst::init().unwrap();
        let tag = || gst::event::Tag::new(gst::TagList::new());
        let custom = || gst::event::CustomDownstream::new(gst::Structure::new_empty("custom"));
        let mut waiting = Waiting::default();
        assert!(waiting.hold(tag()).is_some(), "nothing waits");
        waiting.push(0);
        assert!(waiting.hold(custom()).is_none());
        waiting.push(1);
        assert!(waiting.hold(tag()).is_none());
        assert_eq!((waiting.len(), waiting.first()), (2, Some(&0)));
        assert!(waiting.pop_event().is_none());
        assert!(matches!(waiting.pop(), Some(Item::Frame(0))));
        assert_eq!(waiting.first(), None);
        assert!(
            matches!(waiting.pop_event(), Some(event) if event.type_() == gst::EventType::CustomDownstream)
        );
        assert!(waiting.hold(custom()).is_none());
        waiting.discard();
        assert_eq!(waiting.len(), 0);
        assert!(matches!(waiting.pop(), Some(Item::Event(event)) if event.type_() == gst::EventType::Tag));
        assert!(waiting.pop().is_none());
    }
}
