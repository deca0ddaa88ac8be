//! From a file to a program; nothing in the file is trusted.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use befit_machine::Bytes;

use super::check::{check_blobs, check_spots};
use super::chunk::ChunkReader;
use super::{
    MAGIC, ReadError, Section, VERSION, WITH_EIGHT_WORDS, WITHOUT_ATOMICS, WITHOUT_PLACES,
    WITHOUT_SITES, WITHOUT_SPOTS,
};
use crate::class::PLACE_LIMIT;
use crate::lines::{LINE_LIMIT, PAGE_LINES, Span, Spans};
use crate::program::{Cost, Program};
use crate::site::{self, Origin, Origins, Words};
use crate::spot::{Block, Seen, SpotId};
use crate::strands::{Strand, StrandTable};
use crate::tables::{Blob, Blobs};
use crate::tree::TreeBuilder;
use crate::varint::Cursor;
use crate::{
    Begin, Class, ClassWork, Declared, End, Meta, PlaceId, ScopeId, Site, SiteId, Source, Work,
    WorkRun,
};

impl Program {
    /// [`read`](Self::read)s the file `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when the file cannot be opened.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| ReadError::Open(path.into(), error))?;
        Self::read(BufReader::new(file))
    }

    /// Reads a program that [`write`](Self::write) has written, and trusts nothing of it: memory
    /// grows only as the bytes read prove good.
    ///
    /// # Errors
    /// When it is no program, is damaged or cut off, or is of another version; the error says
    /// where.
    pub fn read(mut from: impl Read) -> Result<Self, ReadError> {
        let mut prelude = Vec::new();
        let read = (&mut from).take(12).read_to_end(&mut prelude);
        read.map_err(|error| ReadError::Io(0, error))?;
        let version = prelude.strip_prefix(&MAGIC).ok_or(ReadError::NotAProgram)?;
        let truncated = ReadError::Truncated { section: Section::Meta.name(), offset: 0 };
        let version = u32::from_le_bytes(*version.first_chunk().ok_or(truncated)?);
        if !(WITHOUT_PLACES..=VERSION).contains(&version) {
            return Err(ReadError::Version(version));
        }

        let mut chunks = ChunkReader::new(from, prelude.len() as u64);
        let mut loading = Loading::new(version);
        loop {
            let offset = chunks.offset;
            let (section, raw) = chunks.next()?;
            let invalid =
                |(section, what): (Section, String)| section.fault("invalid", offset, what);
            if section != Section::End {
                loading.add(section, &raw).map_err(|what| invalid((section, what)))?;
                continue;
            }
            let program = loading.finish().map_err(invalid)?;
            let mut cursor = Cursor::new(&raw);
            if !totals(&program, version).into_iter().all(|total| cursor.varint() == Some(total))
                || !cursor.is_empty()
            {
                let what = "the totals are not those of what was read";
                return Err(section.fault("invalid", offset, what));
            }
            return match chunks.at_end()? {
                true => Ok(program),
                false => Err(ReadError::Trailing(chunks.offset)),
            };
        }
    }
}

/// The totals, as the end section holds them.
pub(super) fn totals(program: &Program, version: u32) -> Vec<u64> {
    let mut totals = vec![
        program.tasks().into(),
        program.strands().into(),
        program.scopes().into(),
        program.lines().into(),
        program.stack_lines().into(),
        program.declared.len() as u64,
        program.costs.len() as u64,
        program.blobs.table.len() as u64,
        program.total_touches(),
    ];
    if version > WITHOUT_PLACES {
        totals.extend([program.places.len() as u64, program.classes.len() as u64]);
    }
    if version > WITHOUT_SITES {
        totals.extend([program.sites.len() as u64, program.origins.len() as u64]);
    }
    if version > WITHOUT_ATOMICS {
        totals.push(program.atomics.len() as u64);
    }
    if version > WITHOUT_SPOTS {
        let Seen { spots, blocks } = &program.seen;
        totals.extend([spots.len() as u64, blocks.len() as u64, program.blobs.spots.len() as u64]);
    }
    totals
}

const CUT: &str = "a record is cut off";

