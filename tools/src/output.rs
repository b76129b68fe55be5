//! Files that are there when they are complete, and not before; or the standard output.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{fs, mem};

use serde::Serialize;
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::records::{self, End, HEADER, Piece, Records};

/// A file that is being written beside the place that it gets when it is complete, or the standard output.
pub struct Output {
    path: PathBuf,
    /// Buffered in front of zstd: what it writes then does not depend on how long the pieces are that it gets.
    sink: BufWriter<Sink>,
}

/// Where the bytes go.
enum Target {
    File(NamedTempFile),
    Standard(io::Stdout),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(output) => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(output) => output.flush(),
        }
    }
}

/// Whether `path` is the standard output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How messages call the output `path`.
pub fn shown(path: &Path) -> impl std::fmt::Display {
    if is_standard(path) { "standard output".into() } else { path.display().to_string() }
}

enum Sink {
    Plain(Target),
    Packed(zstd::Encoder<'static, Target>),
    /// What it was has been taken out.
    Closed,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Packed(encoder) => encoder.write(bytes),
            Self::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the name of an output promises another format than packed binary.
///
/// # Errors
/// [`Error::Usage`] if it does, with a command that writes that format.
pub fn check_name(path: &Path) -> Result<(), Error> {
    let name = path.to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    let ends = Path::new(name).extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let caps = match &*ends {
        "csv" => "text/csv",
        "json" | "jsonl" | "ndjson" => "application/x-ndjson",
        "flo" => "application/x-flo",
        _ => return Ok(()),
    };
    let sink = if ends == "flo" {
        "multifilesink location=%05d.flo".into()
    } else {
        format!("filesink location={name}")
    };
    Err(Error::Usage(format!(
        "{}: motion-vectors writes packed binary: choose another name, such as vectors.bin. The plugin writes .{ends}: \
         gst-launch-1.0 filesrc location=VIDEO ! decodebin ! videoconvert ! motionestimate ! motionserialize ! {caps} \
         ! {sink}",
        path.display(),
    )))
}

impl Output {
    /// Begins the file of `piece`, packed by zstd or not.
    ///
    /// # Errors
    /// [`Error::Output`] if there cannot be a file.
    pub fn create(path: &Path, piece: &Piece, zstd: bool) -> Result<Self, Error> {
        let sink = || -> io::Result<Sink> {
            let file = match is_standard(path) {
                true => Target::Standard(io::stdout()),
                false => Target::File(temporary(path)?),
            };
            if !zstd {
                return Ok(Sink::Plain(file));
            }
            let mut encoder = zstd::Encoder::new(file, 0)?;
            encoder.include_checksum(true)?;
            Ok(Sink::Packed(encoder))
        };
        let sink = sink().map_err(|error| wrong(path, &error))?;
        let sink = BufWriter::with_capacity(1 << 20, sink);
        let mut output = Self { path: path.to_owned(), sink };
        output.write(&HEADER)?;
        output.note(piece)?;
        Ok(output)
    }

    /// Writes records.
    ///
    /// # Errors
    /// [`Error::Output`] if there is no space, for example.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.sink.write_all(bytes).map_err(|error| wrong(&self.path, &error))
    }

    fn note(&mut self, content: &impl Serialize) -> Result<(), Error> {
        self.write(&records::note(content)?)
    }

    /// Ends the file after `frames` frames and gives it its name.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn finish(mut self, frames: u64) -> Result<(), Error> {
        self.note(&End { frames })?;
        let close = |sink: &mut BufWriter<Sink>| -> io::Result<Target> {
            sink.flush()?;
            match mem::replace(sink.get_mut(), Sink::Closed) {
                Sink::Plain(file) => Ok(file),
                Sink::Packed(encoder) => encoder.finish(),
                Sink::Closed => Err(io::ErrorKind::BrokenPipe.into()),
            }
        };
        let place = |target: Target| match target {
            Target::File(file) => {
                file.as_file().sync_all()?;
                file.persist(&self.path)?;
                Ok(())
            }
            Target::Standard(mut output) => output.flush(),
        };
        close(&mut self.sink).and_then(place).map_err(|error| wrong(&self.path, &error))
    }
}

/// What is there already at `path`.
pub enum Existing {
    Nothing,
    /// This piece, whole, with so many frames.
    Whole(u64),
    /// A file of this program that is damaged or cut off.
    Damaged,
}

impl Existing {
    /// Looks for `piece` at `path`.
    ///
    /// # Errors
    /// [`Error::Output`] if there is another file, which is not overwritten.
    pub fn look(path: &Path, piece: &Piece) -> Result<Self, Error> {
        if is_standard(path) {
            return Ok(Self::Nothing);
        }
        let other = |what: String| Err(wrong(path, &format!("{what}; delete it or choose another name")));
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            Err(error) => return Err(wrong(path, &error)),
            Ok(metadata) if !metadata.is_file() => return other("is no file".into()),
            Ok(_) => (),
        }
        match Records::open(path) {
            Ok((mut records, found)) if found == *piece => {
                Ok(records.drain(0, |_| Ok(())).map_or(Self::Damaged, Self::Whole))
            }
            Ok((_, found)) => other(format!("is there already, {}", difference(&found, piece))),
            Err(error) => other(format!("is there already ({error})")),
        }
    }
}

/// In what `found` differs from `wanted`.
pub fn difference(found: &Piece, wanted: &Piece) -> String {
    let (what, found, wanted) = if found.video != wanted.video {
        let text = |piece: &Piece| format!("{} of {} bytes", piece.video.name, piece.video.bytes);
        ("of the video", text(found), text(wanted))
    } else if found.properties != wanted.properties {
        let text = |piece: &Piece| format!("\"{}\"", piece.properties);
        ("with the properties", text(found), text(wanted))
    } else if found.program != wanted.program {
        ("by", found.program.clone(), wanted.program.clone())
    } else {
        ("for the range", found.range.to_string(), wanted.range.to_string())
    };
    format!("{what} {found}, not {wanted}")
}

/// A file beside `path` that is removed if it gets no name.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(&format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy()))
        .suffix(".part")
        .permissions(new_file_permissions())
        .tempfile_in(folder(path))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Those of a file that a program creates: what the user's mask leaves of them.
fn new_file_permissions() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

fn wrong(path: &Path, what: &dyn std::fmt::Display) -> Error {
    Error::Output(format!("{}: {what}", shown(path)))
}
