//! From joined lines and listed calls to the report.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    call_list::ListedCall,
    conditions::{self, Surroundings},
    job_place::{JobPlace, JobVariable},
    join::{CallOutcome, JoinedLogs, LoadedTuner, RankOfCommunicator, Scope, SeenCall, Told, total},
    result::{Path, PathEvidence, PathTotal, Place, Reach, ReachCommunicator, ReachLine, ReachTotal},
    words,
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    order::{CompactCollect, CompactSort},
    tuning::{
        conf::{
            Reader,
            choose::{Effect, Entry, choose},
            reader::Channels,
            rule::{Rule, conditions as conditions_of},
        },
        log::{lines::Answer, words_for},
        platform::{Gpu, Library, Platform},
        support::SupportMatrix,
        sweep::Sweep,
    },
    units::count,
};

const NCCL_TUNER_PLUGIN: &str = "NCCL_TUNER_PLUGIN";
const NCCL_ALGO: &str = "NCCL_ALGO";
const NCCL_PROTO: &str = "NCCL_PROTO";
/// The variables that bound the number of channels.
const CHANNELS: [&str; 6] = [
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_NRINGS",
    "NCCL_MAX_NRINGS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
];

/// What is given beside the files.
#[derive(Clone, Debug, Default)]
pub struct ReachQuestion {
    /// The rules of the tuner file, and who reads them; `None`: without a file.
    pub rules: Option<(Vec<Rule>, Reader)>,
    /// The library; `None`: as the logs say, or else as the GPU says.
    pub library: Option<Library>,
    /// The nodes of communicators of as many ranks whose nodes no line says.
    pub scale: Option<Scale>,
    /// The GPU, the version and the environment.
    pub on: JobPlace,
}

/// A tuner file's answer for a call.
struct ConfAnswer {
    rule: Option<u32>,
    effect: Effect,
}

struct Conf<'a> {
    rules: &'a [Rule],
    reader: Reader,
    support: SupportMatrix,
}

impl Conf<'_> {
    fn answer(&self, collective: Collective, scale: Scale, size_bytes: u64) -> ConfAnswer {
        let choice = choose(self.rules, self.reader, &self.support, &Workload { collective, scale, size_bytes });
        let rule = choice.rule.and_then(|index| self.rules.get(index)).map(|rule| rule.line);
        ConfAnswer { rule, effect: choice.effect }
    }
}

/// Sums over the lines of a report while they are collected.
struct LineSum {
    calls: u64,
    grouped_calls: u64,
    evidence: PathEvidence,
    conf_answer: Option<String>,
}

/// What tells lines of a report apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    communicator: u32,
    collective: Collective,
    size_bytes: Option<u64>,
    is_per_rank: bool,
    path: Path,
    ran: Option<Configuration>,
    rule: Option<u32>,
}

#[derive(Default)]
struct Collected {
    lines: BTreeMap<LineKey, LineSum>,
    communicators: Vec<ReachCommunicator>,
}

impl Collected {
    fn add(&mut self, key: LineKey, sum: LineSum) {
        match self.lines.get_mut(&key) {
            Some(known) => {
                known.calls = known.calls.saturating_add(sum.calls);
                known.grouped_calls += sum.grouped_calls;
                known.evidence = sum.evidence.min(known.evidence.clone());
            }
            None => {
                self.lines.insert(key, sum);
            }
        }
    }
}

