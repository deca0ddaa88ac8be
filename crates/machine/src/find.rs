//! One way to name any machine, for command lines and environment variables.

use std::path::Path;

use crate::{Machine, MachineError, preset, synthetic};

impl Machine {
    /// The machine that `spec` names: a preset ([`crate::presets`]), `host`, the path of a file
    /// that `lstopo machine.xml` wrote, or a synthetic string. Tried in this order.
    ///
    /// ```
    /// use befit_machine::Machine;
    ///
    /// assert_eq!(Machine::find("xeon-7560").unwrap().workers().len(), 32);
    /// assert_eq!(Machine::find("l3:2 core:4 l1:1 pu:1").unwrap().workers().len(), 8);
    /// assert!(Machine::find("xeon").unwrap_err().to_string().contains("xeon-7560"));
    /// ```
    ///
    /// # Errors
    /// [`MachineError`]; a text that is none of these gets [`MachineError::Unknown`], listing the
    /// known names.
    pub fn find(spec: &str) -> Result<Self, MachineError> {
        let spec = spec.trim();
        let path = Path::new(spec);
        match preset(spec) {
            Err(MachineError::Unknown { .. }) if path.is_file() || spec.ends_with(".xml") => {
                xml(path)
            }
            Err(MachineError::Unknown { .. }) if synthetic::is_likely(spec) => spec.parse(),
            result => result,
        }
    }
}

#[cfg(feature = "xml")]
use crate::xml::read_file as xml;

#[cfg(not(feature = "xml"))]
fn xml(path: &Path) -> Result<Machine, MachineError> {
    Err(MachineError::Feature { what: format!("reading {}", path.display()), feature: "xml" })
}
