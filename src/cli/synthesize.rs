//! `collectune synthesize`: a schedule of a collective for a graph of links.

use std::{
    collections::BTreeSet,
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
    text::{Column, Entry, Listing},
    topology::{
        conditions::{CollectiveRequest, RequestError, has_root, read_custom},
        dump::{self, Dump, Machine, Rates},
        export::Form,
        generate::{Kind, Recipe, RecipeError},
        listing,
        model::{Topology, Unit},
        read::{self, Options, ReadError},
        result::ResultFile,
        robust,
        study::{self, SearchStatus, Source, Study, StudyError},
    },
    units::Size,
    worker::executor::ExecuteError,
};

/// Find a schedule of a collective for a graph of links, and how far it can be from the best
///
/// Reads a topology as CSV (the number of nodes, a header, and Src,Dest,Latency (ns),Bandwidth (GB/s) for each link in
/// one direction), or makes one: ring:5, mesh:4x4, torus:8x8, hypercube:4, full:8, dgx1v, switch:8, fattree:4x8,
/// twogroups:4x2, random:16:3:1. Every schedule is verified before it is told.
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

    /// Save the schedule: .csv (a result file with times in ns), .json, .trace.json (Perfetto) or .xml (an algorithm of
    /// MSCCL)
    #[arg(short, long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(output))]
    output: Option<(PathBuf, Form)>,

    /// Save the topology as CSV
    #[arg(long, value_name = "FILE")]
    save_topology: Option<PathBuf>,

    /// Say how the schedule does when bandwidths vary and links are slow or dead
    #[arg(long)]
    robustness: bool,

    /// Joins so many of the machines of a dump (NCCL_TOPO_DUMP_FILE) by a switch; 1 where not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,

    /// Seed of what is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// What is asked for, in this command and in others.
#[derive(Args, Clone)]
pub(super) struct WantedArguments {
    /// The collective: all_gather (as is where not given), reduce_scatter, all_reduce, broadcast, reduce, scatter,
    /// gather, alltoall
    #[arg(long, value_name = "NAME", value_parser = collective)]
    collective: Option<Collective>,

    /// Bytes of a chunk; 1MiB where neither this nor a file says it
    #[arg(long, value_name = "SIZE")]
    chunk: Option<Size>,

    /// Chunks of each node; 1 where neither this nor a file says it
    #[arg(long, value_name = "N")]
    chunks: Option<u32>,

    /// Who has, or gets, everything, where one node does; node 0 where neither this nor a file says it
    #[arg(long, value_name = "NODE")]
    root: Option<u32>,

    /// Conditions of one's own, as JSON: chunks, preconditions, postconditions
    #[arg(long, value_name = "FILE", conflicts_with_all = ["collective", "chunks", "root"])]
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
#[derive(Args, Clone)]
#[command(next_help_heading = "Links of forms and dumps")]
struct LinkArguments {
    /// Latency of each link in ns
    #[arg(long, value_name = "NS", value_parser = positive)]
    latency: Option<f64>,

    /// Bandwidth of each link of a form
    #[arg(long, value_name = "GB/S", value_parser = positive)]
    bandwidth: Option<f64>,

    /// Latency between groups, along all dimensions of a grid but the last, of some links of a random graph, or of the
    /// network
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

