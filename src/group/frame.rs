//! A picture that several threads read.

use std::ops::Range;
use std::sync::Arc;

use crate::estimator::{HostBlock, HostMemory, Parameters, Picture, PictureBuf};

/// Room for all rows of a picture, of which some are there.
struct Place {
    /// As a rule memory from which one of the devices reads without a copy.
    samples: Box<dyn HostBlock>,
    rows: Range<usize>,
}

/// A picture and its number, which no other picture of the group ever has.
///
/// Each row is copied to where the device that needs it reads it, and to nowhere else where that is
/// one device. Together the places hold the whole picture, so that any device can do the work of
/// another.
pub(super) struct Frame {
    number: u64,
    width: usize,
    height: usize,
    places: Vec<Place>,
}

impl Frame {
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

    /// The picture with at least its rows `needed`, from `place` where they are there, else put together
    /// in `room`.
    ///
    /// Of the rows outside the second value, which are at most those `wanted`, anything is there.
    pub(super) fn rows<'a>(
        &'a self,
        place: usize,
        needed: &Range<usize>,
        wanted: &Range<usize>,
        room: &'a mut Vec<u8>,
    ) -> (Picture<'a>, Range<usize>) {
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

    /// `rows` from wherever they are, each where it lies in the whole picture.
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

    /// The samples of a picture of this size.
    fn view<'a>(&self, samples: &'a [u8]) -> Picture<'a> {
        Picture::new(samples, self.width, self.height, self.width)
            .unwrap_or_else(|_| unreachable!("there is memory for every sample"))
    }

    /// A copy of the picture.
    pub(super) fn picture(&self) -> Option<PictureBuf> {
        let mut samples = Vec::new();
        self.gather(&(0..self.height), &mut samples);
        PictureBuf::new(samples, self.width, self.height).ok()
    }

    fn fill(&mut self, number: u64, picture: &Picture<'_>, wanted: &[Range<usize>]) {
        self.number = number;
        for (place, wanted) in self.places.iter_mut().zip(wanted) {
            place.rows = wanted.start.min(self.height)..wanted.end.min(self.height);
            if !place.rows.is_empty() {
                let to = place.rows.start * self.width..place.rows.end * self.width;
                picture.band(place.rows.clone()).copy_to(&mut (*place.samples).as_mut()[to]);
            }
        }
    }
}

/// Frames that nobody reads any more, to be filled again.
pub(super) struct Frames {
    parameters: Parameters,
    /// One a place.
    memories: Vec<Option<Arc<dyn HostMemory>>>,
    /// The place of each device.
    places: Vec<usize>,
    /// Some of them may be read still.
    spare: Vec<Arc<Frame>>,
    filled: u64,
}

impl Frames {
    /// Frames for pictures as `parameters` say, read by devices with such memory of their own.
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

    /// A copy of `picture`, which must be of the parameters' size. In a running stream nothing is
    /// allocated for it. `wanted` tells which rows each device will need, as far as that is known: the
    /// rows that nobody names are given to the first.
    pub(super) fn fill(&mut self, picture: &Picture<'_>, wanted: &[(usize, Range<usize>)]) -> Arc<Frame> {
        self.filled += 1;
        let free = self.spare.iter_mut().position(|frame| Arc::get_mut(frame).is_some());
        let mut frame = match free {
            Some(index) => self.spare.swap_remove(index),
            None => Arc::new(Frame::new(&self.parameters, &self.memories)),
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
        if let Some(frame) = Arc::get_mut(&mut frame) {
            frame.fill(self.filled, picture, &rows);
        }
        frame
    }

    /// Takes a frame back that is wanted no longer, though it may be read.
    pub(super) fn put_back(&mut self, frame: Arc<Frame>) {
        self.spare.push(frame);
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
        let picture = PictureBuf::from_fn(31, 40, |x, y| (x * 7 + y * 13) as u8);
        for (devices, places) in [
            (&[false][..], &[0][..]),
            (&[true], &[0]),
            (&[false, true], &[0, 0]),
            (&[true, true], &[0, 1]),
            (&[true, false, true, false], &[0, 1, 2, 1]),
        ] {
            let mut room = Vec::new();
            let mut frames = Frames::new(&parameters, devices.iter().map(|&d| memory(d)).collect());
            let found: Vec<usize> = (0..devices.len()).map(|device| frames.place_of(device)).collect();
            assert_eq!(found, places);
            for wanted in [&[][..], &[(0, 0..22), (1, 20..40)], &[(1, 5..10)], &[(0, 0..40), (1, 0..99)]] {
                let frame = frames.fill(&picture.view(), wanted);
                assert_eq!(frame.picture().as_ref(), Some(&picture), "{devices:?} {wanted:?}");
                for device in 0..=devices.len() {
                    for (needed, wanted) in [(3..30, 0..33), (25..26, 24..40), (0..40, 0..40)] {
                        let place = frames.place_of(device);
                        let (view, rows) = frame.rows(place, &needed, &wanted, &mut room);
                        assert!(rows.start <= needed.start && needed.end <= rows.end);
                        assert!(wanted.start <= rows.start && rows.end <= wanted.end);
                        for y in rows {
                            assert_eq!(view.row(y), picture.view().row(y), "{y}");
                        }
                    }
                }
                frames.put_back(frame);
            }
        }
    }
}
