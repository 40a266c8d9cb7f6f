//! Reads files together: each as what it is, those that belong to each other joined, of what must not be pooled one
//! set.

use std::{
    collections::BTreeSet,
    io::{Cursor, Read},
    iter, mem,
};

use serde::{Deserialize, Serialize};

use super::{
    ColumnSource, FileReport, Mapping, Outcome,
    duplicates::{duplicate_runs, take_out_copies, take_out_medians, take_out_rounded},
    logs::join,
    open::{open, open_file},
    opened::FileContent,
};
use crate::{
    collective::Scale,
    order::CompactCollect,
    overlap::loaded::NamedKernelFile,
    policy::read::NamedLog,
    progress::{Progress, Silent},
    registry::WorkbenchFiles,
    report::{
        self,
        snapshot::{Extent, Snapshot},
    },
    text::{Listing, excerpt, keep_few},
    topology,
    tuning::{
        ab::{self, script::AbArm},
        aggregate::Target,
        busbw_check::contradicted_ranks,
        campaign::journal::Journal,
        job::JobLog,
        loaded::{LoadedTuning, TuningFiles},
        model_file::ModelFile,
        origin::{MeasuredWith, Origins},
        parameters::Parameters,
        read::Row,
        sets::{self, Set, SetChoice, Sets},
        snapshot,
        states::States,
        wrong_values,
    },
    units::count,
};

/// The bytes of one file.
pub struct FileSource {
    /// A reader that starts at the beginning of the file.
    pub content: Box<dyn Read>,
    /// The size in bytes, for the progress.
    pub size_bytes: u64,
}

impl From<Vec<u8>> for FileSource {
    /// A file whose bytes are in memory.
    fn from(bytes: Vec<u8>) -> Self {
        Self { size_bytes: bytes.len() as u64, content: Box::new(Cursor::new(bytes)) }
    }
}

/// A file that is to be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileToLoad {
    /// The number that its owner gives it.
    pub id: u32,
    /// The name, with folders where they are known.
    pub name: String,
    /// The answer of the mapping dialog, if one was asked for.
    pub mapping: Option<Mapping>,
}

/// The loaded files that are no sweep, by their numbers, in the order in which they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentFiles {
    /// The numbers of the tuner files.
    pub confs: Vec<u32>,
    /// The numbers of the logs of jobs.
    pub jobs: Vec<u32>,
    /// The numbers of the comparisons with the default.
    pub comparisons: Vec<u32>,
    /// The numbers of the files of other workbenches, with the workbench.
    pub studied: Vec<(report::Workbench, u32)>,
    /// The numbers of tables that are only shown.
    pub listings: Vec<u32>,
    /// The numbers of the journals of campaigns.
    pub journals: Vec<u32>,
    /// The numbers of files that are reports.
    pub reports: Vec<u32>,
}

impl DocumentFiles {
    /// The numbers of the files of a workbench other than tuning.
    pub fn of(&self, workbench: report::Workbench) -> impl Iterator<Item = u32> {
        self.studied.iter().filter(move |(of, _)| *of == workbench).map(|(_, file)| *file)
    }

    /// Whether there is a file of a workbench other than tuning.
    pub fn has(&self, workbench: report::Workbench) -> bool {
        self.of(workbench).next().is_some()
    }
}

/// Loaded files of the trade that are no sweep, each under its file's number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// The bytes of tuner files.
    pub confs: Vec<(u32, Vec<u8>)>,
    /// What jobs call, from the debug lines of their logs.
    pub jobs: Vec<(u32, JobLog)>,
    /// The comparisons of a configuration with the default.
    pub comparisons: Vec<(u32, String)>,
    /// The numbers of the logs of campaigns from which comparisons were made.
    pub compared_logs: Vec<u32>,
    /// Why logs of arms make no comparison, a sentence for each collective and scale.
    pub uncompared: Vec<String>,
    /// Tables that are only shown.
    pub listings: Vec<(u32, Listing)>,
    /// The journals of campaigns: each launch and what it brought.
    pub journals: Vec<(u32, Journal)>,
    /// Reports that were opened, to be shown as they are.
    pub reports: Vec<(u32, Box<report::Report>)>,
}

