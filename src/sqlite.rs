//! Tables of a SQLite database, in which profilers store what they traced.
//!
//! Only scans of whole tables (<https://www.sqlite.org/fileformat2.html>): no SQL, no index, no write-ahead log. SQLite
//! itself is C, and weighs 300 kB in the browser.

use std::borrow::Cow;

/// The bytes with which every database begins.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// The length of the header before the first page's own.
const HEADER: usize = 100;

/// The page with the schema.
const SCHEMA_PAGE: u32 = 1;

/// Why a database can't be read; completes a sentence that begins with the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqliteError {
    /// The file does not begin as a database does.
    #[error("is no SQLite database")]
    NotSqlite,
    /// Its text is UTF-16, which no profiler writes.
    #[error("is a SQLite database with UTF-16 text, which is not read")]
    Encoding,
    /// A page is missing, or not what it should be.
    #[error("is a SQLite database that is cut or damaged at its page {0}")]
    Damaged(u32),
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL's `NULL`, and a column that the table lacks.
    Null,
    /// Of 64 bits with a sign.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text; what is no UTF-8 in it is replaced.
    Text(Cow<'a, str>),
    /// Bytes, which nothing that is read here needs.
    Blob,
}

impl Value<'_> {
    /// The whole number; `None` of any other value.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The text; `None` of any other value.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A table of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name, as it was created.
    pub name: String,
    /// The names of the columns, in the order of their values.
    columns: Vec<String>,
    /// The column that is the number of the row, and not stored a second time.
    row_number: Option<usize>,
    root: u32,
}

impl Table {
    /// Whether it has this column, in any case.
    pub fn has(&self, column: &str) -> bool {
        self.place(column).is_some()
    }

    fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|name| name.eq_ignore_ascii_case(column))
    }
}

/// A database, which borrows its file's bytes.
pub struct Database<'a> {
    bytes: &'a [u8],
    page_size: usize,
    /// The bytes of a page that are used.
    usable: usize,
    /// The tables, in the order in which they were created.
    pub tables: Vec<Table>,
}

