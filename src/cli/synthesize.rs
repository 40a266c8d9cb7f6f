//! `collectune synthesize`: a schedule of a collective for a graph of links.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;

use super::{CliError, files, terminal};
use crate::{
    collective::Collective,
    progress::Progress,
    schedule::{
        plan::Schedule,
        synthesize::{Method, Search, State},
    },
    topology::{
        conditions::{Wanted, WantedError, read_custom},
        generate::{Kind, Recipe, RecipeError},
        model::{Topology, Unit},
        read::{self, Options, ReadError},
        time::Clock,
    },
    units::{Size, significant},
};

/// Find a schedule of a collective for a graph of links, and how far it can be from the best
///
/// Reads a topology as CSV (the number of nodes, a header, and Src,Dest,Latency (ns),Bandwidth (GB/s) for each link in one
/// direction), or makes one: ring:5, mesh:4x4, torus:8x8, hypercube:4, full:8, dgx1v, switch:8, fattree:4x8, twogroups:4x2,
/// random:16:3:1. Every schedule is verified before it is told.
#[derive(Args)]
pub(super) struct Synthesize {
    /// A topology as CSV, or a form: mesh:4x4
    #[arg(value_name = "GRAPH")]
    graph: PathBuf,

    #[command(flatten)]
    wanted: WantedArguments,

    /// Who looks for it
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = PossibleValuesParser::new(Method::ALL.map(Method::name)))]
    synthesizer: String,

    /// When to stop and take the best so far: 500ms, 10s, 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    time_limit: Duration,

    /// Seed of what is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// What is asked for, in this command and in others.
#[derive(Args)]
pub(super) struct WantedArguments {
    /// The collective: all_gather, reduce_scatter, all_reduce, broadcast, reduce, scatter, gather, alltoall
    #[arg(long, value_name = "NAME", default_value = "all_gather", value_parser = collective)]
    collective: Collective,

    /// Bytes of a chunk
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    chunk: Size,

    /// Chunks of each node
    #[arg(long, value_name = "N", default_value_t = 1)]
    chunks: u32,

    /// Who has, or gets, everything, where one node does
    #[arg(long, value_name = "NODE", default_value_t = 0)]
    root: u32,

    /// Conditions of one's own, as JSON: chunks, preconditions, postconditions
    #[arg(long, value_name = "FILE")]
    conditions: Option<PathBuf>,

    /// Bandwidths are in units of 1e9 bytes per second, not of 2^30
    #[arg(long)]
    decimal: bool,

    /// Links between the same two nodes become one with the bandwidth of all
    #[arg(long)]
    merge: bool,
}

fn collective(text: &str) -> Result<Collective, String> {
    Collective::parse(text).ok_or_else(|| "is no collective".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" is no time; write 500ms, 10s or 2m");
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())
}

/// Why there is no schedule.
#[derive(Debug, thiserror::Error)]
pub(super) enum TopologyCliError {
    /// The file is no topology.
    #[error("{0} can't be used: {1}")]
    Read(String, ReadError),
    /// It is no text.
    #[error("{0} is no text")]
    NoText(String),
    /// A form that can't be made.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// What is asked for can't be done.
    #[error(transparent)]
    Wanted(#[from] WantedError),
    /// Nothing was found in the time that was given.
    #[error("no schedule was found within the time limit; give more with --time-limit")]
    NothingFound,
}

pub(super) fn text(path: &Path) -> Result<String, CliError> {
    let bytes = files::bytes(path)?;
    String::from_utf8(bytes).map_err(|_| TopologyCliError::NoText(path.display().to_string()).into())
}

/// A topology from a file, or of a form.
pub(super) fn topology(path: &Path, wanted: &WantedArguments) -> Result<Topology, CliError> {
    let unit = if wanted.decimal { Unit::Gb } else { Unit::Gib };
    let name = path.display().to_string();
    if !path.exists() && (name.contains(':') || name.eq_ignore_ascii_case("dgx1v")) {
        let recipe = Recipe { unit, ..Recipe::new(Kind::parse(&name).map_err(TopologyCliError::from)?) };
        return Ok(recipe.make().map_err(TopologyCliError::from)?);
    }
    let text = text(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let read = read::read(&text, &stem, Options { unit, merge: wanted.merge });
    let reading = read.map_err(|error| TopologyCliError::Read(name, error))?;
    terminal::say_notes(&reading.notes);
    Ok(reading.topology)
}

impl WantedArguments {
    pub(super) fn wanted(&self) -> Result<Wanted, CliError> {
        let mut wanted = Wanted {
            collective: Some(self.collective),
            root: self.root,
            chunk_bytes: self.chunk.0,
            chunks: self.chunks,
            custom: None,
        };
        if let Some(path) = &self.conditions {
            let (custom, size) = read_custom(&text(path)?).map_err(TopologyCliError::from)?;
            wanted.collective = None;
            wanted.chunk_bytes = size.unwrap_or(wanted.chunk_bytes);
            wanted.custom = Some(custom);
        }
        Ok(wanted)
    }
}

/// Decisions between two looks at the clock.
const SLICE: u64 = 100_000;

impl Synthesize {
    pub(super) fn run(self) -> Result<(), CliError> {
        let topology = topology(&self.graph, &self.wanted)?;
        let wanted = self.wanted.wanted()?;
        let method = Method::ALL.into_iter().find(|method| method.name() == self.synthesizer).unwrap_or_default();
        let (problem, clock) = wanted.problem(&topology).map_err(TopologyCliError::from)?;
        let begin = Instant::now();
        let mut bar = terminal::Bar::new();
        let mut search = Search::new(problem, method, self.seed);
        while search.work(SLICE) == State::Working && begin.elapsed() < self.time_limit {
            let (spent, limit) = (begin.elapsed().as_millis() as u64, self.time_limit.as_millis() as u64);
            let so_far = search.time().map(|time| format!(", so far {} us", significant(clock.ns(time) / 1000.0)));
            bar.report(&format!("Looking for a schedule{}", so_far.unwrap_or_default()), spent, limit);
        }
        drop(bar);
        let synthesis_ms = begin.elapsed().as_secs_f64() * 1000.0;
        let (schedule, by) = search.best().ok_or(TopologyCliError::NothingFound)?;
        let found = Found::new(&search, &schedule, &by, &clock, synthesis_ms);
        terminal::write(&if self.json { found.json() } else { found.for_people(&topology, &wanted) })
    }
}

#[derive(Serialize)]
struct Found {
    time_ns: f64,
    bound_ns: f64,
    verified: bool,
    proven_optimal: bool,
    synthesis_ms: f64,
    synthesizers: Vec<&'static str>,
    transfers: usize,
}

impl Found {
    fn new(search: &Search, schedule: &Schedule, by: &[Method], clock: &Clock, synthesis_ms: f64) -> Self {
        Self {
            time_ns: clock.ns(schedule.end(&search.problem.graph)),
            bound_ns: clock.ns(search.bound()),
            verified: search.problem.faults(schedule).is_empty(),
            proven_optimal: search.is_optimal(),
            synthesis_ms,
            synthesizers: by.iter().map(|method| method.name()).collect(),
            transfers: schedule.transfers.len(),
        }
    }

    fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    fn for_people(&self, topology: &Topology, wanted: &Wanted) -> String {
        format!(
            "{}: {}\n{} ns, bound {} ns, ratio {:.4}\n",
            topology.name,
            wanted.words(),
            self.time_ns,
            self.bound_ns,
            self.time_ns / self.bound_ns
        )
    }
}
