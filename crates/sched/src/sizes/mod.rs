//! Sizes of tasks that declare none: learned from recordings, looked up by where a task was forked.
//!
//! A [`SizeTable`] has, for each site of a program, a [`Law`] for the size of its tasks: a formula
//! of the words that a task's closure captures (the length of a slice, the bounds of a range), or,
//! where no words help, a share of its parent's size, or the sizes by the depth of the recursion.
//! `befit learn` makes such tables and writes them as text; engines read them, and look up tasks
//! that declare no size:
//!
//! ```
//! use befit_machine::Bytes;
//! use befit_sched::sizes::{SiteKey, SizeTable, Words};
//!
//! let table: SizeTable = "befit.sizes/2
//! site 3070a7b8c9d0e1f2 sorts::merge_sort::{{closure}}
//! size 64 + 8 w1
//! strand 4096
//! work 20 w1
//! end 1
//! ".parse()?;
//! let task = Words::own(&[0, 1000]);
//! let site = table.site(SiteKey(0x3070_a7b8_c9d0_e1f2)).unwrap();
//! let found = table.predict(site, &task).unwrap();
//! assert_eq!((found.size, found.strand), (Bytes(8064), Bytes(4096)));
//! assert_eq!(table.site(SiteKey(7)), None);
//! # Ok::<(), befit_sched::sizes::SizeTableError>(())
//! ```
//!
//! A size that is wrong costs time, never the result.

mod key;
mod law;
mod rule;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod word;

pub use key::SiteKey;
pub use law::{Factor, Law, Term};
pub use rule::known;
pub use table::{Basis, Depth, Predicted, Site, SiteIndex, SizeTable};
pub use text::SizeTableError;
pub use view::{TaskView, Words};
pub use word::Word;
