//! The CRC-32 of gzip and zip, for files and links of ours.

use crc::{CRC_32_ISO_HDLC, Crc, NoTable};

/// Without a table: one of 256 entries is 2.3 kB of the page, compressed, and those of `crc32fast` are 17 kB.
pub static CRC32: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISO_HDLC);
