//! A frame that several threads read.

use std::ops::Range;
use std::sync::Arc;

use crate::estimator::{FrameBuf, FrameView, HostBlock, HostMemory, Parameters};

/// Room for all rows of a frame, of which some are there.
struct Place {
    /// As a rule memory from which one of the devices reads without a copy.
    samples: Box<dyn HostBlock>,
    rows: Range<usize>,
}

/// A frame and its number, which no other frame of the group ever has.
///
/// Each row is copied to where the device that needs it reads it, and to nowhere else where that is
/// one device. Together the places hold the whole frame, so that any device can do the work of
/// another.
pub(super) struct SharedFrame {
    number: u64,
    width: usize,
    height: usize,
    places: Vec<Place>,
}

impl SharedFrame {
    fn new(parameters: &Parameters, memories: &[Option<Arc<dyn HostMemory>>]) -> Self {
        let Parameters { width, height, .. } = *parameters;
        let bytes = width * height;
        let place = |memory: &Option<Arc<dyn HostMemory>>| {
            // Without such memory it takes a copy more, nothing else.
            let host = memory.as_ref().and_then(|memory| memory.allocate(bytes).ok());
            Place { samples: host.unwrap_or_else(|| Box::new(vec![0; bytes])), rows: 0..0 }
        };
        Self { number: 0, width, height, places: memories.iter().map(place).collect() }
    }

    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The frame with at least its rows `needed`, from `place` where they are there, else put together
    /// in `room`.
    ///
    /// Of the rows outside the second value, which are at most those `wanted`, anything is there.
    pub(super) fn rows<'a>(
        &'a self,
        place: usize,
        needed: &Range<usize>,
        wanted: &Range<usize>,
        room: &'a mut Vec<u8>,
    ) -> (FrameView<'a>, Range<usize>) {
        let covers = |place: &&Place| place.rows.start <= needed.start && needed.end <= place.rows.end;
        let own = self.places.get(place).filter(covers);
        match own.or_else(|| self.places.iter().find(covers)) {
            Some(place) => {
                let rows = wanted.start.max(place.rows.start)..wanted.end.min(place.rows.end);
                (self.view((*place.samples).as_ref()), rows)
            }
            None => {
                self.gather(wanted, room);
                (self.view(room), wanted.clone())
            }
        }
    }

    /// `rows` from wherever they are, each where it lies in the whole frame.
    fn gather(&self, rows: &Range<usize>, room: &mut Vec<u8>) {
        if room.len() != self.width * self.height {
            // Not touched before several threads do.
            *room = vec![0; self.width * self.height];
        }
        for place in &self.places {
            let (start, end) = (rows.start.max(place.rows.start), rows.end.min(place.rows.end));
            if start < end {
                let there = self.view((*place.samples).as_ref());
                there.band(start..end).copy_to(&mut room[start * self.width..end * self.width]);
            }
        }
    }

    /// The samples of a frame of this size.
    fn view<'a>(&self, samples: &'a [u8]) -> FrameView<'a> {
        FrameView::new(samples, self.width, self.height, self.width)
            .unwrap_or_else(|_| unreachable!("there is memory for every sample"))
    }

    /// A copy of the frame.
    pub(super) fn frame(&self) -> Option<FrameBuf> {
        let mut samples = Vec::new();
        self.gather(&(0..self.height), &mut samples);
        FrameBuf::new(samples, self.width, self.height).ok()
    }

    fn fill(&mut self, number: u64, frame: &FrameView<'_>, wanted: &[Range<usize>]) {
        self.number = number;
        for (place, wanted) in self.places.iter_mut().zip(wanted) {
            place.rows = wanted.start.min(self.height)..wanted.end.min(self.height);
            if !place.rows.is_empty() {
                let to = place.rows.start * self.width..place.rows.end * self.width;
                frame.band(place.rows.clone()).copy_to(&mut (*place.samples).as_mut()[to]);
            }
        }
    }
}

/// FramePool that nobody reads any more, to be filled again.
pub(super) struct FramePool {
    parameters: Parameters,
    /// One a place.
    memories: Vec<Option<Arc<dyn HostMemory>>>,
    /// The place of each device.
    places: Vec<usize>,
    /// Some of them may be read still.
    spare: Vec<Arc<SharedFrame>>,
    filled: u64,
}

