//! The policies, a file each.

mod ledger;
mod queue;
mod space_bounded;
mod stealing;
#[cfg(test)]
mod tests;

pub use space_bounded::SpaceBounded;
pub use stealing::WorkStealing;
