//! The tiers that a policy has cut the program in.

use befit_machine::Bytes;

use crate::CountSource;

/// How a policy with two tiers has cut the program so far. (See [`crate::Scheduler::tiers`].) The
/// source and the reason are types of the policy's; read back from JSON they are text.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Tiers<Source = Option<CountSource>, Reason = Option<&'static str>> {
    /// Where its sizes come from; none if it has seen none.
    pub source: Source,
    /// Why it steals as if there were one tier, where it does.
    pub plain: Reason,
    /// How often it cut a computation in tiers.
    pub partitions: u64,
    /// Bytes that one iteration of the latest cut involves (SOID of its root).
    #[cfg_attr(feature = "serde", serde(rename = "root_bytes"))]
    pub root: Bytes,
    /// Inter-socket tasks of the latest cut, the root included, leaf inter-socket tasks not.
    pub inter: u64,
    /// Leaf inter-socket tasks of the latest cut, each the root of an intra-socket subtree, in
    /// serial order.
    pub subtrees: Vec<Subtree>,
    /// Subtrees that ran on another socket than the last time.
    #[cfg_attr(feature = "serde", serde(rename = "subtrees_moved"))]
    pub moved: u64,
    /// Subtrees that were run in all.
    #[cfg_attr(feature = "serde", serde(rename = "subtrees_run"))]
    pub ran: u64,
}

/// One intra-socket subtree.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Subtree {
    /// The task's identity: which child of which child … of the program's first task its root is.
    /// Numbers of children restart at each sync.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "path"))]
    pub path: Vec<u32>,
    /// Bytes that it involves, as measured (SOID).
    #[cfg_attr(feature = "serde", serde(rename = "bytes"))]
    pub soid: Bytes,
    /// The socket (last-level cache) that it is bound to, under policies that bind.
    pub socket: Option<u32>,
}

/// A path as JSON has it: `0.2.1`.
#[cfg(feature = "serde")]
fn path<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    let path: String = serde::Deserialize::deserialize(from)?;
    let steps = path.split('.').filter(|step| !step.is_empty());
    steps.map(|step| step.parse().map_err(serde::de::Error::custom)).collect()
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use serde::de::{IntoDeserializer, value::Error};

    #[test]
    fn a_path_is_the_numbers_between_its_dots() {
        let path =
            |text: &str| super::path::<_>(IntoDeserializer::<Error>::into_deserializer(text));
        assert_eq!(path("0.2.1"), Ok(vec![0, 2, 1]));
        assert_eq!(path(""), Ok(vec![]));
        assert!(path("0.x").is_err());
    }
}