/// The report on joined logs and listed calls.
pub(super) fn answer(mut logs: JoinedLogs, listed: &[ListedCall], question: &ReachQuestion) -> Reach {
    let at = surroundings(&logs, question);
    let library = at.library.unwrap_or_default();
    let version = at.version;
    let conf = question.rules.as_ref().map(|(rules, reader)| {
        let platform = Platform { version, gpu: at.gpu, ..library.into() };
        Conf { rules, reader: *reader, support: SupportMatrix::new(platform.matrix(), &Sweep::default()) }
    });
    let mut collected = Collected::default();
    let counted = counted(&logs);
    let shared_tuner = shared_tuner(&logs);
    let mut factor_unknown = 0;
    let mut is_scale_used = question.scale.is_none();
    let mut limited_calls = 0;
    for (index, is_rank_assumed) in &counted {
        let rank = &logs.communicators[*index];
        let process = logs.processes.get(&rank.process);
        let told_nodes =
            process.and_then(|process| process.tuner_scale).filter(|(_, ranks)| rank.ranks == Some(*ranks));
        let asked = question.scale.filter(|scale| rank.ranks.is_none_or(|ranks| ranks == scale.ranks));
        // Where a line says nothing, a given scale holds.
        let ranks = rank.ranks.or(asked.map(|scale| scale.ranks));
        let nodes = rank.nodes.or(told_nodes.map(|(nodes, _)| nodes));
        let nodes = nodes.or_else(|| shared_nodes(&logs, rank.ranks));
        is_scale_used |= asked.is_some_and(|scale| nodes.is_none_or(|nodes| nodes == scale.nodes));
        let nodes = nodes.or(asked.map(|scale| scale.nodes));
        let communicator = collected.communicators.len() as u32;
        collected.communicators.push(ReachCommunicator {
            ranks,
            nodes,
            local_ranks: rank.local_ranks,
            is_rank_assumed: *is_rank_assumed,
        });
        let scale = nodes.zip(ranks).and_then(|(nodes, ranks)| Scale::new(nodes, ranks));
        let tuner = process.and_then(|process| process.tuner.as_ref()).or(shared_tuner.as_ref());
        for (call, (calls, place)) in &rank.seen {
            let whole_bytes = match call.scope {
                Scope::Total => call.bytes,
                Scope::Task => call.bytes.and_then(|bytes| total(call.collective, bytes, ranks)),
            };
            let is_per_rank = call.bytes.is_some() && whole_bytes.is_none();
            if is_per_rank && matches!(call.outcome, CallOutcome::Decided { .. }) {
                factor_unknown += calls;
            }
            let with_conf = conf.as_ref().zip(scale).zip(whole_bytes);
            let with_conf = with_conf.map(|((conf, scale), bytes)| conf.answer(call.collective, scale, bytes));
            let (path, ran) = resolve(call, with_conf.as_ref(), conf.is_some(), tuner, &at);
            limited_calls += limited(with_conf.as_ref(), path, *calls, &at);
            let key = LineKey {
                communicator,
                collective: call.collective,
                size_bytes: whole_bytes.or(call.bytes),
                is_per_rank,
                path,
                ran,
                rule: with_conf.as_ref().and_then(|answer| answer.rule),
            };
            let sum = LineSum {
                calls: *calls,
                grouped_calls: if call.is_grouped { *calls } else { 0 },
                evidence: PathEvidence::Line(*place),
                conf_answer: with_conf.map(|answer| answer.effect.to_string()),
            };
            collected.add(key, sum);
        }
        if !is_rank_assumed {
            let at = |call: &SeenCall, bytes: u64| {
                let conf = conf.as_ref().zip(scale).map(|(conf, scale)| conf.answer(call.collective, scale, bytes));
                (conf.as_ref().and_then(|answer| answer.rule), conf.map(|answer| answer.effect.to_string()))
            };
            for (call, size_bytes, calls, place) in missing(&logs, &counted, *index) {
                logs.counts.missing_calls += calls;
                let (rule, conf_answer) = at(&call, size_bytes);
                let key = LineKey {
                    communicator,
                    collective: call.collective,
                    size_bytes: Some(size_bytes),
                    is_per_rank: false,
                    path: Path::Unknown,
                    ran: None,
                    rule,
                };
                collected
                    .add(key, LineSum { calls, grouped_calls: 0, evidence: PathEvidence::Line(place), conf_answer });
            }
        }
    }
    let others = (0..logs.communicators.len()).filter(|index| counted.iter().all(|(known, _)| known != index));
    logs.counts.other_ranks_calls =
        others.flat_map(|index| logs.communicators[index].seen.values()).map(|(calls, _)| *calls).sum();
    logs.counts.factor_unknown = factor_unknown;
    limited_calls += list(listed, conf.as_ref(), &at, &mut collected);
    let mut reach = Reach {
        library: at.library,
        version: at.version,
        communicators: collected.communicators,
        counts: logs.counts.clone(),
        ..Reach::default()
    };
    (reach.total, reach.lines) = totalled(collected.lines);
    reach.notes = words::notes(&logs, &reach, &at, conf.is_some(), !listed.is_empty());
    // Calls that were typed have taken theirs before.
    let is_typed = listed.iter().any(|call| call.place.is_none());
    reach.notes.extend(question.scale.filter(|_| !is_scale_used && !is_typed).map(|scale| {
        format!("{scale}, as given, is used for no communicator: the files say theirs, or it has other ranks")
    }));
    reach.notes.extend(lists_by_collective(&at));
    if let (Some((name, most)), true) = (most_channels(&at), limited_calls > 0) {
        reach.notes.push(format!(
            "The tuner file asks for more channels than {name}={most} leaves in {}: they run with {most}",
            count(limited_calls, "call")
        ));
    }
    reach.notes.extend(question.rules.as_ref().and_then(|(rules, _)| conditions_of(rules)));
    reach.notes.extend(unread_variables(&question.on));
    reach.switch_on = words::switch_on(&logs, &reach, &at, !listed.is_empty());
    reach.headline = words::headline(&reach.total);
    reach
}

