//! From a program to a file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::chunk::{ChunkWriter, RAW_LIMIT};
use super::{MAGIC, Section, VERSION, WriteError, write_whole};
use crate::lines::PAGE_LINES;
use crate::program::Program;
use crate::site::{self, Source};
use crate::strands::Strand;
use crate::tree::Step;
use crate::varint;
use crate::{Begin, Class, ClassWork, Declared, End, WorkRun};

impl Program {
    /// Writes the program in the format that FORMAT.md specifies.
    ///
    /// # Errors
    /// When `to` cannot be written.
    pub fn write(&self, mut to: impl Write) -> Result<(), WriteError> {
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        let mut chunks = ChunkWriter::new(to);
        chunks.write(Section::Meta, &meta(self))?;

        let mut end = 0;
        records(&mut chunks, Section::Spans, &self.spans.table, |out, span| {
            varint::put(out, (span.first - end) / PAGE_LINES);
            varint::put(out, span.lines / PAGE_LINES);
            end = span.first + span.lines;
        })?;
        let mut next = 0;
        records(&mut chunks, Section::Atomics, &self.atomics, |out, line| {
            varint::put(out, u64::from(line - next));
            next = line + 1;
        })?;
        records(&mut chunks, Section::Declared, &self.declared, |out, &it| declared(out, it))?;
        records(&mut chunks, Section::Places, &self.places, |out, name| text(out, name))?;
        // The first is unknown.
        let sites = self.sites.iter().zip(&self.sources).skip(1);
        records(&mut chunks, Section::Sites, sites, |out, (site, at)| {
            varint::put(out, site.place.0.into());
            varint::put(out, site.bytes.into());
            out.push(site.index);
            source(out, at.as_ref());
        })?;
        records(&mut chunks, Section::Origins, self.origins.iter(), |out, origin| {
            varint::put(out, origin.declared.into());
            varint::put(out, origin.site.0.into());
            site::pack(out, &origin.words);
        })?;
        let spots = self.seen.spots.iter().skip(1);
        records(&mut chunks, Section::Spots, spots, |out, at| source(out, at.as_ref()))?;
        let mut end = 0;
        records(&mut chunks, Section::Blocks, &self.seen.blocks, |out, block| {
            varint::put(out, u64::from(block.first - end));
            varint::put(out, block.lines.into());
            varint::put(out, block.spot.0.into());
            end = block.first + block.lines;
        })?;
        records(&mut chunks, Section::Classes, &self.classes, class)?;
        if let Some(run) = &self.work_run {
            let lines = std::iter::once(None).chain(run.classes.iter().map(Some));
            records(&mut chunks, Section::Work, lines, |out, line| match line {
                None => head(out, run),
                Some(work) => class_work(out, work.as_ref()),
            })?;
        }
        records(&mut chunks, Section::Costs, &self.costs, |out, it| {
            let class = it.class.into();
            [it.work.loads, it.work.stores, it.work.blocks, class]
                .into_iter()
                .for_each(|n| varint::put(out, n));
        })?;
        let mut begin = 0;
        records(&mut chunks, Section::Index, &self.blobs.table, |out, blob| {
            varint::put(out, blob.end - begin);
            varint::put(out, blob.touches);
            begin = blob.end;
        })?;
        for part in self.blobs.bytes.chunks(RAW_LIMIT) {
            chunks.write(Section::Blobs, part)?;
        }
        let mut begin = 0;
        records(&mut chunks, Section::SpotIndex, &self.blobs.spot_ends, |out, end| {
            varint::put(out, end - begin);
            begin = *end;
        })?;
        for part in self.blobs.spots.chunks(RAW_LIMIT) {
            chunks.write(Section::TouchSpots, part)?;
        }
        let mut numbers = Numbers { scope: 1, origin: 0, blob: 0, cost: 0 };
        records(&mut chunks, Section::Tree, self.tree.serial(), |out, step| {
            numbers.put(self, out, step)
        })?;
        chunks.write(Section::End, &totals(self))?;
        chunks.into_inner().flush()?;
        Ok(())
    }

    /// Writes the file `path`, which appears whole or not at all. A device or a pipe is written to
    /// as it is.
    ///
    /// # Errors
    /// When the file cannot be written; the error names it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        let path = path.as_ref();
        let written = write_whole(path, |file| {
            self.write(BufWriter::new(&*file))?;
            // A device or a pipe has nothing to keep.
            if file.metadata()?.is_file() {
                file.sync_all()?;
            }
            Ok::<_, WriteError>(())
        });
        written.map_err(|error| match error {
            WriteError::Io(error) => WriteError::Save(path.into(), error),
            other => other,
        })
    }
}

