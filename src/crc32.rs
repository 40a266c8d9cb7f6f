//! The CRC-32 of gzip (RFC 1952, section 8), byte by byte. The library that inflates has one of sixteen tables, which
//! are seventeen kilobytes of the page.

use std::array;

/// The running checksum of a sequence of bytes.
pub struct Crc32 {
    value: u32,
    of_byte: [u32; 256],
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

impl Crc32 {
    /// The state before the first byte.
    #[must_use]
    pub fn new() -> Self {
        let shifted = |crc: u32, _| if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
        Self { value: 0, of_byte: array::from_fn(|byte| (0..8).fold(byte as u32, shifted)) }
    }

    /// The checksum of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> u32 {
        let mut checksum = Self::new();
        checksum.add(bytes);
        checksum.value
    }

    /// Appends bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let next = |crc: u32, byte: &u8| self.of_byte[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
        self.value = !bytes.iter().fold(!self.value, next);
    }

    /// The checksum of all bytes so far.
    #[must_use]
    pub const fn value(&self) -> u32 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_is_the_published_one() {
        let mut checksum = Crc32::new();
        checksum.add(b"1234");
        checksum.add(b"56789");
        assert_eq!(checksum.value(), 0xCBF4_3926);
    }
}
