//! Machines: hwloc's XML, and synthetic strings.

use befit_machine::{Machine, MachineError};

use crate::within;

/// A tree that most bytes describe is small. A synthetic string may name a machine of many objects
/// in few bytes; their number is bounded.
pub(crate) const CONSTANT: u64 = 128 << 20;

pub(crate) fn xml(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    // Bytes of text that are a name or a number each become some words of a tree.
    let read = within(10, CONSTANT, input, || Machine::from_xml("fuzzing", text));
    let Some(machine) = taken(read) else { return false };
    look_at(&machine);
    true
}

/// The machine, if there is one. An error is one line, whatever it quotes of the input.
fn taken(read: Result<Machine, MachineError>) -> Option<Machine> {
    read.inspect_err(|error| {
        let said = error.to_string();
        assert!(!said.contains(char::is_control), "an error is one line: {said:?}");
    })
    .ok()
}

pub(crate) fn xml_seeds() -> Vec<Vec<u8>> {
    let old = r#"<?xml version="1.0"?><topology><object type="System" cpuset="0x0000000f">
<object type="Cache" depth="3" cache_size="8388608" cache_linesize="64" cache_associativity="16"
 cpuset="0xf"><object type="Core" cpuset="0x3"><object type="PU" os_index="0" cpuset="0x1"/>
<object type="PU" os_index="1" cpuset="0x2"/></object></object></object></topology>"#;
    let new = r#"<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine" cpuset="0x0f" allowed_cpuset="0xf...f,0x0000000f">
<info name="CPUModel" value="a &amp; b"/><object type="Package" os_index="0" cpuset="0x0f">
<object type="NUMANode" os_index="0" local_memory="1024"><page_type size="4096" count="1"/></object>
<object type="L3Cache" cache_size="16777216" depth="3" cache_linesize="64"
 cache_associativity="16" cache_type="0" cpuset="0x0f"><object type="L2Cache" cache_size="262144"
 depth="2" cache_linesize="64" cache_associativity="8" cpuset="0x03"><object type="Core"
 os_index="0" cpuset="0x03"><object type="PU" os_index="0" cpuset="0x01"/><object type="PU"
 os_index="1" cpuset="0x02"/></object></object><object type="L2Cache" cache_size="262144"
 depth="2" cpuset="0x0c"><object type="Core"><object type="PU" os_index="2" cpuset="0x04"/><object type="PU"
 os_index="3" cpuset="0x08"/></object></object></object></object></object></topology>"#;
    [old, new].map(|text| text.as_bytes().to_vec()).into()
}

pub(crate) fn synthetic(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    let read = within(10, CONSTANT, input, || text.parse::<Machine>());
    let Some(machine) = taken(read) else { return false };
    look_at(&machine);
    let written = machine.synthetic();
    let mut again: Machine = written.parse().expect("what it writes can be read");
    assert_eq!(again.synthetic(), written);
    again.name.clone_from(&machine.name);
    assert_eq!(again, machine);
    true
}

pub(crate) fn synthetic_seeds() -> Vec<Vec<u8>> {
    let mut all: Vec<_> = befit_machine::presets()
        .into_iter()
        .filter(|(name, _)| *name != "host")
        .map(|(name, _)| befit_machine::preset(name).expect("a preset"))
        .map(|machine| machine.synthetic().into_bytes())
        .collect();
    all.push(b"pack:2 l3:1(size=1MiB) core:2 l2:1(size=64KiB ways=8) l1:1(size=16KiB) pu:1".into());
    all.push(b"pu:4".into());
    all
}

/// Everything that has to do with the tree.
fn look_at(machine: &Machine) {
    assert!(!machine.workers().is_empty(), "a machine has a worker");
    assert!(machine.draw().lines().count() > 0);
    for (worker, number) in machine.workers().iter().zip(0..).take(1000) {
        let w = befit_machine::WorkerId(number);
        let path: Vec<_> = machine.path(w).collect();
        assert!(path.iter().all(|cluster| machine.cluster(*cluster).has(w)), "{worker:?}");
        assert!(path.contains(&machine.last_level(w)));
    }
}
