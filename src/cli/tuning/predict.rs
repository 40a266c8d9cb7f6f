//! `collectune tuning predict`: what to deploy for a workload.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{FromSweeps, learnt::held};
use crate::{
    cli::{
        arguments::{self, Asked, Machine, Sizes},
        error::{CliError, refuse},
        table, terminal,
    },
    collective::{Scale, Workload},
    tuning::{doubts::doubts, export, listing, parameters::Preset, platform::Library, result::Group, wording},
    units::{Size, significant},
};

/// Say what to deploy for a collective on a number of nodes
///
/// The answer is a configuration to deploy, the default, or a configuration to measure first, beside the best
/// measurement and the default. It agrees with the tuner file of the same sweeps. Only what was measured at that scale
/// may be chosen, unless --algorithms or --protocols name more. Without a size, every measured size is answered.
#[derive(Args)]
#[command(
    group = ArgGroup::new("source").args(["sweeps", "model"]).required(true),
    after_help = "Examples:
  collectune tuning predict sweep.csv --collective all_reduce --nodes 2 --ranks 16 --size 16M
  collectune tuning predict --model model.json --collective all_reduce --nodes 2 --ranks 16 --sizes 1M,16M,64M --json"
)]
pub(in crate::cli) struct Predict {
    /// Sweeps to learn from, as tables or logs, gzipped or not; - is the standard input
    #[arg(value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    /// A model that tuning train --save wrote; it is fitted again and compared with what was saved
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,

    #[command(flatten)]
    asked: Asked,

    /// The message size: bytes, or a number with K, M or G
    #[arg(long, value_parser = arguments::size, conflicts_with = "sizes")]
    size: Option<u64>,

    /// Several message sizes, like 1M,16M,64M
    #[arg(long)]
    sizes: Option<Sizes>,

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

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Predict {
    pub(super) fn run(self) -> Result<(), CliError> {
        let scale = self.asked.scale()?;
        if self.model.is_some() {
            arguments::say_unused(&["configuration", "target"], "a saved model says it");
        }
        let paths = self.model.as_ref().map_or(&self.sweeps[..], std::slice::from_ref);
        let opened = self.from.read(paths, false)?;
        let parameters = self.from.parameters(&opened)?;
        let mut learnt = self.from.learn(opened, &parameters, None)?;
        let groups = &learnt.groups;
        let wanted = format!("{} on {scale}", self.asked.collective);
        let group = groups.iter().find(|group| (group.collective, group.scale) == (self.asked.collective, scale));
        let workloads = self.workloads(scale, groups, group, &wanted)?;
        if group.is_none() {
            terminal::say_notes([format!(
                "{wanted} was not measured; the answer is extrapolated from the nearest scales. These files hold {}",
                held(groups)
            )]);
        }
        let platform = self.machine.with(self.library, learnt.executor.studies.tuning.loaded.platform());
        learnt.executor.studies.tuning.loaded.study.set_platform(platform);
        let study = &learnt.executor.studies.tuning.loaded.study;
        let answers = study.recommend(&workloads, Some(&parameters.search), true, &mut terminal::Bar::new())?;
        terminal::say_notes(answers.iter().filter_map(|answer| {
            let (configuration, busbw) = answer.exhaustive?;
            Some(format!(
                "at {} the exhaustive search finds {configuration} with {} GB/s; take it with --exhaustive",
                Size(answer.workload.size_bytes),
                significant(busbw)
            ))
        }));
        terminal::say_notes(doubts(&answers));
        let mut cannot: Vec<String> =
            workloads.iter().flat_map(|workload| study.cannot_run(&parameters.search, workload)).collect();
        cannot.dedup();
        let asked = &parameters.search.algorithms;
        let is_none = |workload: &Workload| study.cannot_run(&parameters.search, workload).len() == asked.len();
        let nothing_runs = !asked.is_empty() && workloads.iter().all(is_none);
        terminal::say_notes(cannot.iter().map(|why| format!("{why} (--library and --gpu say where it runs)")));
        if parameters.preset == Preset::Default
            && cannot.is_empty()
            && answers.iter().any(|answer| answer.configuration.is_none())
        {
            terminal::say_notes([
                "The default model predicts only what was measured at some scale; --preset forest predicts others, roughly",
            ]);
        }
        let set = learnt.executor.studies.tuning.loaded.set.as_deref();
        if self.json {
            return terminal::write_as_json(&export::json(&answers, set));
        }
        if nothing_runs {
            return terminal::write(
                "Nothing of --algorithms runs there: there is nothing to predict and nothing to measure.\n",
            );
        }
        let heading = match &answers[..] {
            [answer] => wording::sentence(answer),
            _ => wanted,
        };
        let set = set.map_or_else(String::new, |set| format!("Measured with {set}\n"));
        let listing = listing::recommendations(&answers);
        let listing = if self.all_columns { listing } else { listing.without_secondary_columns() };
        terminal::write(&format!("{heading}\n{set}\n{}", table::of_listing(&listing)))
    }

    /// The workloads that are asked about; without a size, all that were measured.
    fn workloads(
        &self,
        scale: Scale,
        groups: &[Group],
        group: Option<&Group>,
        wanted: &str,
    ) -> Result<Vec<Workload>, CliError> {
        let collective = self.asked.collective;
        if groups.iter().all(|group| group.collective != collective) {
            return refuse(format!("{collective} was not measured; these files hold {}", held(groups)));
        }
        let sizes = match (self.size, &self.sizes, group) {
            (Some(size), ..) => vec![size],
            (None, Some(Sizes(sizes)), _) => sizes.clone(),
            (None, None, Some(group)) => group.sizes.clone(),
            (None, None, None) => {
                return refuse(format!(
                    "{wanted} was not measured, so a size must be given: --size 16M or --sizes 1M,16M; these files hold {}",
                    held(groups)
                ));
            }
        };
        Ok(sizes.into_iter().map(|size_bytes| Workload { collective, scale, size_bytes }).collect())
    }
}
