//! The packed binary format of `motionserialize`: records, and the notes of this program between them.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range as Bytes;
use std::path::Path;

use serde::{Deserialize, Serialize};

// Not `crate`: the fuzz targets have these modules too.
use crate::error::Error;
use crate::range::Range;

/// What a file begins with: magic, version, bytes of the fixed part of a record.
pub const HEADER: [u8; 16] = *b"GSTMVECS\x01\0\0\0\x48\0\0\0";

/// Bytes of a record before its vectors.
const FIXED: usize = 72;

/// The metric of a record that is a note and no frame.
const NOTE: u32 = u32::MAX;

/// Longer records are a sign of a damaged file. A field of the largest frame has 2^29 bytes, with all costs 2^31.
const LONGEST: u32 = 1 << 31;

/// What a file of this program begins with, behind the header: of what it is the piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The program and its version.
    pub program: String,
    /// The video that was searched.
    pub video: Video,
    /// The frames of it that were searched.
    pub range: Range,
    /// The properties that change the vectors, those with another value than the default one.
    pub properties: String,
}

/// By what a video is told from others: pieces may be searched where it has another path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Video {
    /// The name of its file, without folders.
    pub name: String,
    /// The size of its file.
    pub bytes: u64,
}

/// What it ends with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The number of frames with records.
    pub frames: u64,
}

/// A note as a record.
pub fn note(content: &impl Serialize) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_vec(content).map_err(|error| Error::Output(error.to_string()))?;
    let mut record = vec![0; FIXED];
    record[..4].copy_from_slice(&((FIXED + text.len()) as u32).to_le_bytes());
    record[4..8].copy_from_slice(&NOTE.to_le_bytes());
    record.extend_from_slice(&text);
    Ok(record)
}

/// Numbers the frames of `records` from `first` on, and returns how many there are. Records of the same number are
/// fields of one frame.
///
/// # Errors
/// If they are no whole records.
pub fn renumber(mut records: &mut [u8], first: u64) -> Result<u64, String> {
    let mut frames = Frames::default();
    while !records.is_empty() {
        let length = record_length(records).filter(|&length| length <= records.len());
        let (record, rest) = records.split_at_mut(length.ok_or("a record is cut off")?);
        frames.number(record, first);
        records = rest;
    }
    Ok(frames.count)
}

fn record_length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(bytes.first_chunk().copied()?);
    (FIXED as u32..=LONGEST).contains(&length).then_some(length as usize)
}

/// Counts the frames of records.
#[derive(Default)]
struct Frames {
    count: u64,
    /// The number of the last one before it was changed.
    last: Option<u64>,
}

impl Frames {
    /// Gives `record` the number of its frame, where the first is number `first`.
    fn number(&mut self, record: &mut [u8], first: u64) {
        let number = u64_at(record, 8..16);
        if self.last.replace(number) != Some(number) {
            self.count += 1;
        }
        record[8..16].copy_from_slice(&(first + self.count - 1).to_le_bytes());
    }
}