    /// The options that are given, by their names.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--latency", self.latency.is_some()),
            ("--bandwidth", self.bandwidth.is_some()),
            ("--slow-latency", self.slow_latency.is_some()),
            ("--slow-bandwidth", self.slow_bandwidth.is_some()),
            ("--rate", !self.rates.is_empty()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// Generations that are given a rate and that the machine does not have.
    fn unknown<'a>(&'a self, machine: &Machine) -> Option<&'a str> {
        let is_there = |name: &str| {
            let knows = |generation: &str| Rates::default().links.iter().any(|(known, _)| known == generation);
            machine.gpus.iter().any(|gpu| gpu.generation == name || name.is_empty() && !knows(&gpu.generation))
        };
        self.rates.iter().map(|(name, _)| name.as_str()).find(|name| !is_there(name))
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
    Conditions(String, RequestError),
    /// The request can't be answered with these files; the text names them.
    #[error("{0}: {1}")]
    About(String, StudyError),
    /// The file is not UTF-8 text.
    #[error("{0} is no text")]
    NoText(String),
    /// A form that can't be made.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The request is not possible.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The synthesizer has nothing more to try.
    #[error("{by} makes no schedule here: {why}; take --synthesizer auto")]
    NothingFound { by: &'static str, why: &'static str },
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
    joined(path, wanted, None)
}

/// Refuses what is given and has no effect on a graph.
fn refuse(name: &str, what: &str, unused: &[&str]) -> Result<(), CliError> {
    match unused {
        [] => Ok(()),
        [option, ..] => Err(CliError::Told(format!("{option} has no effect: {name} {what}"))),
    }
}

/// The same; of a machine's dump, so many machines joined.
fn joined(path: &Path, wanted: &WantedArguments, nodes: Option<u32>) -> Result<Topology, CliError> {
    let unit = if wanted.decimal { Unit::Gb } else { Unit::Gib };
    let name = files::name(path);
    let given = wanted.links.given();
    let (merge, joins) = (wanted.merge.then_some("--merge"), nodes.map(|_| "--nodes"));
    if is_form(path) {
        let recipe = Recipe { unit, ..Recipe::new(Kind::parse(&name).map_err(TopologyCliError::from)?) };
        let is_unused = |option: &&str| match *option {
            "--rate" => true,
            "--slow-latency" | "--slow-bandwidth" => !recipe.kind.has_slow_links(),
            _ => recipe.kind == Kind::Dgx1v,
        };
        let unused: Vec<&str> = given.into_iter().filter(is_unused).chain(merge).chain(joins).collect();
        refuse(&name, "is a form without that", &unused)?;
        terminal::say_notes(&recipe.kind.contention().into_iter().collect::<Vec<_>>());
        return Ok(wanted.links.recipe(recipe).make().map_err(TopologyCliError::from)?);
    }
    let text = text(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if dump::is_dump(&text) {
        let unread = |why: String| TopologyCliError::Dump(name.clone(), why);
        let is_unused = |option: &&str| match *option {
            "--bandwidth" | "--slow-bandwidth" => true,
            "--slow-latency" => nodes.unwrap_or(1) < 2,
            _ => false,
        };
        let unused: Vec<&str> = given.into_iter().filter(is_unused).chain(merge).collect();
        refuse(
            &name,
            "is a dump, whose links have --rate and --latency, and --slow-latency between several --nodes",
            &unused,
        )?;
        let Dump::Machine(machine) = dump::read(&text).map_err(unread)? else {
            let why = "these are rings and trees over a machine; give the dump of the machine, NCCL_TOPO_DUMP_FILE"
                .to_owned();
            return Err(TopologyCliError::Dump(name, why).into());
        };
        if let Some(unknown) = wanted.links.unknown(&machine) {
            let held: BTreeSet<&str> = machine.gpus.iter().map(|gpu| gpu.generation.as_str()).collect();
            let held = held.into_iter().collect::<Vec<_>>().join(", ");
            return Err(CliError::Told(format!("--rate {unknown} has no effect: the GPUs of {name} are of {held}")));
        }
        let joined = machine.topology(&stem, &wanted.links.rates(nodes.unwrap_or(1)));
        let (topology, notes) = joined.map_err(|error| TopologyCliError::Dump(name, error.to_string()))?;
        terminal::say_notes(&notes);
        terminal::say_notes(&topology.notes());
        return Ok(topology);
    }
    let unused: Vec<&str> = given.into_iter().chain(joins).collect();
    refuse(&name, "is a list of links, each with its latency and bandwidth", &unused)?;
    let read = read::read(&text, &stem, Options { unit, merge: wanted.merge });
    let reading = read.map_err(|error| TopologyCliError::Read(name, error))?;
    terminal::say_notes(&reading.notes);
    Ok(reading.topology)
}

impl WantedArguments {
    pub(super) fn wanted(&self) -> Result<CollectiveRequest, CliError> {
        let mut wanted = CollectiveRequest {
            collective: Some(self.collective.unwrap_or(Collective::AllGather)),
            root: self.root.unwrap_or(0),
            chunk_bytes: self.chunk.map_or(CollectiveRequest::default().chunk_bytes, |size| size.0),
            chunks: self.chunks.unwrap_or(1),
            custom: None,
        };
        let collective = wanted.collective.filter(|collective| self.root.is_some() && !has_root(*collective));
        if let Some(collective) = collective.filter(|_| self.conditions.is_none()) {
            let why = "broadcast, reduce, scatter and gather have one";
            return Err(CliError::Told(format!("--root has no effect: {collective} has no root; {why}")));
        }
        if let Some(path) = &self.conditions {
            let unread = |error| TopologyCliError::Conditions(files::name(path), error);
            let (custom, size) = read_custom(&text(path)?).map_err(unread)?;
            if let (Some(said), Some(asked)) = (size, self.chunk)
                && said != asked.0
            {
                let name = files::name(path);
                let said = Size(said);
                return Err(CliError::Told(format!(
                    "--chunk {asked}: {name} says that a chunk has {said}; leave one of them out"
                )));
            }
            wanted.collective = None;
            wanted.chunk_bytes = size.unwrap_or(wanted.chunk_bytes);
            wanted.custom = Some(custom);
        }
        Ok(wanted)
    }

    /// What a result file is to be checked against, where anything is said of it. What is not said is what the file
    /// says.
    ///
    /// # Errors
    /// It contradicts the file.
    pub(super) fn asked(&self, file: &ResultFile, nodes: u32) -> Result<Option<CollectiveRequest>, CliError> {
        let contradicts = |option: String, says: String| Err(CliError::Told(format!("{option}: the file says {says}")));
        if let (Some(asked), Some(said)) = (self.chunk, file.chunk_bytes)
            && asked.0 != said
        {
            return contradicts(format!("--chunk {asked}"), format!("that a chunk has {}", Size(said)));
        }
        let own = file.collective.flatten();
        if let (Some(asked), Some(own)) = (self.collective, own)
            && asked != own
        {
            return contradicts(format!("--collective {asked}"), format!("that it is a schedule of {own}"));
        }
        if let (Some(asked), Some(own)) = (self.root, file.root)
            && asked != own
        {
            return contradicts(format!("--root {asked}"), format!("that the root is {own}"));
        }
        if self.conditions.is_some() {
            return if own.is_some() {
                contradicts(
                    "--conditions".to_owned(),
                    format!("that it is a schedule of {}", own.map_or("", Collective::name)),
                )
            } else {
                self.wanted().map(Some)
            };
        }
        let is_asked =
            self.collective.is_some() || self.chunks.is_some() || self.root.is_some() || self.chunk.is_some();
        if !is_asked {
            return Ok(None);
        }
        let collective = self.collective.or(own);
        let mut wanted = Self { collective, ..self.clone() }.wanted()?;
        let collective = collective.unwrap_or(Collective::AllGather);
        wanted.chunks = self.chunks.unwrap_or_else(|| study::chunks_each(collective, nodes, file.chunks));
        wanted.root = self.root.or(file.root).unwrap_or(0);
        Ok(Some(wanted))
    }

    /// Options that are given and say nothing of an algorithm of MSCCL.
    pub(super) fn not_of_algorithms(&self) -> Option<&'static str> {
        let all = [
            ("--chunk", self.chunk.is_some()),
            ("--chunks", self.chunks.is_some()),
            ("--root", self.root.is_some()),
            ("--conditions", self.conditions.is_some()),
        ];
        all.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    /// Options that are given and are about a graph.
    pub(super) fn of_graphs(&self) -> Option<&'static str> {
        let merge = self.merge.then_some("--merge");
        merge.or_else(|| self.links.given().first().copied())
    }

    /// The collective, where one is named.
    pub(super) fn collective(&self) -> Option<Collective> {
        self.collective
    }

    /// Turns an error of a study into one that names the file, and the conditions if there are any.
    pub(super) fn about(&self, path: &Path) -> impl Fn(StudyError) -> CliError {
        let conditions = self.conditions.as_ref().map(|path| format!(" with {}", files::name(path)));
        let of = files::name(path) + &conditions.unwrap_or_default();
        move |error| TopologyCliError::About(of.clone(), error).into()
    }

    /// Whether bandwidths are in GB/s, and not in GiB/s.
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
        if standing.time_ns.is_none() {
            let why = method.made_for().unwrap_or("it has nothing more to try");
            return Err(TopologyCliError::NothingFound { by: method.name(), why }.into());
        }
        let synthesis_ms = begin.elapsed().as_secs_f64() * 1000.0;
        if let Some(path) = &self.save_topology {
            export(&study, Form::Topology, path, "topology")?;
        }
        if let Some((path, form)) = &self.output {
            export(&study, *form, path, "schedule")?;
        }
        let mut found = Found::new(&study, &standing, synthesis_ms)?;
        found.notes.extend(found.by_another(method));
        terminal::say_notes(&found.notes);
        let robustness = self.robustness.then(|| Robustness::new(&study)).transpose()?;
        if self.json {
            found.robustness = robustness;
            return terminal::write_json(&found.json());
        }
        let mut text = found.for_people(&study)?;
        text += &robustness.map(Robustness::for_people).unwrap_or_default();
        terminal::write(&text)
    }
}

