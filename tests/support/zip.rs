//! Zip archives are written, deflated, for tests and for the page's example.

use std::io::Write;

use collectune::crc32::Crc32;
use flate2::{Compression, write::DeflateEncoder};

/// An archive of these entries.
#[allow(clippy::unwrap_used, reason = "a vector takes everything that is written to it")]
pub fn archive<N: AsRef<str>, C: AsRef<[u8]>>(entries: &[(N, C)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let (name, content) = (name.as_ref().as_bytes(), content.as_ref());
        let at = (bytes.len() as u32).to_le_bytes();
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
        packer.write_all(content).unwrap();
        let packed = packer.finish().unwrap();
        let sizes = [Crc32::of(content), packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
        let length = (name.len() as u16).to_le_bytes();
        // Version 2.0, no flags, deflated, 1 January 1980.
        let head = [&b"\x14\0\0\0\x08\0\0\0\x21\0"[..], &sizes, &length, &[0, 0]].concat();
        bytes.extend([&b"PK\x03\x04"[..], &head, name, &packed].concat());
        directory.extend([&b"PK\x01\x02\x14\0"[..], &head, &[0; 10], &at, name].concat());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let (length, begin) = ((directory.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    bytes.extend(&directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &length, &begin, &[0, 0]].concat());
    bytes
}