impl Documents {
    /// The numbers of the files, by kind.
    pub fn files(&self) -> DocumentFiles {
        DocumentFiles {
            confs: self.confs.iter().map(|(file, _)| *file).collect(),
            jobs: self.jobs.iter().map(|(file, _)| *file).collect(),
            studied: Vec::new(),
            comparisons: self.comparisons.iter().map(|(file, _)| *file).collect(),
            listings: self.listings.iter().map(|(file, _)| *file).collect(),
            journals: self.journals.iter().map(|(file, _)| *file).collect(),
            reports: self.reports.iter().map(|(file, _)| *file).collect(),
        }
    }
}

/// Reads a sweep and samples of an operator, and forgets them: code that never ran is compiled when it first does.
pub fn rehearse() {
    const ROWS: u32 = 2000;
    let rows = |header: &str, row: &dyn Fn(u32) -> String| {
        iter::once(header.to_owned()).chain((1..=ROWS).map(row)).collect::<Vec<_>>().join("\n")
    };
    let sweep = rows("collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels", &|row| {
        format!("all_reduce_perf,2,16,{},{}.25,RING,LL128,{}", 4096 * row, row, row % 32 + 1)
    });
    let samples = rows("mp,b,h,l,dim,F_dur(us),B_dur(us)", &|row| {
        format!("1,{},32,2048,4096,{}.25,{}.125", row % 16 + 1, row, 2 * row)
    });
    for text in [sweep, samples] {
        let (report, content) = open(text.as_bytes(), "rehearsal.csv", text.len() as u64, 0, None, &mut Silent);
        debug_assert!(matches!(content, FileContent::Rows(_) | FileContent::Training(_)), "{:?}", report.outcome);
    }
}

/// The contents of files, before repeats are combined.
#[derive(Default)]
pub struct OpenedFiles {
    /// Accepted rows of all files: those of the chosen set.
    pub rows: Vec<Row>,
    /// The versions and variables with which the rows were measured.
    pub measured_with: MeasuredWith,
    /// The report on each file.
    pub files: Vec<FileReport>,
    /// The training parameters of a model file.
    pub parameters: Option<Parameters>,
    /// The target of a model file, if nothing else was read.
    pub target: Option<Target>,
    /// The files that are not sweeps.
    pub documents: Documents,
    /// The files of the other workbenches.
    pub parts: WorkbenchFiles,
    /// The sets among which one was chosen.
    pub sets: Sets,
    /// Notes that concern several files, a sentence each.
    pub notes: Vec<String>,
    /// Of which configurations wrong values came, a sentence for each collective and scale; among the notes as well.
    wrong_values: Vec<String>,
    /// The hashes of the saved models' predictions.
    saved_hashes: Vec<String>,
}

