//! Which graph of links is meant, and which collective on it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{
    cli::{
        arguments,
        error::{CliError, refuse, told},
        files, terminal,
    },
    collective::Collective,
    topology::{
        conditions::{CollectiveRequest, read_custom},
        dump::{self, Dump, Machine, Rates},
        generate::{Kind, Recipe},
        model::{Topology, Unit},
        read::{self, Options},
        result::ResultFile,
        study,
    },
    units::Size,
};

/// The options on links of forms and dumps.
const OF_LINKS: [&str; 5] = ["latency", "bandwidth", "slow_latency", "slow_bandwidth", "rate"];

/// What is asked for, in this command and in others.
#[derive(Args, Clone)]
pub(super) struct WantedArguments {
    /// The collective: all_gather (as is where not given), reduce_scatter, all_reduce, broadcast, reduce, scatter,
    /// gather, alltoall
    #[arg(long, value_name = "NAME")]
    pub(super) collective: Option<Collective>,

    /// Bytes of a chunk; 1MiB where neither this nor a file says it
    #[arg(long, value_name = "SIZE")]
    chunk: Option<Size>,

    /// Chunks of each node; 1 where neither this nor a file says it
    #[arg(long, value_name = "N")]
    chunks: Option<u32>,

    /// Root of a collective with one, by its node [default: as the file says, else 0]
    #[arg(long, value_name = "NODE")]
    root: Option<u32>,

    /// Own conditions, as JSON: chunks, preconditions, postconditions
    #[arg(long, value_name = "FILE", conflicts_with_all = ["collective", "chunks", "root"])]
    conditions: Option<PathBuf>,

    /// Bandwidths are in units of 1e9 bytes per second, not of 2^30
    #[arg(long)]
    pub(super) decimal: bool,

    /// Links between the same two nodes become one with the bandwidth of all
    #[arg(long)]
    merge: bool,

    #[command(flatten)]
    links: LinkArguments,
}

/// Rates of links that no file says: of forms, and of dumps of machines.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Links of forms and dumps")]
struct LinkArguments {
    /// Latency of each link, in ns [default: 500]
    #[arg(long, value_name = "NS", value_parser = positive())]
    latency: Option<f64>,

    /// Bandwidth of each link of a form, in GiB/s, or in GB/s with --decimal [default: 50]
    #[arg(long, value_name = "GIB/S", value_parser = positive())]
    bandwidth: Option<f64>,

    /// Latency in ns between groups, along all dimensions of a grid but the last, of some links of a random graph, or
    /// of the network [default: twogroups 1000, else as --latency]
    #[arg(long, value_name = "NS", value_parser = positive())]
    slow_latency: Option<f64>,

    /// Bandwidth of the same links of a form, in the unit of --bandwidth [default: twogroups 5, else as --bandwidth]
    #[arg(long, value_name = "GIB/S", value_parser = positive())]
    slow_bandwidth: Option<f64>,

    /// Bandwidth of one link of a generation of GPUs in a dump, in one direction: gfx950=76.8
    #[arg(long, value_name = "GENERATION=GB/S", value_parser = rate)]
    rate: Vec<(String, f64)>,
}

impl LinkArguments {
    fn recipe(&self, mut recipe: Recipe) -> Recipe {
        recipe.latency_ns = self.latency.unwrap_or(recipe.latency_ns);
        recipe.bandwidth = self.bandwidth.unwrap_or(recipe.bandwidth);
        recipe.slow_latency_ns = self.slow_latency.or(recipe.slow_latency_ns);
        recipe.slow_bandwidth = self.slow_bandwidth.or(recipe.slow_bandwidth);
        recipe
    }

