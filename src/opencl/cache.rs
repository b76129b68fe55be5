//! Built programs on disk, so that only the first start of all waits for a compiler.
//!
//! A program is a file in the user's cache directory. Its name is a hash of the program's *key*, a
//! text with all that the binary depends on: device, driver, options and source. The key stands in
//! the file too, so that programs whose hashes meet are not taken for each other, and a checksum
//! over all of it, because a driver need not survive a damaged binary:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 8 | checksum of all that follows |
//! | 8 | length of the key |
//! | | the key, then the binary |
//!
//! Nothing here fails: what cannot be read is not there, and what cannot be written is built again
//! next time.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// The first bytes of a file; the last of them is the version of the layout.
const MAGIC: &[u8; 8] = b"gstmepr\x01";

/// The most files kept. A device needs some five for each block size and metric in use; those of
/// drivers that are gone are never asked for again and make room first.
const MOST_FILES: usize = 200;

/// A directory of programs.
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The user's; `None` where the user has no cache directory.
    pub(super) fn of_user() -> Option<Self> {
        dirs::cache_dir().map(|base| Self::in_folder(base.join("gst-plugin-motionestimate")))
    }

    /// The one in `folder`, which is made when there is something to keep.
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The binary that was put under `key`.
    pub(super) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut file = fs::read(self.path(key)).ok()?;
        let rest = file.strip_prefix(MAGIC)?;
        let (checksum, rest) = rest.split_first_chunk()?;
        if u64::from_le_bytes(*checksum) != hash(rest) {
            return None;
        }
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        if rest.get(..length)? != key.as_bytes() {
            return None;
        }
        let header = file.len() - rest.len() + length;
        Some(file.split_off(header))
    }

    /// Keeps `binary` under `key`, in the place of what was there.
    pub(super) fn put(&self, key: &str, binary: &[u8]) {
        let mut content = (key.len() as u64).to_le_bytes().to_vec();
        content.extend_from_slice(key.as_bytes());
        content.extend_from_slice(binary);
        let checksum = hash(&content).to_le_bytes();
        // Written aside and moved into place at once: readers, and others that write the same
        // program at the same time, see a whole file or none.
        static WRITTEN: AtomicU32 = AtomicU32::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let aside = self.folder.join(format!("{}-{number}.part", std::process::id()));
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&aside, [MAGIC.as_slice(), checksum.as_slice(), &content].concat()))
            .and_then(|()| fs::rename(&aside, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        self.prune();
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.program", hash(key.as_bytes())))
    }

    /// Removes the oldest files where there are too many.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        let mut files: Vec<(Option<SystemTime>, PathBuf)> =
            entries.flatten().map(|entry| (written(&entry.path()), entry.path())).collect();
        let surplus = files.len().saturating_sub(MOST_FILES);
        files.sort();
        for (_, path) in files.into_iter().take(surplus) {
            let _ = fs::remove_file(path);
        }
    }
}

/// A hash that tells damage and keys apart. Another release of Rust may hash otherwise: then all
/// is built once more.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache in a folder of its own, which goes with it.
    struct Scratch(Cache);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("motionestimate-{name}-{}", std::process::id()));
            Self(Cache { folder })
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.folder);
        }
    }

    #[test]
    fn what_is_put_is_found_under_its_key_alone() {
        let scratch = Scratch::new("found");
        let Scratch(cache) = &scratch;
        assert_eq!(cache.get("a"), None);
        cache.put("a", b"one");
        cache.put("b", b"");
        cache.put("a", b"another");
        assert_eq!(cache.get("a").as_deref(), Some(&b"another"[..]));
        assert_eq!(cache.get("b").as_deref(), Some(&b""[..]));
        assert_eq!(cache.get("c"), None);
    }

    #[test]
    fn damaged_and_foreign_files_are_not_there() {
        let scratch = Scratch::new("damaged");
        let Scratch(cache) = &scratch;
        cache.put("key", b"binary");
        let path = cache.path("key");
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
        // The file of another key under this one's name: two keys of one hash.
        cache.put("other", b"other binary");
        fs::rename(cache.path("other"), &path).unwrap();
        assert_eq!(cache.get("key"), None);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(cache.get("key"), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_does_no_harm() {
        let cache = Cache { folder: PathBuf::from("/proc/no such folder") };
        cache.put("key", b"binary");
        assert_eq!(cache.get("key"), None);
    }

    #[test]
    fn the_oldest_make_room() {
        let scratch = Scratch::new("room");
        let Scratch(cache) = &scratch;
        cache.put("first", b"binary");
        let old = SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(cache.path("first")).unwrap().set_modified(old).unwrap();
        for number in 0..MOST_FILES {
            cache.put(&number.to_string(), b"binary");
        }
        assert_eq!(cache.get("first"), None);
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), MOST_FILES);
        assert!(cache.get(&(MOST_FILES - 1).to_string()).is_some());
    }
}
