//! Built programs on disk, so that only the first start waits for a compiler.
//!
//! A program is a file in the user's cache directory. Its name is a hash of the program's *key*, a text
//! with everything that the binary depends on: device, driver, options and source. The file also holds
//! the key, because two keys may have one hash, and a checksum, because a driver may crash on a damaged
//! binary:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 8 | checksum of all that follows |
//! | 8 | length of the key |
//! | | the key, then the binary |
//!
//! A driver runs what a binary holds, and the checksum is no secret. So a file is used only if no other user can have
//! written it: [`PrivateFolder`] checks that.
//!
//! Nothing here fails: a file that is refused counts as missing, with a warning, and a program that cannot be written is
//! built again next time.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::PathBuf;

#[cfg(unix)]
use super::private_folder::PrivateFolder;
use crate::warnings::warn;
#[cfg(not(unix))]
use nowhere::PrivateFolder;

/// The first bytes of a file; the last of them is the version of the layout.
const MAGIC: &[u8; 8] = b"gstmepr\x01";

/// The most files kept. A device needs about five for each block size and metric in use. Files of old
/// drivers are no longer used, so they become the oldest and are removed first.
const MOST_FILES: usize = 200;

/// A directory of programs.
pub(super) struct ProgramCache {
    folder: PathBuf,
}

impl ProgramCache {
    /// The cache of the user; `None` if the user has no cache directory, or files have no owner that can be checked.
    pub(super) fn of_user() -> Option<Self> {
        let base = dirs::cache_dir().filter(|_| cfg!(unix))?;
        Some(Self::in_folder(base.join("gst-plugin-motionestimate")))
    }

    /// The cache in `folder`, which is created with the first program.
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The binary that was put under `key`.
    pub(super) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let name = name(key);
        let read = self.open().and_then(|folder| folder.read(&name));
        match read.and_then(|file| binary(file, key)) {
            Ok(binary) => Some(binary),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.warn(&name, format_args!("is not used, but compiled again: {error}"));
                None
            }
        }
    }

    /// Keeps `binary` under `key`, and replaces an earlier one.
    pub(super) fn put(&self, key: &str, binary: &[u8]) {
        let mut content = (key.len() as u64).to_le_bytes().to_vec();
        content.extend_from_slice(key.as_bytes());
        content.extend_from_slice(binary);
        let checksum = hash(&content).to_le_bytes();
        let name = name(key);
        let put = PrivateFolder::create(&self.folder).and_then(|()| self.open()).and_then(|folder| {
            folder.write(&name, &[MAGIC, &checksum, &content])?;
            folder.prune(MOST_FILES);
            Ok(())
        });
        if let Err(error) = put {
            self.warn(&name, format_args!("cannot be kept: {error}"));
        }
    }

    fn open(&self) -> io::Result<PrivateFolder> {
        let of_folder = |error: io::Error| io::Error::new(error.kind(), format!("its folder: {error}"));
        PrivateFolder::open(&self.folder).map_err(of_folder)
    }

    fn warn(&self, name: &str, what: fmt::Arguments) {
        warn(format_args!("The compiled program {} {what}", self.folder.join(name).display()));
    }
}

/// The binary in a `file` of `key`.
fn binary(mut file: Vec<u8>, key: &str) -> io::Result<Vec<u8>> {
    let header = || {
        let rest = file.strip_prefix(MAGIC)?;
        let (checksum, rest) = rest.split_first_chunk()?;
        if u64::from_le_bytes(*checksum) != hash(rest) {
            return None;
        }
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        (rest.get(..length)? == key.as_bytes()).then_some(file.len() - rest.len() + length)
    };
    match header() {
        Some(header) => Ok(file.split_off(header)),
        None => Err(io::Error::other("it is damaged, or of another device, driver or source")),
    }
}

fn name(key: &str) -> String {
    format!("{:016x}.program", hash(key.as_bytes()))
}

