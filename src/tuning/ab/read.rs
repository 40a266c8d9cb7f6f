//! A campaign's `per_size_stats.csv` becomes trials.

use serde::{Deserialize, Serialize};

use super::rank;
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::median,
    text::{Dialect, Problem, Problems, Record, Records, number, whole},
};

/// More runs of one size than any campaign has.
const MAX_RUNS: usize = 64;
/// More sizes than any campaign has.
const MAX_TRIALS: usize = 10_000;

/// One size of a campaign: the runs of both arms in the order in which they were launched, busbw in GB/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Line in the file, from 1.
    pub line: u64,
    /// Nodes; `None` where the file does not say.
    pub nodes: Option<u32>,
    /// The message size in bytes.
    pub size_bytes: u64,
    /// Runs of the library's default.
    pub default: Vec<f64>,
    /// Runs with the tuner file.
    pub conf: Vec<f64>,
    /// The configuration that the default ran, as far as the file says.
    pub default_ran: Option<Configuration>,
    /// The configuration that ran with the tuner file, as far as the file says.
    pub conf_ran: Option<Configuration>,
}

impl Trial {
    /// The medians of both arms, in GB/s; `None` where an arm has no runs.
    pub fn medians(&self) -> Option<(f64, f64)> {
        Some((median(&mut self.default.clone())?, median(&mut self.conf.clone())?))
    }

    /// The times of one operation of both arms in µs, as their medians and nccl-tests relate them.
    pub fn times_us(&self, collective: Collective, ranks: u32) -> [Option<f64>; 2] {
        let scale = Scale { nodes: self.nodes.unwrap_or(1), ranks };
        let workload = Workload { collective, scale, size_bytes: self.size_bytes };
        [&self.default, &self.conf].map(|runs| workload.time_us(median(&mut runs.clone())?))
    }

    /// (median conf / median default − 1) in per cent of the default.
    pub fn gain_pct(&self) -> Option<f64> {
        self.medians().map(|(default, conf)| (conf / default - 1.0) * 100.0)
    }

    /// The least and the most that the gain can be, where each median stands for anything that prints as it does:
    /// `half` GB/s more or less.
    pub fn gain_range_pct(&self, half: f64) -> Option<(f64, f64)> {
        let (default, conf) = self.medians()?;
        let gain = |default: f64, conf: f64| (conf.max(0.0) / default.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
        Some((gain(default + half, conf - half), gain(default - half, conf + half)))
    }

    /// The share of pairs in which the tuner file is faster, ties as a half.
    pub fn psup(&self) -> Option<f64> {
        rank::psup(&self.default, &self.conf)
    }
}

/// The measurements of an A/B campaign, as a per-size file holds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCampaign {
    /// The trials, one for each size, in the order of the file.
    pub trials: Vec<Trial>,
    /// Half of the last printed digit of a run, in GB/s.
    pub half_digit_gbps: f64,
    /// The collective, where the file says it.
    pub collective: Option<Collective>,
    /// Ranks over all nodes, where the file says it: bus bandwidths of most collectives tell a time only with them.
    pub ranks: Option<u32>,
    /// The arms ran in a balanced order.
    pub is_balanced: bool,
    /// The second arm is the plugin with an empty tuner file.
    pub is_empty_conf: bool,
    /// The sizes at which wrong values came out of a run with the tuner file, in bytes.
    pub wrong_bytes: Vec<u64>,
    /// What the arms state differently beside the tuner file, in words; empty where they agree.
    pub differences: String,
    /// How each arm was timed, in words, where they were timed differently; empty where they agree or don't say it.
    pub timings: String,
    /// What is to be known of its logs, a sentence each.
    pub notes: Vec<String>,
    /// The file has the medians of both arms and not their runs, as older ones do: each arm counts as one run.
    pub has_medians_only: bool,
    /// Lines that were left out, and printed statistics that the runs contradict.
    pub problems: Problems,
}

