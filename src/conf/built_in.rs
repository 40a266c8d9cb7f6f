//! The tuner tables that RCCL brings along, by version and architecture.
//!
//! RCCL's built-in CSV tuner follows them where no other tuner is loaded and no file of the user's is found. Any other
//! tuner, and any other file, displaces the whole table: nothing is merged.

use std::{fmt, str::FromStr};

use thiserror::Error;

use super::{
    machine::{Gpu, PlatformError, Version},
    reader::Reader,
    rule::{Rule, read},
    write::channels_of_library,
};

/// A tuner table that a library brings along.
#[derive(Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// The GPUs for which the library has it.
    pub gpu: Gpu,
    /// The first version of RCCL that has it.
    pub since: Version,
    /// The table's lines as RCCL has them, in the order in which they are matched.
    pub rows: &'static [&'static str],
    /// The upstream file, with the pull request and commit that brought the rows.
    pub source: &'static str,
}

/// ROCm/rocm-systems, projects/rccl/tuner/rccl_tuner_gfx950.csv.
const GFX950: [&str; 7] = [
    "allreduce,0,16383,tree,ll,1,1,8,-1,-1",
    "allreduce,16384,524287,ring,ll,-1,1,8,-1,-1",
    "allreduce,524288,1048575,ring,ll,32,1,8,-1,-1",
    "allreduce,1048576,2097000,ring,ll,56,1,8,-1,-1",
    "allreduce,33554432,54525951,ring,ll128,64,2,16,-1,-1",
    "allreduce,54525952,117440511,tree,simple,64,2,16,-1,-1",
    "allreduce,117440512,234881024,ring,simple,48,2,16,-1,-1",
];

/// The tables, those of a GPU by ascending version.
pub const TABLES: [BuiltIn; 2] = [
    BuiltIn {
        gpu: Gpu::Gfx(0x950),
        since: Version { major: 2, minor: 28, patch: Some(3) },
        rows: GFX950.split_at(4).0,
        source: "ROCm/rocm-systems, projects/rccl/tuner/rccl_tuner_gfx950.csv, pull request 4503 (2234545028)",
    },
    // The commit names no release; 2.31 is the first version of which a later tree is known.
    BuiltIn {
        gpu: Gpu::Gfx(0x950),
        since: Version { major: 2, minor: 31, patch: None },
        rows: &GFX950,
        source: "ROCm/rocm-systems, projects/rccl/tuner/rccl_tuner_gfx950.csv, pull request 9442 (d5c6c83045)",
    },
];

/// A table of a version, in which a tuner file can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The rows, with the GPU and the first version that has them.
    pub of: &'static BuiltIn,
    /// The version of RCCL; `None` where it isn't known, and the rows are those that all versions with a table have.
    pub version: Option<Version>,
}

impl Table {
    /// The table of RCCL on a GPU; `None` where that version, or every version, has none. Of a version that isn't known
    /// the table has the rows that all versions share which have one.
    pub fn find(gpu: Gpu, version: Option<Version>) -> Option<Self> {
        let of_gpu = || TABLES.iter().filter(|table| table.gpu == gpu);
        let of = match version {
            None => of_gpu().next(),
            Some(version) => of_gpu().rfind(|table| version.is_from(table.since)),
        };
        of.map(|of| Self { of, version })
    }

    /// The table that may be there: as [`Table::find`], and where the GPU isn't known, that of the first GPU that has
    /// one.
    pub fn possible(gpu: Option<Gpu>, version: Option<Version>) -> Option<Self> {
        Self::find(gpu.unwrap_or(TABLES[0].gpu), version)
    }

    /// The name by which the table is found again: `rccl-2.30.4-gfx950`.
    pub fn key(&self) -> String {
        format!("rccl-{}-{}", self.version.unwrap_or(self.of.since), self.of.gpu)
    }

    /// Whether later versions have more rows than these, and the version isn't known.
    pub fn may_have_more(&self) -> bool {
        self.version.is_none() && TABLES.iter().any(|other| other.gpu == self.of.gpu && other.since > self.of.since)
    }

    /// The rows as lines of a tuner file that `reader` takes for the same, each ended by a line feed, after a comment
    /// that says where they come from.
    ///
    /// ```
    /// use collectune::conf::{Reader, built_in::Table, read};
    /// let table: Table = "rccl-2.30.4-gfx950".parse()?;
    /// let text = table.text(Reader::Rccl);
    /// assert!(text.starts_with("# from RCCL 2.30.4 gfx950, embedded\nallreduce,0,16383,tree,ll,1,1,8,-1,-1\n"));
    /// assert_eq!(read(text.as_bytes(), Reader::Rccl).len(), 4);
    /// # Ok::<(), collectune::conf::built_in::TableError>(())
    /// ```
    pub fn text(&self, reader: Reader) -> String {
        let mut text = format!("# from {self}, embedded\n");
        let library = format!(",{},", channels_of_library(reader));
        for row in self.of.rows {
            // The sixth field is the only -1 before the last two.
            text += &row.replacen(",-1,", &library, usize::from(row.matches("-1").count() > 2));
            text.push('\n');
        }
        text
    }

