//! The variables that pools read.

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use crate::{machine::CONSTANT, within};

/// Each line is a variable: `NAME=value`. No value names a file: it would be opened.
pub(crate) fn run(input: &[u8]) -> bool {
    let found = |name: &str| {
        input.split(|byte| *byte == b'\n').find_map(|line| {
            let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            let is_file = value.contains(&b'/') || value.ends_with(b".xml");
            (!is_file).then(|| OsString::from_vec(value.to_vec()))
        })
    };
    // One of the variables is a synthetic string.
    let Err(error) = within(10, CONSTANT, input, || befit::check_environment(found)) else {
        return true;
    };
    let said = error.to_string();
    assert!(said.starts_with("BEFIT_") && !said.contains('\n'), "one line: {said}");
    assert!(said.len() < 4096 + input.len(), "a line that can be read");
    false
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let options = befit::Options::default();
    let options: Vec<_> = befit::Options::TABLE
        .iter()
        .map(|option| format!("{}={}\n", option.variable, option.print(&options)))
        .collect();
    let text = "BEFIT_SCHEDULER=sb-d\nBEFIT_MACHINE=l3:2(size=1MiB) core:2 l1:1 pu:1\n\
        BEFIT_PIN=never\nBEFIT_AUTO=off\nBEFIT_THREADS=7\nBEFIT_TIMES=span\n";
    vec![[text, &options.concat()].concat().into_bytes()]
}
