//! `collectune tuning chart`: one chart of a sweep as a picture.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    FromSweeps,
    learnt::{Learnt, held},
};
use crate::{
    cli::{
        arguments,
        error::{CliError, refuse, told},
        save, terminal,
    },
    collective::{Collective, Workload},
    plot::{Chart as Drawing, Style, Theme, svg, with_captions},
    tuning::{charts::in_time, heat_map::Against, result::Group},
};

/// Draw a chart of a sweep as SVG
///
/// The heat map shows what each configuration loses at each size, against the best that was measured there or against
/// the default, with the paths of the default and of what is to be deployed over it; stalled runs and cells that were
/// not measured are marked. It is the chart of the page and of the report.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning chart sweep.csv > loss.svg
  collectune tuning chart sweep.csv --against default --dark -o loss.svg
  collectune tuning chart sweep.csv --of busbw-over-size --collective all_reduce --nodes 2 --ranks 16 -o busbw.svg")]
pub(in crate::cli) struct Chart {
    /// Sweeps to learn from, as tables or logs, gzipped or not; - is the standard input
    #[arg(required = true, value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    /// What is drawn: the loss of each configuration at each size, or bus bandwidth in GB/s over sizes in bytes
    #[arg(long, value_enum, default_value_t)]
    of: Of,

    /// What the heat map's losses, in per cent, are relative to
    #[arg(long, value_enum, default_value_t)]
    against: Against,

    /// The collective, like all_reduce; not needed where the files hold only one
    #[arg(long, value_name = "C")]
    collective: Option<Collective>,

    /// Nodes of the measured scale; not needed where the files hold only one
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(1_000_000))]
    nodes: Option<u32>,

    /// Ranks over all nodes, one per GPU; not needed where the files hold only one scale
    #[arg(long, value_name = "R", value_parser = arguments::up_to::<u32>(10_000_000))]
    ranks: Option<u32>,

    /// Width of the picture in pixels
    #[arg(long, value_name = "PX", default_value = "960", value_parser = clap::value_parser!(u32).range(240..=8000))]
    width: u32,

    /// The colours of the dark theme; those of the light one without it
    #[arg(long)]
    dark: bool,

    /// Where to write it; without it, it goes to the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    from: FromSweeps,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Of {
    /// Loss in per cent over configurations and sizes
    #[default]
    HeatMap,
    /// Bus bandwidth in GB/s over sizes: all measurements, the default, what is to be deployed and its 90 % interval
    BusbwOverSize,
    /// The same as times of one operation
    TimeOverSize,
}

impl Chart {
    pub(super) fn run(self) -> Result<(), CliError> {
        let opened = self.from.read(&self.sweeps, false)?;
        self.output.iter().try_for_each(|path| save::check("chart", path))?;
        let parameters = self.from.parameters(&opened)?;
        let learnt = self.from.learn(opened, &parameters, None)?;
        let chart = self.chart(&learnt)?;
        let style = Style {
            width: f64::from(self.width),
            height: chart.height().unwrap_or(420.0),
            theme: if self.dark { Theme::Dark } else { Theme::Light },
            ..Style::default()
        };
        let drawn = svg(&chart, &with_captions(&chart, style));
        match &self.output {
            Some(path) => save::save("chart", path, drawn),
            None => terminal::write(&drawn),
        }
    }

    fn chart(&self, learnt: &Learnt) -> Result<Drawing, CliError> {
        let group = self.group(&learnt.groups)?;
        let study = &learnt.executor.studies.tuning.loaded.study;
        let size_bytes = group.sizes.first().copied().unwrap_or_default();
        let workload = Workload { collective: group.collective, scale: group.scale, size_bytes };
        if group.default_sizes == 0 && self.against == Against::Default {
            return refuse("the default was not measured there: draw it --against best");
        }
        match self.of {
            Of::BusbwOverSize => Ok(study.view(&workload)?.busbw_over_size),
            Of::TimeOverSize => Ok(in_time(&study.view(&workload)?.busbw_over_size, &workload)),
            Of::HeatMap => study
                .heat_map(&workload, self.against)
                .ok_or_else(|| told("no configuration was measured there, only the default")),
        }
    }

    fn group<'a>(&self, groups: &'a [Group]) -> Result<&'a Group, CliError> {
        let is_meant = |group: &&Group| {
            self.collective.is_none_or(|collective| collective == group.collective)
                && self.nodes.is_none_or(|nodes| nodes == group.scale.nodes)
                && self.ranks.is_none_or(|ranks| ranks == group.scale.ranks)
        };
        let mut meant = groups.iter().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(group), None) => Ok(group),
            (found, _) => {
                let what = if found.is_some() { "more than one chart is meant" } else { "that was not measured" };
                refuse(format!("{what}; say --collective, --nodes and --ranks: these files hold {}", held(groups)))
            }
        }
    }
}
