//! One run of nccl-tests: what its log says about it, and the rows that are made of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
};

use super::{
    answers::{LogAnswers, MissingAnswers},
    file_name::FileName,
    lines::{larger_buffer, process},
    settings::Settings,
    table::{Printed, TableRow},
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    conf::machine::Gpu,
    order::CompactCollect,
    text::Problem,
    tuning::{
        job::LibraryDecision,
        origin::{Launches, Origin, Origins, Timing, number_of},
        read::{Asked, Evidence, Reading, Row, RowMarks, RunKind, Sample, row::SampleNumbers},
    },
};

/// The settings and measurements of one run of nccl-tests in a log.
#[derive(Clone, Debug, Default)]
pub(super) struct LoggedRun {
    /// The line at which the run begins, from 1.
    pub(super) line: u64,
    pub(super) collective: Option<Collective>,
    /// The number of nodes, if the file states it; else it is counted from the devices.
    pub(super) nodes: Option<u32>,
    pub(super) ranks: Option<u32>,
    pub(super) devices: Devices,
    /// The settings of the library that the logged environment variables request.
    pub(super) settings: Settings,
    /// Whether the log has the whole environment, so that a missing variable was not set.
    pub(super) is_whole_environment: bool,
    pub(super) library: Option<String>,
    /// How its operations were launched; groups are counted among its devices.
    pub(super) launches: Launches,
    /// The options `-w`, `-n` and `-g`: warm-ups, timed operations, and GPUs of a thread.
    pub(super) timing: [Option<u64>; 3],
    pub(super) rows: Vec<TableRow>,
    /// The decisions that the library logged, with how often it did.
    pub(super) decided: BTreeMap<LibraryDecision, u64>,
    /// Whether its results had wrong values.
    pub(super) failed: bool,
    /// Whether the header says that times are those of the CPU.
    pub(super) cpu_time: bool,
}

/// The devices that a run lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices {
    ranks: BTreeSet<u32>,
    /// The groups and ranks beside the first group (`NCCL_TESTS_SPLIT_MASK`).
    others: BTreeSet<(u32, u32)>,
    /// Hashes of the names of the hosts, which are not kept.
    hosts: BTreeSet<u64>,
    /// Hashes of the processes.
    processes: BTreeSet<u64>,
    /// The short names of the GPUs that are known, each once.
    gpus: Vec<&'static str>,
}

impl Devices {
    /// The most devices of a list; real runs have fewer.
    const MAX: usize = 1 << 20;

    /// Adds a device, of which `name` is a text with the GPU's name. A table has the times of the first group of ranks;
    /// ranks are those of all groups, counted through.
    pub(super) fn add(&mut self, rank: u32, group: u32, host: &str, pid: &str, name: &str) {
        if group != 0 && self.others.len() < Self::MAX {
            self.others.insert((group, rank));
        }
        if group == 0 && self.ranks.len() < Self::MAX && self.ranks.insert(rank) {
            self.hosts.insert(number_of(host));
            self.processes.insert(process(host, pid));
            let gpu = Gpu::of_device(name).map(|(name, _)| name);
            self.gpus.extend(gpu.filter(|name| !self.gpus.contains(name)));
        }
    }

    /// Whether no line of the list is missing or cut.
    fn is_whole(&self) -> bool {
        let ranks = self.ranks.iter().chain(self.others.iter().map(|(_, rank)| rank));
        ranks.max().is_some_and(|last| *last as usize + 1 == self.ranks.len() + self.others.len())
    }

    fn count(&self) -> Option<u32> {
        if !self.others.is_empty() {
            return u32::try_from(self.ranks.len()).ok().filter(|ranks| *ranks > 0);
        }
        // A list with a missing line still has its last rank.
        self.ranks.last().and_then(|last| last.checked_add(1))
    }

    /// How many groups of ranks there are beside the first.
    fn other_groups(&self) -> u64 {
        let mut groups: Vec<u32> = self.others.iter().map(|(group, _)| *group).collect();
        groups.dedup();
        groups.len() as u64
    }
}

/// The file that runs come from.
#[derive(Clone, Copy)]
pub(super) struct RowContext<'a> {
    /// The number of the file, as in [`Row::file`].
    pub(super) file: u16,
    pub(super) name: &'a FileName,
    /// `NCCL` or `RCCL`.
    pub(super) family: &'static str,
}

