//! Detects the dialect of a delimited text from its beginning.

use super::{Dialect, Records, State};

/// The number of lines that are inspected.
const LINES: usize = 20;

impl Dialect {
    /// Guesses from the first bytes of a text: the delimiter by which the most lines are as wide as the first one.
    ///
    /// ```
    /// use collectune_compute::records::Dialect;
    /// assert_eq!(Dialect::sniff(b"algo;proto\r\nRING;LL\r\n").delimiter, b';');
    /// ```
    pub fn sniff(head: &[u8]) -> Self {
        let line_end = if head.contains(&b'\n') || !head.contains(&b'\r') { b'\n' } else { b'\r' };
        let candidates = [b',', b'\t', b';'].map(|delimiter| Self { delimiter, line_end });
        let mut best = (Self { line_end, ..Self::default() }, (0, 1));
        for dialect in candidates {
            let fit = dialect.fit(head);
            if fit.1 > 1 && fit > best.1 {
                best = (dialect, fit);
            }
        }
        best.0
    }

    /// How many of the first lines have as many cells as the first one, and that number of cells.
    fn fit(self, head: &[u8]) -> (usize, usize) {
        let mut records = Records::new(head, self);
        records.skip_comments();
        let (mut fitting, mut width) = (0, 0);
        for _ in 0..LINES {
            match records.next() {
                Some(record) if fitting == 0 => (fitting, width) = (1, record.len()),
                Some(record) if record.len() == width && record.state() != State::OpenQuote => fitting += 1,
                Some(_) => {}
                None => break,
            }
        }
        (fitting, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_and_line_ends() {
        for (head, delimiter, line_end) in [
            ("a,b\n1,2\n", b',', b'\n'),
            ("a\tb,c\r\n1\t2\r\n", b'\t', b'\n'),
            ("a;b\n0,5;1,5\n0,7;2,5\n", b';', b'\n'),
            ("# ms; two nodes; all arms\na,b,c\n1,2,3\n", b',', b'\n'),
            ("\"a;b\",c\n\"1;2\",3\n", b',', b'\n'),
            ("a,b\r1,2\r", b',', b'\r'),
            ("one word", b',', b'\n'),
            ("", b',', b'\n'),
        ] {
            assert_eq!(Dialect::sniff(head.as_bytes()), Dialect { delimiter, line_end }, "{head:?}");
        }
    }
}
