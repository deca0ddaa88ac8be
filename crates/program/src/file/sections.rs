//! The sections of a file, in their order.

/// What a chunk belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Section {
    /// Name, line size, filter, what the root declares, counts.
    Meta,
    /// The touched stretches of the address space.
    Spans,
    /// What tasks declare, each different pair once.
    Declared,
    /// What strands cost, each different triple once.
    Costs,
    /// Length and touches of each blob.
    Index,
    /// The blobs' bytes, without regard to where one ends.
    Blobs,
    /// The steps of the serial execution.
    Tree,
    /// Totals.
    End,
}

impl Section {
    pub(super) const ALL: [Self; 8] = [
        Self::Meta,
        Self::Spans,
        Self::Declared,
        Self::Costs,
        Self::Index,
        Self::Blobs,
        Self::Tree,
        Self::End,
    ];

    /// Its name in a chunk's header.
    pub(super) const fn tag(self) -> [u8; 4] {
        match self {
            Self::Meta => *b"META",
            Self::Spans => *b"SPAN",
            Self::Declared => *b"DECL",
            Self::Costs => *b"COST",
            Self::Index => *b"INDX",
            Self::Blobs => *b"BLOB",
            Self::Tree => *b"TREE",
            Self::End => *b"END\0",
        }
    }

    /// Its name in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Spans => "spans",
            Self::Declared => "declared",
            Self::Costs => "costs",
            Self::Index => "index",
            Self::Blobs => "blobs",
            Self::Tree => "tree",
            Self::End => "end",
        }
    }

    pub(super) fn of(tag: [u8; 4]) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.tag() == tag)
    }
}
