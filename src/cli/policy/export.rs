//! `collectune policy export`: files to deploy.

use std::path::PathBuf;

use clap::Args;

use super::logs::Logs;
use crate::{
    cli::{
        error::{CliError, refuse},
        files, save, terminal,
    },
    conf::Reader,
    policy::{file::Policy, request, study::PolicyStudy},
};

/// Write a tuner file, a policy file for Collectune's plugin, or a script of runs that would decide what is open
#[derive(Args)]
#[command(after_help = "Examples:
  collectune policy export rewards.log --policy -o collectune.policy.json
  collectune policy export rewards.log --reader dn-tuner -o nccl_tuner.conf
  collectune policy export rewards.log --script 'srun python train.py' -o policy_runs.sh")]
pub(in crate::cli) struct Export {
    #[command(flatten)]
    logs: Logs,

    /// A tuner file for this reader
    #[arg(long, value_enum, conflicts_with_all = ["policy", "script"])]
    reader: Option<Reader>,

    /// The policy file; also the default without --reader and --script
    #[arg(long, conflicts_with = "script")]
    policy: bool,

    /// The generation of the policy file; where not given, one above those of the policies that are read and of the
    /// file that is replaced
    #[arg(long, value_name = "N", conflicts_with_all = ["reader", "script"])]
    generation: Option<u64>,

    /// The library's version, to be written into the policy file
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["reader", "script"])]
    library: Option<String>,

    /// A script of interleaved runs of this command
    #[arg(long, value_name = "COMMAND")]
    script: Option<String>,

    /// Where to write it; further files get their own names beside it. Without it the text goes to the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (study, _) = self.logs.study(self.library.clone())?;
        let export = match (self.reader, &self.script) {
            (Some(reader), _) => request::Export::Conf(reader),
            (None, Some(command)) => request::Export::Script(command.clone()),
            (None, None) => request::Export::Policy(self.generation.unwrap_or_else(|| self.next_generation(&study))),
        };
        let written = study.export(&export)?;
        if let ([_, _, ..], None) = (&written[..], &self.output) {
            return refuse(
                "there is a tuner file for jobs without overlap and one for those with, and the standard output takes one: \
                 name the first with -o",
            );
        }
        if let (Some(path), [_, second]) = (&self.output, &written[..])
            && path.file_name().is_some_and(|name| *name == *second.name)
        {
            return refuse(format!("{} is the name of the second file: give -o another", second.name));
        }
        for (index, file) in written.iter().enumerate() {
            if !file.note.is_empty() {
                terminal::say("note", &file.note);
            }
            match &self.output {
                None => terminal::write_file(&file.text)?,
                Some(path) => {
                    let path = if index == 0 { path.clone() } else { path.with_file_name(&file.name) };
                    save::save("file", &path, &file.text)?;
                    terminal::say("note", &format!("{} is written", files::name(&path)));
                }
            }
        }
        Ok(())
    }

    fn next_generation(&self, study: &PolicyStudy) -> u64 {
        let replaced = self.output.as_ref().and_then(|path| Policy::read(&std::fs::read(path).ok()?).ok());
        let above = replaced.map_or(0, |reading| reading.policy.generation.saturating_add(1));
        above.max(study.next_generation())
    }
}
