//! One file is opened: recognised, and read by the reader that knows it.

use std::{
    cell::Cell,
    io::{self, Read},
    rc::Rc,
};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    FileReport, Mapping, Outcome, documents,
    inflate::{Counted, inflated},
    kernels, logs,
    opened::{File, FileContent, Opened, OpenedFile, Result, all_bytes, broken, fatal, first_bytes, first_text, notes},
    recognise::{self, Recognised},
    rewards, topologies, training,
};
use crate::{
    conf::ncclx,
    policy,
    progress::Progress,
    sqlite,
    text::{Decoder, Dialect, Lines, Preview, Records, excerpt, lossy},
    training_time::read::has_configuration_line,
    tuning::{
        columns::{Column, Columns},
        log,
        read::{MAX_ROWS, Reading, read_rows},
    },
    units::first_of,
};

/// The most bytes of a model file.
pub const MAX_MODEL_BYTES: u64 = 256 << 20;

/// The most bytes of a database of a profiler: the browser holds it whole.
const MAX_DATABASE_BYTES: u64 = 1 << 30;

/// The number of bytes by which a file is recognised.
const HEAD: usize = 64 * 1024;

/// Opens one file: [`open_file`], without where its rows come from.
///
/// ```
/// use collectune::{intake, progress::Silent};
/// let text = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\n\
///             all_reduce_perf,2,16,4096,0.2,TREE,LL,2\n";
/// let (report, content) = intake::open(text.as_bytes(), "curve.csv", text.len() as u64, 0, None, &mut Silent);
/// assert!(matches!(report.outcome, intake::Outcome::Loaded { rows: 1, .. }));
/// assert!(matches!(content, intake::FileContent::Rows(rows) if rows.len() == 1));
/// ```
pub fn open(
    source: impl Read,
    name: &str,
    size_bytes: u64,
    id: u32,
    mapping: Option<&Mapping>,
    progress: &mut dyn Progress,
) -> (FileReport, FileContent) {
    let OpenedFile { report, content, .. } = open_file(source, name, size_bytes, id, mapping, progress);
    (report, content)
}

/// Opens one file: inflates gzip, decodes UTF-8 and UTF-16, recognises what it is from its content, and reads it as
/// a stream. `size_bytes` is the size as dropped, for the progress; `id` is told in the report and stands, up to
/// 65535, in [`Row::file`](crate::tuning::read::Row::file). `mapping` says where a table with unknown headers has its
/// columns, and by its constants what a log does not say; a sweep is read by its own headers.
///
/// Whatever the bytes are, the report says in words what became of them.
pub fn open_file(
    source: impl Read,
    name: &str,
    size_bytes: u64,
    id: u32,
    mapping: Option<&Mapping>,
    progress: &mut dyn Progress,
) -> OpenedFile {
    let bytes_read = Rc::new(Cell::new(0));
    let source = Counted { input: source, count: Rc::clone(&bytes_read) };
    let doing = format!("Reading {}", excerpt(name));
    let mut share_read = || {
        let read = bytes_read.get().min(size_bytes);
        progress.report(&doing, read, size_bytes);
        if size_bytes == 0 { 1.0 } else { read as f64 / size_bytes as f64 }
    };
    share_read();
    let file = File { number: u16::try_from(id).unwrap_or(u16::MAX), name, size_bytes, mapping };
    let read = read(Box::new(source), &file, &mut share_read);
    share_read();
    let Opened { outcome, content, origins, log } =
        read.unwrap_or_else(|why| Outcome::Refused(format!("{} {why}.", excerpt(name))).into());
    OpenedFile {
        report: FileReport { id, name: name.to_owned(), size_bytes, outcome, completes: false },
        content,
        origins,
        log,
    }
}

/// Whether a file is called a tuner file and has nothing but comments, or nothing at all: a library takes it, and it
/// displaces the library's own table.
fn is_conf_without_rules(name: &str, head: &[u8]) -> bool {
    let is_rule = |line: &[u8]| !line.trim_ascii().is_empty() && !line.trim_ascii().starts_with(b"#");
    name.ends_with(".conf") && head.len() < HEAD && !head.split(|byte| *byte == b'\n').any(is_rule)
}

