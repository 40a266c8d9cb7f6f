//! Recognises the kind of a file by its first bytes.

use super::{MappingRequest, WantedColumn};
use crate::{
    collective::{Algorithm, Collective, Protocol},
    conf::ncclx::is_ncclx,
    overlap::read as kernels,
    policy::read as rewards,
    report,
    text::{Dialect, Records, excerpt, is_missing, lossy, whole},
    training_time::read::{
        has_arguments,
        headers::{self, TableFamily},
        may_be_configuration,
    },
    tuning::{
        ab,
        columns::{Column, Columns, ColumnsError},
        log,
        reach::is_call_list,
    },
};

/// The number of bytes that suffice to recognise a report.
const REPORT_HEAD: usize = 4096;
/// The number of lines that a mapping request shows, and from which columns are guessed.
const SAMPLE: usize = 20;
/// The most columns of a table.
const WIDEST: usize = 1024;

/// A kind of table that is only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownTable {
    Summary,
    Hotspots,
    PredictedGains,
    Launches,
}

impl KnownTable {
    /// All kinds, with the headers by which they are recognised.
    pub(super) const ALL: [(Self, &[&str]); 4] = [
        (Self::Summary, &["avg_busbw", "max_busbw", "status"]),
        (Self::Hotspots, &["hotspot_start_bytes", "hotspot_end_bytes"]),
        (Self::PredictedGains, &["winner_busbw", "predicted_gain_pct"]),
        (Self::Launches, &["utc_start", "phase", "duration_s"]),
    ];
}

/// The kind of a text file.
#[derive(Debug)]
pub(super) enum Recognised {
    /// A sweep, by its headers.
    Sweep(Box<Columns>),
    /// A report of this program, as JSON or as a page.
    Report,
    /// A JSON object or array.
    Json,
    /// A log of nccl-tests, or of a job.
    Log,
    /// A CSV report of rccl-tests.
    Reported,
    /// A tuner file.
    Conf,
    /// A comparison of a configuration with the default.
    Comparison,
    /// A table of kernels.
    Kernels(kernels::Kind),
    /// A table of samples, or of what belongs to them.
    Training(TableFamily),
    /// A table that is nearly one of these; why not.
    NearTraining(String),
    /// Perhaps a configuration in YAML; otherwise this is why it was refused.
    Configuration(String),
    /// A table of means of episodes or arms.
    Means,
    /// A reward log.
    Rewards {
        /// Whether it begins like those that this program writes.
        is_own: bool,
    },
    /// A list of times, one number a line.
    Times,
    /// A table that is only shown.
    Table(KnownTable),
    /// No table. A log may begin with anything: if it is none, this is why it was refused.
    PerhapsLog(String),
    /// A table of something else, or of a sweep in other words.
    Unknown(MappingRequest),
}

/// The name of a binary format, by the first bytes of a file.
pub(super) fn binary(head: &[u8]) -> Option<&'static str> {
    const MAGICS: [(&[u8], &str); 12] = [
        (b"PK\x05\x06", "an empty zip archive"),
        (b"PAR1", "a Parquet file; save it as CSV"),
        (b"\x89PNG", "an image"),
        (b"\xFF\xD8\xFF", "an image"),
        (b"GIF8", "an image"),
        (b"%PDF", "a PDF; give the table that it was made from"),
        (b"\xD0\xCF\x11\xE0", "an old Excel workbook; save the sheet as CSV"),
        (b"\x28\xB5\x2F\xFD", "a Zstandard archive; inflate it, or pack it with gzip"),
        (b"BZh", "a bzip2 archive; inflate it, or pack it with gzip"),
        (b"\xFD7zXZ\0", "an xz archive; inflate it, or pack it with gzip"),
        (b"7z\xBC\xAF", "a 7-Zip archive; unpack it"),
        (b"\x1F\x8B", "a gzip file inside a gzip file; inflate it once"),
    ];
    if let Some((_, what)) = MAGICS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(what);
    }
    if matches!(head, [0x80, 2..=5, ..]) {
        return Some(
            "a Python pickle, which runs the code that it holds when it is opened, so it stays closed; give the samples \
             instead, or save the regressor with save_model as JSON",
        );
    }
    if head.starts_with(b"\x7FELF") || head.starts_with(b"MZ\x90\0") || head.starts_with(b"\0asm") {
        return Some("a program");
    }
    if head.len() > 262 && &head[257..262] == b"ustar" {
        return Some("a tar archive; give it a name that ends in .tar or .tar.gz, and its files are opened");
    }
    let nuls = |odd: usize| head.iter().skip(odd).step_by(2).filter(|b| **b == 0).count() * 4 > head.len();
    if head.len() > 16 && head.contains(&0) && nuls(0) != nuls(1) {
        return Some("text in UTF-16 without a byte order mark; save it as UTF-8");
    }
    None
}