impl MeasuredCampaign {
    /// The times of one operation of both arms in µs; `None` where the arm has no runs, or the collective or the ranks
    /// that its bus bandwidth counts are not known.
    pub fn times_us(&self, collective: Option<Collective>, trial: &Trial) -> [Option<f64>; 2] {
        let Some(collective) = collective else { return [None; 2] };
        let counts_no_ranks = collective.busbw_factor(1).total_cmp(&1.0).is_eq();
        let Some(ranks) = self.ranks.or(counts_no_ranks.then_some(1)) else { return [None; 2] };
        trial.times_us(collective, ranks)
    }
}

/// Columns by their place in the header.
struct CampaignColumns {
    names: Vec<String>,
}

impl CampaignColumns {
    fn cell<'a>(&self, name: &str, record: &'a Record<'_>) -> Option<&'a str> {
        let place = self.names.iter().position(|column| column == name)?;
        record.get(place).map(str::trim).filter(|cell| !cell.is_empty())
    }
}

/// The columns that a per-size file must have, in words.
pub const REQUIRED_COLUMNS: &str = "size_bytes with def_runs and cfg_runs, or with def_median and cfg_median";

/// Whether a header is that of a per-size file. Older ones have medians and no runs.
pub fn is_header<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    let mut known = ["size_bytes", RUNS[0], RUNS[1], MEDIANS[0], MEDIANS[1]].map(|name| (name, false));
    for name in names {
        known.iter_mut().filter(|(known, _)| known.eq_ignore_ascii_case(name.trim())).for_each(|n| n.1 = true);
    }
    let [size, runs @ .., default, conf] = known.map(|(_, found)| found);
    size && (runs == [true; 2] || (default && conf))
}

/// The runs of both arms.
const RUNS: [&str; 2] = ["def_runs", "cfg_runs"];
/// The columns of the medians.
const MEDIANS: [&str; 2] = ["def_median", "cfg_median"];

/// Comments of a per-size file that comes from logs.
pub(super) const COLLECTIVE: &str = "# collective: ";
pub(super) const RANKS: &str = "# ranks: ";
pub(super) const BALANCED: &str = "# the arms ran in a balanced order";
pub(super) const WRONG: &str = "# wrong values with the tuner file at: ";
pub(super) const DIFFER: &str = "# the arms differ in: ";
pub(super) const TIMED: &str = "# the arms were timed with: ";
pub(super) const NOTE: &str = "# note: ";
pub(super) const EMPTY: &str = "# the second arm is the plugin with an empty tuner file";

/// Reads a per-size file, whatever its bytes are.
pub fn read(text: &str) -> MeasuredCampaign {
    let mut out = MeasuredCampaign { half_digit_gbps: HALF_DIGIT, ..MeasuredCampaign::default() };
    let mut records = Records::new(text.as_bytes(), Dialect::sniff(text.as_bytes()));
    for line in text.lines().take_while(|line| line.starts_with('#')) {
        out.is_balanced |= line == BALANCED;
        out.is_empty_conf |= line == EMPTY;
        out.wrong_bytes.extend(line.strip_prefix(WRONG).and_then(|size| size.parse::<u64>().ok()));
        out.notes.extend(line.strip_prefix(NOTE).map(str::to_owned));
        out.differences.push_str(line.strip_prefix(DIFFER).unwrap_or_default());
        out.timings.push_str(line.strip_prefix(TIMED).unwrap_or_default());
        out.collective = out.collective.or_else(|| Collective::parse(line.strip_prefix(COLLECTIVE)?));
        out.ranks = out.ranks.or_else(|| line.strip_prefix(RANKS)?.parse().ok().filter(|ranks| *ranks > 0));
    }
    records.skip_comments();
    let columns = match records.next() {
        Some(header) => {
            CampaignColumns { names: header.cells().map(|name| name.trim().to_ascii_lowercase()).collect() }
        }
        None => return out,
    };
    if !is_header(columns.names.iter().map(String::as_str)) {
        let expected = format!("is not the header of a per-size file: it needs {REQUIRED_COLUMNS}");
        out.problems.push(Problem::new(1, "", &columns.names.join(","), expected));
        return out;
    }
    out.has_medians_only = RUNS.iter().any(|name| columns.names.iter().all(|column| column != name));
    let arms = if out.has_medians_only { MEDIANS } else { RUNS };
    let mut decimals = 2;
    while let Some(record) = records.next() {
        if out.trials.len() == MAX_TRIALS {
            let expected =
                format!("stands after {MAX_TRIALS} sizes, more than any campaign has; the rest was left out");
            out.problems.push(Problem::new(record.line(), "", &record.excerpt(), expected));
            break;
        }
        match trial(&columns, arms, &record, &mut decimals) {
            Ok(trial) => {
                if !out.has_medians_only {
                    contradictions(&columns, &record, &trial).into_iter().for_each(|p| out.problems.push(p));
                }
                out.trials.push(trial);
            }
            Err(problem) => out.problems.push(problem),
        }
    }
    out.half_digit_gbps = HALF_DIGIT * crate::math::pow(10.0, 2.0 - decimals as f64);
    out
}

