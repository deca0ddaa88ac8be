//! What goes to stdout, to a file, and to stderr.

use std::{
    io::{self, Write},
    path::Path,
};

use befit_lab::{Drawer, OutputFile, Progress};
use befit_page::Part;

use crate::fail::Failure;

/// Writes to stdout. That nobody reads it is [`Failure::ReaderGone`], not a panic as with `print!`.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::other(format!("cannot write to stdout: {e}")),
    })
}

/// One line on stderr, whatever `text` has. Where even that fails there is nobody left to tell.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "befit: {}", text.lines().collect::<Vec<_>>().join(" "));
}

/// On stderr, as it is.
pub(crate) fn pass_on(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Where results go: stdout, or a file that appears whole or not at all.
pub(crate) struct Destination<'a>(Option<(&'a Path, OutputFile)>);

impl<'a> Destination<'a> {
    /// Opens it, so that a file that cannot be written is known before the work and not after it.
    pub(crate) fn open(path: Option<&'a Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = OutputFile::create(path).map_err(|e| cannot_write(path, &e))?;
        Ok(Self(Some((path, file))))
    }

    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        let Some((path, mut file)) = self.0 else { return print(text) };
        file.write_all(text.as_bytes())
            .and_then(|()| file.commit())
            .map_err(|e| cannot_write(path, &e))
    }
}

/// A page of plots to write beside the results: its file, and what draws it.
pub(crate) struct PageFile<'a> {
    destination: Destination<'a>,
    drawer: Drawer,
}

impl<'a> PageFile<'a> {
    /// Opens the file and builds what draws, so that either is known to be possible before the work
    /// and not after it.
    pub(crate) fn open(
        path: Option<&'a Path>,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let destination = Destination::open(Some(path))?;
        Ok(Some(Self { destination, drawer: Drawer::build(progress)? }))
    }

    pub(crate) fn write(self, page: &[Part]) -> Result<(), Failure> {
        self.destination.write(&self.drawer.draw(page)?)
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::other(format!("cannot write {}: {error}", path.display()))
}
