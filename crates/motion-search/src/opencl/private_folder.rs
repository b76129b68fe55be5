//! A folder of files that no other user can write to.
//!
//! What is opened is checked, and then used through the opened descriptor alone: nothing is looked up by its path again,
//! so that it does not matter what another process puts in its place meanwhile.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::process::Uid;

/// What every file is opened with. A symbolic link is an error, and a pipe does not block.
const SAFELY: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// An open folder that belongs to the user, and that no other user can write to.
pub(super) struct PrivateFolder {
    folder: OwnedFd,
    user: Uid,
}

impl PrivateFolder {
    /// Makes the folder `path` for the user alone, and those above it, if they are missing.
    pub(super) fn create(path: &Path) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Opens the folder `path` of this process's user.
    ///
    /// # Errors
    /// What keeps it from being used: it is missing, no folder, a symbolic link, another user's, or other users can
    /// write to it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::of(rustix::process::geteuid(), path)
    }

    /// As [`PrivateFolder::open`], of `user`.
    fn of(user: Uid, path: &Path) -> io::Result<Self> {
        let folder = rustix::fs::open(path, SAFELY | OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        check(&rustix::fs::fstat(&folder)?, user)?;
        Ok(Self { folder, user })
    }

    /// The content of the file `name`.
    ///
    /// # Errors
    /// What keeps it from being used, as for the folder, or that it is no regular file, or has a second name, which
    /// may be in a folder that others can read.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = rustix::fs::openat(&self.folder, name, SAFELY | OFlags::RDONLY, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no regular file"));
        }
        // None: it was replaced just now.
        if stat.st_nlink > 1 {
            return Err(io::Error::other("it is a hard link"));
        }
        check(&stat, self.user)?;
        let mut content = Vec::new();
        File::from(file).read_to_end(&mut content)?;
        Ok(content)
    }

    /// Writes the file `name`, for the user alone, or replaces it. Readers, and other writers of the same file, see a
    /// complete file or none.
    pub(super) fn write(&self, name: &str, content: &[&[u8]]) -> io::Result<()> {
        // Processes in different containers may have one number; then the file is written next time.
        static WRITTEN: AtomicU32 = AtomicU32::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let aside = format!("{}-{number}.part", std::process::id());
        let new = SAFELY | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let written = rustix::fs::openat(&self.folder, &*aside, new, Mode::RUSR | Mode::WUSR)
            .map_err(io::Error::from)
            .and_then(|file| {
                let mut file = File::from(file);
                content.iter().try_for_each(|part| file.write_all(part))
            })
            .and_then(|()| Ok(rustix::fs::renameat(&self.folder, &*aside, &self.folder, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.folder, &*aside, AtFlags::empty());
        }
        written
    }

    /// Removes the files that were written longest ago, all but `most`.
    pub(super) fn prune(&self, most: usize) {
        let Ok(entries) = Dir::read_from(&self.folder) else { return };
        let names = entries.flatten().map(|entry| entry.file_name().to_owned());
        let mut files: Vec<_> = names
            .filter(|name| !matches!(name.as_bytes(), b"." | b".."))
            .map(|name| {
                let stat = rustix::fs::statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW);
                (stat.map(|stat| (stat.st_mtime, stat.st_mtime_nsec)).ok(), name)
            })
            .collect();
        let surplus = files.len().saturating_sub(most);
        files.sort();
        for (_, name) in files.into_iter().take(surplus) {
            let _ = rustix::fs::unlinkat(&self.folder, &name, AtFlags::empty());
        }
    }
}

