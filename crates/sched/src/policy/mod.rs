//! The policies, a file or folder each.

mod adws;
mod batch;
mod bitier;
mod bound;
mod cats;
mod central;
mod controlled;
mod depth_first;
mod homes;
mod ledger;
mod mts;
mod queue;
mod serial_order;
mod space_bounded;
mod stealing;
#[cfg(test)]
mod tests;

pub(crate) use adws::Adws;
pub(crate) use batch::Batch;
pub(crate) use bitier::ByDepth;
pub(crate) use bound::Bound;
pub(crate) use cats::Cats;
pub(crate) use central::Central;
pub(crate) use controlled::Controlled;
pub(crate) use depth_first::DepthFirst;
pub(crate) use homes::Homes;
pub(crate) use mts::Mts;
pub(crate) use space_bounded::SpaceBounded;
pub(crate) use stealing::WorkStealing;
