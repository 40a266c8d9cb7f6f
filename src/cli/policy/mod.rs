//! `collectune policy`: from reward logs to a policy, and what deploys it.

mod doctor;
mod export;
mod logs;
mod replay;
mod watch;

use std::process::ExitCode;

use clap::Subcommand;

pub(super) use self::replay::play;

use super::CliError;
use crate::{policy::result::StudyError, worker::executor::ExecuteError};

/// Reward logs: judge them, write a policy from them, and serve the tuner plugin while a job runs
#[derive(Subcommand)]
pub(super) enum Policy {
    Replay(replay::Replay),
    Export(export::Export),
    Watch(watch::Watch),
    Doctor(doctor::Doctor),
}

impl Policy {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        match self {
            Self::Replay(command) => command.run().map(|()| ExitCode::SUCCESS),
            Self::Export(command) => command.run().map(|()| ExitCode::SUCCESS),
            Self::Watch(command) => command.run().map(|()| ExitCode::SUCCESS),
            Self::Doctor(command) => command.run(),
        }
    }
}

pub(super) fn told(error: StudyError) -> CliError {
    CliError::Execute(ExecuteError::Policy(error))
}
