//! Joins what a log's lines say of the same call: who calls, which tuner answers, what runs.
//!
//! A decision names neither its call nor its communicator. Within a process, it belongs to the oldest open call of its
//! collective and bytes: decisions of a group come sorted, not in the order of the calls.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::result::{Path, Place, ReachCounts};
use crate::{
    collective::{Collective, Configuration},
    order::CompactCollect,
    tuning::{
        log::lines::{
            self, Answer, Call, CallKind, Communicator, Decision, Line, Printed, Said, Source, SpokenLine, Tuner,
            larger_buffer, process,
        },
        platform::{Library, Version},
    },
};

/// The tuner of a process, as far as lines say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoadedTuner {
    /// A library that is loaded as a plugin.
    Plugin,
    /// RCCL's built-in CSV tuner, with the table that is shipped with the library or a file of the user's.
    BuiltIn { is_own: bool },
    /// The library says that none is loaded.
    None,
}

/// How the bytes of a call are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// Of the elements that the function counts.
    Task,
    /// Of the buffers of all ranks, as a tuner sees them.
    Total,
}

/// What a tuner said about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// No line says anything.
    Nothing,
    /// It gave an algorithm and a protocol.
    Answered(Answer),
    /// It left the choice to the library.
    Left,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallOutcome {
    /// It took a path that asks no tuner, or an unknown one.
    Went(Path),
    /// The library chose an algorithm and a protocol.
    Decided { ran: Configuration, told: Told },
}

/// Calls that a report counts together before it is known what the tuner file makes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SeenCall {
    pub(super) collective: Collective,
    /// `None` where no line says them.
    pub(super) bytes: Option<u64>,
    pub(super) scope: Scope,
    pub(super) outcome: CallOutcome,
    pub(super) is_grouped: bool,
}

/// Calls that are alike, with their number and the first line that shows one.
pub(super) type SeenCalls = BTreeMap<SeenCall, (u64, Place)>;

/// A communicator as one rank sees it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RankOfCommunicator {
    pub(super) process: u64,
    pub(super) rank: Option<u32>,
    pub(super) ranks: Option<u32>,
    pub(super) nodes: Option<u32>,
    pub(super) local_ranks: Option<u32>,
    pub(super) seen: SeenCalls,
}

/// Calls that wait for a line that says what ran.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenCalls {
    communicator: usize,
    datatype: u32,
    operation: u32,
    batch: u64,
    calls: u64,
    place: Place,
    /// The path that an earlier line selected.
    selected: Option<(Path, Place)>,
}

/// What a process said so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessLog {
    pub(super) tuner: Option<LoadedTuner>,
    /// Nodes and ranks that its tuner names.
    pub(super) tuner_scale: Option<(u32, u32)>,
    /// The process prints lines that rank 0 of a communicator prints.
    pub(super) is_rank_0: bool,
    has_calls: bool,
    called: Option<Collective>,
    open: BTreeMap<(Collective, u64), VecDeque<OpenCalls>>,
    /// Calls up to the decisions about them are one batch: a group, where there are several.
    batch: u64,
    batch_is_decided: bool,
    in_batch: BTreeMap<(Collective, u32, u32), u64>,
    answers: Vec<(Collective, u64, Told)>,
    selected: Vec<(Collective, Path, Place)>,
    /// Decisions whose call no line shows; counted as calls where the process logs none.
    orphans: SeenCalls,
    /// The transfers of a direct all_gather that are still to come: communicator, count, number.
    parts: Option<(usize, u64, Option<u32>)>,
}

/// Everything that the lines of logs say about calls. Each log is read by itself, and then added to the others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JoinedLogs {
    pub(super) communicators: Vec<RankOfCommunicator>,
    by_pointer: BTreeMap<(u64, String), usize>,
    pub(super) processes: BTreeMap<u64, ProcessLog>,
    /// The hosts that stand at the beginning of a line.
    hosts: BTreeSet<String>,
    pub(super) counts: ReachCounts,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) library: Option<(Library, Option<Version>)>,
    /// The forms of lines that only some releases print, with the first line and their number.
    pub(super) forms: Vec<(Vec<Printed>, Place, u64)>,
    /// Lines of the library of any kind.
    pub(super) spoken: u64,
    /// A line says that DDA is ready, or that it is impossible.
    pub(super) dda_is_possible: Option<bool>,
    /// The library names its paths itself.
    pub(super) names_paths: bool,
}

