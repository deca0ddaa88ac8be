//! Makes a [`Program`] of the recorded process's stream, without trusting it.

use std::io;

use befit_machine::Bytes;
use befit_program::{Declared, Meta, Program, ProgramBuilder, RawTouch, ScopeId};

use super::stream::{Event, MAGIC, Stream, VERSION};

#[cfg(test)]
mod tests;

/// The fault of a stream. `word` counts its 64-bit words from 0.
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
        "it was built with a befit that writes version {found} of the stream, and this one reads \
         version {VERSION}: build it again"
    )]
    Version {
        /// That version.
        found: u8,
    },
    /// The process ended in the middle of a region, or of a word.
    #[error(
        "the recording ends too early, after word {word}: the process ended before its \
         parallel part did"
    )]
    Truncated {
        /// Where.
        word: u64,
    },
    /// An event that this version does not know.
    #[error("the recording is damaged: word {word} ({found:#018x}) is no event")]
    UnknownEvent {
        /// Where.
        word: u64,
        /// The word that stands there.
        found: u64,
    },
    /// Something that may not stand there.
    #[error("the recording is damaged: {what} at word {word}")]
    Damaged {
        /// Where.
        word: u64,
        /// The fault.
        what: &'static str,
    },
    /// The recorder gave up.
    #[error("the recorder gave up: {0}")]
    GaveUp(&'static str),
    /// Events that are no task tree.
    #[error("the recording is damaged at word {word}: {error}")]
    Tree {
        /// Where.
        word: u64,
        /// Why.
        error: befit_program::BuildError,
    },
}

/// The contents of a stream.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) program: Program,
    pub(super) skipped_regions: u64,
}

/// Reads the whole stream; `progress` is told how many touches came since it was last told.
pub(super) fn read(
    from: impl io::Read,
    name: &str,
    progress: &dyn Fn(u64),
) -> Result<Contents, StreamError> {
    let mut stream = Stream::new(from);
    let mut builder = ProgramBuilder::new(hello(&mut stream, name)?);
    let mut touches: Vec<RawTouch> = Vec::new();
    let mut depth = 0_u64;
    let mut regions = 0_u64;
    let mut skipped_regions = 0;
    while stream.touches(&mut touches)? {
        if !touches.is_empty() {
            if depth == 0 {
                return Err(StreamError::Damaged {
                    word: stream.position(),
                    what: "a touch outside a region",
                });
            }
            builder.touches(&touches);
            progress(touches.len() as u64);
        }
        let word = stream.position();
        let Some(event) = stream.event()? else { continue };
        let tree = |error| StreamError::Tree { word, error };
        match event {
            Event::Hello { .. } => {
                return Err(StreamError::Damaged { word, what: "a second beginning" });
            }
            Event::Fork { scope, size, strand } => {
                builder
                    .fork(
                        scope_id(scope, word)?,
                        Declared { size: bytes(size), strand: bytes(strand) },
                    )
                    .map_err(tree)?;
                regions += u64::from(depth == 0);
                depth += 1;
            }
            Event::End => {
                depth = depth
                    .checked_sub(1)
                    .ok_or(StreamError::Damaged { word, what: "an end without a task" })?;
                builder.end().map_err(tree)?;
            }
            Event::Sync { scope } => builder.sync(scope_id(scope, word)?).map_err(tree)?,
            Event::Work { loads, stores, blocks } => builder.work(loads, stores, blocks),
            Event::Skipped { regions } => skipped_regions += regions,
            Event::Failed { reason } => return Err(StreamError::GaveUp(reason_of(reason))),
        }
    }
    let word = stream.position();
    if depth != 0 {
        return Err(StreamError::Truncated { word });
    }
    if regions == 0 {
        return Err(StreamError::NoRegion);
    }
    let program = builder.finish().map_err(|error| StreamError::Tree { word, error })?;
    Ok(Contents { program, skipped_regions })
}

fn hello(stream: &mut Stream<impl io::Read>, name: &str) -> Result<Meta, StreamError> {
    if stream.is_at_end()? {
        return Err(StreamError::Empty);
    }
    match stream.event()? {
        Some(Event::Hello { magic: MAGIC, version: VERSION, filter, line_bits })
            if line_bits < 16 =>
        {
            let mut name = name.to_owned();
            name.truncate(name.floor_char_boundary(Meta::NAME_LIMIT));
            Ok(Meta { name, line_size: Bytes(1 << line_bits), filter: filter.into() })
        }
        Some(Event::Hello { magic: MAGIC, version, .. }) if version != VERSION => {
            Err(StreamError::Version { found: version })
        }
        _ => Err(StreamError::NotARecording),
    }
}

fn scope_id(scope: u64, word: u64) -> Result<ScopeId, StreamError> {
    let id = u32::try_from(scope)
        .map_err(|_| StreamError::Damaged { word, what: "a scope beyond 32 bits" })?;
    Ok(ScopeId(id))
}

/// A size that a task declares; all ones stand for none.
fn bytes(word: u64) -> Option<Bytes> {
    (word != u64::MAX).then_some(Bytes(word))
}

fn reason_of(reason: u64) -> &'static str {
    match reason {
        1 => "the program touches more than 8 GiB that it mapped itself, past malloc",
        _ => "for a reason that this version does not know",
    }
}
