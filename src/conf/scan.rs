//! Bytes become lines and fields exactly as C cuts them: `fgets` into 256 bytes, `strtok` at commas.

/// The most bytes that `fgets(line, 256, file)` reads: 255, as the last byte of the buffer ends the string.
pub const LONGEST_READ: usize = 255;
/// A rule's longest line without its line feed, so that it is read in one piece.
pub const LONGEST_LINE: usize = LONGEST_READ - 1;
/// The most fields of a line that are parsed; further ones are ignored.
pub const MOST_FIELDS: usize = 10;

/// The bytes that one call of `fgets` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The number of the file's line that contains the piece, from 1.
    pub line: u32,
    /// The index of the piece within the line, from 0: lines longer than the buffer are read in several pieces.
    pub part: u32,
    /// The string as C sees it: up to the first NUL, without the line feed.
    pub text: &'a [u8],
    /// Whether the line continues in another piece.
    pub is_cut: bool,
    /// Whether the piece contains a NUL byte, which hides the rest of it from C.
    pub has_nul: bool,
}

/// Splits a file into pieces, in file order.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = bytes;
    let (mut line, mut part) = (1_u32, 0_u32);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let window = &rest[..rest.len().min(LONGEST_READ)];
        let end = memchr::memchr(b'\n', window);
        let taken = end.map_or(window.len(), |end| end + 1);
        let (read, after) = rest.split_at(taken);
        rest = after;
        let ends = end.is_some();
        let content = &read[..read.len() - usize::from(ends)];
        let nul = memchr::memchr(0, content);
        let text = &content[..nul.unwrap_or(content.len())];
        let piece = Piece { line, part, text, is_cut: !ends && !rest.is_empty(), has_nul: nul.is_some() };
        if ends {
            (line, part) = (line.saturating_add(1), 0);
        } else {
            part = part.saturating_add(1);
        }
        Some(piece)
    })
}

/// The first fields of a line: `strtok(line, ",")` makes empty fields collapse, then blanks and tabs around a field
/// go. A field of nothing but blanks stays, empty.
pub fn fields(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b',').filter(|field| !field.is_empty()).take(MOST_FIELDS).map(trim).collect()
}

/// The field without blanks and tabs around it.
pub fn trim(field: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let begin = field.iter().position(|byte| !is_blank(byte)).unwrap_or(field.len());
    let end = field.iter().rposition(|byte| !is_blank(byte)).map_or(begin, |last| last + 1);
    &field[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &[u8]) -> Vec<(u32, u32, usize, bool)> {
        pieces(bytes).map(|p| (p.line, p.part, p.text.len(), p.is_cut)).collect()
    }

    #[test]
    fn a_buffer_holds_255_bytes() {
        let line = |length: usize| [vec![b'x'; length], b"\nend".to_vec()].concat();
        assert_eq!(cut(&line(254)), [(1, 0, 254, false), (2, 0, 3, false)]);
        // The line feed alone is what is left, a piece of its own.
        assert_eq!(cut(&line(255)), [(1, 0, 255, true), (1, 1, 0, false), (2, 0, 3, false)]);
        assert_eq!(cut(&line(600)), [(1, 0, 255, true), (1, 1, 255, true), (1, 2, 90, false), (2, 0, 3, false)]);
        assert_eq!(cut(&[b'x'; 255]), [(1, 0, 255, false)]);
        assert!(cut(b"").is_empty());
    }

    #[test]
    fn a_nul_hides_the_rest_of_its_line() {
        let texts: Vec<&[u8]> = pieces(b"ab\0cd\nef\r\n\n").map(|p| p.text).collect();
        assert_eq!(texts, [&b"ab"[..], b"ef\r", b""]);
    }

    #[test]
    fn empty_fields_collapse_and_blank_ones_stay() {
        assert_eq!(fields(b"a,,b"), [b"a", b"b"]);
        assert_eq!(fields(b" a\t, ,b b "), [&b"a"[..], b"", b"b b"]);
        assert_eq!(fields(b",,,").len(), 0);
        assert_eq!(fields(b"1,2,3,4,5,6,7,8,9,10,11").len(), MOST_FIELDS);
    }
}
