//! `collectune policy`: from reward logs to a policy, and what deploys it.

mod doctor;
mod export;
mod library_file;
mod logs;
mod replay;
mod tuner_search;
mod watch;

use super::commands;

commands! {
    /// Reward logs of a tuner: what to run, the policy that deploys it, and the plugin that applies it
    Policy {
        Replay(replay::Replay),
        Export(export::Export),
        Watch(watch::Watch),
        Doctor(doctor::Doctor),
    }
}
