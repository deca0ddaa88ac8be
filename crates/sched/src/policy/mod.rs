//! The policies, a file or folder each.

mod bitier;
mod cats;
mod ledger;
mod mts;
mod queue;
mod space_bounded;
mod stealing;
#[cfg(test)]
mod tests;

pub(crate) use bitier::ByDepth;
pub(crate) use cats::Cats;
pub(crate) use mts::Mts;
pub(crate) use space_bounded::SpaceBounded;
pub(crate) use stealing::WorkStealing;
