//! The CRC-32 of gzip and zip (RFC 1952, section 8), for files and links of ours and for what is read.

use crc::{CRC_32_ISO_HDLC, Crc, NoTable};

/// Bit by bit, for a few kilobytes: a table of 256 entries is 2.3 kB of the page, compressed.
pub static CRC32: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISO_HDLC);

/// By a table of 256 entries, for the megabytes that are read. `crc32fast` has tables of 17 kB, compressed.
#[cfg(feature = "workbenches")]
pub static CRC32_BY_BYTE: Crc<u32, crc::Table<1>> = Crc::<u32, crc::Table<1>>::new(&CRC_32_ISO_HDLC);

/// A checksum over bytes that come piece by piece, from [`CRC32_BY_BYTE`].
#[cfg(feature = "workbenches")]
pub type RunningCrc32 = crc::Digest<'static, u32, crc::Table<1>>;
