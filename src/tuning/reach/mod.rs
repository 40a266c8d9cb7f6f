//! What a tuner can decide at all: which of a job's calls it is asked about, and which take another path.
//!
//! [`ReachReader`] reads debug logs of any number of ranks and lists of calls, and answers with a [`Reach`]. The lines
//! of a log are joined by [`mod@join`]; calls of a list are judged by the conditions of the library's version
//! (`conditions`), which is said to be inferred. Only calls of rank 0 of each communicator count. A call about which no
//! line says anything is unknown, never the tuner's.

mod answer;
mod call_list;
mod conditions;
mod job_place;
mod join;
mod result;
mod times;
mod words;

use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
};

use fnv::FnvHasher;

use self::call_list::ListReader;
pub use self::{
    answer::{ReachQuestion, unread_variables},
    call_list::ListedCall,
    job_place::{JobPlace, JobVariable},
    join::JoinedLogs,
    result::{Path, PathEvidence, PathTotal, Place, Reach, ReachCommunicator, ReachCounts, ReachLine, ReachTotal},
    words::{listing, path_listing},
};
use super::{
    log::lines,
    platform::{Gpu, Library},
};
use crate::text::{Lines, Problems};

/// Reads logs and lists of calls, one file after another.
///
/// ```
/// use collectune::tuning::reach::{Path, ReachQuestion, ReachReader};
/// let log = "n0:7:7 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x2 count 1024 datatype 7 op 0 root 0 \
///            comm 0x5 [nranks=8] stream 0x6\n\
///            n0:7:7 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}\n";
/// let mut reader = ReachReader::default();
/// reader.text("job.log", log);
/// let reach = reader.reach(&ReachQuestion::default());
/// assert_eq!((reach.total.calls, reach.lines[0].path), (1, Path::TunerOrLibrary));
/// ```
#[derive(Debug, Default)]
pub struct ReachReader {
    files: Vec<String>,
    logs: JoinedLogs,
    listed: Vec<ListedCall>,
    problems: BTreeMap<u32, Problems>,
    /// The hash of each file's lines, with its name.
    contents: Vec<(u64, String)>,
    /// What of the files is not used, a sentence each without a full stop.
    unused: Vec<String>,
}

impl ReachReader {
    /// Reads a file. One with the lines of an earlier file counts once, and is named. Returns whether it says anything:
    /// a line of the library, or the header of a list.
    pub fn read(&mut self, name: &str, lines: &mut Lines<'_>) -> bool {
        let file = self.files.len() as u32;
        self.files.push(name.to_owned());
        let mut log = JoinedLogs::default();
        let mut list = None;
        let mut listed = Vec::new();
        let mut problems = Problems::default();
        let mut is_first = true;
        let mut content = FnvHasher::default();
        while let Some(line) = lines.next() {
            let text = line.text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            text.hash(&mut content);
            let place = Place { file, line: line.number };
            if std::mem::take(&mut is_first) {
                list = ListReader::new(text);
                if list.is_some() {
                    continue;
                }
            }
            match &list {
                Some(list) => listed.extend(list.row(text, place, &mut problems)),
                None => log.line(&lines::read(&line.text), place),
            }
        }
        let says_anything = list.is_some() || log.spoken > 0;
        let content = content.finish();
        if let Some((_, earlier)) = self.contents.iter().find(|(known, _)| *known == content && says_anything) {
            self.unused.push(counts_once(earlier, name));
            return true;
        }
        self.contents.push((content, name.to_owned()));
        self.problems.insert(file, problems);
        self.listed.extend(listed);
        self.unused.extend(
            list.iter()
                .flat_map(ListReader::unread)
                .map(|column| format!("{name}: the column {} is not read", crate::text::excerpt(column))),
        );
        log.finish();
        self.logs.add(&log, file);
        says_anything
    }

    /// Adds a log that was read before, line by line, and [finished](JoinedLogs::finish).
    pub fn log(&mut self, name: &str, log: &JoinedLogs) {
        self.logs.add(log, self.files.len() as u32);
        self.files.push(name.to_owned());
    }

    /// Reads a text as [`Self::read`] reads a file.
    pub fn text(&mut self, name: &str, text: &str) -> bool {
        self.read(name, &mut Lines::new(text.as_bytes()))
    }

    /// Adds calls of a job, as a list would.
    pub fn list(&mut self, calls: impl IntoIterator<Item = ListedCall>) {
        self.listed.extend(calls);
    }

    /// The library of the report: as given, or else as the logs say, or else as the GPU says.
    pub fn library(&self, given: Option<Library>, gpu: Option<Gpu>) -> Option<Library> {
        answer::library(&self.logs, given, gpu)
    }

    /// The report on all files.
    pub fn reach(self, question: &ReachQuestion) -> Reach {
        let Self { files, logs, listed, mut problems, contents: _, unused } = self;
        problems.retain(|_, problems| problems.count > 0);
        let reach = answer::answer(logs, &listed, question);
        let notes = unused.into_iter().chain(reach.notes).collect();
        Reach { files, problems, notes, ..reach }
    }
}

/// Whether a line is the header of a list of calls.
pub fn is_call_list(header: &str) -> bool {
    ListReader::new(header).is_some()
}

/// That a file repeats an earlier one.
pub(super) fn counts_once(earlier: &str, later: &str) -> String {
    format!("{earlier} and {later} have the same content: it counts once")
}
