//! `collectune synthesize`: a schedule of a collective for a graph of links.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::{
    Args,
    builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser},
};
use serde::Serialize;

use super::{CliError, files, save, table, terminal};
use crate::{
    collective::Collective,
    progress::{Progress, Silent},
    schedule::synthesize::Method,
    topology::{
        conditions::{Wanted, WantedError, read_custom},
        dump::{self, Dump, Rates},
        export::Form,
        generate::{Kind, Recipe, RecipeError},
        listing,
        model::{Topology, Unit},
        read::{self, Options, ReadError},
        robust,
        study::{Source, Standing, Study, StudyError},
    },
    units::Size,
    worker::executor::ExecuteError,
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

    /// Save the schedule: .csv (a result file with times in ns), .json, .trace.json (Perfetto) or .xml (an algorithm of MSCCL)
    #[arg(short, long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(output))]
    output: Option<(PathBuf, Form)>,

    /// Save the topology as CSV
    #[arg(long, value_name = "FILE")]
    save_topology: Option<PathBuf>,

    /// Say how the schedule does when bandwidths vary and links are slow or dead
    #[arg(long)]
    robustness: bool,

    /// Joins so many of the machines of a dump (NCCL_TOPO_DUMP_FILE) by a switch
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u32,

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
    /// The collective: all_gather (as is where not given), reduce_scatter, all_reduce, broadcast, reduce, scatter, gather, alltoall
    #[arg(long, value_name = "NAME", value_parser = collective)]
    collective: Option<Collective>,

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

    #[command(flatten)]
    links: LinkArguments,
}

/// Rates of links that no file says: of forms, and of dumps of machines.
#[derive(Args)]
#[command(next_help_heading = "Links of forms and dumps")]
struct LinkArguments {
    /// Latency of each link in ns
    #[arg(long, value_name = "NS", value_parser = positive)]
    latency: Option<f64>,

    /// Bandwidth of each link of a form
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    bandwidth: Option<f64>,

    /// Latency between groups, along all dimensions of a grid but the last, of some links of a random graph, or of the network
    #[arg(long, value_name = "NS", value_parser = positive)]
    slow_latency: Option<f64>,

    /// Bandwidth of the same links of a form
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    slow_bandwidth: Option<f64>,

    /// Bandwidth of one link of a generation of GPUs in a dump, in one direction: gfx950=76.8
    #[arg(long = "rate", value_name = "GENERATION=GB/S", value_parser = rate)]
    rates: Vec<(String, f64)>,
}

impl LinkArguments {
    fn recipe(&self, mut recipe: Recipe) -> Recipe {
        recipe.latency_ns = self.latency.unwrap_or(recipe.latency_ns);
        recipe.bandwidth = self.bandwidth.unwrap_or(recipe.bandwidth);
        recipe.slow_latency_ns = self.slow_latency.or(recipe.slow_latency_ns);
        recipe.slow_bandwidth = self.slow_bandwidth.or(recipe.slow_bandwidth);
        recipe
    }

    fn rates(&self, nodes: u32) -> Rates {
        let mut rates = Rates { nodes, ..Rates::default() };
        for (generation, gbps) in &self.rates {
            match rates.links.iter_mut().find(|(known, _)| known == generation) {
                Some((_, usual)) => *usual = *gbps,
                None => rates.links.push((generation.clone(), *gbps)),
            }
        }
        rates.latency_ns = self.latency.unwrap_or(rates.latency_ns);
        rates.net_latency_ns = self.slow_latency.unwrap_or(rates.net_latency_ns);
        rates
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "is not a number that is not negative".to_owned())
}

fn rate(text: &str) -> Result<(String, f64), String> {
    let (generation, gbps) = text.split_once('=').ok_or_else(|| "is no rate; write gfx950=76.8".to_owned())?;
    Ok((generation.trim().to_owned(), positive(gbps.trim())?))
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
    let number: f64 = number.trim().parse().ok().ok_or_else(wrong)?;
    Duration::try_from_secs_f64(number * unit).ok().ok_or_else(wrong)
}

/// Why there is no schedule.
#[derive(Debug, thiserror::Error)]
pub(super) enum TopologyCliError {
    /// The file is no topology.
    #[error("{0} can't be used: {1}")]
    Read(String, ReadError),
    /// The file is no dump.
    #[error("{0} can't be used: {1}")]
    Dump(String, String),
    /// The file holds no conditions.
    #[error("{0} can't be used: {1}")]
    Conditions(String, WantedError),
    /// What is asked for can't be done with the files that it is about.
    #[error("{0}: {1}")]
    About(String, StudyError),
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
    String::from_utf8(bytes).ok().ok_or_else(|| TopologyCliError::NoText(files::name(path)).into())
}