impl OpenedFiles {
    /// Takes out what is the tuning workbench's, and studies the measurements within what loaded links can carry.
    pub fn take_tuning(&mut self, target: Target, progress: &mut dyn Progress) -> LoadedTuning {
        progress.report("Bringing repeats together", 0, 1);
        // The rows of a saved model are what it was learnt from, whatever is asked for now.
        let target = self.target.unwrap_or(target);
        let rows = mem::take(&mut self.rows);
        let used: BTreeSet<u16> = rows.chunk_by(|a, b| a.file == b.file).map(|same| same[0].file).compact_collect();
        let has_rows = |file: &&FileReport| matches!(file.outcome, Outcome::Loaded { .. });
        let is_sweep =
            |file: &&FileReport| has_rows(file) && (self.sets.all.is_empty() || used.contains(&file.number()));
        let files = TuningFiles {
            rows,
            measured_with: mem::take(&mut self.measured_with),
            saved_hashes: mem::take(&mut self.saved_hashes),
            names: self.files.iter().map(|file| (file.number(), file.name.clone())).compact_collect(),
            states: States::of(
                self.documents.reports.iter().map(|(number, _)| *number).collect(),
                self.files.iter().filter(has_rows).map(|file| file.id).collect(),
            ),
            sweeps: self.files.iter().filter(is_sweep).map(|file| file.name.clone()).collect(),
            confs: mem::take(&mut self.documents.confs),
            jobs: mem::take(&mut self.documents.jobs),
            comparisons: mem::take(&mut self.documents.comparisons),
            listings: mem::take(&mut self.documents.listings),
            journals: mem::take(&mut self.documents.journals),
        };
        let mut tuning = LoadedTuning::new(files, &self.sets, target, mem::take(&mut self.notes));
        let scales: Vec<Scale> = tuning.study.groups().iter().map(|group| group.scale).collect();
        let links = self.parts.topologies.iter().map(|(_, name, part)| (name.as_str(), part));
        let (ceilings, untold) = topology::ceiling::ceilings(links, &scales);
        let held = tuning.study.limit_predictions(ceilings);
        tuning.notes.extend(untold);
        tuning.notes.extend(held);
        keep_few(&mut tuning.notes);
        progress.report("Bringing repeats together", 1, 1);
        tuning
    }

    /// The snapshot of the files, to be compared with another state.
    ///
    /// # Errors
    /// Returns why the files are no measured state.
    pub fn snapshot(mut self, progress: &mut dyn Progress) -> Result<Snapshot, String> {
        let missing = |why: &str| Err(why.to_owned());
        if let [(_, report)] = &self.documents.reports[..] {
            return match (&report.snapshot, self.rows.is_empty()) {
                (Some(snapshot), true) => Ok(snapshot.clone()),
                (_, false) => missing("a report and a sweep are two states; give one of them"),
                (None, true) => {
                    missing("this report carries no measurements; they were left out, or it is of something else")
                }
            };
        }
        if self.rows.is_empty() {
            let refused = self.files.iter().find_map(|file| match &file.outcome {
                Outcome::Refused(why) => Some(why.as_str()),
                _ => None,
            });
            return missing(refused.unwrap_or("a sweep, or one report, is needed"));
        }
        let wrong_values = mem::take(&mut self.wrong_values);
        let snapshot = self.take_tuning(Target::default(), progress).snapshot(Extent::Whole);
        snapshot.map(|snapshot| Snapshot { wrong_values, ..snapshot }).map_err(|error| error.to_string())
    }
}