impl<'a> Database<'a> {
    /// Opens a database and reads which tables it has.
    ///
    /// # Errors
    /// Returns an error if the bytes are no database, its text is UTF-16, or a page of the schema is damaged.
    pub fn open(bytes: &'a [u8]) -> Result<Self, SqliteError> {
        if !bytes.starts_with(MAGIC) || bytes.len() < HEADER {
            return Err(SqliteError::NotSqlite);
        }
        let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
            1 => 1 << 16,
            size => usize::from(size),
        };
        let usable = page_size.saturating_sub(usize::from(bytes[20]));
        if !page_size.is_power_of_two() || page_size < 512 || usable < 480 {
            return Err(SqliteError::NotSqlite);
        }
        // 0 in a database without a table.
        if bytes[59] > 1 {
            return Err(SqliteError::Encoding);
        }
        let mut database = Self { bytes, page_size, usable, tables: Vec::new() };
        let schema = Table {
            name: "sqlite_schema".to_owned(),
            columns: ["type", "name", "rootpage", "sql"].map(str::to_owned).into(),
            row_number: None,
            root: SCHEMA_PAGE,
        };
        let mut tables = Vec::new();
        // The columns are type, name, tbl_name, rootpage, sql.
        database.scan(&schema, &[Some(0), Some(1), Some(3), Some(4)], &mut |row| {
            if let ([kind, name, root, sql], true) = (row, tables.len() < MOST_TABLES)
                && kind.text() == Some("table")
                && let (Some(name), Some(sql)) = (name.text(), sql.text())
                && let Some(root) = root.integer().and_then(|root| u32::try_from(root).ok()).filter(|root| *root > 0)
                && let Some((columns, row_number)) = columns(sql)
            {
                tables.push(Table { name: name.to_owned(), columns, row_number, root });
            }
        })?;
        database.tables = tables;
        Ok(database)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// Visits the rows of a table with the values of these columns: [`Value::Null`] where it lacks one.
    ///
    /// # Errors
    /// Returns an error if a page of the table is damaged; the rows before it were visited.
    pub fn rows(
        &self,
        table: &Table,
        columns: &[&str],
        visit: &mut dyn FnMut(&[Value<'_>]),
    ) -> Result<(), SqliteError> {
        let places: Vec<Option<usize>> = columns.iter().map(|column| table.place(column)).collect();
        self.scan(table, &places, visit)
    }

    fn scan(
        &self,
        table: &Table,
        places: &[Option<usize>],
        visit: &mut dyn FnMut(&[Value<'_>]),
    ) -> Result<(), SqliteError> {
        // In a sound file no page is in two places: what leads back to a page would never end.
        let mut seen = vec![false; self.bytes.len() / self.page_size + 1];
        let mut pages = vec![table.root];
        while let Some(number) = pages.pop() {
            let page = self.page(number, &mut seen)?;
            let damaged = SqliteError::Damaged(number);
            let begin = if number == SCHEMA_PAGE { HEADER } else { 0 };
            let kind = page[begin];
            let cells = usize::from(be16(page, begin + 3).ok_or(damaged)?);
            let pointers = begin + if kind == INTERIOR { 12 } else { 8 };
            let cell = |index: usize| be16(page, pointers + 2 * index).map(usize::from);
            match kind {
                INTERIOR => {
                    pages.push(be32(page, begin + 8).ok_or(damaged)?);
                    for index in (0..cells).rev() {
                        pages.push(cell(index).and_then(|at| be32(page, at)).ok_or(damaged)?);
                    }
                }
                LEAF => {
                    for index in 0..cells {
                        let at = cell(index).ok_or(damaged)?;
                        let (length, at) = varint(page, at).ok_or(damaged)?;
                        let (row_number, at) = varint(page, at).ok_or(damaged)?;
                        let payload = self.payload(page, at, length as usize, &mut seen)?.ok_or(damaged)?;
                        let mut row = values(&payload, places).ok_or(damaged)?;
                        for (value, place) in row.iter_mut().zip(places) {
                            if place.is_some() && *place == table.row_number && *value == Value::Null {
                                *value = Value::Integer(row_number);
                            }
                        }
                        visit(&row);
                    }
                }
                _ => return Err(damaged),
            }
        }
        Ok(())
    }

    /// The page of this number, from 1, where it was not seen before.
    fn page(&self, number: u32, seen: &mut [bool]) -> Result<&'a [u8], SqliteError> {
        let damaged = SqliteError::Damaged(number);
        let index = (number as usize).checked_sub(1).ok_or(damaged)?;
        if std::mem::replace(seen.get_mut(index).ok_or(damaged)?, true) {
            return Err(damaged);
        }
        let begin = index * self.page_size;
        self.bytes.get(begin..begin + self.usable).ok_or(damaged)
    }

    /// A record of `length` bytes that begins at `at` of a leaf; `None` where the page ends before.
    fn payload(
        &self,
        page: &'a [u8],
        at: usize,
        length: usize,
        seen: &mut [bool],
    ) -> Result<Option<Cow<'a, [u8]>>, SqliteError> {
        let most = self.usable - 35;
        if length <= most {
            return Ok(at.checked_add(length).and_then(|end| page.get(at..end)).map(Cow::Borrowed));
        }
        // Longer ones go on in pages of their own.
        if length > self.bytes.len() {
            return Ok(None);
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (self.usable - 4);
        let here = if fitting <= most { fitting } else { least };
        let (Some(first), Some(mut next)) = (page.get(at..at + here), be32(page, at + here)) else { return Ok(None) };
        let mut record = first.to_vec();
        while record.len() < length {
            let more = self.page(next, seen)?;
            let take = (length - record.len()).min(self.usable - 4);
            record.extend(&more[4..4 + take]);
            next = be32(more, 0).unwrap_or(0);
        }
        Ok(Some(Cow::Owned(record)))
    }
}

/// The most tables of a database: profilers have a hundred.
const MOST_TABLES: usize = 10_000;

/// The kinds of pages of a table.
const INTERIOR: u8 = 5;
const LEAF: u8 = 13;

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number of one to nine bytes, and where the next value begins.
fn varint(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let mut value: u64 = 0;
    for index in 0..9 {
        let byte = *bytes.get(at + index)?;
        if index == 8 {
            return Some(((value << 8 | u64::from(byte)) as i64, at + 9));
        }
        value = value << 7 | u64::from(byte & 0x7F);
        if byte < 0x80 {
            return Some((value as i64, at + index + 1));
        }
    }
    None
}

/// The values of a record at some places; `None` where the record ends before one of them.
fn values<'p>(record: &'p [u8], places: &[Option<usize>]) -> Option<Vec<Value<'p>>> {
    let mut row = vec![Value::Null; places.len()];
    let (length, mut kind_at) = varint(record, 0)?;
    let kinds_end = usize::try_from(length).ok().filter(|end| *end <= record.len())?;
    let mut at = kinds_end;
    let mut index = 0;
    while kind_at < kinds_end {
        let (kind, next) = varint(record, kind_at)?;
        kind_at = next;
        let size = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).ok()?,
            _ => return None,
        };
        let bytes = record.get(at..at.checked_add(size)?)?;
        at += size;
        for (value, _) in row.iter_mut().zip(places).filter(|(_, place)| **place == Some(index)) {
            *value = match kind {
                0 => Value::Null,
                7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
                8 | 9 => Value::Integer(kind - 8),
                1..=6 => Value::Integer(integer(bytes)),
                _ if kind % 2 == 1 => Value::Text(String::from_utf8_lossy(bytes)),
                _ => Value::Blob,
            };
        }
        index += 1;
    }
    Some(row)
}