/// That given variables of the environment have no say in an answer, a sentence each without a full stop.
pub fn unread_variables(on: &JobPlace) -> Vec<String> {
    let is_read = |name: &str| {
        [NCCL_TUNER_PLUGIN, NCCL_ALGO, NCCL_PROTO].contains(&name) || conditions::VARIABLES.contains(&name)
    };
    let unread = on.environment.iter().filter(|variable| !is_read(&variable.name));
    let told = |variable: &JobVariable| {
        if CHANNELS.contains(&variable.name.as_str()) {
            let name = &variable.name;
            return format!(
                "{name} bounds the number of channels, that of a tuner's answer as well: which path a call takes does not \
                 depend on it"
            );
        }
        format!("{} decides no path that is known here: it is not used", crate::text::excerpt(&variable.name))
    };
    unread.map(told).collect()
}

/// The most channels that the environment leaves, with the variable that says so.
fn most_channels(at: &Surroundings) -> Option<(&'static str, u32)> {
    let number = |name: &str| at.variable(name)?.trim().parse::<u32>().ok();
    let bound = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, number(name)?)));
    let most = bound(["NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS"])?;
    // A smallest number above the largest one holds.
    Some(bound(["NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS"]).filter(|least| least.1 > most.1).unwrap_or(most))
}

/// How many of a line's calls run with fewer channels than the tuner file asks for, since the environment leaves fewer.
fn limited(conf: Option<&ConfAnswer>, path: Path, calls: u64, at: &Surroundings) -> u64 {
    let asks = conf.filter(|answer| answer.rule.is_some() && path.is_reached()).map(|answer| answer.effect.channels);
    match (asks, most_channels(at)) {
        (Some(Channels::Count(asked)), Some((_, most))) if asked > most => calls,
        _ => 0,
    }
}

/// That lists by collective of `NCCL_ALGO` and `NCCL_PROTO` are read as one list of names by an older library, or may
/// be, a sentence each without a full stop.
fn lists_by_collective(at: &Surroundings) -> Vec<String> {
    let from = Surroundings::LISTS_BY_COLLECTIVE_FROM;
    let told = |name: &str| {
        let value = at.variable(name).filter(|value| value.contains([':', ';']))?;
        let value = crate::text::excerpt(value);
        match at.version {
            None => Some(format!(
                "{name}={value} is read as a list by collective, as from NCCL {from} on; earlier ones take it for names \
                 between commas, and pass over those that they don't know: give the library's version if it is \
                 one of them"
            )),
            Some(_) if at.has_lists_by_collective() => None,
            Some(version) => Some(format!(
                "{name}={value}: lists by collective are read from NCCL {from} on. {version} takes this for names between \
                 commas, and passes over those that it does not know"
            )),
        }
    };
    [NCCL_ALGO, NCCL_PROTO].into_iter().filter_map(told).collect()
}

/// The library: as given, or else as the logs say, or else as the GPU says.
pub(super) fn library(logs: &JoinedLogs, given: Option<Library>, gpu: Option<Gpu>) -> Option<Library> {
    given.or(logs.library.map(|(library, _)| library)).or(gpu.map(Library::from))
}

fn surroundings(logs: &JoinedLogs, question: &ReachQuestion) -> Surroundings {
    let library = library(logs, question.library, question.on.gpu);
    let asked = question.on.environment.iter().cloned().map(|JobVariable { name, value }| (name, value));
    let logged = logs.library.filter(|(logged, _)| Some(*logged) == library).and_then(|(_, release)| release);
    Surroundings {
        library,
        version: question.on.version.or(logged),
        gpu: question.on.gpu,
        environment: logs.environment.clone().into_iter().chain(asked).compact_collect(),
    }
}