pub(super) fn told(error: StudyError) -> CliError {
    CliError::Execute(ExecuteError::Topology(error))
}

fn export(study: &Study, form: Form, path: &Path, what: &'static str) -> Result<(), CliError> {
    let file = study.export(form).map_err(told)?;
    if study.topology().is_ok_and(|topology| topology.unit == Unit::Gb) && matches!(form, Form::Topology | Form::Csv) {
        terminal::say_notes(&[format!("{}: {}", files::name(path), file.note)]);
    }
    save::save(what, path, file.text)
}

/// How a schedule does when bandwidths vary, and when links and nodes are slow or dead.
#[derive(Serialize)]
struct Robustness {
    sigma: f64,
    /// The number of simulated runs with varying bandwidths.
    draws: u32,
    nominal_ns: f64,
    p50_ns: f64,
    p95_ns: f64,
    p99_ns: f64,
    /// Each link damaged, by the names of the columns.
    links: Vec<serde_json::Map<String, serde_json::Value>>,
    /// The results with each node damaged.
    nodes: Vec<serde_json::Map<String, serde_json::Value>>,
    #[serde(skip)]
    text: String,
}

impl Robustness {
    fn new(study: &Study) -> Result<Self, CliError> {
        let question = robust::VariationOptions::default();
        let varied = study.varied(&question).map_err(told)?;
        let draws = varied.ends_ns.len() as u32;
        let mut text = format!("\n{}\n\n", listing::varied(&varied, question.sigma));
        let topology = study.topology().map_err(told)?;
        let effort =
            robust::effort(study.timeline().map_err(told)?.len(), topology.links.len() + topology.nodes as usize);
        let links = (0..topology.links.len() as u32).map(robust::Damage::Link);
        let nodes = (0..topology.nodes).map(robust::Damage::Node);
        let mut table = |damages: Vec<robust::Damage>, what: &str| -> Result<_, CliError> {
            let listing = study.damaged(&damages, effort).map_err(told)?;
            text += &table::of_listing(&listing);
            if listing.rows.len() < damages.len() {
                let (tried, all) = (listing.rows.len(), damages.len());
                text += &format!("Only the first {tried} of {all} {what} were tried: the schedule is long.\n");
            }
            text.push('\n');
            Ok(records(&listing))
        };
        let links = table(links.collect(), "links")?;
        let nodes = table(nodes.collect(), "nodes")?;
        let robust::Variation { nominal_ns, p50_ns, p95_ns, p99_ns, .. } = varied;
        Ok(Self { sigma: question.sigma, draws, nominal_ns, p50_ns, p95_ns, p99_ns, links, nodes, text })
    }

