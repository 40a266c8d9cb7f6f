//! `collectune predict`: what to deploy for a workload.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{
    CliError,
    arguments::{self, Machine, Sizes},
    held,
    learnt::FromSweeps,
    table, terminal,
};
use crate::{
    collective::{Algorithm, Collective, Protocol, Scale, Workload},
    tuning::{
        export, listing,
        parameters::SearchLimits,
        result::{Group, Recommendation},
        support::Library,
        wording,
    },
    units::{Size, significant},
};

/// Say what to deploy for a collective on a number of nodes
///
/// Answers with what to run: a configuration to deploy, the default, or a configuration that must be measured before it
/// is deployed; beside the best measurement and the library's default, and as a tuner file of the same sweeps would
/// have it. Only what was measured at that scale may be chosen, unless --algorithms or
/// --protocols name more. Without a size, every measured size is answered.
#[derive(Args)]
#[command(
    group = ArgGroup::new("source").args(["sweeps", "model"]).required(true),
    after_help = "Examples:
  collectune predict sweep.csv --collective all_reduce --nodes 2 --ranks 16 --size 16M
  collectune predict --model model.json --collective all_reduce --nodes 2 --ranks 16 --sizes 1M,16M,64M --json"
)]
pub(super) struct Predict {
    /// Sweeps to learn from, as tables or logs, gzipped or not; - is the standard input
    #[arg(value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    /// A model that train --save wrote; it is fitted again and compared with what was saved
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,

    /// The collective, like all_reduce
    #[arg(long, value_name = "C", value_parser = arguments::collective)]
    collective: Collective,

    /// Nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    nodes: u32,

    /// Ranks over all nodes, one per GPU
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    ranks: u32,

    /// The message size: bytes, or a number with K, M or G
    #[arg(long, value_parser = arguments::size, conflicts_with = "sizes")]
    size: Option<u64>,

    /// Several message sizes, like 1M,16M,64M
    #[arg(long, value_parser = arguments::sizes)]
    sizes: Option<Sizes>,

    #[command(flatten)]
    search: Search,

    /// The library that runs, which decides what can be searched beside what was measured [default: as the sweep says,
    /// else rccl]
    #[arg(long, value_enum, help_heading = "Searching")]
    library: Option<Library>,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    from: FromSweeps,

    /// Show all columns: why, intervals, the noise, and what was measured beside the answer
    #[arg(long, conflicts_with = "json")]
    all_columns: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Where to search.
#[derive(Args)]
#[command(next_help_heading = "Searching")]
struct Search {
    /// The most channels [default: the largest count measured at that scale]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    max_channels: Option<u32>,

    /// Search these algorithms only, measured or not, like ring,tree
    #[arg(long, value_name = "A,…", value_delimiter = ',', value_parser = arguments::algorithm)]
    algorithms: Vec<Algorithm>,

    /// Search these protocols only, measured or not, like ll,simple
    #[arg(long, value_name = "P,…", value_delimiter = ',', value_parser = arguments::protocol)]
    protocols: Vec<Protocol>,

    /// Try every channel count, not only the promising ones
    #[arg(long)]
    exhaustive: bool,
}

impl Predict {
    pub(super) fn run(self) -> Result<(), CliError> {
        arguments::scale(self.nodes, self.ranks)?;
        if self.model.is_some() {
            arguments::say_unused(&["configuration", "target"], "a saved model says it");
        }
        let paths = self.model.as_ref().map_or(&self.sweeps[..], std::slice::from_ref);
        let opened = self.from.read(paths)?;
        let parameters = self.from.parameters(&opened);
        let mut learnt = self.from.learn(opened, &parameters, None)?;
        let workloads = self.workloads(&learnt.groups)?;
        let Search { max_channels, algorithms, protocols, exhaustive } = &self.search;
        let limits = SearchLimits {
            max_channels: *max_channels,
            algorithms: algorithms.clone(),
            protocols: protocols.clone(),
            exhaustive: *exhaustive,
        };
        let platform = self.machine.with(self.library, learnt.executor.tuning.platform());
        learnt.executor.tuning.study.set_platform(platform);
        let study = &learnt.executor.tuning.study;
        let mut bar = terminal::Bar::new();
        let answers = study.recommend(&workloads, Some(&limits), true, &mut bar)?;
        drop(bar);

        terminal::say_notes(&self.notes(&learnt.groups, &answers));
        let cannot = workloads.iter().flat_map(|workload| study.cannot_run(&limits, workload));
        let mut cannot: Vec<String> =
            cannot.map(|why| format!("{why} (--library and --gpu say where it runs)")).collect();
        cannot.dedup();
        terminal::say_notes(&cannot);
        let set = learnt.executor.tuning.set.as_deref();
        if self.json {
            return terminal::write_json(&export::json(&answers, set));
        }
        terminal::write(&self.for_people(&answers, set))
    }

    fn scale(&self) -> Scale {
        Scale { nodes: self.nodes, ranks: self.ranks }
    }

    /// The requested workloads in words.
    fn wanted(&self) -> String {
        format!("{} on {}", self.collective, self.scale())
    }

    fn workloads(&self, groups: &[Group]) -> Result<Vec<Workload>, CliError> {
        if groups.iter().all(|group| group.collective != self.collective) {
            return Err(CliError::NotMeasured { wanted: self.collective.to_string(), held: held(groups) });
        }
        let sizes = match (self.size, &self.sizes) {
            (Some(size), _) => vec![size],
            (None, Some(Sizes(sizes))) => sizes.clone(),
            (None, None) => match self.group(groups) {
                Some(group) => group.sizes.clone(),
                None => return Err(CliError::NoSize { wanted: self.wanted(), held: held(groups) }),
            },
        };
        let workload = |size_bytes| Workload { collective: self.collective, scale: self.scale(), size_bytes };
        Ok(sizes.into_iter().map(workload).collect())
    }

    fn group<'a>(&self, groups: &'a [Group]) -> Option<&'a Group> {
        groups.iter().find(|group| (group.collective, group.scale) == (self.collective, self.scale()))
    }

    fn notes(&self, groups: &[Group], answers: &[Recommendation]) -> Vec<String> {
        let mut notes = Vec::new();
        if self.group(groups).is_none() {
            notes.push(format!(
                "{} was not measured; the answer is extrapolated from the nearest scales. These files hold {}",
                self.wanted(),
                held(groups)
            ));
        }
        notes.extend(answers.iter().filter_map(|answer| {
            let (configuration, busbw) = answer.exhaustive?;
            Some(format!(
                "at {} the exhaustive search finds {configuration} with {} GB/s; take it with --exhaustive",
                Size(answer.workload.size_bytes),
                significant(busbw)
            ))
        }));
        notes
    }

    fn for_people(&self, answers: &[Recommendation], set: Option<&str>) -> String {
        let heading = match answers {
            [answer] => wording::sentence(answer),
            _ => self.wanted(),
        };
        let set = set.map_or_else(String::new, |set| format!("Measured with {set}\n"));
        let listing = listing::recommendations(answers);
        let listing = if self.all_columns { listing } else { listing.without_secondary_columns() };
        format!("{heading}\n{set}\n{}", table::of_listing(&listing))
    }
}
