//! What is known of a recording as a whole.

use befit_machine::Bytes;

/// What is known of a recording as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    /// The command that was recorded, for people: `rrm --n 10000000`. At most [`Meta::NAME_LIMIT`]
    /// bytes.
    pub name: String,
    /// Size of the lines that touches are counted in: 64 B.
    pub line_size: Bytes,
    /// How many of the lines touched last the recorder remembered; an access to one of them is no
    /// touch.
    pub filter: u32,
}

impl Meta {
    /// Most bytes of a name.
    pub const NAME_LIMIT: usize = 4096;
}