fn read(source: Box<dyn Read + '_>, file: &File<'_>, share_read: &mut dyn FnMut() -> f64) -> Result<Opened> {
    let mut source = Preview::new(inflated(source), HEAD);
    if let Some(why) = source.error().and_then(fatal) {
        return Err(why);
    }
    if source.error().is_none() && is_conf_without_rules(file.name, source.head()) {
        return documents::conf(&mut source).map(Into::into);
    }
    match source.head() {
        [] => return Err(source.error().map_or("is empty".to_owned(), |e| format!("can't be read: {e}"))),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {}
        [b'P', b'K', 3, 4, ..] => return workbook(&mut source),
        head if head.starts_with(sqlite::MAGIC) => return database(&mut source, file),
        head => {
            if let Some(what) = recognise::binary(head) {
                return Err(format!("is {what}"));
            }
        }
    }
    let head = Preview::new(Decoder::new(source.head()), HEAD);
    if let Some(printed) = kernels::printed(head.head()) {
        return kernels::profile(Decoder::new(source), &printed).map(Into::into);
    }
    if topologies::is_topology(head.head()) {
        return topologies::open(&mut Decoder::new(source), file.name).map(Into::into);
    }
    if policy::read::is_record(head.head()) {
        let text = first_text(&mut Decoder::new(source), policy::file::LONGEST as u64 + 1)?;
        return rewards::policy(&text).map(Into::into);
    }
    let dialect = Dialect::sniff(head.head());
    let recognised = recognise::text(head.head(), dialect)?;
    if let Recognised::Conf = recognised {
        return documents::conf(&mut source).map(Into::into);
    }
    let mut text = Decoder::new(source);
    let columns = match recognised {
        Recognised::Report => return documents::report(&mut text).map(Into::into),
        Recognised::Json => return read_json(&mut text, file),
        Recognised::Conf | Recognised::Comparison => return documents::comparison(&mut text).map(Into::into),
        Recognised::Log => return logs::text(&mut Lines::new(text), file, share_read),
        Recognised::PerhapsLog(why) => return read_unknown(text, file, why, share_read),
        Recognised::Kernels(kind) => return kernels::table(&mut Records::new(text, dialect), kind, 0).map(Into::into),
        Recognised::Rewards { is_own } => {
            return rewards::table(&mut Records::new(text, dialect), file.name, is_own).map(Into::into);
        }
        Recognised::Means => return rewards::means(&mut Records::new(text, dialect), file.name).map(Into::into),
        Recognised::Times => return rewards::times(&mut Lines::new(text), file.name).map(Into::into),
        Recognised::Reported => return logs::csv(&mut Records::new(text, dialect), file),
        Recognised::Training(family) => return training::table(&mut Records::new(text, dialect), family, file),
        Recognised::NearTraining(why) => return Ok(training::resembling(why, file)),
        Recognised::Configuration(otherwise) => return read_configuration(&mut text, file, otherwise),
        Recognised::Table(table) => return documents::table(&mut Records::new(text, dialect), table).map(Into::into),
        Recognised::Sweep(columns) => *columns,
        Recognised::Unknown(request) => match file.mapping.map(|mapping| mapping.completed(&request)) {
            None => return Ok(Outcome::NeedsMapping(request).into()),
            Some(mapping) => match Columns::mapped(&request.headers, &mapping.columns) {
                Ok(columns) => columns,
                // Answers that are the same for every file can't say which column is which.
                Err(_) if file.mapping.is_some_and(Mapping::is_constant) => {
                    return Ok(Outcome::NeedsMapping(request).into());
                }
                Err(error) => return Err(format!("can't be read with these columns: {error}")),
            },
        },
    };
    let mut records = Records::new(text, dialect);
    records.skip_comments();
    let headers: Vec<String> = records.next().map(|r| r.cells().map(str::to_owned).collect()).unwrap_or_default();
    let mut rows = Vec::new();
    let reading = read_rows(&mut records, &columns, file.number, &mut rows, share_read);
    let broken = broken(records.error(), records.line())?;
    if reading.stopped {
        return Err(format!("has more than {MAX_ROWS} rows; split it by collective or by scale"));
    }
    let mut notes = notes(&reading);
    notes.splice(0..0, broken);
    let unused = columns.unused(&headers);
    if !unused.is_empty() {
        let names = first_of(12, &unused, |name| excerpt(name));
        notes.push(format!("Columns that are not used: {names}; rows that differ in them count as measured alike"));
    }
    let outcome = Outcome::Loaded {
        format: format(&columns, &reading, file.mapping.is_some()),
        rows: reading.rows,
        default_rows: reading.default_rows,
        problems: reading.problems,
        notes,
    };
    Ok(Opened { outcome, content: FileContent::Rows(rows), origins: reading.origins, log: None })
}

/// Reads a database of a profiler.
fn database(source: &mut dyn Read, file: &File<'_>) -> Result<Opened> {
    let bytes = all_bytes(source, MAX_DATABASE_BYTES + 1)?;
    if bytes.len() as u64 > MAX_DATABASE_BYTES {
        return Err(format!(
            "is a SQLite database of more than {} MiB, of which only kernels and ranges are needed: profile fewer steps",
            MAX_DATABASE_BYTES >> 20
        ));
    }
    Ok(training::database(&bytes, file))
}