/// The communicators whose calls are counted, each as one rank sees it, and whether that is assumed to be rank 0.
fn counted(logs: &JoinedLogs) -> Vec<(usize, bool)> {
    let all = || logs.communicators.iter().enumerate().filter(|(_, rank)| !rank.seen.is_empty());
    let mut counted: Vec<(usize, bool)> = Vec::new();
    let sizes: BTreeSet<Option<u32>> = all().map(|(_, rank)| rank.ranks).compact_collect();
    for size in sizes {
        let of_size = || all().filter(|(_, rank)| rank.ranks == size);
        let speaks = |process: &u64| logs.processes.get(process).is_some_and(|process| process.is_rank_0);
        let before = counted.len();
        counted.extend(of_size().filter_map(|(index, rank)| match rank.rank {
            Some(0) => Some((index, false)),
            None if speaks(&rank.process) => Some((index, true)),
            _ => None,
        }));
        // Without the log of a rank 0, that of the process that speaks first.
        if counted.len() == before
            && let Some((_, first)) = of_size().next()
        {
            counted.extend(of_size().filter(|(_, rank)| rank.process == first.process).map(|(index, _)| (index, true)));
        }
    }
    counted.compact_sort();
    counted
}

/// Calls that another rank of a communicator logged more often than its rank 0, whose lines are torn or begin later:
/// collective and bytes, how many more the rank with the most has, and where one stands. Every rank takes part in every
/// collective. None where several communicators have as many ranks: nothing says to which a rank belongs.
fn missing(logs: &JoinedLogs, counted: &[(usize, bool)], index: usize) -> Vec<(SeenCall, u64, u64, Place)> {
    let own = &logs.communicators[index];
    let is_alone = counted.iter().all(|(other, _)| *other == index || logs.communicators[*other].ranks != own.ranks);
    let Some(ranks) = own.ranks.filter(|_| is_alone) else { return Vec::new() };
    let sums = |rank: &RankOfCommunicator| {
        let mut sums: BTreeMap<(Collective, u64), (SeenCall, u64, Place)> = BTreeMap::new();
        for (call, (calls, place)) in rank.seen.iter().filter(|(call, _)| !call.collective.is_point_to_point()) {
            let bytes = match call.scope {
                Scope::Total => call.bytes,
                Scope::Task => call.bytes.and_then(|bytes| total(call.collective, bytes, Some(ranks))),
            };
            if let Some(bytes) = bytes {
                sums.entry((call.collective, bytes)).or_insert((*call, 0, *place)).1 += calls;
            }
        }
        sums
    };
    let known = sums(own);
    let mut most: BTreeMap<(Collective, u64), (SeenCall, u64, Place)> = BTreeMap::new();
    let is_other = |rank: &&RankOfCommunicator| rank.ranks == own.ranks && rank.rank.is_some_and(|rank| rank != 0);
    for (key, (call, calls, place)) in logs.communicators.iter().filter(is_other).flat_map(sums) {
        let more = calls.saturating_sub(known.get(&key).map_or(0, |(_, calls, _)| *calls));
        let entry = most.entry(key).or_insert((call, 0, place));
        if more > entry.1 {
            *entry = (call, more, place);
        }
    }
    let of = |((_, bytes), (call, calls, place)): (_, (SeenCall, u64, Place))| (call, bytes, calls, place);
    most.into_iter().filter(|(_, (_, calls, _))| *calls > 0).map(of).collect()
}

/// The nodes that all communicators of as many ranks have whose nodes a line says.
fn shared_nodes(logs: &JoinedLogs, ranks: Option<u32>) -> Option<u32> {
    let mut nodes = logs.communicators.iter().filter(|rank| rank.ranks == ranks).filter_map(|rank| rank.nodes);
    let first = nodes.next().filter(|_| ranks.is_some())?;
    nodes.all(|other| other == first).then_some(first)
}

/// The tuner that all processes have which name theirs: of one that names none.
fn shared_tuner(logs: &JoinedLogs) -> Option<LoadedTuner> {
    let mut named = logs.processes.values().filter_map(|process| process.tuner.as_ref());
    let first = named.next()?;
    named.all(|tuner| tuner == first).then(|| first.clone())
}