    /// The rows as `reader` reads them from [`Self::text`]; NCCLX, which is no RCCL, has none.
    pub fn rules(&self, reader: Reader) -> Vec<Rule> {
        read(self.text(reader).as_bytes(), reader)
    }
}

/// Every row of every table, as `reader` reads it.
pub fn rows(reader: Reader) -> Vec<Rule> {
    TABLES.iter().flat_map(|of| Table { of, version: None }.rules(reader)).collect()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RCCL {} {}", self.version.unwrap_or(self.of.since), self.of.gpu)
    }
}

/// A text that names no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// It isn't of the form of a table's name.
    #[error("{0:?} is no library with its version and GPU: rccl-2.30.4-gfx950 was expected")]
    Form(String),
    /// The version or the GPU is wrong.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// There is no such table.
    #[error("RCCL {0} has no table for {1}: {known}", known = known())]
    None(Version, Gpu),
}

/// The tables that there are, in words.
fn known() -> String {
    TABLES
        .each_ref()
        .map(|table| format!("{} rows for {} from {} on", table.rows.len(), table.gpu, table.since))
        .join(", ")
}

impl FromStr for Table {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        let form = || TableError::Form(text.to_owned());
        let rest = text.strip_prefix("rccl-").ok_or_else(form)?;
        let (version, gpu) = rest.split_once('-').ok_or_else(form)?;
        let (version, gpu): (Version, Gpu) = (version.parse()?, gpu.parse()?);
        Self::find(gpu, Some(version)).ok_or(TableError::None(version, gpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conf::interval::Interval;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn tables_are_those_of_their_versions() {
        let rows = |gpu, text: Option<&str>| Table::find(gpu, text.map(version)).map_or(0, |table| table.of.rows.len());
        let of = |text| rows(Gpu::Gfx(0x950), text);
        assert_eq!([of(Some("2.27.7")), of(Some("2.28.2")), of(Some("2.28.3")), of(Some("2.28"))], [0, 0, 4, 4]);
        assert_eq!([of(Some("2.30.7")), of(Some("2.31.2")), of(Some("3.0")), of(None)], [4, 7, 7, 4]);
        assert_eq!([rows(Gpu::Gfx(0x942), None), rows(Gpu::Sm(90), None)], [0, 0]);
        let may = |text: Option<&str>| Table::find(Gpu::Gfx(0x950), text.map(version)).unwrap().may_have_more();
        assert!(may(None) && !may(Some("2.28.3")));
    }

    #[test]
    fn rows_are_read_by_every_reader_as_they_are_meant() {
        for table in ["rccl-2.30.4-gfx950", "rccl-2.31.2-mi355x"] {
            let table: Table = table.parse().unwrap();
            let meant = table.rules(Reader::Rccl);
            for reader in Reader::OF_CONF {
                let rules = table.rules(*reader);
                assert_eq!(rules.len(), table.of.rows.len(), "{reader:?}");
                for (rule, meant) in rules.iter().zip(&meant) {
                    assert_eq!(rule.requested_channels(*reader), meant.requested_channels(Reader::Rccl), "{rule:?}");
                    assert_eq!(Rule { channels: 0, ..*rule }, Rule { channels: 0, ..*meant });
                    let is_row = |rule: &Rule| rows(*reader).iter().any(|row| row.says(rule));
                    assert!(
                        is_row(&Rule { line: 99, ..*rule }) && !is_row(&Rule { ranks: Interval::only(4), ..*rule })
                    );
                }
            }
        }
    }

    #[test]
    fn a_name_of_no_table_is_refused_in_words() {
        for (text, expected) in [
            ("nccl-2.30-gfx950", "rccl-2.30.4-gfx950 was expected"),
            ("rccl-2.30", "rccl-2.30.4-gfx950 was expected"),
            ("rccl-x-gfx950", "is no version of a library"),
            ("rccl-2.30-toaster", "is no GPU that is known"),
            ("rccl-2.27-gfx950", "4 rows for gfx950 from 2.28.3 on"),
            ("rccl-2.30.4-gfx942", "RCCL 2.30.4 has no table for gfx942"),
        ] {
            let told = text.parse::<Table>().unwrap_err().to_string();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }

    #[test]
    fn the_last_table_of_a_gpu_has_all_that_there_is() {
        let may = TABLES.each_ref().map(|of| Table { of, version: None }.may_have_more());
        assert_eq!(may, [true, false]);
    }

    #[test]
    fn rows_are_those_of_all_tables() {
        let of_tables: usize = TABLES.iter().map(|of| of.rows.len()).sum();
        assert_eq!((rows(Reader::Rccl).len(), rows(Reader::Ncclx).len()), (of_tables, 0));
    }
}
