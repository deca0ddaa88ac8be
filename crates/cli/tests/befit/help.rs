//! What people find without reading anything else.

use crate::common::{befit, printed};

#[test]
fn every_command_has_help_with_examples() {
    for command in ["compare", "run", "record", "sim", "footprint", "topo"] {
        let text = printed(&befit(&[command, "--help"]));
        assert!(text.contains("Examples:"), "{command}: {text}");
        assert!(text.contains(&format!("befit {command}")), "{command}: {text}");
    }
    assert!(printed(&befit(&["--help"])).contains("Examples:"));
}

#[test]
fn the_list_has_kernels_machines_and_schedulers() {
    let text = printed(&befit(&["list"]));
    for word in ["rrm", "rgm-leaf", "xeon-7560", "host", "ws", "sb-d"] {
        assert!(text.contains(word), "'{word}' is not in:\n{text}");
    }
}

#[test]
fn a_machine_is_drawn() {
    let text = printed(&befit(&["topo", "--machine", "xeon-7560"]));
    assert!(text.contains("24 MiB"), "{text}");
}