/// Recognises a text by its beginning (UTF-8, without a byte order mark). The error is the sentence for the user,
/// without its subject.
pub(super) fn text(head: &[u8], dialect: Dialect) -> Result<Recognised, String> {
    if head.trim_ascii().is_empty() {
        return Err("is empty".to_owned());
    }
    if report::open::is_report(&lossy(&head[..head.len().min(REPORT_HEAD)])) {
        return Ok(Recognised::Report);
    }
    if is_json(head) {
        return Ok(Recognised::Json);
    }
    if is_json_list(head) {
        return Err(
            "is a JSON list without a name for anything in it; a log of nccl-tests as JSON, a saved model or a \
                    report was expected"
                .to_owned(),
        );
    }
    if is_of_training(&lossy(head)) {
        let otherwise = "has arguments of a training run, and no model".to_owned();
        return Ok(Recognised::Configuration(otherwise));
    }
    if let Some(what) = script(head) {
        return Err(format!("is {what}, not a table: give what it writes"));
    }
    // Measured steps begin with the column `# GPUs`, which is no comment.
    let first = Records::new(head, dialect).next().map(|record| record.cells().map(str::to_owned).collect::<Vec<_>>());
    if first.is_some_and(|first| headers::family(&first) == Some(TableFamily::Steps)) {
        return Ok(Recognised::Training(TableFamily::Steps));
    }
    let mut records = Records::new(head, dialect);
    records.skip_comments();
    let headers: Vec<String> = match records.next() {
        Some(record) if record.len() > WIDEST => return Err(format!("has more than {WIDEST} columns")),
        Some(record) => record.cells().map(str::to_owned).collect(),
        None => Vec::new(),
    };
    let columns = Columns::from_headers(&headers);
    // A sweep with NULs in it has damaged lines.
    if columns.is_err() && head.contains(&0) {
        return Err("is a binary file, not a table".to_owned());
    }
    if columns.is_err()
        && let Some(known) = known_text(head, &headers)?
    {
        return Ok(known);
    }
    if headers.len() < 2 {
        return Ok(Recognised::PerhapsLog(
            "is not a table: a header line and lines of as many cells, separated by commas, tabs or semicolons, \
             were expected"
                .to_owned(),
        ));
    }
    let mut sample: Vec<Vec<String>> = Vec::new();
    let mut lines = 0;
    while let Some(record) = records.next()
        && lines < SAMPLE
    {
        lines += 1;
        if record.len() == headers.len() {
            sample.push(record.cells().map(excerpt).collect());
        }
    }
    if lines == 0 {
        return Err("has a header and no data lines".to_owned());
    }
    match columns {
        Ok(columns) => Ok(Recognised::Sweep(Box::new(columns))),
        Err(_) if sample.len() * 2 < lines => {
            Ok(Recognised::PerhapsLog("is not a table: its lines have different numbers of cells".to_owned()))
        }
        Err(_)
            if headers.iter().any(|h| Collective::parse(h).is_some()) && headers.iter().any(|h| whole(h).is_some()) =>
        {
            Err(format!(
                "has no header line; put one on top that names the columns, like {EXAMPLE_HEADER} for a sweep, or \
                 {EXAMPLE_OF_REWARDS} for rewards"
            ))
        }
        Err(error) => match headers::nearest(&headers) {
            Some(why) => Ok(Recognised::NearTraining(why)),
            None => Ok(Recognised::Unknown(request(headers, sample, &error))),
        },
    }
}

