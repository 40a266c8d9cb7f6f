//! `collectune measure`: the commands that make the files of a workbench on a cluster.

use clap::Args;

use super::{
    arguments,
    error::{CliError, refuse},
    terminal,
};
use crate::{
    collective::{Collective, Scale},
    launch::{Launcher, Sizes},
    measure::{MeasureValues, markdown},
    registry::measure_commands,
    report::Workbench,
};

/// Print the commands that make the files of a workbench on a cluster
///
/// For each kind of file: what the commands leave, what they need, and the lines for bash, as Markdown.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune measure tuning --collective all_gather --nodes 4 --ranks 32 --launcher srun
  collectune measure overlap")]
pub(super) struct Measure {
    /// The workbench that reads the files
    #[arg(value_parser = arguments::one_of(Workbench::ALL, Workbench::key))]
    workbench: Workbench,

    /// The collective to measure, where one is
    #[arg(long, value_name = "C", default_value = "all_reduce", value_parser = arguments::one_of(&MeasureValues::COLLECTIVES, Collective::name))]
    collective: Collective,

    /// The smallest message size to measure
    #[arg(long, default_value = "4K", value_parser = arguments::size)]
    min: u64,

    /// The largest message size to measure
    #[arg(long, default_value = "512M", value_parser = arguments::size)]
    max: u64,

    /// Nodes that take part
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = arguments::up_to::<u32>(1_000_000))]
    nodes: u32,

    /// Ranks over all nodes, one per GPU, as many on each node
    #[arg(long, value_name = "R", default_value_t = 16, value_parser = arguments::up_to::<u32>(10_000_000))]
    ranks: u32,

    /// The program that starts the ranks
    #[arg(long, value_enum, default_value_t)]
    launcher: Launcher,
}

impl Measure {
    pub(super) fn run(self) -> Result<(), CliError> {
        let Self { workbench, collective, min, max, nodes, ranks, launcher } = self;
        if min > max {
            return refuse("--min is above --max: give the smallest size as --min");
        }
        let scale = arguments::launched_scale(nodes, ranks)?;
        let sizes = Sizes { first: min, last: max };
        let values = MeasureValues { collective, sizes, scale, launcher };
        let written = |values: MeasureValues| markdown(measure_commands(workbench), &values, true);
        let text = written(values);
        // What changes nothing with another value either is not used.
        let is_usual = collective == Collective::AllReduce;
        let collective = if is_usual { Collective::AllGather } else { Collective::AllReduce };
        let launcher = if launcher == Launcher::Srun { Launcher::Mpirun } else { Launcher::Srun };
        for (option, values) in [
            ("collective", MeasureValues { collective, ..values }),
            ("min", MeasureValues { sizes: Sizes { first: min + 4, last: max }, ..values }),
            ("max", MeasureValues { sizes: Sizes { first: min, last: max + 4 }, ..values }),
            (
                "nodes",
                MeasureValues { scale: Scale { nodes: nodes + 1, ranks: ranks / nodes * (nodes + 1) }, ..values },
            ),
            ("ranks", MeasureValues { scale: Scale { nodes, ranks: ranks + nodes }, ..values }),
            ("launcher", MeasureValues { launcher, ..values }),
        ] {
            if written(values) == text {
                arguments::say_unused(&[option], "no command that is written here depends on it");
            }
        }
        terminal::write(&text)
    }
}
