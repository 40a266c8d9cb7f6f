//! Dialects of delimited text.

/// The dialect of a delimited text. Quotes are `"`, doubled inside quotes; lines end with LF, CRLF or CR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The delimiter of cells: comma, tab or semicolon.
    pub delimiter: u8,
    /// The end of a line: LF (a CR before it is dropped), or CR in a file without any LF.
    pub line_end: u8,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { delimiter: b',', line_end: b'\n' }
    }
}