/// Reads a workbook of kernels.
fn workbook(source: &mut dyn Read) -> Result<Opened> {
    /// The most bytes of a workbook, compressed.
    const LONGEST: u64 = 64 << 20;
    let bytes = all_bytes(source, LONGEST + 1)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("is a workbook of more than {} MiB, longer than any of measurements", LONGEST >> 20));
    }
    kernels::workbook(&bytes).map(Into::into)
}

/// A configuration in YAML, or, where it is none, why nothing else could be made of it.
fn read_configuration(text: &mut dyn Read, file: &File<'_>, otherwise: String) -> Result<Opened> {
    /// A limit above that of configurations, so that their reader reports the excess; of a log it has tens of thousands
    /// of iterations.
    const LONGEST: u64 = 8 << 20;
    let begin = first_text(text, LONGEST + 1)?;
    let is_cut = begin.len() as u64 > LONGEST;
    let note = is_cut.then(|| format!("Only its first {} MiB were read", LONGEST >> 20));
    training::configuration(&begin, note.into_iter().collect(), file).ok_or(otherwise)
}

/// Reads a log, or a configuration whose first key comes after the bytes by which files are recognised, as with long
/// comments.
fn read_unknown(
    mut text: impl Read,
    file: &File<'_>,
    otherwise: String,
    share_read: &mut dyn FnMut() -> f64,
) -> Result<Opened> {
    /// The number of bytes within which a configuration must have its first key.
    const LONGEST: u64 = 1 << 20;
    let (begin, error) = first_bytes(&mut text, LONGEST);
    let broken = Broken(error);
    if recognise::is_of_training(&lossy(&begin)) {
        return read_configuration(&mut (&begin[..]).chain(broken).chain(text), file, otherwise);
    }
    if let Ok(begin) = std::str::from_utf8(&begin)
        && has_configuration_line(begin)
        && let Some(opened) = training::configuration(begin, Vec::new(), file)
    {
        return Ok(opened);
    }
    logs::text(&mut Lines::new((&begin[..]).chain(broken).chain(text)), file, share_read).or(Err(otherwise))
}

/// An error of reading, at its place among what was read.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The value of `format` in a model file, as JSON.
const MODEL_TAG: &str = "\"collectune-model\"";

fn read_json(text: &mut dyn Read, file: &File<'_>) -> Result<Opened> {
    #[derive(Deserialize)]
    struct Tag<'a> {
        #[serde(borrow)]
        format: Option<&'a RawValue>,
    }
    let json = first_text(text, MAX_MODEL_BYTES + 1)?;
    if json.len() as u64 > MAX_MODEL_BYTES {
        return Err(format!("is JSON of more than {} MiB, longer than any model", MAX_MODEL_BYTES >> 20));
    }
    if let Some(opened) = training::trace(&json, file) {
        return Ok(opened);
    }
    if matches!(serde_json::from_str(&json), Ok(Tag { format: Some(format) }) if format.get() == MODEL_TAG) {
        let outcome = Outcome::Loaded {
            format: "saved model".to_owned(),
            rows: 0,
            default_rows: 0,
            problems: Default::default(),
            notes: Vec::new(),
        };
        return Ok((outcome, FileContent::Model(json)).into());
    }
    if let Some(opened) = documents::campaign(&json) {
        return opened.map(Into::into);
    }
    if policy::read::is_policy(&json) {
        return rewards::policy(&json).map(Into::into);
    }
    if ncclx::is_ncclx(json.as_bytes()) {
        return Ok(documents::of_ncclx(json.into_bytes(), Vec::new()).into());
    }
    if let Some(opened) = training::configuration(&json, Vec::new(), file) {
        return Ok(opened);
    }
    if let Some(opened) = training::model(&json, file) {
        return opened;
    }
    if let Some(opened) = topologies::json(&json) {
        return opened.map(Into::into);
    }
    if let Some(opened) = kernels::json(&json, file.name) {
        return opened.map(Into::into);
    }
    if let Some(opened) = rewards::json(&json, file.name) {
        return opened.map(Into::into);
    }
    let log = log::read_json(&json).map_err(|error| error.to_string())?;
    logs::opened(log, file)
}

/// A description of the kind of sweep.
fn format(columns: &Columns, reading: &Reading, mapped: bool) -> String {
    if mapped {
        return "table with mapped columns".to_owned();
    }
    if columns.minus_one_is_default() {
        return "measurements for NCCL's tuner example".to_owned();
    }
    let form = if !columns.has(Column::TimeIp) && !columns.has(Column::TimeOop) {
        "bus bandwidths only"
    } else if columns.has(Column::NRepeats) && reading.median_rows > 0 {
        "medians with spread"
    } else if columns.has(Column::RequestedAlgo) {
        "with what was requested"
    } else {
        "older form"
    };
    format!("rccl-sweep CSV, {form}")
}