/// nccl-tests prints two decimals of busbw.
const HALF_DIGIT: f64 = 0.005;

fn trial(
    columns: &CampaignColumns,
    arms: [&str; 2],
    record: &Record<'_>,
    decimals: &mut usize,
) -> Result<Trial, Problem> {
    let problem = |name: &str, expected: &str| {
        let text = columns.cell(name, record).unwrap_or_default();
        Problem::new(record.line(), name, text, format!("{expected}; the row was left out"))
    };
    let count = |name: &str| match columns.cell(name, record) {
        None => Ok(None),
        Some(cell) => {
            whole(cell).filter(|n| *n > 0).map(Some).ok_or_else(|| problem(name, "is not a whole number above 0"))
        }
    };
    let size = count("size_bytes")?.ok_or_else(|| problem("size_bytes", "is not a size in bytes"))?;
    let nodes =
        count("nodes")?.map(|n| u32::try_from(n).map_err(|_too_many| problem("nodes", "is not a number of nodes")));
    let mut runs = |name: &str| -> Result<Vec<f64>, Problem> {
        let cells = columns.cell(name, record).unwrap_or_default().split(';').map(str::trim);
        let mut runs = Vec::new();
        for cell in cells.filter(|cell| !cell.is_empty()) {
            let run = number(cell).filter(|run| *run > 0.0 && *run < 1e9);
            runs.push(run.ok_or_else(|| problem(name, "is not a list of bandwidths with ; between them"))?);
            let printed =
                cell.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
            *decimals = (*decimals).max(printed.min(9));
        }
        if runs.len() > MAX_RUNS { Err(problem(name, "is more runs than any campaign has")) } else { Ok(runs) }
    };
    Ok(Trial {
        line: record.line(),
        nodes: nodes.transpose()?,
        size_bytes: size as u64,
        default: runs(arms[0])?,
        conf: runs(arms[1])?,
        default_ran: columns.cell("def_exec", record).and_then(configuration),
        conf_ran: columns.cell("cfg_exec", record).and_then(configuration),
    })
}

/// Reads a configuration that is written as `TREE/LL/1`; `None` if the text is not one.
fn configuration(cell: &str) -> Option<Configuration> {
    let mut parts = cell.split('/');
    let (algorithm, protocol, channels) = (parts.next()?, parts.next()?, parts.next()?);
    let algorithm = Algorithm::parse(algorithm.trim_end_matches('*'))?;
    let protocol = Protocol::parse(protocol)?;
    Some(Configuration { algorithm, protocol, channels: channels.trim().parse().ok()? })
}

