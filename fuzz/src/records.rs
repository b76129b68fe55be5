//! Files of the program `motion-vectors`, whole, damaged or of any bytes: an error, or the records that were written.

use std::io::Cursor;

use crate::plan::Plan;
use crate::setup;
use motion_vectors::range::Range;
use motion_vectors::records::{self, End, HEADER, Piece, Records, Video};

/// Bytes of a record before its vectors.
const FIXED: usize = 72;

/// Runs the target.
pub fn run(data: &[u8]) {
    setup::init();
    let plan = &mut Plan::new(data);
    let kind = plan.number(0..=7u8);
    if kind == 7 {
        // Any bytes, often behind a header.
        let mut file = if plan.once_in(4) { Vec::new() } else { HEADER.to_vec() };
        file.extend(plan.rest());
        let _ = read(file, 0);
        return;
    }
    let (first, piece) = (plan.number(0..=1u64 << 40), piece(plan));
    let mut written: Vec<Vec<u8>> = (0..plan.number(0..=5u8)).map(|_| record(plan)).collect();
    let numbers: Vec<_> = written.iter().map(|record| record[8..16].to_vec()).collect();
    let frames = numbers.chunk_by(PartialEq::eq).count() as u64;

    let end = if plan.once_in(8) { plan.number(0..=9) } else { frames };
    let note = |note: Result<Vec<u8>, _>| note.expect("a note");
    let start = [&HEADER[..], &note(records::note(&piece))].concat();
    let mut file = [start, written.concat(), note(records::note(&End { frames: end }))].concat();
    let mut renumbered = written.concat();
    assert_eq!(records::renumber(&mut renumbered, first), Ok(frames));
    for (record, place) in written.iter_mut().scan(0, |at, record| {
        let place = *at..*at + record.len();
        *at = place.end;
        Some((record, place))
    }) {
        record.copy_from_slice(&renumbered[place]);
    }

    // Damage on both sides of the packing: what is packed has no check of its own.
    if kind == 1 {
        damage(plan, &mut file);
    }
    if kind == 2 {
        file.truncate(plan.number(0..=file.len() - 1));
    }
    if plan.once_in(2) {
        file = zstd::encode_all(&file[..], 1).expect("packed");
    }
    if kind == 3 {
        damage(plan, &mut file);
    }
    if kind == 4 {
        file.truncate(plan.number(0..=file.len() - 1));
    }
    let found = read(file, first);
    match kind {
        1 | 3 => {}
        2 | 4 => assert!(found.is_none(), "a file that is cut off is read: {found:?}"),
        _ if end != frames => assert!(found.is_none(), "a file with another number of frames: {found:?}"),
        _ => assert_eq!(found, Some((piece, frames, written))),
    }
}

fn piece(plan: &mut Plan<'_>) -> Piece {
    let text = |plan: &mut Plan<'_>| {
        String::from_utf8_lossy(&plan.text(&["search-range=4", "\"", "\\", " "])).into_owned()
    };
    let time = |plan: &mut Plan<'_>| Some(plan.any_u64()).filter(|&time| time != u64::MAX);
    Piece {
        program: text(plan),
        video: Video { name: text(plan), bytes: plan.any_u64() },
        range: Range { start: time(plan), end: time(plan) },
        properties: text(plan),
    }
}

/// A record of a frame: any bytes behind its length, but not the metric of a note.
fn record(plan: &mut Plan<'_>) -> Vec<u8> {
    let length = FIXED + plan.number(0..=40);
    let mut record = vec![0; length];
    record[..4].copy_from_slice(&(length as u32).to_le_bytes());
    record[4..8].copy_from_slice(&plan.number(0..=1u32).to_le_bytes());
    record[8..16].copy_from_slice(&plan.number(0..=3u64).to_le_bytes());
    let rest = plan.bytes(length - 16);
    record[16..].copy_from_slice(&rest);
    record
}

/// Changes, inserts or removes some bytes of `file`.
fn damage(plan: &mut Plan<'_>, file: &mut Vec<u8>) {
    let begin = plan.number(0..=file.len());
    let end = (begin + plan.number(0..=8)).min(file.len());
    let count = plan.number(0..=8);
    file.splice(begin..end, plan.bytes(count));
}

/// What `file` says that it is, the number of its frames, and its records, if it is whole.
fn read(file: Vec<u8>, first: u64) -> Option<(Piece, u64, Vec<Vec<u8>>)> {
    let (mut records, piece) = Records::read("file".into(), Cursor::new(file)).ok()?;
    let mut read = Vec::new();
    let frames = records.drain(first, |record| {
        assert!(record.len() >= FIXED, "a record of {} bytes", record.len());
        // Times of any value.
        let _ = (records::timestamp(record), records::previous_timestamp(record));
        read.push(record.to_vec());
        Ok(())
    });
    Some((piece, frames.ok()?, read))
}
