//! What one task leaves in a cache for the next: marks per frame, and the six cells that they give.
//!
//! A *frame* is a place of a cache that holds one line. Each has two marks: touched by the previous
//! task, touched by the current one. Of the current task's accesses only the first to each frame
//! counts; it hits, or it misses and so replaces what the frame held. That makes six [`Cells`],
//! which sum to the number of frames:
//!
//! | | hit by the current task | missed by it | untouched by it |
//! |---|---|---|---|
//! | **t**ouched by the previous one | TH | TM | TU |
//! | **n**ot touched by it | NH | NM | NU |
//!
//! [`Frames`] keeps them for one cache of a [`crate::Hierarchy`], of whatever shape, while one
//! worker runs one task after another.
//!
//! ```
//! use befit_cache::{Hierarchy, footprint::Frames};
//! use befit_machine::{Machine, WorkerId};
//!
//! let machine = Machine::find("gems-sparc").unwrap();
//! let mut caches = Hierarchy::new(&machine, 512, 1).unwrap();
//! let mut l1 = Frames::new(&caches, &machine, machine.workers()[0].leaf).unwrap();
//! // Tasks A and B of the footprint study share half of the lines that each touches, 256 as in its L1.
//! for lines in [0..256, 128..384] {
//!     for line in lines {
//!         let access = caches.access(WorkerId(0), line, false);
//!         l1.observe(&caches, line, access);
//!     }
//!     let cells = l1.end_task();
//!     assert_eq!(cells.frames(), 256);
//!     println!("{} shared hits, {} shared misses", cells.touched_hit, cells.touched_missed);
//! }
//! ```

mod cells;
mod frames;
#[cfg(test)]
mod tests;

pub use cells::Cells;
pub use frames::Frames;