const EXAMPLE_OF_REWARDS: &str = "collective,size_bytes,num_nodes,num_gpus,latency_us,arm";
const EXAMPLE_HEADER: &str = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels";

/// A JSON object, or an array of objects; a log's line may begin with a bracket as well (`[1,0]<stdout>:`).
fn is_json(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    head.starts_with(b"{") || head.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"))
}

/// A list of whatever but objects, whole or the beginning of one.
fn is_json_list(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    head.starts_with(b"[")
        && match serde_json::from_slice::<serde::de::IgnoredAny>(head) {
            Ok(_) => true,
            Err(error) => error.is_eof(),
        }
}

/// Whether a text is a script that starts a training run, its log, or its configuration in TOML. A library's log of
/// such a run has its arguments too.
pub(super) fn is_of_training(text: &str) -> bool {
    has_arguments(text) && !LOG_MARKS.iter().any(|mark| text.contains(mark))
}

/// The language of a script, by its first line.
fn script(head: &[u8]) -> Option<&'static str> {
    const LANGUAGES: [(&str, &str); 5] = [
        ("perl", "a Perl script"),
        ("python", "a Python script"),
        ("ruby", "a Ruby script"),
        ("node", "a JavaScript program"),
        ("awk", "an awk script"),
    ];
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let interpreter = lossy(first.strip_prefix(b"#!")?).to_ascii_lowercase();
    // A log may begin with the script that wrote it.
    let is_log = LOG_MARKS.iter().any(|mark| lossy(head).contains(mark));
    let named = LANGUAGES.iter().find(|(name, _)| interpreter.contains(name)).map(|(_, what)| *what);
    (!is_log).then(|| named.unwrap_or("a script"))
}

/// Texts of which every log contains one.
const LOG_MARKS: [&str; 8] = [
    "# nThread ",
    "# nccl-tests version",
    "# Collective test starting",
    "# Using devices",
    "# Out of bounds values",
    "# Avg bus bandwidth",
    " NCCL INFO ",
    " NCCL WARN ",
];

