//! Builds a program from the events of a serial run.

use befit_machine::Bytes;

use crate::class::Places;
use crate::codec::Encoder;
use crate::lines::{LINE_LIMIT, Spans};
use crate::program::Cost;
use crate::site::{Origin, OriginTable};
use crate::spot::{Block, Seen, SpotEncoder};
use crate::strands::{Strand, StrandTable};
use crate::tables::{BlobTable, Blobs, Interner};
use crate::tree::TreeBuilder;
use crate::{
    Begin, Class, Declared, End, Meta, PlaceId, Program, RawTouch, ScopeId, Site, SiteId, Source,
    SpotId, TaskId, TreeError, Work,
};

/// So many lines of atomics are noted before those that came again are left out.
const LEAST_ATOMICS: usize = 1024;

/// Why the recorded events make no program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The forks, ends and syncs make no tree.
    #[error("cannot record this program: {0}")]
    Tree(#[from] TreeError),
    /// More than 2^32 different values in a table.
    #[error("cannot record this program: more than 2^32 different {0}")]
    TooMany(&'static str),
    /// It touched too many pages.
    #[error("cannot record this program: it touches more than 2^32 lines")]
    TooManyLines,
    /// A touch of a line that no address has.
    #[error("cannot record this program: it touches line {0:#x}, which no address has")]
    Line(u64),
    /// [`Meta::name`] is too long.
    #[error(
        "cannot record this program: its name is {0} bytes long, more than {max}",
        max = Meta::NAME_LIMIT
    )]
    Name(usize),
    /// [`Meta::line_size`] is none that a file may have.
    #[error(
        "cannot record this program: its lines are {0} long, not a power of two up to {max}",
        max = Meta::MOST_LINE_SIZE
    )]
    LineSize(Bytes),
    /// A touch or a block names a spot that there is not.
    #[error("cannot record this program: it names spot {0}, which there is not")]
    Spot(u32),
}

/// Builds a [`Program`] from the events of a serial, depth-first run.
///
/// Strands are implicit: touches and work between two events belong to one strand of the task that
/// runs; a strand with neither is left out.
///
/// ```
/// use befit_machine::Bytes;
/// use befit_program::{Declared, Meta, Op, ProgramBuilder, ScopeId, StrandId, TaskId};
///
/// // join(|| touch line 100, || touch line 200)
/// let meta = Meta { name: "join".into(), line_size: Bytes(64), filter: 2 };
/// let mut builder = ProgramBuilder::new(meta);
/// for line in [100, 200] {
///     builder.fork(ScopeId(1), Declared::default())?;
///     builder.touch(line, true, false);
///     builder.work(0, 1, 1);
///     builder.end()?;
/// }
/// builder.sync(ScopeId(1))?;
/// let program = builder.finish()?;
///
/// assert_eq!(program.tasks(), 3);
/// assert_eq!(program.ops(TaskId(2)).collect::<Vec<_>>(), [Op::Strand(StrandId(1))]);
/// assert_eq!(program.stats().span, 2);
/// # Ok::<(), befit_program::BuildError>(())
/// ```
#[derive(Debug)]
pub struct ProgramBuilder {
    meta: Meta,
    root_declared: Declared,
    tree: TreeBuilder,
    /// The recorder's scopes, numbered densely in the order in which they are first seen.
    scopes: Interner<u32>,
    declared: Interner<Declared>,
    origins: OriginTable,
    sites: Interner<Site>,
    /// By site.
    sources: Vec<Option<Source>>,
    encoder: Encoder,
    /// Lines of atomics, as they came.
    atomics: Vec<u64>,
    /// Of the strand that runs, without touches.
    cost: Work,
    costs: Interner<Cost>,
    classes: Interner<Class>,
    places: Places,
    /// The places of the open tasks.
    open: Vec<PlaceId>,
    /// What the strand that runs began with.
    begin: Begin,
    strands: StrandTable,
    blobs: BlobTable,
    spots: SpotEncoder,
    seen: Seen,
    /// First line and number of lines of each, as they came.
    blocks: Vec<(u64, u64, SpotId)>,
}

impl ProgramBuilder {
    /// Begins in the root task.
    pub fn new(meta: Meta) -> Self {
        let mut builder = Self {
            meta,
            root_declared: Declared::default(),
            tree: TreeBuilder::default(),
            scopes: Interner::default(),
            declared: Interner::default(),
            origins: OriginTable::default(),
            sites: Interner::default(),
            sources: vec![None],
            encoder: Encoder::new(),
            atomics: Vec::new(),
            cost: Work::default(),
            costs: Interner::default(),
            classes: Interner::default(),
            places: Places::default(),
            open: vec![PlaceId(0)],
            begin: Begin::Task(PlaceId(0)),
            strands: StrandTable::default(),
            blobs: BlobTable::default(),
            spots: SpotEncoder::new(),
            seen: Seen::default(),
            blocks: Vec::new(),
        };
        // Scope 0 is the whole program's; site 0 is unknown.
        builder.scopes.intern(0);
        builder.sites.intern(Site::default());
        builder
    }

