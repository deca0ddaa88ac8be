//! How the command speaks: how much, in which colours, how wide.

use std::{
    env,
    io::{self, IsTerminal},
    sync::OnceLock,
};

use befit_report::Width;
use clap::{Args, ValueEnum};

/// Below this, tables would show next to nothing.
const NARROWEST: usize = 40;

const HEADING: &str = "Terminal";

static MANNER: OnceLock<Manner> = OnceLock::new();

/// The arguments that every command takes.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// Show no progress: results, notes and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = HEADING)]
    quiet: bool,
    /// Show all that builds say
    #[arg(short, long, global = true, help_heading = HEADING)]
    verbose: bool,
    /// When to use colours; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t)]
    #[arg(help_heading = HEADING)]
    color: Color,
    /// Tables with all their columns, also where the terminal is too narrow for them
    #[arg(long, global = true, help_heading = HEADING)]
    wide: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// The manner that was asked for. Before the command line has been read: what it says of colours.
pub(crate) fn manner() -> Manner {
    // `env::args` panics on words that are not UTF-8.
    let words = env::args_os().map(|word| word.to_string_lossy().into_owned());
    *MANNER.get_or_init(|| Manner { color: asked(words), ..Manner::default() })
}

/// Sets the manner once the command line has been read.
pub(crate) fn set(manner: Manner) {
    let _ = MANNER.set(manner);
}

/// The colours that a command line asks for that may have mistakes in it.
fn asked(arguments: impl Iterator<Item = String>) -> Color {
    let arguments: Vec<_> = arguments.take_while(|argument| argument != "--").collect();
    let next = |at: usize| arguments.get(at + 1).map(String::as_str);
    let value = arguments.iter().enumerate().find_map(|(at, argument)| match argument.as_str() {
        "--color" => next(at),
        other => other.strip_prefix("--color="),
    });
    value.and_then(|text| Color::from_str(text, false).ok()).unwrap_or_default()
}

impl Manner {
    pub(crate) fn quiet(self) -> bool {
        self.quiet
    }

    pub(crate) fn verbose(self) -> bool {
        self.verbose
    }

    /// Whether what goes to `stream` has colours.
    pub(crate) fn coloured(self, stream: &impl IsTerminal) -> bool {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
                stream.is_terminal() && !set("NO_COLOR") && !dumb
            }
        }
    }

    /// How wide tables on stdout may be.
    pub(crate) fn width(self) -> Width {
        if self.wide {
            return Width::ANY;
        }
        // Nothing where stdout is no terminal.
        terminal_size::terminal_size_of(io::stdout()).map_or(Width::ANY, |(columns, _)| {
            Width::columns(usize::from(columns.0).max(NARROWEST))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_known_before_the_command_line_has_been_understood() {
        for (line, color) in [
            ("befit compare --color never --what", Color::Never),
            ("befit --color=always", Color::Always),
            ("befit --color", Color::Auto),
            ("befit --color=red", Color::Auto),
            ("befit run -- ls --color=always", Color::Auto),
        ] {
            assert_eq!(asked(line.split(' ').map(str::to_owned)), color, "{line}");
        }
    }
}