/// The numbers of rows of a log that were read or left out, and what is missing for the others.
#[derive(Debug, Default)]
pub(super) struct RowSummary {
    pub(super) reading: Reading,
    pub(super) lacking: MissingAnswers,
    /// Rows of size 0, and rows that were taken for the default because what ran changes with the size.
    pub(super) empty_rows: u64,
    pub(super) assumed_default_rows: u64,
    pub(super) whole_environment_rows: u64,
    /// The most groups of ranks that measured beside the one whose times a table has.
    pub(super) other_groups: u64,
}

/// The configuration that was requested for a run as a whole, and how that is known.
struct RequestEvidence {
    kind: RunKind,
    asked: Asked,
    /// The evidence for the part of `asked` with the weakest evidence.
    evidence: Evidence,
}

impl LoggedRun {
    /// Nodes, ranks and collective, as far as they are known.
    pub(super) fn scope(
        &self,
        name: &FileName,
        answers: &LogAnswers,
    ) -> (Option<Collective>, Option<u32>, Option<u32>) {
        let hosts = u32::try_from(self.devices.hosts.len()).ok().filter(|n| *n > 0);
        (
            answers.collective.or(self.collective).or(name.collective),
            answers.nodes.or(self.nodes).or(hosts).or(name.nodes),
            answers.ranks.or(self.ranks).or(self.devices.count()).or(name.ranks),
        )
    }

    /// Whether any of its processes is among these.
    pub(super) fn has_any_of(&self, processes: &BTreeSet<u64>) -> bool {
        !self.devices.processes.is_disjoint(processes)
    }

    /// Adds decisions from another log if that is of the same processes. Returns whether it is.
    pub(super) fn adopt(&mut self, decisions: &BTreeMap<LibraryDecision, u64>, speakers: &BTreeSet<u64>) -> bool {
        let is_own = self.decided.is_empty() && self.has_any_of(speakers);
        if is_own {
            self.decided.clone_from(decisions);
        }
        is_own
    }

    fn timing(&self) -> Option<Timing> {
        let [warm_ups, iterations, gpus] = self.timing.map(|number| u32::try_from(number?).ok());
        Some(Timing { warm_ups: warm_ups?, iterations: iterations?, gpus: gpus? })
    }

