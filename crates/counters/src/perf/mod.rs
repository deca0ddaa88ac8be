//! Linux perf events: groups of counters that belong to one thread.

mod group;
mod hardware;
mod processor;
mod reading;
mod refusal;
mod software;
mod table;

pub use hardware::Hardware;
pub use software::Software;
