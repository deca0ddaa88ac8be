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
mod target;
mod timed;
mod tool;

use std::{
    io::{Read, Write},
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

pub use build::{Build, BuildError, instruments};
pub use child::{end_with_us, run_on};
pub use reader::{StreamError, read_stream};
pub use run::{RecordError, RecordOptions, Recording, record};
pub use stream::VERSION as STREAM_VERSION;
pub use target::Target;
pub use timed::{Timed, Watch, time};

/// Bytes of what a child process says on stderr that are kept, for the error that is shown when it
/// fails.
const KEPT: usize = 4096;

/// After a child's end, what it said last is read within this time. Processes that it leaves in the
/// background may hold its stderr for ever; on a busy machine to read it takes a while.
const READ: Duration = Duration::from_secs(1);

/// A thread that reads a child's stderr to its end.
struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Of a sender that is dropped at the end.
    end: Receiver<()>,
}

impl Tail {
    /// Follows `from`; `forward` passes it on to our own stderr as it comes.
    fn follow(mut from: impl Read + Send + 'static, forward: bool) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (until, end) = channel::<()>();
        let to = Arc::clone(&kept);
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                if forward {
                    // Nothing sensible can be done when our own stderr is gone.
                    let _ = std::io::stderr().write_all(&chunk[..n]);
                }
                let mut kept = to.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..n]);
                let extra = kept.len().saturating_sub(KEPT);
                kept.drain(..extra);
            }
            drop(until);
        });
        Self { kept, end }
    }

    /// What the child, which has ended, said: the last 4 KiB, cut to whole lines, without the
    /// newline at the end.
    fn finish(self) -> String {
        let _ = self.end.recv_timeout(READ);
        let kept = mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        let whole = match kept.iter().position(|&b| b == b'\n') {
            Some(newline) if kept.len() == KEPT => &kept[newline + 1..],
            _ => &kept[..],
        };
        String::from_utf8_lossy(whole).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        process::Command,
        time::{Duration, Instant},
    };

    use super::{run::run_reading, *};

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

    #[test]
    fn regression_what_a_program_leaves_in_the_background_is_not_waited_for() {
        let begin = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "echo my last words >&2; sleep 6 & exit 3"]);
        let error = run_reading(command, true, |_| Ok(())).unwrap_err().to_string();
        assert!(error.ends_with("my last words"), "{error}");
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}