    /// Adds the rows of this run.
    pub(super) fn rows(&self, from: &RowContext<'_>, answers: &LogAnswers, rows: &mut Vec<Row>, told: &mut RowSummary) {
        let RowContext { file, name, family } = *from;
        let (collective, nodes, ranks) = self.scope(name, answers);
        let mut lacking = MissingAnswers {
            collective: collective.is_none(),
            nodes: nodes.is_none(),
            ranks: ranks.is_none(),
            ..MissingAnswers::default()
        };
        if let Some(fault) = self.cpu_times() {
            told.reading.problems.push(fault);
            return;
        }
        if let Some(fault) = self.one_rank(ranks) {
            told.reading.problems.push(fault);
            return;
        }
        let measured: Vec<&TableRow> = self.rows.iter().filter(|row| row.size_bytes > 0).collect();
        told.empty_rows += (self.rows.len() - measured.len()) as u64;
        // Stand-ins, with which the further missing facts are found: no row is made unless all of these are known.
        let of = collective.unwrap_or(Collective::AllReduce);
        let scale = Scale { nodes: nodes.unwrap_or(1), ranks: ranks.unwrap_or(1) };
        if let (Some(nodes), Some(ranks), Some(row)) = (nodes, ranks, self.rows.first())
            && ranks < nodes
        {
            let expected =
                format!("is fewer than the {nodes} nodes: ranks count over all nodes; the table was left out");
            told.reading.problems.push(Problem::new(row.line, "ranks", &ranks.to_string(), expected));
            return;
        }
        let executed = self.executed(of, scale.ranks, &measured);
        let known = self.known(of, name, answers, &measured, &executed, told);
        let mut read = Vec::with_capacity(measured.len());
        for (row, executed) in measured.iter().zip(&executed) {
            match configuration(of, row, *executed, &known) {
                Ok((ran, evidence)) => read.push((row, ran, evidence)),
                Err(lacks) => lacking.and(lacks),
            }
        }
        if !lacking.is_nothing() {
            told.lacking.and(lacking);
            return;
        }
        let mut origin = Origin::default();
        origin.library(family, self.library.as_deref().unwrap_or_default());
        let other_groups = self.devices.other_groups();
        origin.launches(&Launches { other_groups, ..self.launches });
        told.other_groups = told.other_groups.max(other_groups);
        origin.timed(self.timing());
        origin.gpus(&self.devices.gpus);
        origin.environment(self.settings.transports().as_deref());
        if self.devices.is_whole() {
            origin.nodes(self.devices.hosts.iter().copied());
        }
        let mut last = None;
        let no_row_says = self.failed && measured.iter().all(|row| !has_wrong(row));
        for (row, ran, evidence) in read {
            let wrong_values = if no_row_says {
                let expected = "is of a run from which wrong values came, and no row says which; the row was left out";
                Some(problem(row, "", expected))
            } else {
                let expected = "wrong values came out of this run; the row was left out";
                has_wrong(row).then(|| problem(row, "#wrong", expected))
            };
            let measured_type = (row.datatype.name, row.redop.unwrap_or_default(), row.root.filter(|_| of.has_root()));
            let number = match last {
                Some((same, number)) if same == measured_type => number,
                _ => {
                    origin.measured_type(measured_type.0, measured_type.1);
                    origin.root(measured_type.2);
                    let Some(number) = told.reading.origins.number(&origin, Origins::MAX_OF_A_FILE) else {
                        let expected = "is one way of measuring more than can be told apart; the row was left out";
                        told.reading.problems.push(problem(row, "", expected));
                        continue;
                    };
                    last = Some((measured_type, number));
                    number
                }
            };
            let workload = Workload { collective: of, scale, size_bytes: row.size_bytes };
            match samples(row, &workload) {
                Err(problem) => told.reading.problems.push(problem),
                Ok(([out_of_place, in_place], left_out)) => {
                    left_out.into_iter().for_each(|problem| told.reading.problems.push(problem));
                    let row = Row {
                        file,
                        line: u32::try_from(row.line).unwrap_or(u32::MAX),
                        workload,
                        ran,
                        in_place,
                        out_of_place,
                        repeats: 1,
                        spread_pct: None,
                        kind: known.kind,
                        marks: RowMarks {
                            substituted: known.kind == RunKind::Asked && is_substituted(&known.asked, &ran),
                            wrapped_channels: row.wrapped && evidence == Evidence::Planned,
                            warp_speed: row.warp_speed,
                            has_wrong_values: wrong_values.is_some(),
                        },
                        asked: if known.kind == RunKind::Asked { known.asked } else { Asked::default() },
                        evidence,
                        origin: number,
                    };
                    match wrong_values {
                        Some(problem) => told.reading.problems.push(problem),
                        None => told.reading.count(&row, false),
                    }
                    rows.push(row);
                }
            }
        }
    }

    /// The problem of a run with the option `-C`: its times are those of the CPU, and contradict the bandwidths, which
    /// are those of the whole operation.
    fn cpu_times(&self) -> Option<Problem> {
        /// The smallest bandwidth with enough digits to show a contradiction.
        const MIN_GBPS: f64 = 0.2;
        let mut telling = 0_u64;
        let mut contradicting = Vec::new();
        for row in &self.rows {
            let Some(printed) = row.in_place.or(row.out_of_place) else { continue };
            let algbw = row.size_bytes as f64 / printed.time_us / 1000.0;
            if printed.algbw_gbps < MIN_GBPS || !algbw.is_finite() {
                continue;
            }
            telling += 1;
            if (0.67..1.5).contains(&(algbw / printed.algbw_gbps)) || self.collective == Some(Collective::Hypercube) {
                continue;
            }
            contradicting.push(row);
        }
        let first = *contradicting.first().or(self.rows.first().as_ref())?;
        if !self.cpu_time && (telling < 2 || contradicting.len() as u64 * 2 <= telling) {
            return None;
        }
        let expected = "is a time of the CPU (option -C), not of the operation, as busbw shows; the table was left out";
        Some(problem(first, "time", expected))
    }

    /// The problem of a table of one rank, between which and nobody nothing moves: ranks that are started as programs
    /// of their own print one each.
    fn one_rank(&self, ranks: Option<u32>) -> Option<Problem> {
        let is_idle = |row: &TableRow| [row.in_place, row.out_of_place].iter().flatten().all(|by| by.busbw_gbps == 0.0);
        let is_alone = ranks == Some(1) || self.devices.count() == Some(1);
        let expected = "is one: nothing moves between ranks, and busbw is 0; build nccl-tests with MPI=1, or give it \
                        several GPUs with -g; the table was left out";
        let first = self.rows.first().filter(|_| is_alone && self.rows.iter().all(is_idle))?;
        Some(Problem::new(first.line, "ranks", "1", expected))
    }

