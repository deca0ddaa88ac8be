//! Makes a program of the recorded process's stream, without trusting it.

use std::{collections::HashMap, io};

use befit_machine::Bytes;
use befit_program::{
    Declared, Meta, ProgramBuilder, RawTouch, ScopeId, Site, SiteId, Source, SpotId, TaskId,
};

use super::{
    Recording,
    stream::{self, MAGIC, Stream, VERSION},
};

#[cfg(test)]
mod tests;

/// The fault of a stream. Places are numbers of its 64-bit words, from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// Reading failed.
    #[error("cannot read what the recorded process writes: {0}")]
    Io(#[from] io::Error),
    /// Nothing was written.
    #[error(
        "it wrote no recording: was it built with instrumentation (`befit record` does so), and \
         does it use befit?"
    )]
    Empty,
    /// It ran, but entered no region.
    #[error("nothing was recorded: it never called ThreadPool::install, join, scope or spawn")]
    NoRegion,
    /// It does not begin as a stream does.
    #[error("what it wrote is not a recording")]
    NotARecording,
    /// It was built with another version of befit.
    #[error(
        "it was built with a befit that writes version {0} of the stream, and this one reads \
         version {VERSION}: build it again"
    )]
    Version(u8),
    /// The process ended in the middle of a region, or of a word.
    #[error(
        "the recording ends too early, after word {0}: the process ended before its parallel part \
         did"
    )]
    Truncated(u64),
    /// An event that this version does not know.
    #[error("the recording is damaged: word {0} ({1:#018x}) is no event")]
    UnknownEvent(u64, u64),
    /// Something that may not stand there.
    #[error("the recording is damaged: {1} at word {0}")]
    Damaged(u64, &'static str),
    /// The recorder gave up.
    #[error("the recorder gave up: {0}")]
    GaveUp(&'static str),
    /// The timed run does not fork as the recorded one did.
    #[error("the program differs from run to run: it does not fork as it did when recorded")]
    Differs(u64),
    /// Events that are no task tree.
    #[error("the recording is damaged at word {0}: {1}")]
    Tree(u64, befit_program::BuildError),
}

/// Makes a program called `name` of a stream that an instrumented program wrote (README.md, "The
/// stream"), without the lines of its source. [`record`](super::record) does this beside the
/// program that writes.
///
/// Takes time linear in the stream's words, and memory linear in its events and distinct lines.
///
/// # Errors
/// [`StreamError`], which names the word that does not fit.
pub fn read_stream(from: impl io::Read, name: &str) -> Result<Recording, StreamError> {
    read(from, name, &|_| {}, &mut |_| None)
}

/// Reads the whole stream; `progress` is told how many touches came since it was last told.
/// `source` returns the line of the program's own source among the given return addresses.
pub(super) fn read(
    from: impl io::Read,
    name: &str,
    progress: &dyn Fn(u64),
    source: &mut dyn FnMut(&[u64]) -> Option<Source>,
) -> Result<Recording, StreamError> {
    let mut stream = Stream::new(from);
    let (meta, has_spots) = hello(&mut stream, name)?;
    let mut builder = ProgramBuilder::new(meta);
    let mut spots = Spots::default();
    let mut touches: Vec<RawTouch> = Vec::new();
    let mut depth = 0_u64;
    let mut regions = 0_u64;
    let (mut skipped_regions, mut other_threads) = (0, false);
    let mut sites: HashMap<u64, SiteId> = HashMap::new();
    while stream.touches(&mut touches)? {
        if !touches.is_empty() {
            if depth == 0 {
                return Err(StreamError::Damaged(stream.words, "a touch outside a region"));
            }
            if has_spots {
                spots.touches(&mut builder, &mut touches);
            } else {
                builder.touches(&touches);
            }
            progress(touches.len() as u64);
        }
        let word = stream.words;
        let Some((kind, argument)) = stream.event()? else { continue };
        let tree = |error| StreamError::Tree(word, error);
        match kind {
            stream::HELLO => return Err(StreamError::Damaged(word, "a second beginning")),
            stream::FORK => {
                fork(&mut stream, &mut builder, &sites, argument)?.map_err(tree)?;
                regions += u64::from(depth == 0);
                depth += 1;
            }
            stream::END => {
                let outside = StreamError::Damaged(word, "an end without a task");
                depth = depth.checked_sub(1).ok_or(outside)?;
                builder.end().map_err(tree)?;
            }
            stream::SYNC => builder.sync(scope_id(argument, word)?).map_err(tree)?,
            stream::WORK => builder.work(stream.word()?, stream.word()?, stream.word()?),
            stream::SITE => {
                let (number, told) = site(&mut stream, argument, word)?;
                let place = builder.place(&told.name).map_err(tree)?;
                let site = Site { place, bytes: told.bytes, index: told.index };
                let site = builder.site(site).map_err(tree)?;
                // Of the unknown site nothing is known.
                if let Some(source) = source(&told.callers).filter(|_| site != SiteId(0)) {
                    builder.source(site, source);
                }
                sites.insert(number, site);
            }
            stream::SPOT => {
                let callers = callers(&mut stream, argument >> 16, word)?;
                spots.tell(&mut builder, argument & 0xffff, source(&callers)).map_err(tree)?;
            }
            stream::BLOCK => {
                // The spot that came before has number 0, which no touch has.
                builder.block(stream.word()?, stream.word()?, spots.of(0));
            }
            stream::ATOMIC => builder.atomic(stream.word()?),
            stream::SKIPPED => {
                skipped_regions += argument & ((1 << stream::SKIPPED_BITS) - 1);
                other_threads |= argument >> stream::SKIPPED_BITS != 0;
            }
            stream::FAILED => return Err(StreamError::GaveUp(reason_of(argument))),
            _ => return Err(StreamError::Damaged(word, "an event of a work run")),
        }
    }
    if depth != 0 {
        return Err(StreamError::Truncated(stream.words));
    }
    if regions == 0 {
        return Err(StreamError::NoRegion);
    }
    let program = builder.finish().map_err(|error| StreamError::Tree(stream.words, error))?;
    Ok(Recording { program, skipped_regions, other_threads })
}

/// Reads the rest of a fork.
fn fork(
    stream: &mut Stream<impl io::Read>,
    builder: &mut ProgramBuilder,
    sites: &HashMap<u64, SiteId>,
    argument: u64,
) -> Result<Result<TaskId, befit_program::BuildError>, StreamError> {
    let unknown = StreamError::Damaged(stream.words - 1, "a fork at an unknown site");
    let site = *sites.get(&(argument >> 42)).ok_or(unknown)?;
    let mut word_if = |bit: u32| {
        let follows = argument >> bit & 1 != 0;
        follows.then(|| stream.word()).transpose()
    };
    let (size, strand) = (word_if(40)?.map(Bytes), word_if(41)?.map(Bytes));
    let mut words = Vec::new();
    for _ in 0..argument >> 32 & 0xff {
        let word = stream.word()?;
        words.push(((word >> 40) as u16, word & ((1 << 40) - 1)));
    }
    let scope = ScopeId(argument as u32);
    Ok(builder.fork_from(scope, Declared { size, strand }, site, words))
}

/// What a stream tells of a site.
struct Told {
    name: String,
    bytes: u32,
    index: u8,
    /// Return addresses, the innermost first.
    callers: Vec<u64>,
}

/// Reads a site, and its number in the stream.
fn site(
    stream: &mut Stream<impl io::Read>,
    argument: u64,
    word: u64,
) -> Result<(u64, Told), StreamError> {
    let [number, length, callers, _] = [0, 16, 32, 48].map(|shift| argument >> shift & 0xffff);
    let closure = stream.word()?;
    let index = u8::try_from(closure >> 32);
    let index = index.map_err(|_| StreamError::Damaged(word, "a closure with a large index"))?;
    let name = name_of(stream, length, word)?;
    let callers = self::callers(stream, callers, word)?;
    Ok((number, Told { name, bytes: closure as u32, index, callers }))
}

/// So many return addresses.
fn callers(
    stream: &mut Stream<impl io::Read>,
    count: u64,
    word: u64,
) -> Result<Vec<u64>, StreamError> {
    if count > CALLERS_MOST {
        return Err(StreamError::Damaged(word, "too many callers"));
    }
    (0..count).map(|_| stream.word()).collect()
}

/// The spots that the stream has told of.
#[derive(Default)]
struct Spots {
    /// By their numbers in the stream, which have 16 bits; as many as it has told of.
    known: Vec<SpotId>,
    by_source: HashMap<Source, SpotId>,
    /// Those of the touches at hand.
    batch: Vec<SpotId>,
}

impl Spots {
    /// From now on `number` is the spot at `source`, the unknown one where there is none.
    fn tell(
        &mut self,
        builder: &mut ProgramBuilder,
        number: u64,
        source: Option<Source>,
    ) -> Result<(), befit_program::BuildError> {
        let spot = match source {
            None => SpotId(0),
            Some(source) => match self.by_source.get(&source) {
                Some(spot) => *spot,
                None => {
                    let spot = builder.spot(source.clone())?;
                    self.by_source.insert(source, spot);
                    spot
                }
            },
        };
        let at = number as usize;
        self.known.resize(self.known.len().max(at + 1), SpotId(0));
        self.known[at] = spot;
        Ok(())
    }

    /// The spot with this number; unknown where the stream has told of none.
    fn of(&self, number: u64) -> SpotId {
        self.known.get(number as usize).copied().unwrap_or_default()
    }

    /// The batch of touches, which are left without their spots.
    fn touches(&mut self, builder: &mut ProgramBuilder, touches: &mut [RawTouch]) {
        self.batch.clear();
        for touch in touches.iter_mut() {
            let number;
            (*touch, number) = stream::apart(*touch);
            self.batch.push(self.of(number));
        }
        builder.touches_at(touches, &self.batch);
    }
}

/// The name of a place, of `bytes` bytes.
fn name_of(
    stream: &mut Stream<impl io::Read>,
    bytes: u64,
    word: u64,
) -> Result<String, StreamError> {
    if bytes > NAME_MOST {
        return Err(StreamError::Damaged(word, "a name that is too long"));
    }
    let mut name = Vec::new();
    for _ in 0..bytes.div_ceil(8) {
        name.extend(stream.word()?.to_ne_bytes());
    }
    name.truncate(bytes as usize);
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// Most bytes of a place's name.
const NAME_MOST: u64 = 1024;

/// Most return addresses of a site.
const CALLERS_MOST: u64 = 1024;

/// What the recording is of, and whether its touches have spots.
fn hello(stream: &mut Stream<impl io::Read>, name: &str) -> Result<(Meta, bool), StreamError> {
    if stream.peek()?.is_none() {
        return Err(StreamError::Empty);
    }
    let Some((stream::HELLO, argument)) = stream.event()? else {
        return Err(StreamError::NotARecording);
    };
    let [version, filter, line_bits, spots, ..] = argument.to_le_bytes();
    if stream.word()? != MAGIC || version == VERSION && line_bits >= 16 {
        return Err(StreamError::NotARecording);
    }
    if version != VERSION {
        return Err(StreamError::Version(version));
    }
    let name = name[..name.floor_char_boundary(Meta::NAME_LIMIT)].to_owned();
    let meta = Meta { name, line_size: Bytes(1 << line_bits), filter: filter.into() };
    Ok((meta, spots & 1 != 0))
}

fn scope_id(scope: u64, word: u64) -> Result<ScopeId, StreamError> {
    let id = u32::try_from(scope);
    id.map(ScopeId).map_err(|_| StreamError::Damaged(word, "a scope beyond 32 bits"))
}

fn reason_of(reason: u64) -> &'static str {
    match reason {
        1 => "the program touches more than 8 GiB that it mapped itself, past malloc",
        2 => {
            "the program's malloc is not the recorder's; build it without a malloc of its own (one \
             that a C library brings), and with the default linker"
        }
        _ => "for a reason that this version does not know",
    }
}
