//! Watches a process that tries inputs, so that each failure has its input's number: of a process
//! that hangs or aborts nothing else is left to tell it.

use std::{
    fmt,
    io::{self, BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// Why a process did not come to its end.
#[derive(Debug)]
pub enum Failure {
    /// It could not be started.
    Start(io::Error),
    /// It ended with this status in an input, if it had come to one.
    Ended(String, Option<u64>),
    /// An input, if it had come to one, took longer than this.
    Hung(Duration, Option<u64>),
}

impl Failure {
    /// The number of the input that failed.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Start(_) => None,
            Self::Ended(_, number) | Self::Hung(_, number) => *number,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "cannot be started: {error}"),
            Self::Ended(status, _) => write!(f, "an input failed ({status})"),
            Self::Hung(longest, _) => write!(f, "an input took more than {longest:?}"),
        }
    }
}

/// Runs `command`, which writes the number of each input on a line before it tries it. Prints its
/// other lines.
///
/// # Errors
/// Where it fails, or an input takes longer than `longest`: then the process is killed.
pub fn watch(command: &mut Command, longest: Duration) -> Result<(), Failure> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(Failure::Start)?;
    let (send, lines) = channel();
    let output = child.stdout.take().into_iter();
    // Left alone where the process is killed: another one may still hold its end of the pipe.
    thread::spawn(move || {
        let read = output.flat_map(|output| BufReader::new(output).lines().map_while(Result::ok));
        for line in read {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let mut number = None;
    loop {
        match lines.recv_timeout(longest) {
            Ok(line) => match line.parse() {
                Ok(next) => number = Some(next),
                Err(_) => println!("{line}"),
            },
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::Hung(longest, number));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait().map_err(Failure::Start)?;
    if status.success() { Ok(()) } else { Err(Failure::Ended(status.to_string(), number)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, longest: Duration) -> Result<(), Failure> {
        watch(Command::new("sh").args(["-c", script]), longest)
    }

    #[test]
    fn the_input_of_an_abort_is_told() {
        let failure = run("echo 6; echo 7; kill -ABRT $$", Duration::from_secs(60)).unwrap_err();
        assert!(matches!(failure, Failure::Ended(_, Some(7))), "{failure:?}");
        assert_eq!(failure.number(), Some(7));
    }

    #[test]
    fn the_input_of_a_hang_is_told() {
        let failure = run("echo 5; exec sleep 60", Duration::from_secs(2)).unwrap_err();
        assert!(matches!(failure, Failure::Hung(_, Some(5))), "{failure:?}");
    }

    #[test]
    fn a_process_that_tries_all_its_inputs_has_not_failed() {
        run("echo 1; echo 2; echo two inputs", Duration::from_secs(60)).unwrap();
    }
}
