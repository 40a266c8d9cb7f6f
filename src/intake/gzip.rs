//! gzip (RFC 1952): members of deflated data one after the other, each with its checksum. What inflates them is
//! [`flate2`]; its own reader of gzip brings a checksum that is heavier than all that it checks ([`crate::crc32`]).

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::DeflateDecoder;

use crate::crc32::{CRC32_BY_BYTE, RunningCrc32};

/// Inflates all members of a gzip stream.
///
/// Reading fails with [`ErrorKind::UnexpectedEof`] where the stream breaks off, and with [`ErrorKind::InvalidInput`]
/// where it is no gzip or a checksum is wrong.
pub(super) struct Gzip<R> {
    data: DeflateDecoder<R>,
    place: GzipState,
    checksum: RunningCrc32,
    /// The number of decompressed bytes of this member, modulo 2³².
    length: u32,
}

/// The position within the format.
enum GzipState {
    Header { is_first: bool },
    Data,
    End,
}

/// Bits of a header's flags: which of its optional fields are there.
const HEADER_CHECKSUM: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const RESERVED: u8 = 0xE0;

impl<R: BufRead> Gzip<R> {
    pub(super) fn new(input: R) -> Self {
        let data = DeflateDecoder::new(input);
        Self { data, place: GzipState::Header { is_first: true }, checksum: CRC32_BY_BYTE.digest(), length: 0 }
    }

    fn begin(&mut self) -> io::Result<()> {
        let input = self.data.get_mut();
        let [first, second, method, flags, ..] = bytes::<10>(input)?;
        if [first, second, method] != [0x1F, 0x8B, 8] || flags & RESERVED != 0 {
            return Err(ErrorKind::InvalidInput.into());
        }
        if flags & EXTRA != 0 {
            let length = u64::from(u16::from_le_bytes(bytes(input)?));
            io::copy(&mut input.take(length), &mut io::sink())?;
        }
        for field in [NAME, COMMENT] {
            if flags & field != 0 {
                input.skip_until(0)?;
            }
        }
        if flags & HEADER_CHECKSUM != 0 {
            bytes::<2>(input)?;
        }
        self.data.reset_data();
        self.checksum = CRC32_BY_BYTE.digest();
        self.length = 0;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let input = self.data.get_mut();
        let stated = [bytes(input)?, bytes(input)?].map(u32::from_le_bytes);
        if stated == [self.checksum.clone().finalize(), self.length] {
            Ok(())
        } else {
            Err(ErrorKind::InvalidInput.into())
        }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.place {
                GzipState::Header { is_first } => {
                    let is_over = !is_first && self.data.get_mut().fill_buf()?.is_empty();
                    if !is_over {
                        self.begin()?;
                    }
                    self.place = if is_over { GzipState::End } else { GzipState::Data };
                }
                GzipState::Data => match self.data.read(buffer)? {
                    0 => {
                        self.end()?;
                        self.place = GzipState::Header { is_first: false };
                    }
                    n => {
                        self.checksum.update(&buffer[..n]);
                        self.length = self.length.wrapping_add(n as u32);
                        return Ok(n);
                    }
                },
                GzipState::End => return Ok(0),
            }
        }
    }
}

fn bytes<const COUNT: usize>(input: &mut impl Read) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, GzBuilder, bufread::MultiGzDecoder};

    use super::*;

    fn read(mut input: impl Read) -> Result<Vec<u8>, ErrorKind> {
        let mut content = Vec::new();
        input.read_to_end(&mut content).map(|_| content).map_err(|error| error.kind())
    }

    fn members() -> Vec<u8> {
        let text: Vec<u8> = (0..40_000_u32).map(|n| (n * n % 251) as u8).collect();
        let plain = read(GzBuilder::new().read(&text[..], Compression::fast())).unwrap();
        let named = GzBuilder::new().extra("extra").filename("sweep.csv").comment("of today");
        let named = read(named.read(&text[..999], Compression::best())).unwrap();
        let empty = read(GzBuilder::new().read(&b""[..], Compression::none())).unwrap();
        [plain, named, empty].concat()
    }

    #[test]
    fn reads_as_the_library_does() {
        let members = members();
        assert_eq!(read(Gzip::new(&members[..])), read(MultiGzDecoder::new(&members[..])));
        assert_eq!(read(Gzip::new(&members[..])).map(|content| content.len()), Ok(40_999));
        for end in 0..members.len() {
            let (ours, theirs) = (read(Gzip::new(&members[..end])), read(MultiGzDecoder::new(&members[..end])));
            assert_eq!(ours, theirs, "broken off at {end}");
        }
        for at in 0..members.len() {
            let mut damaged = members.clone();
            damaged[at] ^= 0x10;
            let (ours, theirs) = (read(Gzip::new(&damaged[..])), read(MultiGzDecoder::new(&damaged[..])));
            assert_eq!(ours, theirs, "damaged at {at}");
        }
        assert_eq!(read(Gzip::new(&[&members[..], b"\0\0"].concat()[..])), Err(ErrorKind::UnexpectedEof));
    }
}
