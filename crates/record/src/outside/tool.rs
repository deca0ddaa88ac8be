//! Runs cargo and rustc.

use std::{
    io::{BufRead, BufReader, Read},
    panic::resume_unwind,
    process::{Command, Stdio},
    thread,
};

use super::{BuildError, child::Group};

/// Bytes of what a tool says that are kept at least, where it says more.
const KEPT: usize = 64 * 1024;

/// Runs a tool and returns its stdout; `said` gets the lines of its stderr.
pub(super) fn output_of(
    mut command: Command,
    said: &(dyn Fn(&str) + Sync),
) -> Result<String, BuildError> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let failed = |error| BuildError::Tool(tool.clone(), error);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command).map_err(failed)?;
    let (stdout, stderr) = (group.process.stdout.take(), group.process.stderr.take());
    let (output, stderr) = thread::scope(|scope| {
        let stderr = scope.spawn(|| stderr.map_or_else(String::new, |from| follow(from, said)));
        let mut output = String::new();
        let read = stdout.map_or(Ok(0), |mut stdout| stdout.read_to_string(&mut output));
        let stderr = stderr.join().unwrap_or_else(|panic| resume_unwind(panic));
        read.map(|_| (output, stderr)).map_err(failed)
    })?;
    let status = group.ended().wait().map_err(failed)?;
    if status.success() {
        Ok(output)
    } else if stderr.contains("__sanitizer_cov_") {
        Err(BuildError::WithoutBefit)
    } else {
        Err(BuildError::Cargo { status, stderr })
    }
}

/// Reads `from` to its end, a line at a time for `said`; returns the last lines, up to [`KEPT`]
/// bytes.
fn follow(from: impl Read, said: &dyn Fn(&str)) -> String {
    let mut kept = String::new();
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        said(&line);
        kept.push_str(&line);
        kept.push('\n');
        if kept.len() > 2 * KEPT {
            let cut = kept.len() - KEPT;
            let newline = kept.as_bytes()[cut..].iter().position(|byte| *byte == b'\n');
            kept.drain(..newline.map_or(kept.len(), |newline| cut + newline + 1));
        }
    }
    kept.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_tool_is_told_and_the_last_are_kept_whole() {
        let text: String = (0..30_000).map(|i| format!("line {i}\n")).collect();
        let told = std::cell::Cell::new(0);
        let kept = follow(text.as_bytes(), &|_| told.set(told.get() + 1));
        assert_eq!(told.get(), 30_000);
        assert!(kept.starts_with("line ") && kept.ends_with("line 29999"));
        assert!((KEPT..2 * KEPT).contains(&(kept.len() + 20)), "{}", kept.len());
    }
}