/// The kind of a text that is known and holds no sweep. The error says why it can't be used.
fn known_text(head: &[u8], headers: &[String]) -> Result<Option<Recognised>, String> {
    let has = |names: &[&str]| names.iter().all(|name| headers.iter().any(|h| h.eq_ignore_ascii_case(name)));
    if let Some((table, _)) = KnownTable::ALL.iter().find(|(_, names)| has(names)) {
        return Ok(Some(Recognised::Table(*table)));
    }
    if let Some(family) = headers::family(headers) {
        return Ok(Some(Recognised::Training(family)));
    }
    if let Some(kind) = kernels::kind(headers) {
        return Ok(Some(Recognised::Kernels(kind)));
    }
    if ab::read::is_header(headers.iter().map(String::as_str)) {
        return Ok(Some(Recognised::Comparison));
    }
    if log::is_reported(headers) {
        return Ok(Some(Recognised::Reported));
    }
    if let Some(columns) = Columns::tuner_measurements(headers) {
        return Ok(Some(Recognised::Sweep(Box::new(columns))));
    }
    if rewards::is_header(headers) || rewards::is_plain(headers) {
        let is_own = head.trim_ascii_start().starts_with(rewards::MARK.as_bytes());
        return Ok(Some(Recognised::Rewards { is_own }));
    }
    if rewards::is_means(headers) {
        return Ok(Some(Recognised::Means));
    }
    let text = lossy(head);
    if headers.len() == 1 && rewards::is_times(&text) {
        return Ok(Some(Recognised::Times));
    }
    if LOG_MARKS.iter().any(|mark| text.contains(mark)) {
        return Ok(Some(Recognised::Log));
    }
    if has(&["collective_type", "min_bytes", "max_bytes"]) || is_conf(&text) || is_ncclx(head) {
        return Ok(Some(Recognised::Conf));
    }
    if may_be_configuration(&text) {
        let otherwise = "is YAML, and no configuration of a training run or of a sampling".to_owned();
        return Ok(Some(Recognised::Configuration(otherwise)));
    }
    if rewards::begins_late(&text) && !is_call_list(&headers.join(",")) {
        return Ok(Some(Recognised::Rewards { is_own: false }));
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_ascii_lowercase();
    if first.starts_with("<!doctype html") || first.starts_with("<html") {
        return Err("is a web page, not a table: was the download page saved instead of the file?".to_owned());
    }
    Ok(None)
}

/// Whether a text is a tuner file: one of its first lines is a rule, or all are comments that name the fields of
/// rules.
fn is_conf(text: &str) -> bool {
    let is_rule = |line: &str| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        cells.len() >= 8
            && Collective::parse(cells[0]).is_some()
            && [1, 2, 5].iter().all(|c| whole(cells[*c]).is_some() || cells[*c] == "18446744073709551615")
            && (Algorithm::parse(cells[3]).is_some() || cells[3] == "-1")
            && (Protocol::parse(cells[4]).is_some() || cells[4] == "-1")
    };
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let mut rules = lines().filter(|line| !line.trim_start().starts_with('#')).take(SAMPLE).peekable();
    if rules.peek().is_some() {
        return rules.any(is_rule);
    }
    lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("collective_type,min_bytes")
            || line.contains("# dropped:")
            || is_rule(line.trim_start_matches(['#', ' ']))
    })
}

/// The request for a mapping of headers to columns, with a guess by name, then by contents.
fn request(headers: Vec<String>, sample: Vec<Vec<String>>, error: &ColumnsError) -> MappingRequest {
    let mut taken = Vec::new();
    let mut guesses = vec![None; Column::ALL.len()];
    for (guess, column) in guesses.iter_mut().zip(Column::ALL) {
        *guess = column.guess(&headers).filter(|index| !taken.contains(index));
        taken.extend(*guess);
    }
    for (guess, column) in guesses.iter_mut().zip(Column::ALL) {
        if guess.is_none() {
            *guess = (0..headers.len()).find(|index| !taken.contains(index) && looks_like(*column, *index, &sample));
            taken.extend(*guess);
        }
    }
    let wanted = Column::ALL
        .iter()
        .zip(guesses)
        .map(|(column, guess)| WantedColumn {
            name: column.name().to_owned(),
            meaning: column.meaning().to_owned(),
            needed: column.is_needed(),
            guess,
        })
        .collect();
    MappingRequest { problem: error.to_string(), headers, sample, wanted }
}

/// Whether all cells of a column look like values of a column of a sweep.
fn looks_like(column: Column, index: usize, sample: &[Vec<String>]) -> bool {
    let mut cells = sample.iter().map(|row| row[index].as_str()).filter(|c| !is_missing(c)).peekable();
    if cells.peek().is_none() {
        return false;
    }
    match column {
        Column::Collective => cells.all(|c| Collective::parse(c).is_some()),
        Column::Algo => cells.all(|c| Algorithm::parse(c.trim_end_matches('*')).is_some()),
        Column::Proto => cells.all(|c| Protocol::parse(c).is_some()),
        Column::SizeBytes => {
            let sizes: Vec<_> = cells.map(|c| whole(c).filter(|n| *n >= 4 && n % 4 == 0)).collect();
            sizes.iter().all(Option::is_some) && sizes.iter().flatten().any(|n| *n >= 4096)
        }
        _ => false,
    }
}
