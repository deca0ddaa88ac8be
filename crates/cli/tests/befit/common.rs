//! Runs the binary, and makes recordings to run it on.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use befit_machine::Bytes;
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};

/// The command with `arguments`, not started yet.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_befit"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What `befit arguments…` did.
pub(crate) fn befit(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary starts")
}

/// Asserts that it failed with exit code `code`, nothing on stdout, and one line on stderr that has
/// all of `words`.
pub(crate) fn assert_fails(output: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty());
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("befit: "), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "'{word}' is not in: {stderr}");
    }
}

/// Asserts that it went well, and answers what it printed.
pub(crate) fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A program of eight tasks that each walk 32 KiB of their own, twice.
pub(crate) fn program() -> Program {
    let each = 512;
    let meta = Meta { name: "walks --n 8".to_owned(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    builder.declare_root(Declared { size: Some(Bytes(8 * each * 64)), strand: None });
    builder.work(1, 1, 1);
    for _ in 0..2 {
        for task in 0..8 {
            builder
                .fork(ScopeId(1), Declared { size: Some(Bytes(each * 64)), strand: None })
                .unwrap();
            for line in 0..each {
                builder.touch(task * each + line, line % 2 == 0, false);
            }
            builder.work(each, each / 2, each);
            builder.end().unwrap();
        }
        builder.sync(ScopeId(1)).unwrap();
    }
    builder.finish().unwrap()
}

/// A recording of [`program`] in `folder`; its path as text.
pub(crate) fn recording(folder: &Path) -> String {
    let path = folder.join("walks.befit");
    program().save(&path).unwrap();
    path.to_str().unwrap().to_owned()
}