/// The tables of a program as they grow.
#[derive(Default)]
struct Loading {
    meta: Option<Meta>,
    root_declared: Declared,
    stack_lines: u32,
    stretches: Vec<Span>,
    atomics: Vec<u32>,
    declared: Vec<Declared>,
    version: u32,
    places: Vec<Box<str>>,
    sites: Vec<Site>,
    sources: Vec<Option<Source>>,
    origins: Origins,
    classes: Vec<Class>,
    work_run: Option<WorkRun>,
    costs: Vec<Cost>,
    blobs: Blobs,
    seen: Seen,
    tree: TreeBuilder,
    strands: StrandTable,
    /// Table entries used so far: a step may name these, or the next one.
    used_origins: u32,
    used_blobs: u32,
    used_costs: u32,
    ended: bool,
}

impl Loading {
    fn new(version: u32) -> Self {
        let sites = vec![Site::default()];
        let mut new = Self { version, sites, sources: vec![None], ..Self::default() };
        if version == WITHOUT_PLACES {
            new.places.push("".into());
            new.classes.push(Class::UNKNOWN);
        }
        new
    }

    /// Takes a chunk, which holds whole records.
    fn add(&mut self, section: Section, raw: &[u8]) -> Result<(), String> {
        if (section == Section::Meta) != self.meta.is_none() {
            return Err("there must be one chunk of the meta section, the first".into());
        }
        let since = match section {
            Section::Places | Section::Classes | Section::Work => WITHOUT_PLACES + 1,
            Section::Sites | Section::Origins => WITHOUT_SITES + 1,
            Section::Atomics => WITHOUT_ATOMICS + 1,
            Section::Spots | Section::Blocks => WITHOUT_SPOTS + 1,
            Section::SpotIndex | Section::TouchSpots => WITHOUT_SPOTS + 1,
            _ => WITHOUT_PLACES,
        };
        if self.version < since {
            return Err(format!("version {} has no such section", self.version));
        }
        if section == Section::Blobs {
            self.blobs.bytes.extend_from_slice(raw);
            return Ok(());
        }
        if section == Section::TouchSpots {
            self.blobs.spots.extend_from_slice(raw);
            return Ok(());
        }
        let mut cursor = Cursor::new(raw);
        while !cursor.is_empty() {
            match section {
                Section::Meta => self.meta(&mut cursor)?,
                Section::Spans => self.span(&mut cursor)?,
                Section::Atomics => self.atomic(&mut cursor)?,
                Section::Declared => self.declared(&mut cursor)?,
                Section::Costs => self.cost(&mut cursor)?,
                Section::Places => self.places.push(text(&mut cursor, PLACE_LIMIT)?.into()),
                Section::Sites => self.site(&mut cursor)?,
                Section::Origins => self.origin(&mut cursor)?,
                Section::Spots => self.seen.spots.push(source(&mut cursor)?),
                Section::Blocks => self.block(&mut cursor)?,
                Section::SpotIndex => self.spots(&mut cursor)?,
                Section::Classes => self.class(&mut cursor)?,
                Section::Work => self.work(&mut cursor)?,
                Section::Index => self.blob(&mut cursor)?,
                Section::Tree => self.step(&mut cursor)?,
                Section::Blobs | Section::TouchSpots | Section::End => {}
            }
        }
        Ok(())
    }

    fn meta(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        if self.meta.is_some() {
            return Err("bytes follow the name".into());
        }
        let line_size = Bytes(cursor.varint().ok_or(CUT)?);
        if !line_size.0.is_power_of_two() {
            return Err(format!("lines of {} bytes: no power of two", line_size.0));
        }
        if line_size > Meta::MOST_LINE_SIZE {
            return Err(format!("lines of {} bytes: too long", line_size.0));
        }
        let small = |n: Option<u64>| {
            u32::try_from(n.ok_or(CUT)?).map_err(|_| "a number does not fit 32 bits")
        };
        let filter = small(cursor.varint())?;
        self.stack_lines = small(cursor.varint())?;
        self.root_declared = declared(cursor)?;
        let len = small(cursor.varint())? as usize;
        if len > Meta::NAME_LIMIT {
            return Err(format!("a name of {len} bytes is too long"));
        }
        let name = std::str::from_utf8(cursor.take(len).ok_or(CUT)?)
            .map_err(|_| "the name is not UTF-8")?;
        self.meta = Some(Meta { name: name.into(), line_size, filter });
        Ok(())
    }

