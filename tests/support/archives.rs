//! Archives for tests.

#![allow(clippy::unwrap_used, reason = "a vector takes everything that is written to it")]

use std::io::{Cursor, Write};

use flate2::{Compression, write::GzEncoder};
use zip::{ZipWriter, write::SimpleFileOptions};

/// A zip archive of these entries.
pub fn archive<N: AsRef<str>, C: AsRef<[u8]>>(entries: &[(N, C)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(name.as_ref(), SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_ref()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A tar archive of these entries.
pub fn tarred<N: AsRef<str>, C: AsRef<[u8]>>(entries: &[(N, C)]) -> Vec<u8> {
    let mut writer = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut head = tar::Header::new_gnu();
        head.set_size(content.as_ref().len() as u64);
        writer.append_data(&mut head, name.as_ref(), content.as_ref()).unwrap();
    }
    writer.into_inner().unwrap()
}

/// These bytes, packed with gzip.
pub fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