    /// Generations that are given a rate and that the machine does not have.
    fn unknown<'a>(&'a self, machine: &Machine) -> Option<&'a str> {
        let is_there = |name: &str| {
            let knows = |generation: &str| Rates::default().links.iter().any(|(known, _)| known == generation);
            machine.gpus.iter().any(|gpu| gpu.generation == name || name.is_empty() && !knows(&gpu.generation))
        };
        self.rate.iter().map(|(name, _)| name.as_str()).find(|name| !is_there(name))
    }

    fn refuse_unknown(&self, machine: &Machine, name: &str) -> Result<(), CliError> {
        let Some(unknown) = self.unknown(machine) else { return Ok(()) };
        let held: BTreeSet<&str> = machine.gpus.iter().map(|gpu| gpu.generation.as_str()).collect();
        let held = held.into_iter().collect::<Vec<_>>().join(", ");
        refuse(format!("--rate {unknown} has no effect: the GPUs of {name} are of {held}"))
    }

    fn rates(&self, nodes: u32) -> Rates {
        let mut rates = Rates { nodes, ..Rates::default() };
        for (generation, gbps) in &self.rate {
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

/// Parses a number of at least 0.
fn positive() -> impl Fn(&str) -> Result<f64, &'static str> + Clone {
    arguments::number(0.0..=f64::MAX, "is not a number that is not negative")
}

pub(super) fn rate(text: &str) -> Result<(String, f64), &'static str> {
    let (generation, gbps) = text.split_once('=').ok_or("is no rate; write gfx950=76.8")?;
    Ok((generation.trim().to_owned(), positive()(gbps)?))
}

/// Whether a path is none, but a form: `mesh:4x4`.
pub(in crate::cli) fn is_form(path: &Path) -> bool {
    let name = path.to_string_lossy();
    !path.exists() && (name.contains(':') || name.eq_ignore_ascii_case("dgx1v"))
}

