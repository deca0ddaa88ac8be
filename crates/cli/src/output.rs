//! What goes to stdout, to a file, and to stderr.

use std::{
    io::{self, Write},
    iter,
    path::{Path, PathBuf},
};

use befit_lab::{Drawer, OutputFile, Progress};
use befit_page::Page;
use befit_report::Width;
use clap::{Args, ValueEnum};

use crate::{
    fail::{Failure, first_of},
    manner::manner,
    progress::Display,
};

/// Where results go, and how they look.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// How results are written; JSON is a contract, described in docs/json.md
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// A file to write results to, instead of stdout; it appears whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// For reading
    #[default]
    Table,
    /// For programs: a document whose schema docs/json.md describes
    Json,
    /// The fields of the JSON, one row a result
    Csv,
}

impl OutputArgs {
    pub(crate) fn open(&self) -> Result<Destination<'_>, Failure> {
        Destination::open(self.output.as_deref())
    }

    /// Writes what `work` returns, and shows its progress until then. Results come first, and each
    /// file is written whatever becomes of the others.
    pub(crate) fn write<'a>(
        &self,
        work: impl FnOnce(&Display, befit_report::Format) -> Result<Written<'a>, Failure>,
    ) -> Result<(), Failure> {
        let destination = self.open()?;
        let display = Display::new();
        let Written { results, beside } = work(&display, self.format())?;
        drop(display);
        let results = destination.write(&results);
        first_of(iter::once(results).chain(beside.into_iter().map(|write| write())))
    }

    pub(crate) fn format(&self) -> befit_report::Format {
        match self.format {
            // A file is as wide as it likes.
            Format::Table if self.output.is_some() => befit_report::Format::Table(Width::ANY),
            Format::Table => befit_report::Format::Table(manner().width()),
            Format::Json => befit_report::Format::Json,
            Format::Csv => befit_report::Format::Csv,
        }
    }
}

/// What a command has to write: its results, and files beside them.
pub(crate) struct Written<'a> {
    results: String,
    beside: Vec<Box<dyn FnOnce() -> Result<(), Failure> + 'a>>,
}

impl<'a> Written<'a> {
    pub(crate) fn of(results: String) -> Self {
        Self { results, beside: Vec::new() }
    }

    /// A file to be written after them.
    pub(crate) fn and(mut self, write: impl FnOnce() -> Result<(), Failure> + 'a) -> Self {
        self.beside.push(Box::new(write));
        self
    }

    /// The page, if one was asked for.
    pub(crate) fn and_page(self, file: Option<PageFile<'a>>, page: impl FnOnce() -> Page) -> Self {
        let Some(file) = file else { return self };
        let page = page();
        self.and(move || file.write(&page))
    }
}

/// Writes to stdout. If nobody reads it, this is [`Failure::ReaderGone`], not a panic as with
/// `print!`.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::other(format!("cannot write to stdout: {e}")),
    })
}

/// Writes one line to stderr, however many `text` has. If even that fails, nobody is left to tell.
pub(crate) fn complain(text: &str) {
    say("befit:", text);
}

/// As [`complain`], of what ends the command: in red where there are colours.
pub(crate) fn cry(text: &str) {
    let red = manner().coloured(&io::stderr());
    say(if red { "\x1b[1;31mbefit:\x1b[0m" } else { "befit:" }, text);
}

fn say(who: &str, text: &str) {
    let _ = writeln!(io::stderr(), "{who} {}", text.lines().collect::<Vec<_>>().join(" "));
}

/// Writes to stderr as it is.
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
        let Some((path, file)) = self.0 else { return print(text) };
        file.commit(text.as_bytes()).map_err(|e| cannot_write(path, &e))
    }
}

/// A page beside the results.
#[derive(Args, Debug)]
pub(crate) struct PageArgs {
    /// A page with plots to write as well; it needs no network and appears whole or not at all.
    /// What draws it is built at the first time
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl PageArgs {
    /// As [`PageFile::open`].
    pub(crate) fn open(&self, progress: &dyn Progress) -> Result<Option<PageFile<'_>>, Failure> {
        PageFile::open(self.html.as_deref(), progress)
    }
}

/// A trace beside the results.
#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// A trace of one run under each scheduler to write as well, which https://ui.perfetto.dev
    /// opens; it appears whole or not at all
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl TraceArgs {
    /// Whether there is to be one.
    pub(crate) fn is_some(&self) -> bool {
        self.trace.is_some()
    }

    /// Opens its file.
    pub(crate) fn open(&self) -> Result<Option<Destination<'_>>, Failure> {
        self.trace.as_deref().map(|file| Destination::open(Some(file))).transpose()
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
    fn open(path: Option<&'a Path>, progress: &dyn Progress) -> Result<Option<Self>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let destination = Destination::open(Some(path))?;
        Ok(Some(Self { destination, drawer: Drawer::build(progress)? }))
    }

    pub(crate) fn write(self, page: &Page) -> Result<(), Failure> {
        self.destination.write(&self.drawer.draw(page)?)
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::other(format!("cannot write {}: {error}", path.display()))
}