fn meta(program: &Program) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put(&mut out, program.meta.line_size.0);
    varint::put(&mut out, program.meta.filter.into());
    varint::put(&mut out, program.stack_lines.into());
    declared(&mut out, program.root_declared);
    varint::put(&mut out, program.meta.name.len() as u64);
    out.extend(program.meta.name.as_bytes());
    out
}

/// Counts that the reader holds against its own.
fn totals(program: &Program) -> Vec<u8> {
    let mut out = Vec::new();
    super::read::totals(program, super::VERSION).into_iter().for_each(|n| varint::put(&mut out, n));
    out
}

fn declared(out: &mut Vec<u8>, Declared { size, strand }: Declared) {
    out.push(u8::from(size.is_some()) | u8::from(strand.is_some()) << 1);
    [size, strand].into_iter().flatten().for_each(|bytes| varint::put(out, bytes.0));
}

fn text(out: &mut Vec<u8>, text: &str) {
    varint::put(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn source(out: &mut Vec<u8>, source: Option<&Source>) {
    out.push(source.is_some().into());
    if let Some(Source { file, line, function }) = source {
        text(out, file);
        varint::put(out, (*line).into());
        text(out, function);
    }
}

fn class(out: &mut Vec<u8>, class: &Class) {
    let begin = match class.begin {
        Begin::Task(_) => 0,
        Begin::Child(_) => 1,
        Begin::Sync(_) => 2,
    };
    let end = match class.end {
        End::Fork(_) => 0,
        End::Sync(_) => 1,
        End::Task(_) => 2,
    };
    out.push(begin + 3 * end);
    varint::put(out, class.begin.place().0.into());
    varint::put(out, class.end.place().0.into());
}

fn head(out: &mut Vec<u8>, run: &WorkRun) {
    varint::put(out, run.host_mhz.into());
    out.extend(run.host_operation.to_le_bytes());
    out.extend(run.faults_per_page.to_le_bytes());
    out.extend(run.recorded.to_le_bytes());
    text(out, &run.host);
}

fn class_work(out: &mut Vec<u8>, work: Option<&ClassWork>) {
    out.push(work.is_some().into());
    if let Some(work) = work {
        out.extend(work.ps_per_operation.to_le_bytes());
        out.extend(work.spread.to_le_bytes());
        varint::put(out, work.strands);
    }
}

/// Writes records into chunks, none of them across two. Each has room in one: the longest is an
/// origin with 2^16 captured words, which take eleven bytes each.
fn records<W: Write, T>(
    chunks: &mut ChunkWriter<W>,
    section: Section,
    records: impl IntoIterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) -> io::Result<()> {
    let mut raw = Vec::new();
    for record in records {
        let before = raw.len();
        put(&mut raw, record);
        if raw.len() > RAW_LIMIT {
            chunks.write(section, &raw[..before])?;
            raw.drain(..before);
        }
    }
    chunks.write(section, &raw)
}

/// The next new number of each kind: steps name things by how far below it they are, 0 for a new
/// one.
struct Numbers {
    scope: u32,
    origin: u32,
    blob: u32,
    cost: u32,
}

impl Numbers {
    fn put(&mut self, program: &Program, out: &mut Vec<u8>, step: Step) {
        /// The distance from `next` down to `number`; a new number counts `next` up.
        fn back(next: &mut u32, number: u32) -> u64 {
            let back = next.saturating_sub(number);
            *next = (*next).max(number + 1);
            back.into()
        }
        match step {
            Step::End(_) => out.push(0),
            Step::Sync(scope) => varint::put(out, back(&mut self.scope, scope.0) << 2 | 1),
            Step::Strand(strand) => {
                let Strand { blob, cost } = program.strands.get(strand);
                varint::put(out, back(&mut self.blob, blob) << 2 | 2);
                varint::put(out, back(&mut self.cost, cost));
            }
            Step::Fork { child, scope } => {
                varint::put(out, back(&mut self.scope, scope.0) << 2 | 3);
                varint::put(
                    out,
                    back(&mut self.origin, program.tree.origins.get(child.0 as usize)),
                );
            }
        }
    }
}