/// Whether a path is none, but a form: `mesh:4x4`.
pub(super) fn is_form(path: &Path) -> bool {
    let name = path.to_string_lossy();
    !path.exists() && (name.contains(':') || name.eq_ignore_ascii_case("dgx1v"))
}

/// A topology from a file, or of a form.
pub(super) fn topology(path: &Path, wanted: &WantedArguments) -> Result<Topology, CliError> {
    joined(path, wanted, 1)
}

/// The same; of a machine's dump, so many machines joined.
fn joined(path: &Path, wanted: &WantedArguments, nodes: u32) -> Result<Topology, CliError> {
    let unit = if wanted.decimal { Unit::Gb } else { Unit::Gib };
    let name = files::name(path);
    if is_form(path) {
        let recipe = Recipe { unit, ..Recipe::new(Kind::parse(&name).map_err(TopologyCliError::from)?) };
        terminal::say_notes(&recipe.kind.contention().into_iter().collect::<Vec<_>>());
        return Ok(wanted.links.recipe(recipe).make().map_err(TopologyCliError::from)?);
    }
    let text = text(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if dump::is_dump(&text) {
        let unread = |why: String| TopologyCliError::Dump(name.clone(), why);
        let Dump::Machine(machine) = dump::read(&text).map_err(unread)? else {
            let why = "these are rings and trees over a machine; give the dump of the machine, NCCL_TOPO_DUMP_FILE"
                .to_owned();
            return Err(TopologyCliError::Dump(name, why).into());
        };
        let joined = machine.topology(&stem, &wanted.links.rates(nodes));
        let (topology, notes) = joined.map_err(|error| TopologyCliError::Dump(name, error.to_string()))?;
        terminal::say_notes(&notes);
        terminal::say_notes(&topology.notes());
        return Ok(topology);
    }
    let read = read::read(&text, &stem, Options { unit, merge: wanted.merge });
    let reading = read.map_err(|error| TopologyCliError::Read(name, error))?;
    terminal::say_notes(&reading.notes);
    Ok(reading.topology)
}

impl WantedArguments {
    pub(super) fn wanted(&self) -> Result<Wanted, CliError> {
        let mut wanted = Wanted {
            collective: Some(self.collective.unwrap_or(Collective::AllGather)),
            root: self.root,
            chunk_bytes: self.chunk.0,
            chunks: self.chunks,
            custom: None,
        };
        if let Some(path) = &self.conditions {
            let unread = |error| TopologyCliError::Conditions(files::name(path), error);
            let (custom, size) = read_custom(&text(path)?).map_err(unread)?;
            wanted.collective = None;
            wanted.chunk_bytes = size.unwrap_or(wanted.chunk_bytes);
            wanted.custom = Some(custom);
        }
        Ok(wanted)
    }

    /// The same where a collective is named, or conditions are given.
    pub(super) fn asked(&self) -> Result<Option<Wanted>, CliError> {
        let is_asked = self.collective.is_some() || self.conditions.is_some() || self.chunks > 1;
        is_asked.then(|| self.wanted()).transpose()
    }

    /// What stands in the way of something with a file, and with the conditions if there are any.
    pub(super) fn about(&self, path: &Path) -> impl Fn(StudyError) -> CliError {
        let conditions = self.conditions.as_ref().map(|path| format!(" with {}", files::name(path)));
        let of = files::name(path) + &conditions.unwrap_or_default();
        move |error| TopologyCliError::About(of.clone(), error).into()
    }

    /// Bandwidths are decimal.
    pub(super) fn is_decimal(&self) -> bool {
        self.decimal
    }
}

/// A file and the form that its name says.
fn output(path: PathBuf) -> Result<(PathBuf, Form), String> {
    let lower = path.to_string_lossy().to_ascii_lowercase();
    let form = [(".trace.json", Form::Perfetto), (".json", Form::Json), (".csv", Form::Csv), (".xml", Form::Msccl)];
    let form = form.iter().find(|(extension, _)| lower.ends_with(extension));
    form.map(|(_, form)| (path, *form))
        .ok_or_else(|| "the name of a schedule ends in .csv, .json, .trace.json or .xml".to_owned())
}

/// Decisions between two looks at the clock.
const SLICE: u64 = 100_000;

impl Synthesize {
    pub(super) fn run(self) -> Result<(), CliError> {
        let topology = joined(&self.graph, &self.wanted, self.nodes)?;
        let wanted = self.wanted.wanted()?;
        self.save_topology.iter().try_for_each(|path| save::check("topology", path))?;
        self.output.iter().try_for_each(|(path, _)| save::check("schedule", path))?;
        let method = Method::ALL.into_iter().find(|method| method.name() == self.synthesizer).unwrap_or_default();
        let mut study = Study::default();
        let about = self.wanted.about(&self.graph);
        study.open(Source::Edited(topology)).map_err(&about)?;
        let begin = Instant::now();
        let mut bar = terminal::Bar::new();
        let mut standing = study.begin(wanted, method, self.seed, SLICE, &mut bar).map_err(about)?;
        // Until there is something to take, no time is over.
        while standing.is_working && (begin.elapsed() < self.time_limit || standing.time_ns.is_none()) {
            let (spent, limit) = (begin.elapsed().as_millis() as u64, self.time_limit.as_millis() as u64);
            bar.report(&format!("Looking for a schedule: {}", standing.sentence), spent.min(limit), limit);
            standing = study.improve(SLICE, &mut Silent).map_err(told)?;
        }
        drop(bar);
        let synthesis_ms = begin.elapsed().as_secs_f64() * 1000.0;
        if let Some(path) = &self.save_topology {
            export(&study, Form::Topology, path, "topology")?;
        }
        if let Some((path, form)) = &self.output {
            export(&study, *form, path, "schedule")?;
        }
        let found = Found::new(&study, &standing, synthesis_ms)?;
        if self.json {
            return terminal::write_json(&found.json());
        }
        let mut text = found.for_people(&study)?;
        if self.robustness {
            text += &robustness(&study)?;
        }
        terminal::write(&text)
    }
}

pub(super) fn told(error: StudyError) -> CliError {
    match error {
        StudyError::NothingFound => TopologyCliError::NothingFound.into(),
        error => CliError::Execute(ExecuteError::Topology(error)),
    }
}

fn export(study: &Study, form: Form, path: &Path, what: &'static str) -> Result<(), CliError> {
    let file = study.export(form).map_err(told)?;
    save::save(what, path, file.text)
}

fn robustness(study: &Study) -> Result<String, CliError> {
    let question = robust::Question::default();
    let varied = study.varied(&question).map_err(told)?;
    let mut text = format!("\n{}\n\n", listing::varied(&varied, question.sigma, question.draws));
    let topology = study.topology().map_err(told)?;
    let effort = robust::effort(study.film().map_err(told)?.len(), topology.links.len() + topology.nodes as usize);
    let links = (0..topology.links.len() as u32).map(robust::Damage::Link);
    let nodes = (0..topology.nodes).map(robust::Damage::Node);
    let mut table = |damages: Vec<robust::Damage>| -> Result<(), CliError> {
        text += &table::of_listing(&study.damaged(&damages, effort).map_err(told)?);
        text.push('\n');
        Ok(())
    };
    table(links.collect())?;
    table(nodes.collect())?;
    Ok(text)
}

/// What programs are told.
#[derive(Serialize)]
struct Found {
    /// When the last transfer ends.
    time_ns: f64,
    /// What no schedule can beat: L2 or L3.
    bound_ns: f64,
    /// The verifier found nothing wrong.
    verified: bool,
    /// No schedule is shorter.
    proven_optimal: bool,
    /// No schedule that adds all up before it copies is shorter.
    proven_optimal_in_parts: bool,
    /// What is proven beyond the bound.
    proven_bound_ns: f64,
    /// L1: what finer chunks could reach.
    fluid_bound_ns: f64,
    synthesis_ms: f64,
    synthesizers: Vec<&'static str>,
    transfers: usize,
    faults: Vec<String>,
}

impl Found {
    fn new(study: &Study, standing: &Standing, synthesis_ms: f64) -> Result<Self, CliError> {
        let (_, clock, search, _) = study.search().map_err(told)?;
        let (schedule, by) = search.best().ok_or(TopologyCliError::NothingFound)?;
        let faults = search.problem.faults(&schedule);
        let fluid: f64 = search.bounds().iter().map(|of| clock.fluid_ns(of.fluid.chunks, of.fluid.rate)).sum();
        Ok(Self {
            time_ns: clock.ns(schedule.end(&search.problem.graph)),
            bound_ns: standing.bound_ns,
            verified: faults.is_empty(),
            proven_optimal: standing.is_optimal,
            proven_optimal_in_parts: standing.is_optimal_in_parts,
            proven_bound_ns: standing.proven_ns,
            fluid_bound_ns: fluid * search.problem.times() as f64,
            synthesis_ms,
            synthesizers: by.iter().map(|method| method.name()).collect(),
            transfers: schedule.transfers.len(),
            faults: faults.iter().map(ToString::to_string).collect(),
        })
    }

    fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    fn for_people(&self, study: &Study) -> Result<String, CliError> {
        let shown = study.show().map_err(told)?;
        let mut text = shown.sentences.join("\n") + "\n\n" + &table::of_listing(&shown.bounds);
        text += &format!("\nFound by {} in {:.1} ms.\n", self.synthesizers.join(" and "), self.synthesis_ms);
        Ok(text)
    }
}