/// A whole number with its sign, the highest byte first.
fn integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    bytes.iter().fold(if negative { -1 } else { 0 }, |value, byte| value << 8 | i64::from(*byte))
}

/// The columns that `CREATE TABLE` names, and which of them is the number of the row; `None` of a table without such
/// numbers, which is stored in another way.
fn columns(sql: &str) -> Option<(Vec<String>, Option<usize>)> {
    let mut definitions = vec![Vec::new()];
    let mut depth = 0;
    let mut after = Vec::new();
    for token in Tokens(sql) {
        match (token, depth) {
            (Token::Sign('('), 0) if definitions.len() == 1 && definitions[0].is_empty() => depth = 1,
            (Token::Sign('('), 1..) => depth += 1,
            (Token::Sign(')'), 1..) => depth -= 1,
            (Token::Sign(','), 1) => definitions.push(Vec::new()),
            (Token::Word(word), 1) => definitions.last_mut()?.push(word),
            (Token::Word(word), 0) => after.push(word.to_ascii_uppercase()),
            _ => {}
        }
    }
    if after.ends_with(&["WITHOUT".to_owned(), "ROWID".to_owned()]) {
        return None;
    }
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    let is_rule =
        |word: &str| ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"].iter().any(|rule| is(word, rule));
    let mut names = Vec::new();
    let mut row_number = None;
    for definition in definitions {
        let Some(name) = definition.first() else { continue };
        // A rule begins with a word that would have to be quoted as a name.
        if is_rule(name) {
            continue;
        }
        if definition.get(1).is_some_and(|kind| is(kind, "INTEGER"))
            && definition.windows(2).any(|pair| is(pair[0], "PRIMARY") && is(pair[1], "KEY"))
        {
            row_number = Some(names.len());
        }
        names.push((*name).to_owned());
    }
    (!names.is_empty()).then_some((names, row_number))
}

/// Words and signs of SQL, without comments.
struct Tokens<'a>(&'a str);

/// A name, a word or a text without its quotes, or any other character.
#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Sign(char),
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.0 = self.0.trim_start();
            let comment_end = if self.0.starts_with("--") {
                "\n"
            } else if self.0.starts_with("/*") {
                "*/"
            } else {
                break;
            };
            self.0 = self.0.split_once(comment_end).map_or("", |(_, rest)| rest);
        }
        let first = self.0.chars().next()?;
        let rest = &self.0[first.len_utf8()..];
        let closing = match first {
            '"' | '`' | '\'' => Some(first),
            '[' => Some(']'),
            _ => None,
        };
        if let Some(closing) = closing {
            let (word, rest) = rest.split_once(closing).unwrap_or((rest, ""));
            self.0 = rest;
            return Some(Token::Word(word));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        if !is_word(first) {
            self.0 = rest;
            return Some(Token::Sign(first));
        }
        let (word, rest) = self.0.split_at(self.0.find(|c| !is_word(c)).unwrap_or(self.0.len()));
        self.0 = rest;
        Some(Token::Word(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_from_the_statement_that_made_them() {
        let nsight = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (\n\
            -- CUPTI, kernels (all).\n\
            start INTEGER NOT NULL, -- Event start timestamp (ns).\n\
            end INTEGER NOT NULL,\n\
            demangledName INTEGER NOT NULL, -- REFERENCES StringIds(id), with templates\n\
            graphId INTEGER)";
        let names = |sql| columns(sql).unwrap();
        assert_eq!(names(nsight), (["start", "end", "demangledName", "graphId"].map(str::to_owned).into(), None));
        let rocpd = "CREATE TABLE IF NOT EXISTS `rocpd_track_0a` (\"id\" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, \
            \"guid\" TEXT DEFAULT \"a,(b\" NOT NULL, size NUMERIC(10, 2) CHECK (size IN ('a', 'b')), [a b] INT, \
            FOREIGN KEY (nid) REFERENCES `x` (id) ON UPDATE CASCADE)";
        assert_eq!(names(rocpd), (["id", "guid", "size", "a b"].map(str::to_owned).into(), Some(0)));
        assert_eq!(names("create table t(a int primary key, b integer primary key)").1, Some(1));
        assert_eq!(columns("CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID"), None);
        assert_eq!(columns("CREATE TABLE t (/* a (b */ x)").unwrap().0, ["x"]);
        assert_eq!(columns("CREATE TABLE t"), None);
    }

    #[test]
    fn numbers_are_read_with_their_sign() {
        assert_eq!([&[0xFF][..], &[0x7F], &[0x80, 0], &[0, 0x80]].map(integer), [-1, 127, -32768, 128]);
        assert_eq!(integer(&i64::MIN.to_be_bytes()), i64::MIN);
        assert_eq!(varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0xFF; 9], 0), Some((-1, 9)));
        assert_eq!(varint(&[0xFF; 8], 0), None);
    }
}