/// The name of a file among others: its own, or where another one has it, one with a number before its ending.
///
/// ```
/// use collectune::intake::files::apart;
/// let taken = ["a/sweep.csv".to_owned(), "a/sweep (2).csv".to_owned()];
/// assert_eq!(apart("a/sweep.csv", &taken), "a/sweep (3).csv");
/// assert_eq!(apart("b/sweep.csv", &taken), "b/sweep.csv");
/// ```
pub fn apart(name: &str, taken: &[String]) -> String {
    let is_free = |name: &String| !taken.contains(name);
    let begins = name.rfind('/').map_or(0, |at| at + 1);
    let (stem, end) = name.split_at(name[begins..].rfind('.').map_or(name.len(), |at| begins + at));
    let numbered = (2..).map(|number: u32| format!("{stem} ({number}){end}"));
    iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// Whether a name is what [`apart`] makes of another one of these.
///
/// ```
/// use collectune::intake::files::is_numbered;
/// let all = ["a/sweep.csv", "a/sweep (2).csv", "b (2).csv"];
/// assert_eq!(all.map(|name| is_numbered(name, &all)), [false, true, false]);
/// ```
pub fn is_numbered(name: &str, all: &[&str]) -> bool {
    let Some((stem, rest)) = name.rsplit_once(" (") else { return false };
    let Some((number, end)) = rest.split_once(')') else { return false };
    let is_number = number.parse::<u32>().is_ok_and(|number| number > 1);
    is_number && all.iter().any(|other| other.strip_prefix(stem).is_some_and(|other_end| other_end == end))
}

/// Reads files, each as what it is; `names` and `files` go together. Of measurements that must not be pooled the
/// largest set is kept.
pub fn read_files(names: &[FileToLoad], files: Vec<FileSource>, progress: &mut dyn Progress) -> OpenedFiles {
    read_set(names, files, &mut |_| SetChoice::Largest, progress)
}

/// Reads files as [`read_files`] does. `choose` is asked which set to keep, where there are several.
pub fn read_set(
    names: &[FileToLoad],
    files: Vec<FileSource>,
    choose: &mut dyn FnMut(&[Set]) -> SetChoice,
    progress: &mut dyn Progress,
) -> OpenedFiles {
    let mut opened = OpenedFiles::default();
    let mut origins = Origins::default();
    // Of an arm nothing was asked but what its name says.
    let arm = || Mapping { columns: vec![("algo".to_owned(), ColumnSource::Constant("DEFAULT".to_owned()))] };
    let mappings: Vec<Option<Mapping>> =
        names.iter().map(|name| name.mapping.clone().or_else(|| AbArm::of_name(&name.name).map(|_| arm()))).collect();
    let doing = (files.len() > 1).then(|| format!("Reading {}", count(files.len() as u64, "file")));
    let total = files.iter().map(|file| file.size_bytes).sum();
    let mut together = Together { doing, read: 0, total, progress };
    let mut files: Vec<_> = names
        .iter()
        .zip(files)
        .zip(&mappings)
        .map(|((name, FileSource { content, size_bytes }), mapping)| {
            together.reading(Some(name.id));
            let file = open_file(content, &name.name, size_bytes, name.id, mapping.as_ref(), &mut together);
            together.read += size_bytes;
            file
        })
        .collect();
    together.reading(None);
    join(&mut files, &mappings);
    for (name, file) in names.iter().zip(files) {
        let mut report = file.report;
        let numbers = origins.take(&file.origins);
        match file.content {
            FileContent::Rows(mut rows) => {
                renumber(&mut rows, &numbers, &mut report);
                if opened.rows.is_empty() {
                    opened.rows = rows;
                } else {
                    opened.rows.extend(rows);
                }
            }
            FileContent::Model(text) => {
                if let Some(model) = open_model(&text, &mut report) {
                    opened.rows.extend(model.rows(report.number(), &mut origins));
                    opened.saved_hashes.push(model.hash);
                    opened.parameters = Some(model.parameters);
                    opened.target = Some(model.target);
                }
            }
            FileContent::Log { mut rows, job } => {
                renumber(&mut rows, &numbers, &mut report);
                opened.rows.extend(rows);
                if !job.is_empty() {
                    opened.documents.jobs.push((name.id, job));
                }
            }
            FileContent::Conf(bytes) => opened.documents.confs.push((name.id, bytes)),
            FileContent::Comparison(text) => opened.documents.comparisons.push((name.id, text)),
            FileContent::Kernels(part) => {
                opened.parts.kernels.push((name.id, NamedKernelFile { name: name.name.clone(), part: *part }));
            }
            FileContent::Training(file) => opened.parts.samples.push((name.id, *file)),
            FileContent::Rewards(log) => {
                opened.parts.rewards.push((name.id, NamedLog { name: name.name.clone(), log: *log }));
            }
            FileContent::Topology(part) => opened.parts.topologies.push((name.id, name.name.clone(), *part)),
            FileContent::Report(report) => opened.documents.reports.push((name.id, report)),
            FileContent::Listing(listing) => opened.documents.listings.push((name.id, listing)),
            FileContent::Journal(journal) => opened.documents.journals.push((name.id, journal)),
            FileContent::Nothing => {}
        }
        opened.files.push(report);
    }
    let by_number: Vec<(u32, &str)> = names.iter().map(|name| (name.id, name.name.as_str())).collect();
    let mut copies = take_out_copies(&opened.files, &mut opened.rows);
    copies.extend(take_out_rounded(&opened.files, &mut opened.rows));
    let taken = ab::arms::take(&mut opened.rows, &origins, &by_number);
    opened.documents.comparisons.extend(taken.texts);
    opened.documents.compared_logs = taken.files;
    opened.documents.uncompared = taken.lacking;
    copies.extend(taken.notes);
    opened.wrong_values = wrong_values::take_out(&mut opened.rows);
    copies.extend(take_out_medians(&opened.files, &mut opened.rows));
    let name = |file: u16| {
        let named = opened.files.iter().find(|report| report.number() == file);
        named.map(|report| report.name.clone()).unwrap_or_default()
    };
    let contradicted = contradicted_ranks(&opened.rows, &name);
    opened.sets = sets::divide(&mut opened.rows, &origins, &name, choose);
    opened.measured_with = snapshot::measured_with(&opened.rows, &origins);
    opened.notes = duplicate_runs(&opened.files, &opened.rows);
    opened.notes.extend(copies);
    opened.notes.extend(opened.wrong_values.clone());
    opened.notes.extend(contradicted);
    opened.notes.extend(snapshot::timed_differently(&opened.rows, &origins));
    // Beside other files a model's rows are rows like theirs.
    opened.target = opened.target.filter(|_| opened.files.len() == 1);
    opened
}

/// Several files that are read are one piece of work: what is said of each, in bytes, becomes part of the whole.
struct Together<'a> {
    /// Instead of the name of a file, where there are several.
    doing: Option<String>,
    /// The bytes of the files that were read completely.
    read: u64,
    /// The bytes of all files.
    total: u64,
    progress: &'a mut dyn Progress,
}

