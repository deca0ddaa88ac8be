//! The statistics that a program writes where `BEFIT_STATS` says.

use crate::within;

/// The summary of a run.
const CONSTANT: u64 = 1 << 16;

pub(crate) fn run(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    // A worker of a hundred bytes becomes one of as many, and its spread over the repeats.
    let found = within(30, CONSTANT, input, || {
        befit_lab::summary_of(text).map(|summary| summary.is_some())
    });
    found == Ok(true)
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let text = r#"{"schema": "befit.stats/2", "program": "p", "process": 1, "pools_left_out": 0,
"pools": [{"scheduler": "cats", "machine": "m", "threads": 2, "pinned": false, "sigma": 0.5,
"mu": 0.2, "ended": true, "span_seconds": 1.0, "workers": [{"seconds": {"active": 0.5, "add": 0.1,
"get": 0.1, "done": 0.1, "idle": 0.2}, "forks": 3, "published": 2, "spawned": 0, "sized": 1,
"executed": 3, "anchored": 1, "steals": {"L3": 1, "memory": 2}, "failed_steals": 4, "sleeps": 5},
{"seconds": null, "forks": 1, "published": 2, "spawned": 0, "executed": 3, "anchored": 1,
"steals": {}, "failed_steals": 4, "sleeps": 5}], "anchors": [{"cluster": 1, "level": "L3",
"first_worker": 0, "last_worker": 1, "tasks": 6}]}]}"#;
    vec![text.into()]
}
