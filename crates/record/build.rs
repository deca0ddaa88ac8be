//! In an instrumented build (`--cfg befit_record`), compiles the C half of the recorder: what
//! instrumented code calls at every load and store must not be instrumented itself, and rustc's
//! flags do not reach a C compiler.

use std::env;

const SOURCES: [&str; 10] = [
    "address",
    "callbacks",
    "callers",
    "copy",
    "dependent",
    "heap",
    "lock",
    "region",
    "spots",
    "stream",
];
/// Of a build that is timed, not instrumented (`--cfg befit_work`).
const WORK_SOURCES: [&str; 2] = ["stream", "work"];
const HEADERS: [&str; 7] = ["address", "callers", "dependent", "hot", "lock", "spots", "stream"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_CFG_BEFIT_RECORD").is_none() {
        return;
    }
    let is = |key: &str, value: &str| env::var(key).is_ok_and(|v| v == value);
    if !is("CARGO_CFG_TARGET_OS", "linux")
        || !is("CARGO_CFG_TARGET_ENV", "gnu")
        || !is("CARGO_CFG_TARGET_POINTER_WIDTH", "64")
    {
        println!("cargo::error=recording works on 64-bit Linux with the GNU C library only");
        return;
    }
    let at = "src/inside/c";
    let timed = env::var_os("CARGO_CFG_BEFIT_WORK").is_some();
    let sources = if timed { &WORK_SOURCES[..] } else { &SOURCES[..] };
    for (names, extension) in [(sources, "c"), (&HEADERS[..], "h")] {
        for name in names {
            println!("cargo::rerun-if-changed={at}/{name}.{extension}");
        }
    }
    #[cfg(feature = "inner")]
    compile(at, timed, sources);
}

#[cfg(feature = "inner")]
fn compile(at: &str, timed: bool, sources: &[&str]) {
    let mut compiler = cc::Build::new();
    if timed {
        compiler.define("BEFIT_WORK", None);
    }
    compiler
        .files(sources.iter().map(|name| format!("{at}/{name}.c")))
        .std("gnu11")
        // They are about the program that is instrumented.
        .inherit_rustflags(false)
        .opt_level(3)
        .warnings(true)
        .extra_warnings(true)
        // As gcc 14 has it.
        .flag("-Werror=implicit-function-declaration")
        // Neither may make a call of memcpy out of memcpy's own loop, nor take malloc's result for
        // what the standard says it is.
        .flag("-fno-builtin")
        .flag_if_supported("-fno-tree-loop-distribute-patterns")
        // Thread-locals without a call: the recorder is always part of the executable.
        .flag("-ftls-model=initial-exec")
        .compile("befit_record_inside");
}