/// The hash of checksums and file names. If another release of Rust changes it, all programs are built
/// again.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// In the place of `private_folder` where [`ProgramCache::of_user`] has no cache.
#[cfg(not(unix))]
mod nowhere {
    use std::io;
    use std::path::Path;

    pub enum PrivateFolder {}

    impl PrivateFolder {
        pub fn create(_: &Path) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn open(_: &Path) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn read(&self, _: &str) -> io::Result<Vec<u8>> {
            match *self {}
        }

        pub fn write(&self, _: &str, _: &[&[u8]]) -> io::Result<()> {
            match *self {}
        }

        pub fn prune(&self, _: usize) {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::SystemTime;

    use super::*;

    /// A cache in a temporary folder.
    struct TemporaryCache {
        cache: ProgramCache,
        _folder: tempfile::TempDir,
    }

    impl TemporaryCache {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { cache: ProgramCache::in_folder(folder.path().join("programs")), _folder: folder }
        }
    }

    fn path(cache: &ProgramCache, key: &str) -> PathBuf {
        cache.folder.join(name(key))
    }

    #[test]
    fn a_program_is_found_under_its_key_only() {
        let TemporaryCache { cache, .. } = &TemporaryCache::new();
        assert_eq!(cache.get("a"), None);
        cache.put("a", b"one");
        cache.put("b", b"");
        cache.put("a", b"another");
        assert_eq!(cache.get("a").as_deref(), Some(&b"another"[..]));
        assert_eq!(cache.get("b").as_deref(), Some(&b""[..]));
        assert_eq!(cache.get("c"), None);
    }

    #[test]
    fn damaged_files_and_files_of_other_keys_are_ignored() {
        let TemporaryCache { cache, .. } = &TemporaryCache::new();
        cache.put("key", b"binary");
        let path = path(cache, "key");
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.get("key"), None, "the first {length} bytes");
        }
        for index in 0..whole.len() {
            let mut changed = whole.clone();
            changed[index] ^= 0x10;
            fs::write(&path, &changed).unwrap();
            assert_eq!(cache.get("key"), None, "byte {index} changed");
        }
        // The file of another key under the name of this one, as if both keys had one hash.
        cache.put("other", b"other binary");
        fs::rename(cache.folder.join(name("other")), &path).unwrap();
        assert_eq!(cache.get("key"), None);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(cache.get("key"), None);
        // It stays, as it is no file.
        cache.put("key", b"binary");
        assert_eq!(cache.get("key"), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let cache = ProgramCache { folder: PathBuf::from("/proc/no such folder") };
        cache.put("key", b"binary");
        assert_eq!(cache.get("key"), None);
    }

    /// What `private_folder` refuses is neither read nor written.
    #[cfg(unix)]
    #[test]
    fn a_cache_that_others_can_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let allow = |path: &std::path::Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let TemporaryCache { cache, .. } = &TemporaryCache::new();
        cache.put("key", b"binary");
        let file = path(cache, "key");
        allow(&file, 0o620);
        assert_eq!(cache.get("key"), None);
        // It is replaced, not written to.
        cache.put("key", b"another");
        assert_eq!(cache.get("key").as_deref(), Some(&b"another"[..]));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

        allow(&cache.folder, 0o777);
        assert_eq!(cache.get("key"), None);
        cache.put("other", b"binary");
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1);
        allow(&cache.folder, 0o700);
        assert_eq!(cache.get("key").as_deref(), Some(&b"another"[..]));
    }

    #[test]
    fn the_oldest_files_are_removed() {
        let TemporaryCache { cache, .. } = &TemporaryCache::new();
        cache.put("first", b"binary");
        let old = SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(path(cache, "first")).unwrap().set_modified(old).unwrap();
        for number in 0..MOST_FILES {
            cache.put(&number.to_string(), b"binary");
        }
        assert_eq!(cache.get("first"), None);
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), MOST_FILES);
        assert!(cache.get(&(MOST_FILES - 1).to_string()).is_some());
    }
}