/// Printed statistics that do not follow from the printed runs.
fn contradictions(columns: &CampaignColumns, record: &Record<'_>, trial: &Trial) -> Vec<Problem> {
    let medians = trial.medians();
    let counts = [("n_def", trial.default.len()), ("n_cfg", trial.conf.len())].map(|(name, n)| (name, Some(n as f64)));
    let statistics = [
        ("def_median", medians.map(|(default, _)| default)),
        ("cfg_median", medians.map(|(_, conf)| conf)),
        ("gain_pct", trial.gain_pct()),
        ("psup", trial.psup()),
    ];
    let contradiction = |(name, computed): (&str, Option<f64>)| {
        let cell = columns.cell(name, record)?;
        let (printed, computed) = (number(cell)?, computed?);
        let decimals = cell.split_once('.').map_or(0, |(_, rest)| rest.len().min(9));
        let half = 0.5 * crate::math::pow(10.0, -(decimals as f64));
        let expected = format!("is not what the runs give ({computed:.4}); the runs are used");
        ((printed - computed).abs() > half * (1.0 + 1e-6) + 1e-9)
            .then(|| Problem::new(record.line(), name, cell, expected))
    };
    statistics.into_iter().chain(counts).filter_map(contradiction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "nodes,size_bytes,def_median,cfg_median,gain_pct,psup,def_runs,cfg_runs,def_exec,cfg_exec";

    fn of(lines: &str) -> MeasuredCampaign {
        read(&format!("{HEADER}\n{lines}"))
    }

    #[test]
    fn runs_are_read_and_the_statistics_follow() {
        let read = of("1,4096,0.32,0.36,12.5,1.0,0.32;0.31;0.32,0.36;0.35;0.36,TREE/LL/1,RING*/LL/2\n");
        assert_eq!(read.problems.count, 0, "{:?}", read.problems);
        let trial = &read.trials[0];
        assert_eq!((trial.nodes, trial.size_bytes, trial.default.len()), (Some(1), 4096, 3));
        assert_eq!(trial.conf_ran.map(|c| (c.algorithm, c.channels)), Some((Algorithm::Ring, 2)));
        assert_eq!((trial.psup(), trial.gain_pct().map(|g| (g * 1000.0).round())), (Some(1.0), Some(12500.0)));
        assert!((read.half_digit_gbps - 0.005).abs() < 1e-12);
        let (low, high) = trial.gain_range_pct(0.005).unwrap_or_default();
        assert!(low < 9.3 && high > 15.8);
    }

    #[test]
    fn what_cannot_be_read_has_a_place() {
        let read = of("1,4096,,,,,0.32;x,0.36,,\n1,0,,,,,1,1,,\n1,8192,0.5,0.6,21,1,0.5,0.6,,\n");
        let said: Vec<String> = read.problems.kept.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "line 2, column def_runs: \"0.32;x\" is not a list of bandwidths with ; between them; the row was left out",
                "line 3, column size_bytes: \"0\" is not a whole number above 0; the row was left out",
                "line 4, column gain_pct: \"21\" is not what the runs give (20.0000); the runs are used",
            ]
        );
        assert_eq!(read.trials.len(), 1);
        let none = super::read("a,b\n1,2\n");
        assert!(none.trials.is_empty() && none.problems.kept[0].to_string().contains("is not the header"));
    }

    #[test]
    fn medians_without_runs_are_one_run_of_each_arm() {
        let read = read("size_bytes,def_median,cfg_median,gain_pct,psup,n_def,n_cfg\n4096,0.32,0.36,12.5,1.0,9,9\n");
        assert!(read.has_medians_only && read.problems.count == 0, "{:?}", read.problems);
        assert_eq!((&read.trials[0].default[..], &read.trials[0].conf[..]), (&[0.32][..], &[0.36][..]));
        assert!(!is_header(["size_bytes", "def_median", "cfg_runs"]));
    }

    #[test]
    fn an_arm_without_runs_is_kept_to_be_told() {
        let read = of("1,4096,,,,,0.32;0.31,,,\n");
        assert_eq!((read.problems.count, read.trials[0].conf.len(), read.trials[0].gain_pct()), (0, 0, None));
    }
}
