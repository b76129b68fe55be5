//! Pieces of one video, put together.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::output::{Existing, Output, difference};
use crate::range::Range;
use crate::records::{self, Piece, Records};

/// What was done.
pub struct Joined {
    pub piece: Piece,
    pub frames: u64,
    /// Whether it was there already.
    pub is_kept: bool,
}

/// Puts `pieces`, in any order, together to `out`: they must be all of `range`, each part of it once.
///
/// # Errors
/// [`Error::Pieces`] if they are not, or do not belong together; nothing is written then.
pub fn join(
    pieces: &[PathBuf],
    range: Range,
    out: &Path,
    zstd: bool,
    interrupted: &AtomicBool,
) -> Result<Joined, Error> {
    let mut opened = Vec::new();
    for path in pieces {
        // They are opened again when they are copied: there may be more than files that can be open.
        opened.push((path, Records::open(path)?.1));
    }
    opened.sort_by_key(|(_, piece)| (piece.range.start, piece.range.end.is_none(), piece.range.end));
    let piece = check(&opened, range)?;
    match Existing::look(out, &piece)? {
        Existing::Whole(frames) => return Ok(Joined { piece, frames, is_kept: true }),
        Existing::Nothing | Existing::Damaged => (),
    }
    let mut output = Output::create(out, &piece, zstd)?;
    let (mut frames, mut last) = (0, None);
    for (path, _) in &opened {
        let mut is_first = true;
        frames += Records::open(path)?.0.drain(frames, |record| {
            if interrupted.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            // The last frame of a piece is the one in which the first of the next is searched.
            let searched = records::previous_timestamp(record);
            if std::mem::take(&mut is_first) && last.is_some() && searched.is_some() && searched != last {
                return Err(Error::Pieces(format!(
                    "{}: its first frame was searched in another frame than the last one of the piece before: the \
                     machines have decoded the video differently",
                    path.display()
                )));
            }
            last = records::timestamp(record);
            output.write(record)
        })?;
    }
    output.finish(frames)?;
    Ok(Joined { piece, frames, is_kept: false })
}

/// Checks that `pieces`, sorted, are `range`; returns what they are together.
fn check(pieces: &[(&PathBuf, Piece)], range: Range) -> Result<Piece, Error> {
    let Some((first_path, first)) = pieces.first() else {
        return Err(Error::Usage("no piece is named".into()));
    };
    let show = |path: &Path, piece: &Piece| format!("{} ({})", path.display(), piece.range);
    let time = |time: Option<u64>| {
        time.map_or("the beginning".into(), |time| crate::range::Seconds(time).to_string())
    };
    let missing = |from: Option<u64>, to: Option<u64>, of: &str| {
        let gap = Range { start: from, end: to };
        Err(Error::Pieces(format!("the range {gap} is missing, {of}: search it with --range {gap}")))
    };
    let mut end = range.start;
    for (index, (path, piece)) in pieces.iter().enumerate() {
        let whole = Piece { range: piece.range, ..first.clone() };
        if *piece != whole {
            let what = difference(piece, &whole);
            return Err(Error::Pieces(format!(
                "{} does not belong to {}: it is {what}",
                path.display(),
                first_path.display()
            )));
        }
        let start = piece.range.start;
        // `end` is where this piece must begin. `None` is the beginning of the video for the first piece; for a later
        // one, the piece before has no end.
        if start > end && (index == 0 || end.is_some()) {
            return missing(end, start, &format!("before {}", show(path, piece)));
        }
        if start != end && index == 0 {
            return Err(Error::Pieces(format!(
                "{} begins before {}, where --range begins",
                show(path, piece),
                time(range.start)
            )));
        }
        if start != end {
            let (before, of) = &pieces[index - 1];
            return Err(Error::Pieces(format!("{} overlaps {}", show(path, piece), show(before, of))));
        }
        end = piece.range.end;
        let is_last = index + 1 == pieces.len();
        if end.is_none() && !is_last {
            let (after, of) = &pieces[index + 1];
            return Err(Error::Pieces(format!("{} overlaps {}", show(after, of), show(path, piece))));
        }
    }
    match (end, range.end) {
        (end, wanted) if end == wanted => Ok(Piece { range, ..first.clone() }),
        (Some(end), wanted) if wanted.is_none_or(|wanted| end < wanted) => {
            missing(Some(end), wanted, "behind the last piece")
        }
        _ => Err(Error::Pieces(format!("the pieces end later than --range {range} does"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Video;

    fn checked(ranges: &[&str], wanted: &str) -> Result<String, String> {
        let piece = |text: &&str| Piece {
            program: "test".into(),
            video: Video { name: "v".into(), bytes: 1 },
            range: text.parse().unwrap(),
            properties: String::new(),
        };
        let path = PathBuf::from("piece");
        let pieces: Vec<_> = ranges.iter().map(|range| (&path, piece(range))).collect();
        let whole = check(&pieces, wanted.parse().unwrap()).map_err(|error| error.to_string())?;
        Ok(whole.range.to_string())
    }

    #[test]
    fn pieces_must_be_the_whole_range_once() {
        for (ranges, wanted) in
            [(&[":1", "1:2", "2:"][..], ":"), (&[":"], ":"), (&["1:2", "2:3"], "1:3"), (&["1:2", "2:"], "1:")]
        {
            assert_eq!(checked(ranges, wanted).as_deref(), Ok(wanted));
        }
        for (ranges, wanted, told) in [
            (&[":1", "2:"][..], ":", "the range 1:2 is missing"),
            (&["1:2", "2:"], ":", "the range :1 is missing"),
            (&[":1", "1:2"], ":", "the range 2: is missing"),
            (&["1:2"], "1:3", "the range 2:3 is missing"),
            (&[":1", "1:2", "1.5:"], ":", "overlaps"),
            (&[":1", ":1", "1:"], ":", "overlaps"),
            (&[":", "1:2"], ":", "overlaps"),
            (&[":1", "1:", "1:"], ":", "overlaps"),
            (&[":2", "2:3"], "1:3", "begins before 1"),
            (&["1:2"], "1:1.5", "end later"),
            (&["1:"], "1:2", "end later"),
        ] {
            let error = checked(ranges, wanted).unwrap_err();
            assert!(error.contains(told), "{ranges:?}: {error}");
        }
    }
}
