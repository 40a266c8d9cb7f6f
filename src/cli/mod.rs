//! The command line: what the page does, in a terminal.
//!
//! [`run`] reads the arguments (`arguments.rs`, and `former.rs` for commands under the names that they once had) and
//! does one command. A workbench is a folder, and a command with commands of its own; what concerns all of them stands
//! beside them. Most open `files.rs`, and write a table for people (`table.rs`) or JSON for programs (`json.rs`). What
//! people must know besides goes to stderr (`terminal.rs`). Files are saved in one way (`save.rs`), and jobs are done
//! on all processors (`threads.rs`).

mod arguments;
mod completions;
mod error;
mod files;
mod former;
mod json;
mod measure;
mod overlap;
mod policy;
mod reach;
mod report;
mod save;
mod table;
mod terminal;
mod threads;
mod topology;
mod training_time;
mod tune;
mod tuning;

use std::{env, ffi::OsString, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser};

use self::error::CliError;
use crate::text::visible;

/// From what a cluster measured to the NCCL or RCCL configuration to deploy
///
/// Each workbench is a command that reads its files and answers its questions, and says how far each answer can be
/// trusted. Files may be gzipped, and are recognised by their content.
#[derive(Parser)]
#[command(
    name = "collectune",
    version,
    arg_required_else_help = true,
    after_help = "Examples:
  collectune tuning predict sweep.csv --collective all_reduce --nodes 2 --ranks 16   what to run, for each size
  collectune tuning export sweep.csv --reader rccl -o tuner.csv                      the tuner file to deploy
  collectune report sweep.csv -o report.html --open                                  all of it, to read and pass on

collectune WORKBENCH --help lists the commands of a workbench, such as tuning."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// The commands of the program, or of a workbench: what was typed of one of them, which is run.
macro_rules! commands {
    ($(#[$attribute:meta])* $name:ident { $($(#[$kind:meta])* $command:ident($type:ty)),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(clap::Subcommand)]
        pub(in crate::cli) enum $name {
            $($(#[$kind])* $command($type)),+
        }

        impl $name {
            pub(in crate::cli) fn run(self) -> Result<(), crate::cli::error::CliError> {
                match self {
                    $(Self::$command(command) => command.run()),+
                }
            }
        }
    };
}

use commands;

commands! {
    Command {
        #[command(subcommand)]
        Tuning(tuning::Tuning),
        #[command(subcommand)]
        Policy(policy::Policy),
        #[command(subcommand)]
        TrainingTime(training_time::TrainingTime),
        #[command(subcommand)]
        Topology(topology::Topology),
        #[command(subcommand)]
        Overlap(overlap::Overlap),
        Tune(tune::Tune),
        Reach(reach::Reach),
        Report(report::Report),
        Measure(measure::Measure),
        Completions(completions::Completions),
    }
}

/// Does what the arguments of the process say. The exit code is 0; 1 for input that can't be used, also where the rest
/// was answered; 2 for arguments that can't be understood; 3 for a check that found something.
pub fn run() -> ExitCode {
    let typed = former::renamed(env::args_os().collect());
    let parsed = CommandLine::command().try_get_matches_from(&typed).and_then(|matches| {
        let parsed = CommandLine::from_arg_matches(&matches)?;
        arguments::are_typed(matches);
        Ok(parsed)
    });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return say_usage(&typed, &error),
    };
    match arguments.command.run() {
        // An answer without a file that was named is no success.
        Ok(()) if terminal::has_erred() => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
        Err(CliError::Found) => ExitCode::from(3),
        Err(CliError::Told(why)) => {
            terminal::say("error", &why);
            ExitCode::FAILURE
        }
    }
}

/// Says why the arguments can't be understood, or what was asked about them.
fn say_usage(typed: &[OsString], error: &clap::Error) -> ExitCode {
    // clap repeats arguments as they are.
    let shown = typed.iter().map(|argument| visible(&argument.to_string_lossy()).into_owned());
    let again = CommandLine::try_parse_from(shown);
    // A stream that is closed hears nothing.
    let _ = again.err().as_ref().unwrap_or(error).print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        super::CommandLine::command().debug_assert();
    }
}