    /// The configuration that the library logged for each row.
    fn executed(&self, collective: Collective, ranks: u32, rows: &[&TableRow]) -> Vec<Option<Configuration>> {
        let mut by_size: BTreeMap<u64, (u64, Configuration)> = BTreeMap::new();
        for (decision, times) in self.decided.iter().filter(|(decision, _)| decision.collective == collective) {
            // The list of devices says how many ranks there are where no debug line does.
            let factor = if decision.is_per_rank { larger_buffer(collective, ranks) } else { 1 };
            let said = by_size.entry(decision.size_bytes.saturating_mul(factor)).or_insert((0, decision.configuration));
            if *times > said.0 {
                *said = (*times, decision.configuration);
            }
        }
        rows.iter().map(|row| Some(by_size.get(&row.size_bytes)?.1)).compact_collect()
    }

    /// The settings that were asked for, whether any were, and how that is known.
    fn known(
        &self,
        collective: Collective,
        name: &FileName,
        answers: &LogAnswers,
        rows: &[&TableRow],
        executed: &[Option<Configuration>],
        told: &mut RowSummary,
    ) -> RequestEvidence {
        let set = self.settings.any(collective);
        let named = name.asked != Asked::default();
        let given = answers.asked != Asked::default();
        let mut kind = RunKind::Asked;
        if !set && !named {
            let ran = || rows.iter().zip(executed).filter_map(|(row, executed)| executed.or(row.planned));
            let pairs: BTreeSet<_> = ran().map(|ran| (ran.algorithm, ran.protocol)).compact_collect();
            if self.is_whole_environment && !given {
                kind = RunKind::Default;
                told.whole_environment_rows += rows.len() as u64;
            } else if name.is_default || answers.is_default {
                kind = RunKind::Default;
            } else if !given && pairs.len() > 1 && ran().count() == rows.len() {
                kind = RunKind::Default;
                told.assumed_default_rows += rows.len() as u64;
            }
        }
        let mut evidence = Evidence::Executed;
        let asked = Asked {
            algorithm: strongest(collective, &self.settings, name, answers, &mut evidence, |asked| asked.algorithm),
            protocol: strongest(collective, &self.settings, name, answers, &mut evidence, |asked| asked.protocol),
            channels: strongest(collective, &self.settings, name, answers, &mut evidence, |asked| asked.channels),
        };
        RequestEvidence { kind, asked, evidence }
    }
}

/// The value of one part of the request from the strongest source that has it. `evidence` becomes the weaker of itself
/// and that source.
fn strongest<T>(
    collective: Collective,
    settings: &Settings,
    name: &FileName,
    answers: &LogAnswers,
    evidence: &mut Evidence,
    part: impl Fn(&Asked) -> Option<T>,
) -> Option<T> {
    let sources = [
        (settings.asked(collective), Evidence::Asked),
        (name.asked, Evidence::FileName),
        (answers.asked, Evidence::Given),
    ];
    let (value, source) = sources.iter().find_map(|(asked, source)| Some((part(asked)?, *source)))?;
    *evidence = source.max(*evidence);
    Some(value)
}

/// The configuration that a row ran and how that is known. The error is the facts that are missing.
fn configuration(
    collective: Collective,
    row: &TableRow,
    executed: Option<Configuration>,
    known: &RequestEvidence,
) -> Result<(Configuration, Evidence), MissingAnswers> {
    let nothing = Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 0 };
    let asked_channels = known.asked.channels.map_or(0, |n| u32::from(NonZero::get(n)));
    if let Some(ran) = executed.or(row.planned).filter(|ran| ran.algorithm != Algorithm::None) {
        let source = if executed.is_some() { Evidence::Executed } else { Evidence::Planned };
        // Older libraries don't print the channels.
        let channels =
            [ran.channels, row.planned.map_or(0, |p| p.channels), asked_channels].into_iter().find(|n| *n > 0);
        return match channels {
            Some(channels) if channels == ran.channels => Ok((ran, source)),
            Some(channels) => Ok((Configuration { channels, ..ran }, known.evidence.max(Evidence::Planned))),
            None if known.kind == RunKind::Default => Ok((ran, source)),
            None => Err(MissingAnswers { channels: true, ..MissingAnswers::default() }),
        };
    }
    if known.kind == RunKind::Default {
        return Ok((nothing, known.evidence.max(Evidence::Asked)));
    }
    if collective.is_point_to_point() {
        let lacks = MissingAnswers { algorithm: true, protocol: true, channels: true, ..MissingAnswers::default() };
        let ran = Configuration { channels: asked_channels, ..nothing };
        return if asked_channels > 0 { Ok((ran, known.evidence)) } else { Err(lacks) };
    }
    match (known.asked.algorithm, known.asked.protocol, asked_channels) {
        (Some(algorithm), Some(protocol), channels) if channels > 0 => {
            Ok((Configuration { algorithm, protocol, channels }, known.evidence))
        }
        (algorithm, protocol, channels) => Err(MissingAnswers {
            algorithm: algorithm.is_none(),
            protocol: protocol.is_none(),
            channels: channels == 0,
            ..MissingAnswers::default()
        }),
    }
}

