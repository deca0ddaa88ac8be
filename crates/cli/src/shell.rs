//! `befit completions` and `befit man`: what shells and `man` know of the command.

use std::{fs, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::{fail::Failure, output::print};

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  befit completions bash > ~/.local/share/bash-completion/completions/befit
  befit completions zsh > ~/.zfunc/_befit
  befit completions fish > ~/.config/fish/completions/befit.fish";

#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self, mut command: Command) -> Result<(), Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "befit", &mut text);
        print(&String::from_utf8_lossy(&text))
    }
}

const MAN_EXAMPLES: &str = "\
Examples:
  befit man | man -l -
  befit man --output ~/.local/share/man/man1";

#[derive(Args, Debug)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// A folder to write the pages of all commands to [default: the first page goes to stdout]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(self, command: Command) -> Result<(), Failure> {
        if let Some(folder) = &self.output {
            let written =
                fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
            return written
                .map_err(|e| Failure::other(format!("cannot write {}: {e}", folder.display())));
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).map_err(Failure::other)?;
        print(&String::from_utf8_lossy(&text))
    }
}
