//! From what went wrong to one line on stderr and an exit code.

use std::{
    fmt::Display,
    process::{ExitCode, exit},
};

use befit_lab::{Interrupt, LabError, one_line};
use befit_report::ReportError;
use clap::error::{Error, ErrorKind};

use crate::{manner::manner, output};

/// The exit code after Ctrl-C, as shells have it.
const INTERRUPTED: u8 = 130;

/// Why the command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was asked for cannot be: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Something went wrong on the way: exit code 1.
    #[error("{0}")]
    Other(String),
    /// Ctrl-C, or a polite kill: exit code [`INTERRUPTED`].
    #[error("interrupted")]
    Interrupted,
    /// The reader of our output has gone, as `head` does: no error.
    #[error("nobody reads the output")]
    ReaderGone,
}

impl Failure {
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    pub(crate) fn other(error: impl Display) -> Self {
        Self::Other(error.to_string())
    }

    /// No program was named; `own` names one of the user's.
    pub(crate) fn no_program(own: &str) -> Self {
        Self::Usage(format!(
            "which program? A kernel, such as rrm (`befit list` has them all), or one of yours: \
             {own}; try '--help'"
        ))
    }

    /// Says it, and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let code = match self {
            Self::ReaderGone => return ExitCode::SUCCESS,
            Self::Interrupted => ExitCode::from(INTERRUPTED),
            Self::Usage(_) => ExitCode::from(2),
            Self::Other(_) => ExitCode::from(1),
        };
        output::cry(&self.to_string());
        code
    }
}

/// What several duties come to that were all tried: the first failure; the others are said before.
/// That the reader of stdout has gone counts only if nothing else failed.
pub(crate) fn first_of(
    duties: impl IntoIterator<Item = Result<(), Failure>>,
) -> Result<(), Failure> {
    let failures = duties.into_iter().filter_map(Result::err);
    let (gone, failures): (Vec<_>, Vec<_>) =
        failures.partition(|failure| matches!(failure, Failure::ReaderGone));
    let mut failures = failures.into_iter().chain(gone);
    let first = failures.next();
    for other in failures.filter(|failure| !matches!(failure, Failure::ReaderGone)) {
        output::complain(&other.to_string());
    }
    first.map_or(Ok(()), Err)
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => Self::Interrupted,
            error if error.is_usage() => Self::usage(error),
            error => Self::other(error),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::other(error)
    }
}

/// clap's help goes to stdout as it is; its errors become one line.
pub(crate) fn from_clap(error: Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            let coloured = manner().coloured(&std::io::stdout());
            let text = if coloured { text.ansi().to_string() } else { text.to_string() };
            output::print(&text)
        }
        // `befit` alone: clap shows the help, but nothing was done.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::Usage("no command given; try 'befit --help'".to_owned()))
        }
        _ => Err(Failure::Usage(one_line(&error.render().to_string()))),
    }
}

/// Raised on Ctrl-C from now on: what runs then ends, with whatever it has started. Before the
/// first program runs, and the second time, this process ends at once.
pub(crate) fn interrupt() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::default();
    let raise = interrupt.clone();
    let handler = move || {
        if raise.is_raised() || !raise.has_begun() {
            let _ = Failure::Interrupted.report();
            exit(INTERRUPTED.into());
        }
        raise.raise();
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::other(format!("cannot handle signals: {e}")))?;
    Ok(interrupt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a list of duties comes to, as the exit code's reason.
    fn outcome(duties: Vec<Result<(), Failure>>) -> String {
        first_of(duties).map_or_else(|failure| failure.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn the_first_failure_counts_and_a_reader_that_has_gone_only_alone() {
        let (verdict, disk) = (|| Err(Failure::other("verdict")), || Err(Failure::other("disk")));
        let gone = || Err(Failure::ReaderGone);
        assert_eq!(outcome(vec![Ok(()), Ok(())]), "fine");
        assert_eq!(outcome(vec![verdict(), gone(), Ok(())]), "verdict");
        assert_eq!(outcome(vec![gone(), disk(), Ok(())]), "disk");
        assert_eq!(outcome(vec![verdict(), disk()]), "verdict");
        assert_eq!(outcome(vec![Ok(()), gone()]), Failure::ReaderGone.to_string());
    }
}
