//! Reads the files that the plugin is given.

use std::{fs, io, io::Read, path::Path};

use collectune::policy::file::LONGEST;

/// Reads a whole file.
///
/// # Errors
/// Those of the file system; also for a folder or a pipe, which could block the job, and for more bytes than a policy
/// file may have.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is no file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST { Err(io::Error::other("has more than 16 MiB")) } else { Ok(bytes) }
}
