//! Files are saved whole or not at all, and never over one that is read.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::error::{CliError, told};

/// The identity of a file: on Unix its device and inode number, so that links count as the same file.
#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(_path: &Path, file: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((file.dev(), file.ino()))
}

#[cfg(not(unix))]
type Identity = PathBuf;

#[cfg(not(unix))]
fn identity(path: &Path, _file: &Metadata) -> Option<Identity> {
    fs::canonicalize(path).ok()
}

/// The files that this process has read, or is about to read.
static READ: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// Remembers that a file is read.
pub(super) fn is_read(path: &Path, file: &Metadata) {
    READ.lock().unwrap_or_else(PoisonError::into_inner).extend(identity(path, file));
}

/// Whether something may be saved under a name: to be asked before long work. Fails if it is the name of a file that is
/// read.
pub(super) fn check(what: &'static str, path: &Path) -> Result<(), CliError> {
    let Some(file) = fs::metadata(path).ok().filter(Metadata::is_file) else { return Ok(()) };
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let is_read = identity(path, &file).is_some_and(|file| read.contains(&file));
    let name = path.display();
    match is_read {
        true => Err(told(format!(
            "the {what} is not saved as {name}, which is one of the files that are read; give another name"
        ))),
        false => Ok(()),
    }
}

/// Saves a file. Whoever reads it meanwhile, or after the disk was full, sees the old or the new content, whole. Fails
/// where: it can't be written, or is a file that is read.
pub(super) fn save(what: &'static str, path: &Path, content: impl AsRef<[u8]>) -> Result<(), CliError> {
    check(what, path)?;
    let saved = replace(path, content.as_ref());
    saved.map_err(|error| told(format!("the {what} can't be saved as {}: {error}", path.display())))
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let Some(target) = target(path)? else { return write_into(path, content) };
    let replaced = fs::metadata(&target).ok();
    let (temporary, mut file) = beside(&target)?;
    let written = file.write_all(content).and_then(|()| {
        if let Some(replaced) = &replaced {
            keep_access(&file, replaced)?;
        }
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, &target)
    });
    written.inspect_err(|_error| drop(fs::remove_file(&temporary)))
}

/// The file that is replaced, behind symbolic links; `None` for what can't be replaced and is written into: a device, a
/// pipe, a file that this process has been handed open.
fn target(path: &Path) -> io::Result<Option<PathBuf>> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        // These links lead to what is open, whatever name it had once.
        if target.starts_with("/proc") || target.starts_with("/dev/fd") {
            return Ok(None);
        }
        match fs::symlink_metadata(&target) {
            Ok(file) if file.is_symlink() => {
                let link = fs::read_link(&target)?;
                target = target.parent().map_or(link.clone(), |folder| folder.join(link));
            }
            Ok(file) if file.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(file) => return Ok(file.is_file().then_some(target)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(target)),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn write_into(path: &Path, content: &[u8]) -> io::Result<()> {
    // What is said there later must stand behind it, which it does not where the same file is opened a second time.
    let mut file: Box<dyn Write> = match path.to_str() {
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => Box::new(io::stdout()),
        Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => Box::new(io::stderr()),
        _ => Box::new(OpenOptions::new().append(true).open(path)?),
    };
    file.write_all(content)?;
    file.flush()
}

/// A new file in the folder of another.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let name = format!(".collectune.{}.{}.tmp", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let temporary = path.with_file_name(name);
        match File::create_new(&temporary) {
            // Left behind by a process of the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (temporary, file)),
        }
    }
}

/// Who may do what with a file stays as it was with the one that it replaces.
fn keep_access(file: &File, replaced: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only the superuser may give a file away; for everybody else it is their own.
        let _ = fchown(file, Some(replaced.uid()), Some(replaced.gid()));
    }
    file.set_permissions(replaced.permissions())
}