fn is_substituted(asked: &Asked, ran: &Configuration) -> bool {
    asked.algorithm.is_some_and(|a| a != ran.algorithm && ran.algorithm != Algorithm::None)
        || asked.protocol.is_some_and(|p| p != ran.protocol && ran.protocol != Protocol::None)
}

fn has_wrong(row: &TableRow) -> bool {
    [row.in_place, row.out_of_place].iter().flatten().any(|printed| printed.wrong.is_some_and(|wrong| wrong > 0.0))
}

/// The measurements of a row, out of place and in place, and the problem of the one of them that was left out.
fn samples(row: &TableRow, workload: &Workload) -> Result<([Option<Sample>; 2], Option<Problem>), Problem> {
    let counted = u128::from(row.count) * u128::from(row.datatype.bytes);
    let parts = u128::from(workload.scale.ranks);
    // The printed size is rounded so that all ranks have equal parts: 64 bytes per rank are allowed for that.
    let fits = |size: u128| u128::from(row.size_bytes).abs_diff(size) <= parts * 64;
    if !fits(counted) && !fits(counted * parts) {
        return Err(problem(row, "count", "contradicts the size; the row was left out"));
    }
    let sample = |printed: Option<Printed>| -> Result<Option<Sample>, Problem> {
        let Some(Printed { time_us, algbw_gbps, busbw_gbps, .. }) = printed else { return Ok(None) };
        let numbers = SampleNumbers {
            time_us: Some(time_us),
            algbw_gbps: Some(algbw_gbps),
            busbw_gbps: Some(busbw_gbps),
            slack: 0.0,
        };
        numbers.sample(workload).map_err(|doubt| {
            let (column, number) = if doubt.is_algbw { ("algbw", algbw_gbps) } else { ("busbw", busbw_gbps) };
            Problem::new(row.line, column, &number.to_string(), format!("{}; the row was left out", doubt.expected))
        })
    };
    let is_timed = |printed: &Printed| printed.time_us > 0.0 && printed.algbw_gbps >= 0.0 && printed.busbw_gbps >= 0.0;
    let placements = [row.out_of_place, row.in_place].map(|printed| printed.filter(is_timed));
    let left_out = [("out-of-place time", row.out_of_place), ("in-place time", row.in_place)]
        .into_iter()
        .find_map(|(column, printed)| Some((column, printed.filter(|printed| !is_timed(printed))?)))
        .map(|(column, printed)| {
            let what = if placements == [None; 2] { "row" } else { "placement" };
            let expected = format!("is not a time above zero with its bandwidths; the {what} was left out");
            Problem::new(row.line, column, &printed.time_us.to_string().to_lowercase(), expected)
        });
    if placements == [None; 2]
        && let Some(problem) = left_out
    {
        return Err(problem);
    }
    Ok(([sample(placements[0])?, sample(placements[1])?], left_out))
}

/// A problem with one number of a row, or with the row.
fn problem(row: &TableRow, column: &str, expected: &str) -> Problem {
    let printed = row.in_place.or(row.out_of_place);
    let number = |of: fn(Printed) -> f64| printed.map(|p| of(p).to_string()).unwrap_or_default();
    let text = match column {
        "time" => number(|p| p.time_us),
        // Of both placements the one that went wrong.
        "#wrong" => {
            let wrong = [row.in_place, row.out_of_place].into_iter().flatten().filter_map(|printed| printed.wrong);
            wrong.reduce(f64::max).map(|wrong| wrong.to_string()).unwrap_or_default()
        }
        "count" => row.count.to_string(),
        _ => row.size_bytes.to_string(),
    };
    Problem::new(row.line, column, &text, expected)
}