    fn declared(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let next = self.declared.len() as u32;
        self.declared.push(declared(cursor)?);
        if self.version <= WITHOUT_SITES {
            // A step names what its child declares, and nothing else.
            let words = Words::default();
            self.origins.push(&Origin { declared: next, site: SiteId(0), words });
        }
        Ok(())
    }

    fn site(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let place = index(cursor, self.places.len(), "a site names a place that there is not")?;
        let bytes = u32::try_from(cursor.varint().ok_or(CUT)?);
        let bytes = bytes.map_err(|_| "a number does not fit 32 bits")?;
        let index = cursor.byte().ok_or(CUT)?;
        self.sites.push(Site { place: PlaceId(place), bytes, index });
        self.sources.push(source(cursor)?);
        Ok(())
    }

    fn block(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let end = self.seen.blocks.last().map_or(0, |last| last.first + last.lines);
        let mut next = || u32::try_from(cursor.varint().ok_or(CUT)?).map_err(|_| "it is too large");
        let (gap, lines) = (next()?, next()?);
        let first = end.checked_add(gap).filter(|first| first.checked_add(lines).is_some());
        let first = first.filter(|_| lines > 0).ok_or("a block is empty, or beyond all lines")?;
        let what = "a block names a spot that there is not";
        let spot = SpotId(index(cursor, self.seen.spots.len(), what)?);
        self.seen.blocks.push(Block { first, lines, spot });
        Ok(())
    }

    fn spots(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        if self.blobs.spot_ends.len() == self.blobs.table.len() {
            return Err("it has more entries than there are blobs".into());
        }
        let begin = self.blobs.spot_ends.last().map_or(0, |last| *last);
        let end = begin.checked_add(cursor.varint().ok_or(CUT)?);
        self.blobs.spot_ends.push(end.ok_or("the spots are longer than any memory")?);
        Ok(())
    }

    fn origin(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let what = "an origin names a declared size that there is not";
        let declared = index(cursor, self.declared.len(), what)?;
        let what = "an origin names a site that there is not";
        let site = SiteId(index(cursor, self.sites.len(), what)?);
        let words = match self.version {
            ..=WITH_EIGHT_WORDS => site::unpack_eight(cursor),
            _ => site::unpack(cursor),
        };
        let words = words.ok_or("captured words are cut off, or 0, or have no number")?;
        self.origins.push(&Origin { declared, site, words });
        Ok(())
    }

    fn class(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let kinds = cursor.byte().ok_or(CUT)?;
        let mut place = || {
            index(cursor, self.places.len(), "a class names a place that there is not").map(PlaceId)
        };
        let (first, last) = (place()?, place()?);
        let begin = match kinds % 3 {
            0 => Begin::Task(first),
            1 => Begin::Child(first),
            _ => Begin::Sync(first),
        };
        let end = match kinds / 3 {
            0 => End::Fork(last),
            1 => End::Sync(last),
            2 => End::Task(last),
            _ => return Err("unknown kind of class".into()),
        };
        self.classes.push(Class { begin, end });
        Ok(())
    }

    fn work(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let Some(run) = &mut self.work_run else {
            let mhz = u32::try_from(cursor.varint().ok_or(CUT)?);
            self.work_run = Some(WorkRun {
                host_mhz: mhz.map_err(|_| "a number does not fit 32 bits")?,
                host_operation: positive(cursor)?,
                faults_per_page: Some(positive(cursor)?)
                    .filter(|faults| *faults <= WorkRun::MOST_FAULTS)
                    .ok_or("more than a million page faults for each page")?,
                recorded: if self.version > WITHOUT_SPOTS { positive(cursor)? } else { 0.0 },
                host: text(cursor, WorkRun::HOST_LIMIT)?.into(),
                classes: Vec::new(),
            });
            return Ok(());
        };
        if run.classes.len() == self.classes.len() {
            return Err("it has more entries than there are classes".into());
        }
        let work = match cursor.byte().ok_or(CUT)? {
            0 => None,
            1 => Some(ClassWork {
                ps_per_operation: positive(cursor)?,
                spread: positive(cursor)?,
                strands: cursor.varint().ok_or(CUT)?,
            }),
            _ => return Err("unknown kind of work".into()),
        };
        run.classes.push(work);
        Ok(())
    }