impl Progress for Together<'_> {
    fn report(&mut self, doing: &str, done: u64, _total: u64) {
        self.progress.report(self.doing.as_deref().unwrap_or(doing), self.read + done, self.total);
    }

    fn reading(&mut self, file: Option<u32>) {
        self.progress.reading(file);
    }
}

/// Gives the rows of a file the numbers that their origins have among those of all files.
fn renumber(rows: &mut Vec<Row>, numbers: &[Option<u16>], report: &mut FileReport) {
    let before = rows.len();
    rows.retain_mut(|row| match numbers.get(usize::from(row.origin)).copied().flatten() {
        Some(number) => {
            row.origin = number;
            true
        }
        None => false,
    });
    let lost = before - rows.len();
    if let Outcome::Loaded { notes, .. } = &mut report.outcome
        && lost > 0
    {
        notes.push(format!("{} left out: more ways of measuring than can be told apart", count(lost as u64, "row")));
    }
}

fn open_model(text: &str, report: &mut FileReport) -> Option<ModelFile> {
    match ModelFile::read(text) {
        Ok(model) => {
            if let Outcome::Loaded { rows, default_rows, notes, .. } = &mut report.outcome {
                *default_rows = model.defaults.len() as u64;
                *rows = model.points.len() as u64 + *default_rows;
                notes.push(format!(
                    "Saved by {}: its training rows are loaded and the model is fitted again",
                    model.program
                ));
                let contradictions = model.contradictions();
                if contradictions > 0 {
                    notes.push(format!(
                        "{} contradicted by the median of its runs: without these it is used",
                        count(contradictions, "point")
                    ));
                }
            }
            Some(model)
        }
        Err(error) => {
            report.outcome = Outcome::Refused(format!("{} can't be used: {error}.", excerpt(&report.name)));
            None
        }
    }
}
