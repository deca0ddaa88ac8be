//! One run: a process, timed, counted, and asked for its statistics.

use std::{
    fs::{self, DirEntry, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use befit_counters::{Children, CountersError, Counts, Event, Quantity};
use befit_record::end_with_us;
use rustix::{
    io::Errno,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};

use super::{
    Interrupt,
    stats::{Document, Pool},
};
use crate::{LabError, Progress};

/// The number of bytes that are shown of a failed program's output: its end.
const SHOWN: u64 = 16 * 1024;

/// Bytes that must fit in the folder for temporary files: the statistics of many pools.
const ROOM: usize = 1 << 20;

/// The program to start, for messages.
pub(super) struct Child<'a> {
    pub(super) name: &'a str,
    pub(super) scheduler: &'static str,
    /// Its output goes to stderr.
    pub(super) show: bool,
}

/// The results of one run.
#[derive(Clone, Debug)]
pub(super) struct NativeRun {
    /// From start to end of the process.
    pub(super) process: Duration,
    /// Of it and all that it started.
    pub(super) pools: Vec<Pool>,
    pub(super) pools_left_out: u64,
    pub(super) counts: Counts,
    pub(super) events: Vec<Event>,
    pub(super) not_counted: Vec<String>,
}

impl NativeRun {
    /// The pool with the most threads, which stands for the program.
    pub(super) fn largest_pool(&self) -> Option<&Pool> {
        self.pools.iter().max_by_key(|pool| pool.threads)
    }
}

impl Child<'_> {
    /// Runs `command` to its end. `folder` is empty before and after.
    pub(super) fn run(
        &self,
        command: &mut Command,
        folder: &Path,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<NativeRun, LabError> {
        // Each process that befit runs in has a file of its own.
        command.env("BEFIT_STATS", folder.join("stats-%p.json"));
        // A file, unlike a pipe, needs no reader while the program runs.
        let mut said = tempfile::tempfile().map_err(LabError::no_temporary_file)?;
        if self.show {
            command.stdout(Stdio::from(io::stderr())).stderr(Stdio::inherit());
        } else {
            let stderr = said.try_clone().map_err(LabError::no_temporary_file)?;
            command.stdout(Stdio::null()).stderr(Stdio::from(stderr));
        }
        let mut counting = Counting::open();
        let (process, status) = self.wait(command, interrupt)?;
        if interrupt.is_raised() {
            return Err(LabError::Interrupted);
        }
        if !status.success() {
            progress.said(&tail(&mut said).map_err(LabError::no_temporary_file)?);
            let (name, scheduler) = (self.name.to_owned(), self.scheduler);
            return Err(LabError::CommandFailed { name, scheduler, status });
        }
        let (mut pools, mut pools_left_out) = (Vec::new(), 0);
        for document in documents(folder)? {
            pools.extend(document.pools);
            pools_left_out += document.pools_left_out;
        }
        if pools.is_empty() {
            // What cannot be written here could not be written there.
            room(folder)?;
            return Err(LabError::NoStatistics { name: self.name.to_owned() });
        }
        let counts = counting.read();
        Ok(NativeRun {
            process,
            pools,
            pools_left_out,
            counts,
            events: counting.events,
            not_counted: counting.refused,
        })
    }

    fn wait(
        &self,
        command: &mut Command,
        interrupt: &Interrupt,
    ) -> Result<(Duration, ExitStatus), LabError> {
        let failed = |why| LabError::Usage(format!("cannot start {}: {why}", self.name));
        // A group of its own can be ended with all that it starts. The terminal's Ctrl-C then
        // reaches only this process, which passes it on.
        command.process_group(0);
        if interrupt.is_raised() {
            return Err(LabError::Interrupted);
        }
        let start = Instant::now();
        let mut child = end_with_us(command).spawn().map_err(failed)?;
        let leader = Pid::from_child(&child);
        interrupt.begin(leader);
        // The child is waited for but not reaped, so that its number stays its own for as long as
        // it may be sent signals.
        while let Err(Errno::INTR) =
            waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        let took = start.elapsed();
        interrupt.end();
        Ok((took, child.wait().map_err(failed)?))
    }
}

/// Whether a program's statistics can be written to `folder`.
pub(super) fn room(folder: &Path) -> Result<(), LabError> {
    let file = folder.join("room");
    let written = fs::write(&file, [b' '; ROOM]);
    let removed = fs::remove_file(&file);
    written.and(removed).map_err(LabError::no_temporary_file)
}

/// The end of a program's output, in whole lines.
fn tail(said: &mut File) -> io::Result<String> {
    let length = said.seek(SeekFrom::End(0))?;
    said.seek(SeekFrom::Start(length.saturating_sub(SHOWN)))?;
    let mut bytes = Vec::new();
    said.read_to_end(&mut bytes)?;
    let cut = if length > SHOWN {
        bytes.iter().position(|b| *b == b'\n').map_or(0, |newline| newline + 1)
    } else {
        0
    };
    Ok(String::from_utf8_lossy(&bytes[cut..]).into_owned())
}

/// Reads the statistics in `folder`, and removes their files.
fn documents(folder: &Path) -> Result<Vec<Document>, LabError> {
    let entries = folder.read_dir().and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let entries = entries.map_err(|error| LabError::cannot_read(folder, error))?;
    let mut paths: Vec<_> = entries.iter().map(DirEntry::path).collect();
    paths.sort();
    let mut documents = Vec::new();
    for path in paths {
        // A process that was killed may have left a part of a file.
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path).map_err(|e| LabError::cannot_read(&path, e))?;
            let statistics = Document::read(&text);
            documents.push(statistics.map_err(|what| {
                LabError::Failed(format!("cannot read the program's statistics: {what}"))
            })?);
        }
        fs::remove_file(&path).map_err(|e| LabError::cannot_read(&path, e))?;
    }
    Ok(documents)
}

/// The counters of one child.
struct Counting {
    sources: Vec<Children>,
    events: Vec<Event>,
    refused: Vec<String>,
}

impl Counting {
    fn open() -> Self {
        let mut this = Self { sources: Vec::new(), events: Vec::new(), refused: Vec::new() };
        for opened in [Children::hardware(), Children::software()] {
            match opened {
                Ok(children) => {
                    this.events.extend_from_slice(children.events());
                    this.refused.extend(
                        children.left_out().iter().map(|(quantity, why)| left_out(*quantity, why)),
                    );
                    this.sources.push(children);
                }
                Err(why) => this.refused.push(why.to_string()),
            }
        }
        this
    }

    fn read(&mut self) -> Counts {
        let mut all: Option<Counts> = None;
        for source in &mut self.sources {
            match source.read() {
                Ok(counts) => all = Some(all.map_or(counts, |all| all.beside(counts))),
                Err(why) => {
                    self.events.retain(|event| !source.events().contains(event));
                    self.refused.push(why.to_string());
                }
            }
        }
        all.unwrap_or_default()
    }
}

fn left_out(quantity: Quantity, why: &CountersError) -> String {
    let why = why.to_string();
    if why.contains(&quantity.to_string()) { why } else { format!("{quantity}: {why}") }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_last_whole_lines_are_shown() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\n").unwrap();
        assert_eq!(tail(&mut file).unwrap(), "one\ntwo\n");
        for line in 0..5_000 {
            writeln!(file, "line {line}").unwrap();
        }
        let shown = tail(&mut file).unwrap();
        assert!(shown.starts_with("line ") && shown.ends_with("line 4999\n"), "{shown}");
        assert!(shown.len() as u64 <= SHOWN);
    }
}
