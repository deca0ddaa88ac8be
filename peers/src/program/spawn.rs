//! The cost of a spawned task: a complete binary tree of tasks with n leaves, each spawned by its
//! parent into one scope, and none waited for alone. A leaf makes one mark.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU8, Ordering::Relaxed},
    time::Duration,
};

use super::{checked, filled, timed};
use crate::{Error, runtime::Runtime};

pub(crate) fn run<R: Runtime>(runtime: &R, n: usize) -> Result<Duration, Error> {
    let marks = filled(n, |_| AtomicU8::new(0))?;
    let (time, ()) = timed(runtime, None, |cx| {
        R::spawn_tree(cx, 0, black_box(n), &|leaf| marks[leaf].store(1, Relaxed));
    });
    checked(time, marks.iter().map(|mark| usize::from(mark.load(Relaxed))).sum(), n)
}