/// Whether a file or folder is of `user`, and no other user can write to it. What an access control list allows others
/// is in the permissions of the group.
fn check(stat: &Stat, user: Uid) -> io::Result<()> {
    if stat.st_uid != user.as_raw() {
        return Err(io::Error::other(format!("it belongs to user {}", stat.st_uid)));
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        return Err(io::Error::other("other users can write to it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    /// A private folder in a temporary one, with the file `file`.
    struct TemporaryFolder {
        path: PathBuf,
        around: tempfile::TempDir,
    }

    impl TemporaryFolder {
        fn new() -> Self {
            let around = tempfile::tempdir().unwrap();
            let path = around.path().join("new/folder");
            PrivateFolder::create(&path).unwrap();
            let it = Self { path, around };
            it.open().unwrap().write("file", &[b"con", b"tent"]).unwrap();
            it
        }

        fn open(&self) -> io::Result<PrivateFolder> {
            PrivateFolder::open(&self.path)
        }

        /// What is read from `file` now.
        fn read(&self) -> Result<Vec<u8>, String> {
            self.open().and_then(|folder| folder.read("file")).map_err(|error| error.to_string())
        }

        fn file(&self) -> PathBuf {
            self.path.join("file")
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn files_and_folders_are_of_the_user_alone() {
        let folder = TemporaryFolder::new();
        assert_eq!(folder.read().unwrap(), b"content");
        assert_eq!(mode(&folder.file()), 0o600);
        assert_eq!((mode(&folder.path), mode(folder.path.parent().unwrap())), (0o700, 0o700));
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1, "nothing else was left");
        PrivateFolder::create(&folder.path).expect("it is there already");
    }

    #[test]
    fn what_others_can_write_is_refused() {
        let folder = TemporaryFolder::new();
        for path in [folder.file(), folder.path.clone()] {
            let was = mode(&path);
            for mode in [0o720, 0o702, 0o722, 0o777, 0o1777] {
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                assert_eq!(folder.read().unwrap_err(), "other users can write to it", "{mode:o} {path:?}");
            }
            // What they can read is no secret.
            fs::set_permissions(&path, Permissions::from_mode(was | 0o055)).unwrap();
            assert_eq!(folder.read().unwrap(), b"content");
        }
    }

    /// To another user all these files are those of another user.
    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let folder = TemporaryFolder::new();
        let own = rustix::process::geteuid();
        let other = Uid::from_raw(own.as_raw() ^ 1);
        let refused = format!("it belongs to user {}", own.as_raw());
        assert_eq!(PrivateFolder::of(other, &folder.path).err().unwrap().to_string(), refused);
        // The folder is the other user's, the file is not.
        let swapped = PrivateFolder { user: other, ..folder.open().unwrap() };
        assert_eq!(swapped.read("file").unwrap_err().to_string(), refused);
    }

    #[test]
    fn links_and_special_files_are_refused() {
        let folder = TemporaryFolder::new();
        let file = folder.file();
        let elsewhere = folder.around.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        assert!(folder.read().unwrap_err().contains("No such file"));

        symlink(&elsewhere, &file).unwrap();
        assert!(folder.read().unwrap_err().contains("symbolic links"));
        // The link is replaced, not followed.
        folder.open().unwrap().write("file", &[b"new"]).unwrap();
        assert_eq!(folder.read().unwrap(), b"new");
        assert_eq!(fs::read(&elsewhere).unwrap(), b"content");
        fs::remove_file(&file).unwrap();

        fs::hard_link(&elsewhere, &file).unwrap();
        assert_eq!(folder.read().unwrap_err(), "it is a hard link");
        fs::remove_file(&file).unwrap();

        // It would wait for a writer.
        rustix::fs::mknodat(rustix::fs::CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(folder.read().unwrap_err(), "it is no regular file");
        fs::remove_file(&file).unwrap();

        fs::create_dir(&file).unwrap();
        assert_eq!(folder.read().unwrap_err(), "it is no regular file");
        folder.open().unwrap().write("file", &[b"new"]).unwrap_err();
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1, "nothing was left aside");
    }

    #[test]
    fn a_folder_that_is_a_link_or_a_file_is_refused() {
        let folder = TemporaryFolder::new();
        let link = folder.around.path().join("link");
        symlink(&folder.path, &link).unwrap();
        for path in [link, folder.file()] {
            let error = PrivateFolder::open(&path).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::NotADirectory, "{path:?}");
        }
        // A link in the way to the folder is the user's business.
        let link = folder.around.path().join("way");
        symlink(folder.path.parent().unwrap(), &link).unwrap();
        assert_eq!(PrivateFolder::open(&link.join("folder")).unwrap().read("file").unwrap(), b"content");
    }

    /// The folder stays the one that was checked, wherever its name leads meanwhile.
    #[test]
    fn a_folder_that_is_swapped_while_it_is_open_is_not_seen() {
        let folder = TemporaryFolder::new();
        let open = folder.open().unwrap();
        let aside = folder.around.path().join("aside");
        fs::rename(&folder.path, &aside).unwrap();
        fs::create_dir(&folder.path).unwrap();
        fs::write(folder.file(), b"swapped").unwrap();
        assert_eq!(open.read("file").unwrap(), b"content");
        open.write("other", &[b"new"]).unwrap();
        assert!(aside.join("other").exists() && !folder.path.join("other").exists());
    }
}
