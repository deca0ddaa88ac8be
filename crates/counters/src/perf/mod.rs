//! Linux perf events: groups of counters that belong to one thread.

mod children;
mod group;
mod hardware;
mod processor;
mod reading;
mod refusal;
mod software;
mod table;

pub use children::Children;
pub use hardware::Hardware;
pub use software::Software;
