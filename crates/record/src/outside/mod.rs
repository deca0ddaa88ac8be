//! The half that is linked into `befit`: builds the instrumented program, runs it, and makes a
//! Program of what it writes.

mod build;
mod child;
mod choice;
mod named;
mod overlay;
mod reader;
mod run;
mod source;
mod stream;
mod timed;

use std::{
    io::{Read, Write},
    thread::{self, JoinHandle},
};

pub use build::{Build, BuildError, instruments};
pub use child::{end_with_us, run_on};
pub use reader::{StreamError, read_stream};
pub use run::{RecordError, RecordOptions, Recording, record};
pub use stream::VERSION as STREAM_VERSION;
pub use timed::{Timed, Watch, time};

/// Bytes of what a child process says on stderr that are kept, for the error that is shown when it
/// fails.
const KEPT: usize = 4096;

/// A thread that reads a child's stderr to its end.
struct Tail(JoinHandle<Vec<u8>>);

impl Tail {
    /// Follows `from`; `forward` passes it on to our own stderr as it comes.
    fn follow(mut from: impl Read + Send + 'static, forward: bool) -> Self {
        Self(thread::spawn(move || {
            let mut kept = Vec::new();
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                if forward {
                    // Nothing sensible can be done when our own stderr is gone.
                    let _ = std::io::stderr().write_all(&chunk[..n]);
                }
                kept.extend_from_slice(&chunk[..n]);
                let extra = kept.len().saturating_sub(KEPT);
                kept.drain(..extra);
            }
            kept
        }))
    }

    /// Waits for the end; the last 4 KiB, cut to whole lines, without the newline at the end.
    fn finish(self) -> String {
        let kept = self.0.join().unwrap_or_default();
        let whole = match kept.iter().position(|&b| b == b'\n') {
            Some(newline) if kept.len() == KEPT => &kept[newline + 1..],
            _ => &kept[..],
        };
        String::from_utf8_lossy(whole).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_whole_lines() {
        let said: String = (0..2000).map(|i| format!("line {i}\n")).collect();
        let tail = Tail::follow(std::io::Cursor::new(said), false).finish();
        assert!(tail.starts_with("line ") && tail.ends_with("line 1999"), "{tail}");
        assert!(tail.len() < KEPT && tail.len() > KEPT - 20);
    }

    #[test]
    fn a_short_tail_is_all_that_was_said() {
        assert_eq!(Tail::follow(&b"one\ntwo\n"[..], false).finish(), "one\ntwo");
    }
}
