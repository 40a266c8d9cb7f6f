//! The command line: what the page does, in a terminal.
//!
//! [`run`] reads the arguments (`arguments.rs`) and does one command, a file each. Most open `files.rs`, learn from
//! them (`learnt.rs`) as the page's workers do, and write a table for people (`table.rs`) or JSON for programs
//! (`trained.rs`). What people must know besides goes to stderr (`terminal.rs`). Files are saved in one way
//! (`save.rs`).

mod ab;
mod arguments;
mod chart;
mod compare;
mod completions;
mod conf;
mod coverage;
mod files;
mod layouts;
mod learnt;
mod overlap;
mod plan;
mod policy;
mod predict;
mod report;
mod save;
mod step;
mod steps;
mod synthesize;
mod table;
mod terminal;
mod train;
mod trained;
mod verify;

use std::{env, io, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    text::visible,
    tuning::{result::Group, study::TuningStudyError},
    worker::executor::ExecuteError,
};

/// From what a cluster measured to the NCCL or RCCL configuration to deploy.
///
/// Reads sweeps of collectives (tables of rccl-sweep, logs of nccl-tests and rccl-tests, gzipped or not), learns bus
/// bandwidth from them, says how far that can be trusted, and answers which algorithm, protocol and channel count to
/// deploy for each message size.
#[derive(Parser)]
#[command(name = "collectune", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Train(train::Train),
    Predict(predict::Predict),
    #[command(subcommand)]
    Conf(conf::Conf),
    Coverage(coverage::Coverage),
    Plan(plan::Plan),
    Ab(ab::Ab),
    Overlap(overlap::Overlap),
    Step(step::Step),
    Layouts(layouts::Layouts),
    #[command(subcommand)]
    Policy(policy::Policy),
    Synthesize(synthesize::Synthesize),
    Verify(verify::Verify),
    Compare(compare::Compare),
    Report(report::Report),
    Chart(chart::Chart),
    Completions(completions::Completions),
}

/// The exit code of a check that found something: neither an error nor a success.
const FOUND: u8 = 3;

/// Does what the arguments of the process say. The exit code is 0, 1 for input that can't be used, also where the rest
/// was answered, 2 for arguments
/// that can't be understood, 3 for a tuner file that runs something else than it says and for a state in which
/// something got slower.
#[must_use]
pub fn run() -> ExitCode {
    let parsed = CommandLine::command().try_get_matches().and_then(|matches| {
        let parsed = CommandLine::from_arg_matches(&matches)?;
        arguments::are_typed(matches);
        Ok(parsed)
    });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return say_usage(&error),
    };
    let outcome = match arguments.command {
        Command::Train(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Predict(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Conf(command) => command.run(),
        Command::Coverage(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Plan(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Ab(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Overlap(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Step(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Layouts(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Policy(command) => command.run(),
        Command::Synthesize(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Verify(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Report(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Chart(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Completions(command) => command.run().map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        // An answer without a file that was named is no success.
        Ok(code) if code == ExitCode::SUCCESS && terminal::has_erred() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(error) => {
            terminal::say("error", &error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Which collectives and scales were measured.
fn held(groups: &[Group]) -> String {
    let names: Vec<String> = groups.iter().map(|group| format!("{} on {}", group.collective, group.scale)).collect();
    names.join("; ")
}

/// Says why the arguments can't be understood, or what was asked about them.
fn say_usage(error: &clap::Error) -> ExitCode {
    // clap repeats arguments as they are.
    let shown = env::args_os().map(|argument| visible(&argument.to_string_lossy()).into_owned());
    let again = CommandLine::try_parse_from(shown);
    // A stream that is closed hears nothing.
    let _ = again.err().as_ref().unwrap_or(error).print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Why a command can't be done.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// A file can't be opened.
    #[error("{name} can't be opened: {error}")]
    Open { name: String, error: io::Error },
    /// No file held anything that can be used; why has been said.
    #[error("nothing could be read, so there is nothing to learn from")]
    NothingRead,
    /// An error of a workbench.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// An error of the tuning workbench.
    #[error(transparent)]
    Tuning(#[from] TuningStudyError),
    /// No set of measurements, or more than one, is meant.
    #[error("{option} {wanted} names no set, or more than one; these files hold {held}")]
    NoSet { option: &'static str, wanted: String, held: String },
    /// No cluster of that name.
    #[error("--cluster {wanted} names no cluster of these files; they hold {held}")]
    NoCluster { wanted: String, held: String },
    /// The configuration of a run that can't be used.
    #[error("--run {name}: {why}")]
    NoRun { name: String, why: String },
    /// The files say nothing about the collective.
    #[error("{wanted} was not measured; these files hold {held}")]
    NotMeasured { wanted: String, held: String },
    /// No size is given, and none was measured.
    #[error(
        "{wanted} was not measured, so a size must be given: --size 16M or --sizes 1M,16M; these files hold {held}"
    )]
    NoSize { wanted: String, held: String },
    /// A tuner file can't be written for a reader.
    #[error("no tuner file is written for {reader}{remedy}")]
    NoConf { reader: &'static str, remedy: &'static str },
    /// A report can't be written.
    #[error("the report {0}: leave charts or measurements out of it")]
    Unwritten(#[from] crate::report::wire::WireError),
    /// A report is too large for a link.
    #[error(
        "the report makes a link of {chars} characters, and at most {most} are made: leave parts out (--no-charts, \
         --no-tuner-files), or send a file (-o report.html)"
    )]
    TooLong { chars: usize, most: usize },
    /// Something that is typed lacks something else.
    #[error("{0}")]
    Typed(&'static str),
    /// The same, with what was typed.
    #[error("{0}")]
    Told(String),
    /// A file can't be saved.
    #[error("the {what} can't be saved as {name}: {error}")]
    Save { what: &'static str, name: String, error: io::Error },
    /// A file would be saved over one that is read.
    #[error("the {what} is not saved as {name}, which is one of the files that are read; give another name")]
    SaveOverInput { what: &'static str, name: String },
    /// No file is a comparison.
    #[error(
        "there is nothing to compare: give per_size_stats.csv, or the logs of a campaign, whose names tell the arm \
         (all_reduce_2n_default_r1.log, all_reduce_2n_conf_r1.log)"
    )]
    NothingToCompare,
    /// An error of a command of the topology workbench.
    #[error(transparent)]
    Topology(#[from] synthesize::TopologyCliError),
    /// The output can't be written.
    #[error("the output can't be written: {0}")]
    Write(io::Error),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        super::CommandLine::command().debug_assert();
    }
}