/// The path of a call, and what ran.
fn resolve(
    call: &SeenCall,
    conf: Option<&ConfAnswer>,
    has_conf: bool,
    tuner: Option<&LoadedTuner>,
    at: &Surroundings,
) -> (Path, Option<Configuration>) {
    let (ran, told) = match call.outcome {
        CallOutcome::Went(path) => return (path, None),
        CallOutcome::Decided { ran, told } => (ran, told),
    };
    let is_plugin = tuner == Some(&LoadedTuner::Plugin);
    let excluded =
        conf.filter(|_| !(is_plugin && at.tuner_wins())).and_then(|answer| excluded(call.collective, answer, at));
    let path = if excluded.is_some() {
        Path::Env
    } else {
        match (told, tuner) {
            (Told::Answered(answer), _) if !is_answered(&answer, &ran) => Path::Overridden,
            (Told::Answered(_), Some(LoadedTuner::BuiltIn { is_own: false })) => Path::Tuner,
            (Told::Answered(_), _) if told.is_built_in() => Path::OwnTable,
            (Told::Answered(_), _) => Path::Tuner,
            (Told::Left, _) | (Told::Nothing, Some(LoadedTuner::None)) => Path::Library,
            // It logs each answer where decisions are logged.
            (Told::Nothing, Some(LoadedTuner::BuiltIn { .. })) => Path::Library,
            (Told::Nothing, Some(LoadedTuner::Plugin)) if has_conf => match conf {
                None => Path::TunerOrLibrary,
                Some(ConfAnswer { rule: None, .. }) => Path::Library,
                Some(answer) if has_run(&answer.effect, &ran) => Path::Tuner,
                Some(_) => Path::Overridden,
            },
            (Told::Nothing, _) => Path::TunerOrLibrary,
        }
    };
    (path, Some(ran))
}

fn is_answered(answer: &Answer, ran: &Configuration) -> bool {
    (answer.algorithm, answer.protocol) == (ran.algorithm, ran.protocol)
}

/// Whether what ran is what a tuner file makes of the call. Channels are an upper bound.
fn has_run(effect: &Effect, ran: &Configuration) -> bool {
    let is_entry = match effect.entry {
        Entry::Forced(algorithm, protocol) => (algorithm, protocol) == (ran.algorithm, ran.protocol),
        Entry::Library | Entry::OutsideTable => true,
    };
    is_entry && !matches!(effect.channels, Channels::Count(most) if ran.channels > most)
}

/// The path of a listed call to which the environment loads no tuner, or of which it excludes what the tuner file asks
/// for, and the variable.
fn path_by_environment(collective: Collective, conf: Option<&ConfAnswer>, at: &Surroundings) -> Option<(Path, String)> {
    if at.variable(NCCL_TUNER_PLUGIN).is_some_and(|plugin| plugin.trim().eq_ignore_ascii_case("none")) {
        return Some((Path::Library, format!("{NCCL_TUNER_PLUGIN}=none: no tuner is loaded")));
    }
    let name = excluded(collective, conf.filter(|_| !at.tuner_wins())?, at)?;
    Some((Path::Env, format!("{name} excludes what the tuner file asks for")))
}

/// The variable that excludes the algorithm or protocol of a tuner file's answer: what it leaves out has no cost in the
/// table that a tuner is given, and does not run. What it leaves, and the channels, a tuner still decides.
fn excluded(collective: Collective, answer: &ConfAnswer, at: &Surroundings) -> Option<&'static str> {
    answer.rule?;
    let Entry::Forced(algorithm, protocol) = answer.effect.entry else { return None };
    let is_algorithm = |word: &str| Some(Algorithm::parse(word)? == algorithm);
    let is_protocol = |word: &str| Some(Protocol::parse(word)? == protocol);
    let allows = |name: &str, is_own: &dyn Fn(&str) -> Option<bool>| {
        at.variable(name).is_none_or(|list| {
            let words = if at.has_lists_by_collective() { words_for(list, collective) } else { Some(list) };
            words.is_none_or(|words| leaves(words.trim(), is_own))
        })
    };
    if !allows(NCCL_ALGO, &is_algorithm) {
        return Some(NCCL_ALGO);
    }
    (!allows(NCCL_PROTO, &is_protocol)).then_some(NCCL_PROTO)
}

/// Whether a list leaves one of its words: `ring,tree` or `^tree`. `is_own` says whether a word is it; `None` of one
/// that the library does not know, and passes over.
fn leaves(words: &str, is_own: &dyn Fn(&str) -> Option<bool>) -> bool {
    let (words, are_excluded) = words.strip_prefix('^').map_or((words, false), |words| (words, true));
    let mut known = words.split(',').filter_map(|word| is_own(word.trim())).peekable();
    known.peek().is_none() || known.any(|is_own| is_own) != are_excluded
}