    /// Sets the sizes that the root task declares; at any time.
    pub fn declare_root(&mut self, declared: Declared) {
        self.root_declared = declared;
    }

    /// The task that runs forks a child into `scope`: the events that follow are the child's, until
    /// its [`end`](Self::end).
    ///
    /// Scopes go by the recorder's own numbers, the first mention makes one; 0 is the whole
    /// program's. Any task may fork into a scope that an ancestor will wait for. Expected constant
    /// time.
    ///
    /// # Errors
    /// When a task that is no ancestor of the child has already waited for `scope`, or numbers run
    /// out.
    pub fn fork(&mut self, scope: ScopeId, declared: Declared) -> Result<TaskId, BuildError> {
        self.fork_from(scope, declared, SiteId(0), [])
    }

    /// The number of the place with this name, for [`fork_at`](Self::fork_at). A name of more than
    /// 2 KiB is cut.
    ///
    /// # Errors
    /// When numbers run out.
    pub fn place(&mut self, name: &str) -> Result<PlaceId, BuildError> {
        self.places.intern(name).ok_or(BuildError::TooMany("places"))
    }

    /// The number of this site, for [`fork_from`](Self::fork_from).
    ///
    /// # Errors
    /// When numbers run out.
    pub fn site(&mut self, site: Site) -> Result<SiteId, BuildError> {
        let site = self.sites.intern(site).ok_or(BuildError::TooMany("sites"))?;
        self.sources.resize(self.sites.table.len(), None);
        Ok(SiteId(site))
    }

    /// Tells at which line of the source the tasks of a site are forked. Names are cut to
    /// [`Source::LIMIT`].
    ///
    /// # Panics
    /// When there is no such site.
    pub fn source(&mut self, site: SiteId, source: Source) {
        self.sources[site.0 as usize] = Some(source.cut());
    }

    /// As [`fork`](Self::fork), of a child whose code is that of `place`.
    ///
    /// # Errors
    /// As [`fork`](Self::fork).
    pub fn fork_at(
        &mut self,
        scope: ScopeId,
        declared: Declared,
        place: PlaceId,
    ) -> Result<TaskId, BuildError> {
        let site = self.site(Site { place, ..Site::default() })?;
        self.fork_from(scope, declared, site, [])
    }

    /// As [`fork`](Self::fork), at `site`, of a child whose closure has captured `words`, each with
    /// its number; 0 stands for what is absent.
    ///
    /// # Errors
    /// As [`fork`](Self::fork).
    ///
    /// # Panics
    /// When there is no such site.
    pub fn fork_from(
        &mut self,
        scope: ScopeId,
        declared: Declared,
        site: SiteId,
        words: impl IntoIterator<Item = (u16, u64)>,
    ) -> Result<TaskId, BuildError> {
        let place = self.sites.table[site.0 as usize].place;
        self.end_strand(End::Fork(place))?;
        self.begin = Begin::Task(place);
        self.open.push(place);
        let declared =
            self.declared.intern(declared).ok_or(BuildError::TooMany("declared sizes"))?;
        let mut words: Vec<_> = words.into_iter().filter(|(_, word)| *word != 0).collect();
        if !words.is_sorted_by(|a, b| a.0 < b.0) {
            words.sort_by_key(|(number, _)| *number);
            words.dedup_by_key(|(number, _)| *number);
        }
        let origin = self.origins.intern(&Origin { declared, site, words });
        let origin = origin.ok_or(BuildError::TooMany("captured words"))?;
        let scope = self.scope(scope)?;
        Ok(self.tree.fork(scope, origin)?)
    }

    /// The task that runs ends; its parent goes on.
    ///
    /// # Errors
    /// When it is the root task, which [`finish`](Self::finish) ends.
    pub fn end(&mut self) -> Result<(), BuildError> {
        let place = self.running();
        self.end_strand(End::Task(place))?;
        self.tree.end()?;
        self.open.pop();
        self.begin = Begin::Child(place);
        Ok(())
    }

