//! `collectune completions`: what a shell needs to complete the command line.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::{CommandLine, error::CliError, terminal};

/// Write the completions of a shell
///
/// They follow from the same definitions as the command line itself.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune completions bash > ~/.local/share/bash-completion/completions/collectune
  collectune completions zsh > ~/.zfunc/_collectune
  collectune completions fish > ~/.config/fish/completions/collectune.fish
  collectune completions powershell >> $PROFILE")]
pub(super) struct Completions {
    /// The shell that is to complete commands
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), CliError> {
        let mut text = Vec::new();
        generate(self.shell, &mut CommandLine::command(), "collectune", &mut text);
        terminal::write_file(&String::from_utf8_lossy(&text))
    }
}
