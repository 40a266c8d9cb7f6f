//! Decodes UTF-16 and UTF-8 with a byte order mark to plain UTF-8.

use std::io::{self, Read};

use super::Preview;

const CHUNK: usize = 32 * 1024;

/// Reads text with or without a byte order mark (UTF-8, UTF-16 LE, UTF-16 BE) as UTF-8 without one.
///
/// Without a mark the bytes pass as they are. Lone surrogates and an odd last byte of UTF-16 become U+FFFD.
///
/// ```
/// use std::io::Read;
/// use collectune_compute::records::Decoder;
/// let mut text = String::new();
/// Decoder::new(&b"\xFF\xFEa\0\xB5\0"[..]).read_to_string(&mut text)?;
/// assert_eq!(text, "aµ");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder<R> {
    input: Preview<R>,
    utf16: Option<Utf16>,
}

#[derive(Debug)]
struct Utf16 {
    big_endian: bool,
    /// Bytes that are read and not decoded: half a code unit, or a high surrogate without its low one.
    waiting: Vec<u8>,
    decoded: Vec<u8>,
    given: usize,
}

impl<R: Read> Decoder<R> {
    /// Detects and consumes a byte order mark.
    pub fn new(input: R) -> Self {
        let mut input = Preview::new(input, 3);
        let (mark, big_endian) = match input.head() {
            [0xEF, 0xBB, 0xBF] => (3, None),
            [0xFF, 0xFE, ..] => (2, Some(false)),
            [0xFE, 0xFF, ..] => (2, Some(true)),
            _ => (0, None),
        };
        input.skip_head(mark);
        let utf16 =
            big_endian.map(|big_endian| Utf16 { big_endian, waiting: Vec::new(), decoded: Vec::new(), given: 0 });
        Self { input, utf16 }
    }

    /// Whether the text is encoded in UTF-16.
    pub fn is_utf16(&self) -> bool {
        self.utf16.is_some()
    }
}

impl Utf16 {
    /// Decodes the waiting bytes, at the end of the input all of them.
    fn decode(&mut self, ended: bool) {
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if self.big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        let mut units: Vec<u16> = self.waiting.chunks_exact(2).map(unit).collect();
        let waits_for_partner = !ended && units.last().is_some_and(|u| (0xD800..0xDC00).contains(u));
        if waits_for_partner {
            units.pop();
        }
        self.waiting.drain(..units.len() * 2);
        let mut text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if ended && !self.waiting.is_empty() {
            self.waiting.clear();
            text.push(char::REPLACEMENT_CHARACTER);
        }
        self.decoded = text.into_bytes();
        self.given = 0;
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(utf16) = &mut self.utf16 else { return self.input.read(buffer) };
        while utf16.given == utf16.decoded.len() {
            let kept = utf16.waiting.len();
            utf16.waiting.resize(kept + CHUNK, 0);
            let read = self.input.read(&mut utf16.waiting[kept..]);
            utf16.waiting.truncate(kept + *read.as_ref().unwrap_or(&0));
            let ended = read? == 0;
            if ended && utf16.waiting.is_empty() {
                return Ok(0);
            }
            utf16.decode(ended);
        }
        let n = (&utf16.decoded[utf16.given..]).read(buffer)?;
        utf16.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, so that every boundary is met.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(buffer.len()).min(1);
            self.0.read(&mut buffer[..n])
        }
    }

    fn decoded(bytes: &[u8]) -> String {
        let mut text = String::new();
        Decoder::new(Drip(bytes)).read_to_string(&mut text).expect("a slice can be read");
        text
    }

    #[test]
    fn byte_order_marks_are_understood_and_removed() {
        let text = "größe,µs,𝄞\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(text.as_bytes()), text);
        assert_eq!(decoded(&[b"\xEF\xBB\xBF", text.as_bytes()].concat()), text);
        assert_eq!(decoded(&[&b"\xFF\xFE"[..], &little].concat()), text);
        assert_eq!(decoded(&[&b"\xFE\xFF"[..], &big].concat()), text);
    }

    #[test]
    fn broken_utf16_is_replaced() {
        assert_eq!(decoded(b"\xFF\xFEa\0\0\xD8b\0c"), "a\u{FFFD}b\u{FFFD}");
        assert_eq!(decoded(b"\xFF\xFE\0\xD8"), "\u{FFFD}");
        assert_eq!(decoded(b"\xFF\xFE"), "");
    }
}
