//! The machine that this runs on.
use crate::{Machine, MachineError};
/// Where to detect a machine.
pub struct Host;
impl Host {
    /// Here.
    pub fn here() -> Self {
        Self
    }
    /// The machine.
    pub fn detect(&self) -> Result<Machine, MachineError> {
        Err(MachineError::object("host", "not yet"))
    }
}