impl FramePool {
    /// FramePool for frames as `parameters` say, read by devices with such memory of their own.
    pub(super) fn new(parameters: &Parameters, devices: Vec<Option<Arc<dyn HostMemory>>>) -> Self {
        // Who has none reads anywhere: beside one memory that is there, beside several a place that
        // is nobody's.
        let several = devices.iter().flatten().count() > 1;
        let mut places = Vec::with_capacity(devices.len());
        let mut memories: Vec<Option<Arc<dyn HostMemory>>> = Vec::new();
        let mut nobodys = None;
        for memory in &devices {
            let place = match memory {
                Some(_) if several => {
                    memories.push(memory.clone());
                    memories.len() - 1
                }
                None if several => *nobodys.get_or_insert_with(|| {
                    memories.push(None);
                    memories.len() - 1
                }),
                _ => 0,
            };
            places.push(place);
        }
        if !several {
            memories.push(devices.into_iter().flatten().next());
        }
        Self { parameters: parameters.clone(), memories, places, spare: Vec::new(), filled: 0 }
    }

    /// Where device number `device` reads: the last place where it came later than the others.
    pub(super) fn place_of(&self, device: usize) -> usize {
        self.places.get(device).copied().unwrap_or(self.memories.len() - 1)
    }

    /// Whether devices read from places of their own.
    pub(super) fn are_divided(&self) -> bool {
        self.memories.len() > 1
    }

    /// A copy of `frame`, which must be of the parameters' size. In a running stream nothing is
    /// allocated for it. `wanted` tells which rows each device will need, as far as that is known: the
    /// rows that nobody names are given to the first.
    pub(super) fn fill(
        &mut self,
        frame: &FrameView<'_>,
        wanted: &[(usize, Range<usize>)],
    ) -> Arc<SharedFrame> {
        self.filled += 1;
        let free = self.spare.iter_mut().position(|shared| Arc::get_mut(shared).is_some());
        let mut shared = match free {
            Some(index) => self.spare.swap_remove(index),
            None => Arc::new(SharedFrame::new(&self.parameters, &self.memories)),
        };
        let height = self.parameters.height;
        let mut rows = vec![height..0; self.memories.len()];
        for (device, wanted) in wanted {
            let rows = &mut rows[self.place_of(*device)];
            *rows = rows.start.min(wanted.start)..rows.end.max(wanted.end);
        }
        if !covers(&rows, height) {
            rows[0] = 0..height;
        }
        if let Some(shared) = Arc::get_mut(&mut shared) {
            shared.fill(self.filled, frame, &rows);
        }
        shared
    }

    /// Takes a frame back that is wanted no longer, though it may be read.
    pub(super) fn put_back(&mut self, shared: Arc<SharedFrame>) {
        self.spare.push(shared);
    }
}

/// Whether every row below `height` is in one of `ranges`.
fn covers(ranges: &[Range<usize>], height: usize) -> bool {
    let mut sorted: Vec<&Range<usize>> = ranges.iter().collect();
    sorted.sort_by_key(|range| range.start);
    sorted.iter().fold(0, |end, range| if range.start <= end { end.max(range.end) } else { end }) >= height
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{SetupError, Window};

    struct Heap;

    impl HostMemory for Heap {
        fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError> {
            Ok(Box::new(vec![0xee; bytes]))
        }
    }

    fn memory(is_there: bool) -> Option<Arc<dyn HostMemory>> {
        is_there.then(|| Arc::new(Heap) as Arc<dyn HostMemory>)
    }

    #[test]
    fn every_row_is_where_it_is_wanted_and_all_are_somewhere() {
        let parameters = Parameters::new(31, 40, 8, Window::symmetric(3, 3).unwrap());
        let frame = FrameBuf::from_fn(31, 40, |x, y| (x * 7 + y * 13) as u8);
        for (devices, places) in [
            (&[false][..], &[0][..]),
            (&[true], &[0]),
            (&[false, true], &[0, 0]),
            (&[true, true], &[0, 1]),
            (&[true, false, true, false], &[0, 1, 2, 1]),
        ] {
            let mut room = Vec::new();
            let mut frame_pool = FramePool::new(&parameters, devices.iter().map(|&d| memory(d)).collect());
            let found: Vec<usize> = (0..devices.len()).map(|device| frame_pool.place_of(device)).collect();
            assert_eq!(found, places);
            for wanted in [&[][..], &[(0, 0..22), (1, 20..40)], &[(1, 5..10)], &[(0, 0..40), (1, 0..99)]] {
                let shared = frame_pool.fill(&frame.view(), wanted);
                assert_eq!(shared.frame().as_ref(), Some(&frame), "{devices:?} {wanted:?}");
                for device in 0..=devices.len() {
                    for (needed, wanted) in [(3..30, 0..33), (25..26, 24..40), (0..40, 0..40)] {
                        let place = frame_pool.place_of(device);
                        let (view, rows) = shared.rows(place, &needed, &wanted, &mut room);
                        assert!(rows.start <= needed.start && needed.end <= rows.end);
                        assert!(wanted.start <= rows.start && rows.end <= wanted.end);
                        for y in rows {
                            assert_eq!(view.row(y), frame.view().row(y), "{y}");
                        }
                    }
                }
                frame_pool.put_back(shared);
            }
        }
    }
}
