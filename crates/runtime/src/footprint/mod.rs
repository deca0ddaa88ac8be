//! A queue for many small independent tasks that each touch a little of much memory (look-ups in a large index, say).

mod answers;
mod choice;
mod flight;
mod hint;
mod measure;
mod order;
mod plan;
mod portion;
mod queue;
mod run;
mod touch;
mod walk;

pub use self::{
    choice::Mode,
    flight::{interleaved, interleaved_async},
    hint::{ByClass, ByKey, ByPlaces, Hint, NoHint},
    queue::{Queue, Report, Stream},
    run::{InCoroutines, InSteps, Plain, Run},
    touch::{Prefetch, Touch, prefetch},
    walk::{Step, Walk},
};
