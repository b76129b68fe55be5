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
//! Nothing here fails: a file that cannot be read counts as missing, and a program that cannot be written
//! is built again next time.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

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
    /// The cache of the user; `None` if the user has no cache directory.
    pub(super) fn of_user() -> Option<Self> {
        dirs::cache_dir().map(|base| Self::in_folder(base.join("gst-plugin-motionestimate")))
    }

    /// The cache in `folder`, which is created with the first program.
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

    /// Keeps `binary` under `key`, and replaces an earlier one.
    pub(super) fn put(&self, key: &str, binary: &[u8]) {
        let mut content = (key.len() as u64).to_le_bytes().to_vec();
        content.extend_from_slice(key.as_bytes());
        content.extend_from_slice(binary);
        let checksum = hash(&content).to_le_bytes();
        // Written to another file and renamed: readers, and other writers of the same program, see a
        // complete file or none.
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

    /// Removes the oldest files if there are too many.
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

/// The hash of checksums and file names. If another release of Rust changes it, all programs are built
/// again.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache in a temporary folder.
    struct TemporaryCache(ProgramCache);

    impl TemporaryCache {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("motionestimate-{name}-{}", std::process::id()));
            Self(ProgramCache { folder })
        }
    }

    impl Drop for TemporaryCache {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.folder);
        }
    }

    #[test]
    fn a_program_is_found_under_its_key_only() {
        let temporary = TemporaryCache::new("found");
        let TemporaryCache(cache) = &temporary;
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
        let temporary = TemporaryCache::new("damaged");
        let TemporaryCache(cache) = &temporary;
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
        // The file of another key under the name of this one, as if both keys had one hash.
        cache.put("other", b"other binary");
        fs::rename(cache.path("other"), &path).unwrap();
        assert_eq!(cache.get("key"), None);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(cache.get("key"), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let cache = ProgramCache { folder: PathBuf::from("/proc/no such folder") };
        cache.put("key", b"binary");
        assert_eq!(cache.get("key"), None);
    }

    #[test]
    fn the_oldest_files_are_removed() {
        let temporary = TemporaryCache::new("room");
        let TemporaryCache(cache) = &temporary;
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