    /// The task that runs waits for all tasks forked in `scope` so far.
    ///
    /// # Errors
    /// When one of them does not descend from it: it might wait for ever.
    pub fn sync(&mut self, scope: ScopeId) -> Result<(), BuildError> {
        let place = self.running();
        self.end_strand(End::Sync(place))?;
        self.begin = Begin::Sync(place);
        let scope = self.scope(scope)?;
        Ok(self.tree.sync(scope)?)
    }

    /// The place of the task that runs.
    fn running(&self) -> PlaceId {
        self.open.last().copied().unwrap_or_default()
    }

    /// The dense number of a scope of the recorder's.
    fn scope(&mut self, scope: ScopeId) -> Result<ScopeId, BuildError> {
        self.scopes.intern(scope.0).map(ScopeId).ok_or(BuildError::TooMany("scopes"))
    }

    /// The strand that runs touches `line`: an address divided by 64 or, for the stack, lines below
    /// the stack's top.
    ///
    /// A few nanoseconds when the line continues a pattern. A line that no address has makes
    /// [`finish`](Self::finish) fail.
    #[inline]
    pub fn touch(&mut self, line: u64, write: bool, stack: bool) {
        self.encoder.touch(line, write, stack);
    }

    /// [`touch`](Self::touch), one after another.
    pub fn touches(&mut self, touches: &[RawTouch]) {
        for touch in touches {
            self.put(*touch);
        }
    }

    #[inline]
    fn put(&mut self, touch: RawTouch) {
        if touch.dependent() {
            self.encoder.dependent(touch.line());
        } else {
            self.encoder.touch(touch.line(), touch.write(), touch.stack());
        }
    }

    /// The number of the spot at this line of the source, for [`touch_at`](Self::touch_at). Each
    /// call makes one. Names are cut to [`Source::LIMIT`].
    ///
    /// # Errors
    /// When numbers run out.
    pub fn spot(&mut self, source: Source) -> Result<SpotId, BuildError> {
        let next = u32::try_from(self.seen.spots.len());
        self.seen.spots.push(Some(source.cut()));
        next.map(SpotId).map_err(|_| BuildError::TooMany("spots"))
    }

    /// As [`touch`](Self::touch), made at `spot`. Either all touches have spots or none. A spot
    /// that there is not makes [`finish`](Self::finish) fail.
    #[inline]
    pub fn touch_at(&mut self, line: u64, write: bool, stack: bool, spot: SpotId) {
        self.encoder.touch(line, write, stack);
        self.spots.put(spot);
    }

    /// [`touch_at`](Self::touch_at), one after another.
    ///
    /// # Panics
    /// When there are not as many spots as touches.
    pub fn touches_at(&mut self, touches: &[RawTouch], spots: &[SpotId]) {
        assert_eq!(touches.len(), spots.len(), "a spot for each touch");
        for (touch, spot) in touches.iter().zip(spots) {
            self.put(*touch);
            self.spots.put(*spot);
        }
    }

    /// The program has taken `lines` lines of memory from `first` on, at `spot`.
    ///
    /// A block ends where the next one begins, in the order of their lines, however short that one
    /// is; what it had behind that one's end belongs to none. Of two that begin at the same line
    /// the one that came later counts. A block without touched lines ends the one before it, too,
    /// and is left out. A spot that there is not makes [`finish`](Self::finish) fail.
    pub fn block(&mut self, first: u64, lines: u64, spot: SpotId) {
        self.blocks.push((first, lines, spot));
    }

    /// The program makes atomic read-modify-writes on `line`, which is not the stack's. Without a
    /// touch on its page this counts for nothing.
    pub fn atomic(&mut self, line: u64) {
        // A line may come with each operation on it.
        if self.atomics.len() == self.atomics.capacity() {
            self.atomics.sort_unstable();
            self.atomics.dedup();
            self.atomics.reserve(self.atomics.len().max(LEAST_ATOMICS));
        }
        self.atomics.push(line);
    }

    /// Adds to the cost of the strand that runs.
    #[inline]
    pub fn work(&mut self, loads: u64, stores: u64, blocks: u64) {
        self.cost = self.cost + Work { loads, stores, blocks, touches: 0 };
    }

