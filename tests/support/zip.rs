//! Zip archives for tests.

use std::io::{Cursor, Write};

use zip::{ZipWriter, write::SimpleFileOptions};

/// An archive of these entries.
#[allow(clippy::unwrap_used, reason = "a vector takes everything that is written to it")]
pub fn archive<N: AsRef<str>, C: AsRef<[u8]>>(entries: &[(N, C)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(name.as_ref(), SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_ref()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