impl JoinedLogs {
    /// The library and its version, as the first line that names them has it.
    pub fn library(&self) -> Option<(Library, Option<Version>)> {
        self.library
    }

    /// Takes a line of a log; the last one is followed by [`Self::finish`].
    pub(in crate::tuning) fn line(&mut self, SpokenLine { before, said }: &SpokenLine<'_>, place: Place) {
        if said.is_empty() {
            // What a launcher or a wrapper prints without the library's mark is no line of a log.
            return;
        }
        self.counts.not_understood += u64::from(lines::is_told(before));
        for (index, Said { speaker, line, .. }) in said.iter().enumerate() {
            self.spoken += 1;
            let is_whole = index == 0 && speaker.is_some_and(|word| before.starts_with(word));
            let speaker = self.speaker(*speaker, is_whole);
            if let Some(line) = line {
                self.said(speaker, line, place);
            }
        }
    }

    /// The process of a speaker's word `host:pid:thread`, in front of which the rest of another line may stand.
    fn speaker(&mut self, word: Option<&str>, is_whole: bool) -> u64 {
        let mut parts = word.unwrap_or_default().rsplitn(3, ':');
        let (_thread, pid, host) = (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if self.hosts.contains(host) {
            return process(host, pid);
        }
        if is_whole && !host.is_empty() {
            self.hosts.insert(host.to_owned());
            return process(host, pid);
        }
        let known = self.hosts.iter().filter(|known| host.ends_with(known.as_str())).max_by_key(|known| known.len());
        process(known.map_or(host, String::as_str), pid)
    }

    fn communicator(&mut self, process: u64, pointer: &str) -> usize {
        let next = self.communicators.len();
        let index = *self.by_pointer.entry((process, pointer.to_owned())).or_insert(next);
        if index == next {
            self.communicators.push(RankOfCommunicator { process, ..RankOfCommunicator::default() });
        }
        index
    }

    fn said(&mut self, speaker: u64, line: &Line<'_>, place: Place) {
        let printed = line.printed_by();
        if !printed.is_empty() {
            match self.forms.iter_mut().find(|(known, ..)| *known == printed) {
                Some((.., count)) => *count += 1,
                None => self.forms.push((printed, place, 1)),
            }
        }
        let process = self.processes.entry(speaker).or_default();
        match *line {
            Line::Call(ref call) => self.call(speaker, call, place),
            Line::Decision(ref decision) => self.decision(speaker, decision, place),
            Line::Symmetric { collective, size_bytes, .. } => {
                self.went(speaker, collective, size_bytes, Path::Symmetric, place);
            }
            Line::CopyEngine { collective, size_bytes } | Line::HierarchicalCopyEngine { collective, size_bytes } => {
                self.went(speaker, collective, size_bytes, Path::Ce, place);
            }
            Line::UnknownFunction(name) => {
                let name: String = name.chars().take(40).collect();
                *self.counts.unknown_functions.entry(name).or_default() += 1;
            }
            Line::NotUnderstood => self.counts.not_understood += 1,
            Line::ClampedChunk { .. } => self.counts.clamped_chunks += 1,
            Line::NoAlgorithm { .. } => self.counts.no_algorithm += 1,
            Line::DdaDisqualified { .. } => self.counts.dda_disqualified += 1,
            Line::Loaded(tuner) => process.load(tuner),
            Line::TunerScale { nodes, ranks, .. } => process.tuner_scale = Some((nodes, ranks)),
            Line::Answer(answer) => {
                self.counts.tuner_answers += 1;
                process.answers.push((answer.collective, answer.size_bytes, Told::Answered(answer)));
            }
            Line::LeftToLibrary { collective, size_bytes } => {
                self.counts.left_to_library += 1;
                process.answers.push((collective, size_bytes, Told::Left));
            }
            Line::DirectAllGather { count, size_bytes, comm, rank } => {
                process.has_calls = true;
                process.take_selected(Collective::AllGather, Path::Direct);
                let index = self.communicator(speaker, comm);
                let communicator = &mut self.communicators[index];
                communicator.rank = Some(rank);
                let seen = SeenCall {
                    collective: Collective::AllGather,
                    bytes: Some(size_bytes),
                    scope: Scope::Total,
                    outcome: CallOutcome::Went(Path::Direct),
                    is_grouped: false,
                };
                add(&mut communicator.seen, seen, 1, place);
                let ranks = communicator.ranks;
                self.processes.entry(speaker).or_default().parts = Some((index, count, ranks));
            }
            Line::DdaPossible { .. } => self.dda_is_possible = Some(true),
            Line::DdaImpossible => self.dda_is_possible = self.dda_is_possible.or(Some(false)),
            Line::Selected { collective, implementation } => {
                self.names_paths = true;
                process.is_rank_0 = true;
                process.selected.extend(selected(implementation).map(|path| (collective, path, place)));
            }
            Line::DdaTaken { collective, ranks, size_bytes, .. } => {
                self.names_paths = true;
                process.take_selected(collective, Path::Dda);
                let mut own = self.communicators.iter_mut().filter(|known| known.process == speaker);
                let index = match (own.next(), own.next()) {
                    (Some(only), None) if only.ranks.is_none_or(|known| known == ranks) => {
                        self.communicators.iter().position(|known| known.process == speaker)
                    }
                    _ => None,
                };
                let index = index.unwrap_or_else(|| self.communicator(speaker, &format!("of {ranks}")));
                let communicator = &mut self.communicators[index];
                communicator.ranks = Some(ranks);
                let outcome = CallOutcome::Went(Path::Dda);
                let (bytes, scope) = (Some(size_bytes), Scope::Total);
                add(
                    &mut communicator.seen,
                    SeenCall { collective, bytes, scope, outcome, is_grouped: false },
                    1,
                    place,
                );
            }
            Line::Communicator(ref said) => self.begins(speaker, said),
            Line::Environment { name, value } => {
                self.environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
            Line::Version { library, version } => {
                if self.library.is_none_or(|(_, release)| release.is_none()) {
                    self.library = Some((library, version.parse().ok()));
                }
            }
            Line::CsvTunerRule { .. } | Line::RulesLoaded { .. } | Line::EnvironmentIgnored { .. } => {}
        }
    }

    fn begins(&mut self, speaker: u64, said: &Communicator<'_>) {
        let mut index = self.communicator(speaker, said.comm);
        let known = &self.communicators[index];
        let is_other =
            known.ranks.is_some_and(|ranks| ranks != said.ranks) || known.rank.is_some_and(|rank| rank != said.rank);
        if is_other {
            // The pointer of a communicator that is gone.
            self.by_pointer.remove(&(speaker, said.comm.to_owned()));
            index = self.communicator(speaker, said.comm);
        }
        let communicator = &mut self.communicators[index];
        communicator.rank = Some(said.rank);
        communicator.ranks = Some(said.ranks);
        communicator.nodes = said.nodes.or(communicator.nodes);
        communicator.local_ranks = said.local_ranks.or(communicator.local_ranks);
    }

    fn call(&mut self, speaker: u64, call: &Call<'_>, place: Place) {
        self.counts.call_lines += 1;
        if matches!(call.kind, CallKind::Receive | CallKind::HierarchicalIntra) {
            self.counts.parts += 1;
            return;
        }
        let Some(bytes) = call.task_bytes() else { return self.counts.not_understood += 1 };
        let Call { kind, collective, count, datatype, operation, comm, ranks, rank } = *call;
        let index = self.communicator(speaker, comm);
        let communicator = &mut self.communicators[index];
        communicator.ranks = ranks.or(communicator.ranks);
        communicator.rank = rank.or(communicator.rank);
        let ranks = communicator.ranks;
        let process = self.processes.entry(speaker).or_default();
        process.has_calls = true;
        if collective == Collective::SendRecv && process.is_part(index, count, ranks) {
            self.counts.parts += 1;
            return;
        }
        process.called = Some(collective);
        let went = match kind {
            _ if ranks == Some(1) => Some(Path::OneRank),
            _ if count == 0 => Some(Path::Empty),
            CallKind::Msccl => Some(Path::Msccl),
            CallKind::HierarchicalInter => Some(Path::Direct),
            _ => None,
        };
        if let Some(path) = went {
            if kind == CallKind::HierarchicalInter {
                process.take_selected(collective, Path::Direct);
            }
            let outcome = CallOutcome::Went(path);
            let seen = SeenCall { collective, bytes: Some(bytes), scope: Scope::Task, outcome, is_grouped: false };
            return add(&mut self.communicators[index].seen, seen, 1, place);
        }
        if self.communicators[index].rank.is_some_and(|rank| rank != 0) {
            // Rank 0 alone says what runs; with several ranks in a process these calls must not take its lines.
            let outcome = CallOutcome::Went(untold(collective));
            let seen = SeenCall { collective, bytes: Some(bytes), scope: Scope::Task, outcome, is_grouped: false };
            return add(&mut self.communicators[index].seen, seen, 1, place);
        }
        if process.batch_is_decided {
            process.batch += 1;
            process.batch_is_decided = false;
            process.in_batch.clear();
            process.answers.clear();
        }
        *process.in_batch.entry((collective, datatype, operation)).or_default() += 1;
        let chosen = process
            .selected
            .iter()
            .position(|(of, path, _)| *of == collective && !matches!(path, Path::Dda | Path::Direct));
        let selected = chosen.map(|at| process.selected.remove(at)).map(|(_, path, place)| (path, place));
        let batch = process.batch;
        let queue = process.open.entry((collective, bytes)).or_default();
        let next = OpenCalls { communicator: index, datatype, operation, batch, calls: 1, place, selected };
        let is_same = |last: &&mut OpenCalls| {
            last.selected.is_none()
                && next.selected.is_none()
                && (last.communicator, last.datatype, last.operation, last.batch) == (index, datatype, operation, batch)
        };
        match queue.back_mut().filter(is_same) {
            Some(last) => last.calls += 1,
            None => queue.push_back(next),
        }
    }

    fn decision(&mut self, speaker: u64, decision: &Decision, place: Place) {
        self.counts.decision_lines += 1;
        let Some(process) = self.processes.get_mut(&speaker) else { return };
        process.is_rank_0 = true;
        let Some(collective) = decision.collective.or(process.called) else {
            return self.counts.not_understood += 1;
        };
        let ran =
            Configuration { algorithm: decision.algorithm, protocol: decision.protocol, channels: decision.channels() };
        process.batch_is_decided = true;
        let size_bytes = decision.size_bytes;
        let ranks_of = |communicators: &[RankOfCommunicator], index: usize| communicators[index].ranks;
        let task_bytes = match decision.is_per_task() {
            true => Some(size_bytes),
            // Of all ranks: the open call whose part comes to that.
            false => process.open.range((collective, 0)..=(collective, u64::MAX)).find_map(|((_, bytes), queue)| {
                let ranks = ranks_of(&self.communicators, queue.front()?.communicator);
                (total(collective, *bytes, ranks) == Some(size_bytes)).then_some(*bytes)
            }),
        };
        if let Some((open, bytes)) = task_bytes.and_then(|bytes| Some((process.close(collective, bytes)?, bytes))) {
            let is_grouped = process.is_grouped(&open, collective);
            let ranks = ranks_of(&self.communicators, open.communicator);
            let told = process.told(collective, total(collective, bytes, ranks), is_grouped);
            if let Some((path, selected)) = open.selected {
                // It went on to the library's choice: what was selected was another call, which logged none.
                process.selected.push((collective, path, selected));
            }
            let outcome = CallOutcome::Decided { ran, told };
            let seen = SeenCall { collective, bytes: Some(bytes), scope: Scope::Task, outcome, is_grouped };
            return add(&mut self.communicators[open.communicator].seen, seen, 1, place);
        }
        if !decision.is_per_task() {
            // One question for the sum of a group.
            let group = process
                .group_of(collective, |index, bytes| total(collective, bytes, ranks_of(&self.communicators, index)));
            if let Some((open, sum)) = group
                && sum == size_bytes
            {
                let told = process.told(collective, Some(sum), false);
                for (bytes, calls, communicator) in open {
                    process.take(collective, bytes, calls);
                    let outcome = CallOutcome::Decided { ran, told };
                    let (bytes, scope) = (Some(bytes), Scope::Task);
                    let seen = SeenCall { collective, bytes, scope, outcome, is_grouped: true };
                    add(&mut self.communicators[communicator].seen, seen, calls, place);
                }
                return;
            }
        }
        let scope = if decision.is_per_task() { Scope::Task } else { Scope::Total };
        let total_bytes =
            if scope == Scope::Total || larger_buffer(collective, 2) == 1 { Some(size_bytes) } else { None };
        let told = process.told(collective, total_bytes, total_bytes.is_none());
        let outcome = CallOutcome::Decided { ran, told };
        let seen = SeenCall { collective, bytes: Some(size_bytes), scope, outcome, is_grouped: false };
        add(&mut process.orphans, seen, 1, place);
    }

    /// A line says that a call of these bytes took a path without a tuner.
    fn went(&mut self, speaker: u64, collective: Collective, bytes: u64, path: Path, place: Place) {
        self.counts.decision_lines += 1;
        let Some(process) = self.processes.get_mut(&speaker) else { return };
        process.is_rank_0 = true;
        process.batch_is_decided = true;
        let outcome = CallOutcome::Went(path);
        let seen = SeenCall { collective, bytes: Some(bytes), scope: Scope::Task, outcome, is_grouped: false };
        match process.close(collective, bytes) {
            Some(open) => add(&mut self.communicators[open.communicator].seen, seen, 1, place),
            None => {
                // Where it logs no call, the line that selects it is about the same one.
                process.take_selected(collective, path);
                add(&mut process.orphans, seen, 1, place);
            }
        }
    }

    /// Closes all calls that wait, and counts what has no call: no line follows.
    pub fn finish(&mut self) {
        // Names of hosts are not kept longer than they are needed.
        self.hosts.clear();
        for speaker in self.processes.keys().copied().collect::<Vec<_>>() {
            let Some(process) = self.processes.get_mut(&speaker) else { continue };
            let open = std::mem::take(&mut process.open);
            let orphans = std::mem::take(&mut process.orphans);
            let selected = std::mem::take(&mut process.selected);
            let has_calls = process.has_calls;
            for ((collective, bytes), queue) in open {
                for open in queue {
                    let (path, place) = open.selected.unwrap_or((untold(collective), open.place));
                    let outcome = CallOutcome::Went(path);
                    let (bytes, scope) = (Some(bytes), Scope::Task);
                    let seen = SeenCall { collective, bytes, scope, outcome, is_grouped: false };
                    add(&mut self.communicators[open.communicator].seen, seen, open.calls, place);
                }
            }
            let lost: u64 = orphans.values().map(|(calls, _)| calls).sum();
            let orphans = if has_calls {
                self.counts.decisions_without_call += lost;
                SeenCalls::new()
            } else {
                self.counts.decisions_as_calls += lost;
                orphans
            };
            if orphans.is_empty() && selected.is_empty() {
                continue;
            }
            let mut own = (0..self.communicators.len()).filter(|index| self.communicators[*index].process == speaker);
            let index = match (own.next(), own.next()) {
                (Some(only), None) => only,
                _ => self.communicator(speaker, ""),
            };
            let seen = &mut self.communicators[index].seen;
            for (call, (calls, place)) in orphans {
                add(seen, call, calls, place);
            }
            for (collective, path, place) in selected {
                let outcome = CallOutcome::Went(path);
                let call = SeenCall { collective, bytes: None, scope: Scope::Total, outcome, is_grouped: false };
                add(seen, call, 1, place);
            }
        }
    }
}

impl JoinedLogs {
    /// Adds a finished log as a file of this number. A process or communicator that both have is one.
    pub fn add(&mut self, other: &Self, file: u32) {
        let pointers: BTreeMap<usize, &(u64, String)> =
            other.by_pointer.iter().map(|(pointer, index)| (*index, pointer)).compact_collect();
        for (index, rank) in other.communicators.iter().enumerate() {
            let pointer = pointers.get(&index).copied();
            let known = pointer.and_then(|pointer| self.by_pointer.get(pointer)).copied();
            let known = known.filter(|known| self.communicators[*known].may_be(rank)).unwrap_or_else(|| {
                let new = self.communicators.len();
                self.by_pointer.extend(pointer.cloned().map(|pointer| (pointer, new)));
                let process = rank.process;
                self.communicators.push(RankOfCommunicator { process, ..RankOfCommunicator::default() });
                new
            });
            self.communicators[known].merge(rank, file);
        }
        for (id, process) in &other.processes {
            let known = self.processes.entry(*id).or_default();
            known.tuner = known.tuner.take().or_else(|| process.tuner.clone());
            known.tuner_scale = known.tuner_scale.or(process.tuner_scale);
            known.is_rank_0 |= process.is_rank_0;
        }
        for (forms, place, number) in &other.forms {
            match self.forms.iter_mut().find(|(known, ..)| known == forms) {
                Some((.., count)) => *count += number,
                None => self.forms.push((forms.clone(), Place { file, ..*place }, *number)),
            }
        }
        for (name, value) in &other.environment {
            self.environment.entry(name.clone()).or_insert_with(|| value.clone());
        }
        if self.library.is_none_or(|(_, release)| release.is_none()) {
            self.library = other.library.or(self.library);
        }
        self.counts.add(&other.counts);
        self.spoken += other.spoken;
        self.dda_is_possible = match (self.dda_is_possible, other.dda_is_possible) {
            (Some(one), Some(other)) => Some(one || other),
            (one, other) => one.or(other),
        };
        self.names_paths |= other.names_paths;
    }
}

impl RankOfCommunicator {
    /// Whether another communicator of this process and pointer may be the same one: nothing that lines say differs.
    fn may_be(&self, other: &Self) -> bool {
        let agree = |one: Option<u32>, other: Option<u32>| one.is_none() || other.is_none() || one == other;
        agree(self.rank, other.rank) && agree(self.ranks, other.ranks) && agree(self.nodes, other.nodes)
    }

    fn merge(&mut self, other: &Self, file: u32) {
        self.rank = self.rank.or(other.rank);
        self.ranks = self.ranks.or(other.ranks);
        self.nodes = self.nodes.or(other.nodes);
        self.local_ranks = self.local_ranks.or(other.local_ranks);
        for (call, (calls, place)) in &other.seen {
            add(&mut self.seen, *call, *calls, Place { file, ..*place });
        }
    }
}

impl ProcessLog {
    fn load(&mut self, tuner: Tuner<'_>) {
        self.tuner = match tuner {
            Tuner::Asked(name) if name.eq_ignore_ascii_case("none") => Some(LoadedTuner::None),
            // Only a later line says whether it could be opened.
            Tuner::Asked(_) => return,
            Tuner::Plugin(_) => Some(LoadedTuner::Plugin),
            Tuner::BuiltIn(path) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                let is_own = path.starts_with("<embedded>") || name.starts_with("rccl_tuner") && name.ends_with(".csv");
                Some(LoadedTuner::BuiltIn { is_own })
            }
            Tuner::None => Some(LoadedTuner::None),
        };
    }

    /// Takes back what was selected for a collective, where it is waiting.
    fn take_selected(&mut self, collective: Collective, path: Path) {
        let at = self.selected.iter().position(|(of, selected, _)| *of == collective && *selected == path);
        if let Some(at) = at {
            self.selected.remove(at);
        }
    }

    /// Whether a transfer is a part of the direct all_gather before it: one of as many as there are ranks.
    fn is_part(&mut self, communicator: usize, count: u64, ranks: Option<u32>) -> bool {
        let Some((of, of_count, left)) = self.parts else { return false };
        let left = left.or(ranks).unwrap_or(0);
        let is_part = of == communicator && of_count == count && left > 0;
        self.parts = is_part.then(|| (of, of_count, Some(left - 1)));
        is_part
    }

    /// Takes the oldest open call of these bytes.
    fn close(&mut self, collective: Collective, bytes: u64) -> Option<OpenCalls> {
        let open = self.open.get(&(collective, bytes))?.front()?.clone();
        self.take(collective, bytes, 1);
        Some(open)
    }

    fn take(&mut self, collective: Collective, bytes: u64, mut calls: u64) {
        let Some(queue) = self.open.get_mut(&(collective, bytes)) else { return };
        while let Some(front) = queue.front_mut().filter(|_| calls > 0) {
            let taken = front.calls.min(calls);
            front.calls -= taken;
            calls -= taken;
            if front.calls == 0 {
                queue.pop_front();
            }
        }
        if queue.is_empty() {
            self.open.remove(&(collective, bytes));
        }
    }

    fn is_grouped(&self, open: &OpenCalls, collective: Collective) -> bool {
        let of_batch = self.in_batch.get(&(collective, open.datatype, open.operation)).copied().unwrap_or(0);
        open.batch == self.batch && of_batch > 1
    }

    /// The open calls of a collective in the last batch, as bytes, number and communicator, and the sum of their bytes.
    fn group_of(
        &self,
        collective: Collective,
        total: impl Fn(usize, u64) -> Option<u64>,
    ) -> Option<(Vec<OpenPart>, u64)> {
        let mut group = Vec::new();
        let mut sum = 0_u64;
        for ((_, bytes), queue) in self.open.range((collective, 0)..=(collective, u64::MAX)) {
            for open in queue.iter().filter(|open| open.batch == self.batch) {
                sum = sum.checked_add(total(open.communicator, *bytes)?.checked_mul(open.calls)?)?;
                group.push((*bytes, open.calls, open.communicator));
            }
        }
        (!group.is_empty()).then_some((group, sum))
    }

    /// What a tuner said about a call of these bytes. About one of a group it may have been asked with the others.
    fn told(&mut self, collective: Collective, total_bytes: Option<u64>, is_grouped: bool) -> Told {
        let exact = |(of, bytes, _): &(Collective, u64, Told)| *of == collective && Some(*bytes) == total_bytes;
        if let Some(at) = self.answers.iter().position(exact) {
            return if is_grouped { self.answers[at].2 } else { self.answers.remove(at).2 };
        }
        let of_group = self.answers.iter().find(|(of, ..)| is_grouped && *of == collective);
        of_group.map_or(Told::Nothing, |(.., told)| *told)
    }
}

impl Told {
    /// Whether the answer is from the built-in tuner.
    pub(super) const fn is_built_in(self) -> bool {
        matches!(self, Self::Answered(Answer { source: Source::CsvTuner, .. }))
    }
}

/// Open calls of a group that are alike: their bytes, number and communicator.
type OpenPart = (u64, u64, usize);

/// The path that RCCL says it selected; `None` for the library's own kernels, about which another line speaks.
fn selected(implementation: &str) -> Option<Path> {
    const BEGINNINGS: [(&str, Path); 7] = [
        ("DDA", Path::Dda),
        ("Direct", Path::Direct),
        ("Hier", Path::Direct),
        ("SYM", Path::Symmetric),
        ("CE", Path::Ce),
        ("GIN", Path::Ce),
        ("A2A", Path::P2p),
    ];
    if implementation.starts_with("RING") || implementation.starts_with("TREE") {
        return None;
    }
    let known = BEGINNINGS.iter().find(|(beginning, _)| implementation.starts_with(beginning));
    Some(known.map_or(Path::Unknown, |(_, path)| *path))
}

/// The path of a call about which no other line speaks.
const fn untold(collective: Collective) -> Path {
    if collective.is_point_to_point() { Path::P2p } else { Path::Unknown }
}

/// Bytes as a tuner sees them, of all ranks.
pub(super) fn total(collective: Collective, task_bytes: u64, ranks: Option<u32>) -> Option<u64> {
    match ranks {
        Some(ranks) => task_bytes.checked_mul(larger_buffer(collective, ranks)),
        None => (larger_buffer(collective, 2) == 1).then_some(task_bytes),
    }
}

pub(super) fn add(seen: &mut SeenCalls, call: SeenCall, calls: u64, place: Place) {
    seen.entry(call).or_insert((0, place)).0 += calls;
}