    /// Touches and work since the last event become a strand, if there were any.
    fn end_strand(&mut self, end: End) -> Result<(), BuildError> {
        let touches = self.encoder.touches();
        if touches == 0 && self.cost == Work::default() {
            return Ok(());
        }
        self.encoder.end();
        self.spots.end();
        let (blob, new) = self
            .blobs
            .intern(&self.encoder.out, touches, &self.spots.out)
            .ok_or(BuildError::TooMany("blobs"))?;
        if !new {
            self.encoder.out.truncate(self.blobs.end());
            self.spots.out.truncate(self.blobs.spots_end());
        }
        let class = self.classes.intern(Class { begin: self.begin, end });
        let class = class.ok_or(BuildError::TooMany("classes"))?;
        let cost = self.costs.intern(Cost { work: std::mem::take(&mut self.cost), class });
        let cost = cost.ok_or(BuildError::TooMany("costs"))?;
        self.tree.strand()?;
        let known = self.strands.push(Strand { blob, cost });
        known.then_some(()).ok_or(BuildError::TooMany("strands"))
    }

    /// Ends the root task, and with it the program. Time for the touched pages; the touches are not
    /// visited again.
    ///
    /// # Errors
    /// When a task has not ended, a line that no address has was touched, a spot was named that
    /// there is not, a file cannot have the name or the line size, or numbers run out.
    pub fn finish(mut self) -> Result<Program, BuildError> {
        self.end_strand(End::Task(PlaceId(0)))?;
        if self.meta.name.len() > Meta::NAME_LIMIT {
            return Err(BuildError::Name(self.meta.name.len()));
        }
        let line_size = self.meta.line_size;
        if !line_size.0.is_power_of_two() || line_size > Meta::MOST_LINE_SIZE {
            return Err(BuildError::LineSize(line_size));
        }
        let of_blocks = self.blocks.iter().map(|(.., spot)| spot.0).max();
        let last = of_blocks.unwrap_or(0).max(self.spots.last);
        if last as usize >= self.seen.spots.len() {
            return Err(BuildError::Spot(last));
        }
        let tree = self.tree.finish()?;
        let stack_lines = self.encoder.stack_lines();
        let Encoder { out, pages, bad, .. } = self.encoder;
        if let Some(line) = bad {
            return Err(BuildError::Line(line));
        }
        let stretches = pages.stretches();
        if let Some(last) = stretches.last().filter(|last| last.first + last.lines > LINE_LIMIT) {
            return Err(BuildError::Line(last.first + last.lines - 1));
        }
        let spans = Spans::number(stretches).ok_or(BuildError::TooManyLines)?;
        let stack_lines = u32::try_from(stack_lines).map_err(|_| BuildError::TooManyLines)?;
        let dense = |line: u64| spans.find(line, &mut 0)?.dense(line);
        let mut atomics: Vec<u32> = self.atomics.into_iter().filter_map(dense).collect();
        atomics.sort_unstable();
        atomics.dedup();
        let blocks = dense_blocks(self.blocks, &spans);
        let spots = self.spots.out;
        let spot_ends = if spots.is_empty() { Vec::new() } else { self.blobs.spot_ends };
        Ok(Program {
            meta: self.meta,
            root_declared: self.root_declared,
            tree,
            declared: self.declared.table,
            sizes_from: Default::default(),
            origins: self.origins.origins,
            sites: self.sites.table,
            sources: self.sources,
            strands: self.strands.finish(),
            costs: self.costs.table,
            places: self.places.names,
            classes: self.classes.table,
            work_run: None,
            blobs: Blobs { bytes: out, table: self.blobs.table, spots, spot_ends }.into(),
            spans,
            atomics,
            stack_lines,
            seen: Seen { blocks, ..self.seen },
            hot: Default::default(),
            taken: Default::default(),
        })
    }
}

/// The blocks that have lines in `spans`, ascending, each ended where the next one begins, be that
/// one in `spans` or not.
fn dense_blocks(mut blocks: Vec<(u64, u64, SpotId)>, spans: &Spans) -> Vec<Block> {
    // Stable: of two with one beginning the later stays the later.
    blocks.sort_by_key(|(first, ..)| *first);
    let mut dense: Vec<Block> = Vec::new();
    for (first, lines, spot) in blocks {
        let (begin, end) = (spans.below(first), spans.below(first.saturating_add(lines)));
        if let Some(last) = dense.last_mut() {
            last.lines = last.lines.min(begin - last.first);
        }
        dense.pop_if(|last| last.lines == 0);
        if end > begin {
            dense.push(Block { first: begin, lines: end - begin, spot });
        }
    }
    dense
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_atomics_takes_room_once_however_often_it_comes() {
        let meta = Meta { name: "some".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        for i in 0..100 * LEAST_ATOMICS as u64 {
            builder.touch(i % 3, true, false);
            builder.atomic(i % 3);
        }
        assert!(builder.atomics.capacity() <= 4 * LEAST_ATOMICS, "{}", builder.atomics.capacity());
        assert_eq!(builder.finish().unwrap().atomics().len(), 3);
    }
}