/// Adds listed calls by the conditions of the version. Answers how many of them the environment leaves fewer channels
/// than the tuner file asks for.
fn list(listed: &[ListedCall], conf: Option<&Conf<'_>>, at: &Surroundings, collected: &mut Collected) -> u64 {
    let mut limited_calls: u64 = 0;
    let mut communicators: BTreeMap<Scale, u32> = BTreeMap::new();
    for call in listed {
        let communicator = *communicators.entry(call.scale).or_insert_with(|| {
            let (ranks, nodes) = (Some(call.scale.ranks), Some(call.scale.nodes));
            collected.communicators.push(ReachCommunicator { ranks, nodes, ..ReachCommunicator::default() });
            collected.communicators.len() as u32 - 1
        });
        let with_conf = conf.map(|conf| conf.answer(call.collective, call.scale, call.size_bytes));
        let (path, condition) = conditions::path(call, at)
            .or_else(|| path_by_environment(call.collective, with_conf.as_ref(), at))
            .unwrap_or_else(|| match &with_conf {
                None => (Path::TunerOrLibrary, "no condition of a path before the tuner holds".to_owned()),
                Some(ConfAnswer { rule: Some(line), .. }) => (Path::Tuner, format!("the rule of line {line} answers")),
                Some(_) => (Path::Library, "no rule answers".to_owned()),
            });
        limited_calls = limited_calls.saturating_add(limited(with_conf.as_ref(), path, call.calls, at));
        let key = LineKey {
            communicator,
            collective: call.collective,
            size_bytes: Some(call.size_bytes),
            is_per_rank: false,
            path,
            ran: None,
            rule: with_conf.as_ref().and_then(|answer| answer.rule),
        };
        let conf_answer = with_conf.map(|answer| answer.effect.to_string());
        let evidence = PathEvidence::Inferred(condition);
        collected.add(key, LineSum { calls: call.calls, grouped_calls: 0, evidence, conf_answer });
    }
    limited_calls
}

fn totalled(collected: BTreeMap<LineKey, LineSum>) -> (ReachTotal, Vec<ReachLine>) {
    let mut sum = ReachTotal::default();
    let mut paths: BTreeMap<Path, PathTotal> = BTreeMap::new();
    let bytes_of = |key: &LineKey, calls: u64| Some(key.size_bytes.filter(|_| !key.is_per_rank)?.saturating_mul(calls));
    for (key, LineSum { calls, .. }) in &collected {
        let bytes = bytes_of(key, *calls);
        let of_path = paths.entry(key.path).or_insert(PathTotal { path: key.path, calls: 0, bytes: 0, time_us: 0.0 });
        of_path.calls = of_path.calls.saturating_add(*calls);
        of_path.bytes = of_path.bytes.saturating_add(bytes.unwrap_or(0));
        sum.calls = sum.calls.saturating_add(*calls);
        sum.untimed_calls = sum.calls;
        sum.bytes = sum.bytes.saturating_add(bytes.unwrap_or(0));
        if bytes.is_none() {
            sum.unsized_calls = sum.unsized_calls.saturating_add(*calls);
        }
        if key.path.is_reached() {
            sum.reached_calls = sum.reached_calls.saturating_add(*calls);
            sum.reached_bytes = sum.reached_bytes.saturating_add(bytes.unwrap_or(0));
        }
    }
    sum.paths = paths.into_values().collect();
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
    let mut lines: Vec<ReachLine> = collected
        .into_iter()
        .map(|(key, LineSum { calls, grouped_calls, evidence, conf_answer })| ReachLine {
            communicator: key.communicator,
            collective: key.collective,
            size_bytes: key.size_bytes,
            is_per_rank: key.is_per_rank,
            calls,
            grouped_calls,
            path: key.path,
            evidence,
            ran: key.ran,
            rule: key.rule,
            conf_answer,
            calls_pct: share(calls, sum.calls),
            bytes_pct: bytes_of(&key, calls).map(|bytes| share(bytes, sum.bytes)),
            time_us: None,
        })
        .collect();
    lines.compact_sort_by(|a, b| {
        let bytes = |line: &ReachLine| line.bytes_pct.unwrap_or(0.0);
        bytes(b).total_cmp(&bytes(a))
    });
    (sum, lines)
}