    fn for_people(self) -> String {
        self.text
    }
}

/// The rows of a table by the names of its columns: numbers where they are, else what stands there.
fn records(listing: &Listing) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let cell = |(column, entry): (&Column, &Entry)| {
        let value = entry.number.map_or_else(|| entry.text.clone().into(), serde_json::Value::from);
        (column.name.to_string(), value)
    };
    listing.rows.iter().map(|row| listing.columns.iter().zip(row).map(cell).collect()).collect()
}

/// The JSON output.
#[derive(Serialize)]
struct Found {
    /// When the last transfer ends.
    time_ns: f64,
    /// The lower bound on the time of any schedule, in ns: the largest of L2, L3 and L4.
    bound_ns: f64,
    /// The verifier found nothing wrong.
    verified: bool,
    /// Whether no schedule can be shorter.
    proven_optimal: bool,
    /// No schedule that adds all up before it copies is shorter.
    proven_optimal_in_parts: bool,
    /// The time in ns that is proven to be a lower bound beyond `bound_ns`.
    proven_bound_ns: f64,
    /// L1: what finer chunks could reach.
    fluid_bound_ns: f64,
    synthesis_ms: f64,
    synthesizers: Vec<&'static str>,
    transfers: usize,
    faults: Vec<String>,
    /// Notes for the user.
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    robustness: Option<Robustness>,
}

impl Found {
    fn new(study: &Study, standing: &SearchStatus, synthesis_ms: f64) -> Result<Self, CliError> {
        let (_, clock, search, _) = study.search().map_err(told)?;
        let (schedule, by) = search.best().ok_or_else(|| told(StudyError::NothingFound))?;
        let faults = search.problem.faults(&schedule);
        let fluid: f64 = search.bounds().iter().map(|of| clock.fluid_bound_ns(of)).sum();
        Ok(Self {
            time_ns: clock.ns(schedule.end(&search.problem.graph)),
            bound_ns: standing.bound_ns,
            verified: faults.is_empty(),
            proven_optimal: standing.is_optimal,
            proven_optimal_in_parts: standing.is_optimal_in_parts,
            proven_bound_ns: standing.proven_ns,
            fluid_bound_ns: fluid * search.problem.repetitions() as f64,
            synthesis_ms,
            synthesizers: by.iter().map(|method| method.name()).collect(),
            transfers: schedule.transfers.len(),
            faults: faults.iter().map(ToString::to_string).collect(),
            notes: Vec::new(),
            robustness: None,
        })
    }

    /// That another synthesizer made it than was asked for.
    fn by_another(&self, method: Method) -> Option<String> {
        let is_other = method != Method::Auto && !self.proven_optimal && !self.synthesizers.contains(&method.name());
        let by = self.synthesizers.join(" and ");
        let why = method.made_for().map(|why| format!(": {why}")).unwrap_or_default();
        is_other.then(|| format!("{} found nothing better than {by}{why}", method.name()))
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