    fn cost(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let mut next = || cursor.varint().ok_or(CUT);
        let work = Work { loads: next()?, stores: next()?, blocks: next()?, touches: 0 };
        let class = if self.version == WITHOUT_PLACES { 0 } else { next()? };
        let class = u32::try_from(class).ok().filter(|&n| (n as usize) < self.classes.len());
        let class = class.ok_or("a cost names a class that there is not")?;
        self.costs.push(Cost { work, class });
        Ok(())
    }

    fn span(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let gap = cursor.varint().ok_or(CUT)?;
        let pages = cursor.varint().ok_or(CUT)?;
        let end = self.stretches.last().map(|last| last.first + last.lines);
        if pages == 0 || gap == 0 && end.is_some() {
            return Err("a stretch is empty, or touches the one before it".into());
        }
        let limit = LINE_LIMIT / PAGE_LINES;
        if gap > limit
            || pages > limit
            || end.unwrap_or(0) + (gap + pages) * PAGE_LINES > LINE_LIMIT
        {
            return Err("a stretch lies beyond the last address".into());
        }
        self.stretches.push(Span {
            first: end.unwrap_or(0) + gap * PAGE_LINES,
            lines: pages * PAGE_LINES,
            dense: 0,
        });
        Ok(())
    }

    fn atomic(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let gap = u32::try_from(cursor.varint().ok_or(CUT)?).ok();
        let next = self.atomics.last().map_or(Some(0), |last| last.checked_add(1));
        let line = next.zip(gap).and_then(|(next, gap)| next.checked_add(gap));
        self.atomics.push(line.ok_or("a line of atomics does not fit 32 bits")?);
        Ok(())
    }

    fn blob(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        if self.blobs.table.len() >= u32::MAX as usize {
            return Err("more blobs than can be numbered".into());
        }
        let len = cursor.varint().ok_or(CUT)?;
        let touches = cursor.varint().ok_or(CUT)?;
        let begin = self.blobs.table.last().map_or(0, |last| last.end);
        let end = begin.checked_add(len).ok_or("the blobs are longer than any memory")?;
        self.blobs.table.push(Blob { end, touches });
        Ok(())
    }

