//! A table in memory: what a delimited text, a sheet of a workbook and a list of JSON records have in common.

use crate::text::{Problem, Problems, Records, State};

/// The most bytes of a sheet: its texts, and four for where each ends.
pub(super) const LONGEST: usize = 256 << 20;
/// The most bytes of all headers together.
const LONGEST_HEADERS: usize = 4 << 20;

/// A table of texts with headers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// The most bytes that may still be added.
    room: usize,
    headers: Vec<String>,
    text: String,
    /// The end of each cell in the text, row after row, with a cell for every header.
    ends: Vec<u32>,
    /// The position of each row in its file: the number of a line, row or record, from 1.
    lines: Vec<u64>,
}

/// A row below the header, with its line in the file.
#[derive(Clone, Copy, Debug)]
pub struct SheetRow<'a> {
    sheet: &'a Sheet,
    index: usize,
}

/// There is more text than a table of kernels has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has more than {} MiB of text; split it", LONGEST >> 20)]
pub struct TooLong;

impl Sheet {
    pub fn new(headers: Vec<String>) -> Self {
        Self { headers, room: LONGEST, ..Self::default() }
    }

    /// A sheet without rows that may have this many bytes. Returns [`TooLong`] if the headers exceed their limit.
    pub(super) fn within<'a>(room: usize, headers: impl Iterator<Item = &'a str>) -> Result<Self, TooLong> {
        let mut left = LONGEST_HEADERS.min(room);
        let mut taken = Vec::new();
        for header in headers {
            left = left.checked_sub(header.len()).ok_or(TooLong)?;
            taken.push(header.to_owned());
        }
        Ok(Self { room, ..Self::new(taken) })
    }

    /// The number of bytes of all texts.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + size_of::<u32>() * self.ends.len()
    }

    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// Adds a row; cells that are missing at its end are empty, those beyond the headers are dropped. Returns an error
    /// if the sheet is full.
    pub fn push<'a>(&mut self, line: u64, cells: impl Iterator<Item = &'a str>) -> Result<(), TooLong> {
        let first = self.ends.len();
        let width = self.headers.len();
        // Before anything is added: a short file can name one long text in every cell.
        let mut left = self.room.checked_sub(self.bytes() + size_of::<u32>() * width).ok_or(TooLong)?;
        for cell in cells.take(width) {
            let cell = cell.trim();
            left = left.checked_sub(cell.len()).ok_or(TooLong)?;
            self.text.push_str(cell);
            self.ends.push(self.text.len() as u32);
        }
        self.ends.resize(first + width, self.text.len() as u32);
        self.lines.push(line);
        Ok(())
    }

    pub fn rows(&self) -> impl ExactSizeIterator<Item = SheetRow<'_>> {
        (0..self.lines.len()).map(|index| SheetRow { sheet: self, index })
    }

    /// The first of these headers that is there, in any case; blanks around it don't matter.
    pub fn find(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.headers.iter().position(|header| header.trim().eq_ignore_ascii_case(name)))
    }

    /// Reads the remaining records of a delimited text, the first as headers. `lines_before` lines were skipped. The
    /// profiler's own lines, which begin with `==PROF==`, are left out. Returns [`TooLong`] if there is too much text.
    pub fn read(records: &mut Records<'_>, lines_before: u64) -> Result<(Self, Problems), TooLong> {
        records.skip_comments();
        let headers: Vec<String> = records.next().map(|r| r.cells().map(str::to_owned).collect()).unwrap_or_default();
        let mut sheet = Self::new(headers);
        let mut problems = Problems::default();
        let width = sheet.headers.len();
        while let Some(record) = records.next() {
            let line = lines_before + record.line();
            let is_torn = matches!(record.state(), State::Broken | State::OpenQuote | State::TooLong);
            if !is_torn && record.len() == width {
                sheet.push(line, record.cells())?;
            } else if !record.get(0).is_some_and(|cell| cell.starts_with("==")) {
                let expected = match record.state() {
                    State::OpenQuote => "opens a quote and does not close it; the row was left out".to_owned(),
                    _ if is_torn => "is no whole row; it was left out".to_owned(),
                    _ => format!("has {} cells where the header has {width}; the row was left out", record.len()),
                };
                problems.push(Problem::new(line, "", &record.excerpt(), expected));
            }
        }
        Ok((sheet, problems))
    }
}

impl<'a> SheetRow<'a> {
    /// The line number in its file.
    pub fn line(&self) -> u64 {
        self.sheet.lines[self.index]
    }

    /// The text of a cell; empty if the row has no such column.
    pub fn get(&self, column: usize) -> &'a str {
        let width = self.sheet.headers.len();
        if column >= width {
            return "";
        }
        let place = self.index * width + column;
        let begin = if place == 0 { 0 } else { self.sheet.ends[place - 1] as usize };
        &self.sheet.text[begin..self.sheet.ends[place] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Dialect;

    #[test]
    fn records_become_rows_and_torn_ones_problems() {
        let text = "name,a\nx,1\n\ny\n==PROF== Disconnected\n\"z,q\",2\n";
        let (sheet, problems) = Sheet::read(&mut Records::new(text.as_bytes(), Dialect::default()), 10).unwrap();
        let rows: Vec<_> = sheet.rows().map(|row| (row.line(), row.get(0).to_owned(), row.get(1).to_owned())).collect();
        assert_eq!(rows, [(12, "x".into(), "1".into()), (16, "z,q".into(), "2".into())]);
        assert_eq!(problems.count, 1);
        assert_eq!(problems.kept[0].line, 14);
        assert_eq!(sheet.find(&["missing", "NAME"]), Some(0));
        assert_eq!(sheet.rows().next().map(|row| row.get(7)), Some(""));
    }
}