/// A topology from a file, or of a form; of a machine's dump, so many machines joined. Fails if it can't be read or
/// made, or an option has no effect on it.
pub(super) fn topology(path: &Path, wanted: &WantedArguments, nodes: Option<u32>) -> Result<Topology, CliError> {
    let unit = if wanted.decimal { Unit::Gb } else { Unit::Gib };
    let name = files::name(path);
    if is_form(path) {
        let recipe = Recipe { unit, ..Recipe::new(Kind::parse(&name)?) };
        let unused: &[&str] = match &recipe.kind {
            Kind::Dgx1v => &[&OF_LINKS[..], &["merge", "nodes"]].concat(),
            kind if kind.has_slow_links() => &["rate", "merge", "nodes"],
            _ => &["slow_latency", "slow_bandwidth", "rate", "merge", "nodes"],
        };
        arguments::refuse_unused(unused, &format!(": {name} is a form without that"))?;
        let recipe = wanted.links.recipe(recipe);
        terminal::say_notes(recipe.contention());
        return Ok(recipe.make()?);
    }
    let text = files::text(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let unread = |why: String| told(format!("{name} can't be used: {why}"));
    if dump::is_dump(&text) {
        let mut unused = vec!["bandwidth", "slow_bandwidth", "merge", "decimal"];
        if nodes.unwrap_or(1) < 2 {
            unused.push("slow_latency");
        }
        let why = format!(
            ": {name} is a dump, whose links have --rate (in GB/s) and --latency, and --slow-latency between several --nodes"
        );
        arguments::refuse_unused(&unused, &why)?;
        let Dump::Machine(machine) = dump::read(&text).map_err(unread)? else {
            return Err(unread(
                "these are rings and trees over a machine; give the dump of the machine, NCCL_TOPO_DUMP_FILE"
                    .to_owned(),
            ));
        };
        wanted.links.refuse_unknown(&machine, &name)?;
        let joined = machine.topology(&stem, &wanted.links.rates(nodes.unwrap_or(1)));
        let (topology, notes) = joined.map_err(|error| unread(error.to_string()))?;
        terminal::say_notes(notes);
        terminal::say_notes(topology.notes());
        return Ok(topology);
    }
    let why = format!(": {name} is a list of links, each with its latency and bandwidth");
    arguments::refuse_unused(&[&OF_LINKS[..], &["nodes"]].concat(), &why)?;
    let reading =
        read::read(&text, &stem, Options { unit, merge: wanted.merge }).map_err(|error| unread(error.to_string()))?;
    terminal::say_notes(reading.notes);
    Ok(reading.topology)
}

/// The machine of a dump.
///
/// # Errors
/// Returns what keeps the file from being read, or what it is instead.
pub(super) fn machine(path: &Path, rate: &[(String, f64)]) -> Result<(Machine, Rates), CliError> {
    let (text, name) = (files::text(path)?, files::name(path));
    let unread = |why: &str| told(format!("{name} can't be used: {why}"));
    let what = "is no dump of a machine; give what NCCL_TOPO_DUMP_FILE wrote";
    if !dump::is_dump(&text) {
        return Err(unread(what));
    }
    let Dump::Machine(machine) = dump::read(&text).map_err(|why| unread(&why))? else { return Err(unread(what)) };
    let links = LinkArguments { rate: rate.to_vec(), ..LinkArguments::default() };
    links.refuse_unknown(&machine, &name)?;
    Ok((machine, links.rates(1)))
}

impl WantedArguments {
    /// The rates of links in a dump that were given.
    pub(super) fn rate(&self) -> &[(String, f64)] {
        &self.links.rate
    }

    pub(super) fn wanted(&self) -> Result<CollectiveRequest, CliError> {
        let mut wanted = CollectiveRequest {
            collective: Some(self.collective.unwrap_or(Collective::AllGather)),
            root: self.root.unwrap_or(0),
            chunk_bytes: self.chunk.map_or(CollectiveRequest::default().chunk_bytes, |size| size.0),
            chunks: self.chunks.unwrap_or(1),
            custom: None,
        };
        let collective = wanted.collective.filter(|collective| self.root.is_some() && !collective.has_root());
        if let Some(collective) = collective.filter(|_| self.conditions.is_none()) {
            let why = "broadcast, reduce, scatter and gather have one";
            return refuse(format!("--root has no effect: {collective} has no root; {why}"));
        }
        if let Some(path) = &self.conditions {
            let name = files::name(path);
            let read = read_custom(&files::text(path)?);
            let (custom, size) = read.map_err(|error| told(format!("{name} can't be used: {error}")))?;
            if let (Some(said), Some(asked)) = (size, self.chunk)
                && said != asked.0
            {
                let said = Size(said);
                return refuse(format!("--chunk {asked}: {name} says that a chunk has {said}; leave one of them out"));
            }
            wanted.collective = None;
            wanted.chunk_bytes = size.unwrap_or(wanted.chunk_bytes);
            wanted.custom = Some(custom);
        }
        Ok(wanted)
    }

    /// What a result file is to be checked against, where anything is said of it. What is not said is what the file
    /// says. Fails if it contradicts the file.
    pub(super) fn asked(&self, file: &ResultFile, nodes: u32) -> Result<Option<CollectiveRequest>, CliError> {
        let contradicts = |option: String, says: String| refuse(format!("{option}: the file says {says}"));
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
            return match own {
                Some(own) => contradicts("--conditions".to_owned(), format!("that it is a schedule of {own}")),
                None => self.wanted().map(Some),
            };
        }
        if arguments::typed(&["collective", "chunks", "root", "chunk"]).is_empty() {
            return Ok(None);
        }
        let collective = self.collective.or(own);
        let mut wanted = Self { collective, ..self.clone() }.wanted()?;
        let collective = collective.unwrap_or(Collective::AllGather);
        wanted.chunks = self.chunks.unwrap_or_else(|| study::chunks_each(collective, nodes, file.chunks));
        wanted.root = self.root.or(file.root).unwrap_or(0);
        Ok(Some(wanted))
    }

    /// Turns an error of a study into one that names the file, and the conditions if there are any.
    pub(super) fn about<E: std::fmt::Display>(&self, path: &Path) -> impl Fn(E) -> CliError {
        let conditions = self.conditions.as_ref().map(|path| format!(" with {}", files::name(path)));
        let of = files::name(path) + &conditions.unwrap_or_default();
        move |error| told(format!("{of}: {error}"))
    }
}