    fn step(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        if self.ended {
            return Err("steps follow the root task's end".into());
        }
        let word = cursor.varint().ok_or(CUT)?;
        let back = word >> 2;
        match word & 3 {
            0 if back == 0 => match self.tree.end() {
                Err(crate::TreeError::EndOfRoot) => self.ended = true,
                other => other.map_err(|error| error.to_string())?,
            },
            0 => return Err("unknown step".into()),
            1 => self.tree.sync(self.scope(back)?).map_err(|error| error.to_string())?,
            2 => {
                let blob = number(&mut self.used_blobs, back, self.blobs.table.len(), "blob")?;
                let back = cursor.varint().ok_or(CUT)?;
                let cost = number(&mut self.used_costs, back, self.costs.len(), "cost")?;
                self.tree.strand().map_err(|error| error.to_string())?;
                let known = self.strands.push(Strand { blob, cost });
                known.then_some(()).ok_or("more different strands than can be numbered")?;
            }
            _ => {
                let scope = self.scope(back)?;
                let back = cursor.varint().ok_or(CUT)?;
                let origin = number(&mut self.used_origins, back, self.origins.len(), "origin")?;
                self.tree.fork(scope, origin).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// The scope so many numbers below the next new one.
    fn scope(&self, back: u64) -> Result<ScopeId, String> {
        let back = u32::try_from(back).ok().and_then(|back| self.tree.scopes().checked_sub(back));
        Ok(ScopeId(back.ok_or("a step names a scope before the first")?))
    }

    /// Checks that the sections agree with one another.
    fn finish(self) -> Result<Program, (Section, String)> {
        let meta = self.meta.ok_or_else(|| (Section::Meta, "there is none".to_string()))?;
        if !self.ended {
            return Err((Section::Tree, "the root task does not end".into()));
        }
        if self.work_run.as_ref().is_some_and(|run| run.classes.len() != self.classes.len()) {
            return Err((Section::Work, "it has no entry for some classes".into()));
        }
        let tree = self.tree.finish().map_err(|error| (Section::Tree, error.to_string()))?;
        let spans = Spans::number(self.stretches).ok_or_else(|| {
            (Section::Spans, "the touched stretches have more than 2^32 lines".to_string())
        })?;
        if self.atomics.last().is_some_and(|line| *line >= spans.lines) {
            return Err((Section::Atomics, "a line of atomics is in no touched stretch".into()));
        }
        let blobs = self.blobs;
        if blobs.table.last().map_or(0, |last| last.end) != blobs.bytes.len() as u64 {
            return Err((Section::Blobs, "the blobs are not as long as the index says".into()));
        }
        check_blobs(&blobs, &spans, self.stack_lines).map_err(|what| (Section::Blobs, what))?;
        let what = check_spots(&blobs, self.seen.spots.len());
        what.map_err(|what| (Section::TouchSpots, what.to_owned()))?;
        if self.seen.blocks.last().is_some_and(|last| last.first + last.lines > spans.lines) {
            return Err((Section::Blocks, "a block is in no touched stretch".into()));
        }
        Ok(Program {
            meta,
            root_declared: self.root_declared,
            tree,
            declared: self.declared,
            sizes_from: Default::default(),
            origins: self.origins,
            sites: self.sites,
            sources: self.sources,
            strands: self.strands.finish(),
            costs: self.costs,
            places: self.places,
            classes: self.classes,
            work_run: self.work_run,
            blobs: blobs.into(),
            spans,
            atomics: self.atomics,
            stack_lines: self.stack_lines,
            seen: self.seen,
            hot: Default::default(),
            taken: Default::default(),
        })
    }
}

/// A line of the source, or none.
fn source(cursor: &mut Cursor) -> Result<Option<Source>, String> {
    match cursor.byte().ok_or(CUT)? {
        0 => Ok(None),
        1 => Ok(Some(Source {
            file: text(cursor, Source::LIMIT)?.into(),
            line: u32::try_from(cursor.varint().ok_or(CUT)?)
                .map_err(|_| "a number does not fit 32 bits")?,
            function: text(cursor, Source::LIMIT)?.into(),
        })),
        _ => Err("unknown kind of source".into()),
    }
}

fn declared(cursor: &mut Cursor) -> Result<Declared, String> {
    let flags = cursor.byte().ok_or(CUT)?;
    if flags > 3 {
        return Err("unknown kind of declared size".into());
    }
    let mut size = |bit| {
        if flags & bit == 0 { Ok(None) } else { cursor.varint().map(|n| Some(Bytes(n))).ok_or(CUT) }
    };
    Ok(Declared { size: size(1)?, strand: size(2)? })
}

/// An index into a table of `len`.
fn index(cursor: &mut Cursor, len: usize, what: &str) -> Result<u32, String> {
    let index = u32::try_from(cursor.varint().ok_or(CUT)?).ok();
    index.filter(|&index| (index as usize) < len).ok_or_else(|| what.into())
}

/// A name of at most `most` bytes.
fn text<'a>(cursor: &mut Cursor<'a>, most: usize) -> Result<&'a str, String> {
    let len = cursor.varint().ok_or(CUT)?;
    let len = usize::try_from(len).ok().filter(|&len| len <= most);
    let len = len.ok_or_else(|| format!("a name of more than {most} bytes"))?;
    let text = std::str::from_utf8(cursor.take(len).ok_or(CUT)?);
    text.map_err(|_| "a name is not UTF-8".into())
}

/// A number of eight bytes that is finite and not negative.
fn positive(cursor: &mut Cursor) -> Result<f64, String> {
    let number = f64::from_bits(cursor.little::<8>().ok_or(CUT)?);
    let good = number.is_finite() && number >= 0.0;
    if good { Ok(number) } else { Err("a number is negative or not finite".into()) }
}

/// The number so far below the next new one, which must be in a table of `len`.
fn number(next: &mut u32, back: u64, len: usize, what: &str) -> Result<u32, String> {
    let number = u32::try_from(back).ok().and_then(|back| next.checked_sub(back));
    let number = number.filter(|&number| (number as usize) < len);
    let number = number.ok_or_else(|| format!("a step names a {what} that there is not"))?;
    *next = (*next).max(number + 1);
    Ok(number)
}
