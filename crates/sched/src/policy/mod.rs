//! The policies, a file or folder each.

mod bitier;
mod cats;
mod homes;
mod ledger;
mod mts;
mod queue;
mod space_bounded;
mod stealing;
#[cfg(test)]
mod tests;

pub use bitier::ByDepth;
pub use cats::Cats;
pub use mts::Mts;
pub use space_bounded::SpaceBounded;
pub use stealing::WorkStealing;