fn u64_at(record: &[u8], at: Bytes<usize>) -> u64 {
    record[at].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A file that is read record by record, packed by zstd or not.
pub struct Records {
    name: String,
    source: Box<dyn Read>,
    record: Vec<u8>,
}

/// What a record is.
pub enum Record<'a> {
    /// A frame with its vectors, as the element `motionserialize` writes it.
    Frame(&'a mut [u8]),
    /// What this program says of the file.
    Note(&'a [u8]),
}

impl Records {
    /// Opens a file and reads what it is the piece of.
    ///
    /// # Errors
    /// [`Error::Pieces`] with what is wrong.
    pub fn open(path: &Path) -> Result<(Self, Piece), Error> {
        let name = path.display().to_string();
        let file = fs::File::open(path).map_err(|error| Error::Pieces(format!("{name}: {error}")))?;
        Self::read(name, BufReader::with_capacity(1 << 20, file))
    }

    /// The same from the contents of the file `name`.
    ///
    /// # Errors
    /// [`Error::Pieces`] with what is wrong.
    pub fn read(name: String, mut file: impl BufRead + 'static) -> Result<(Self, Piece), Error> {
        let wrong = |what: &dyn std::fmt::Display| Error::Pieces(format!("{name}: {what}"));
        let start = file.fill_buf().map_err(|error| wrong(&error))?;
        let source: Box<dyn Read> = if start.starts_with(&zstd::zstd_safe::MAGICNUMBER.to_le_bytes()) {
            Box::new(BufReader::new(zstd::Decoder::with_buffer(file).map_err(|error| wrong(&error))?))
        } else {
            Box::new(file)
        };
        let mut records = Self { name: name.clone(), source, record: Vec::new() };
        let mut header = [0; HEADER.len()];
        if records.source.read_exact(&mut header).is_err() || header[..8] != HEADER[..8] {
            return Err(wrong(&"is no file of motion vectors"));
        }
        if header != HEADER {
            return Err(wrong(&"is of another version of the format"));
        }
        let piece = match records.next_record()? {
            Some(Record::Note(text)) => serde_json::from_slice(text).ok(),
            _ => None,
        };
        let piece =
            piece.ok_or_else(|| wrong(&"does not say what it is a piece of: write it with this program"))?;
        Ok((records, piece))
    }

    /// The next record, or `None` at the end of the file.
    ///
    /// # Errors
    /// [`Error::Pieces`] if the file cannot be read or ends within a record.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, Error> {
        let mut length = [0; 4];
        let mut filled = 0;
        while filled < length.len() {
            match self.source.read(&mut length[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(self.damaged(&"it ends within a record")),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(self.damaged(&error)),
            }
        }
        let bytes = record_length(&length).ok_or_else(|| self.damaged(&"a record has no length"))?;
        self.record.clear();
        self.record.extend_from_slice(&length);
        // The memory grows with what is read: a damaged length may promise 2 GiB.
        let rest = (bytes - length.len()) as u64;
        let read = self.source.by_ref().take(rest).read_to_end(&mut self.record);
        match read.map(|read| read as u64 == rest) {
            Ok(true) => (),
            Ok(false) => return Err(self.damaged(&"it ends within a record")),
            Err(error) => return Err(self.damaged(&error)),
        }
        if self.record[4..8] == NOTE.to_le_bytes() {
            return Ok(Some(Record::Note(&self.record[FIXED..])));
        }
        Ok(Some(Record::Frame(&mut self.record)))
    }

    /// Reads to the end, and gives each record of a frame to `each`, numbered from `first` on. Returns the number of
    /// frames.
    ///
    /// # Errors
    /// [`Error::Pieces`] if the file is not complete, and those of `each`.
    pub fn drain(
        &mut self,
        first: u64,
        mut each: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut frames = Frames::default();
        let mut end = None;
        while let Some(record) = self.next_record()? {
            match record {
                _ if end.is_some() => return Err(self.damaged(&"there is more behind its end")),
                Record::Note(text) => end = serde_json::from_slice(text).ok(),
                Record::Frame(record) => {
                    frames.number(record, first);
                    each(record)?;
                }
            }
        }
        match end {
            Some(End { frames: written }) if written == frames.count => Ok(written),
            _ => Err(self.damaged(&"it is not complete")),
        }
    }

    fn damaged(&self, what: &dyn std::fmt::Display) -> Error {
        Error::Pieces(format!(
            "{}: damaged or cut off ({what}): delete it and search its range again",
            self.name
        ))
    }
}

/// The timestamp of the frame of a record, if it is known.
pub fn timestamp(record: &[u8]) -> Option<u64> {
    Some(u64_at(record, 16..24)).filter(|&time| time != u64::MAX)
}

/// The timestamp of the frame before, if it was searched and is known.
pub fn previous_timestamp(record: &[u8]) -> Option<u64> {
    let is_previous = record[64..68] == (-1_i32).to_le_bytes();
    Some(u64_at(record, 32..40)).filter(|&time| is_previous && time != u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_length_takes_no_memory() {
        let piece = Piece {
            program: "test".into(),
            video: Video { name: "v".into(), bytes: 1 },
            range: Range::default(),
            properties: String::new(),
        };
        let mut file = [&HEADER[..], &note(&piece).unwrap()].concat();
        file.extend_from_slice(&LONGEST.to_le_bytes());
        file.resize(file.len() + 1000, 0);
        let (mut records, read) = Records::read("file".into(), io::Cursor::new(file)).unwrap();
        assert_eq!(read, piece);
        let error = records.next_record().err().unwrap().to_string();
        assert!(error.contains("ends within a record"), "{error}");
        assert!(records.record.capacity() < 1 << 20, "{} bytes", records.record.capacity());
    }
}
