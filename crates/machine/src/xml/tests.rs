use proptest::prelude::*;

use super::Bitmap;
use crate::{Bytes, Inclusion, Level, Machine, Worker, WorkerId, invariants};

const HYBRID: &str = include_str!("fixtures/hybrid.xml");
const HWLOC1: &str = include_str!("fixtures/hwloc1.xml");

fn read(text: &str) -> Machine {
    let machine = Machine::from_xml("test", text).unwrap();
    invariants::check(&machine);
    machine
}

fn message(text: &str) -> String {
    Machine::from_xml("test", text).unwrap_err().to_string()
}

fn cpus(machine: &Machine) -> Vec<u32> {
    machine.workers().iter().filter_map(|w| w.os_index).collect()
}

/// One cache with one PU, with these attributes of the cache.
fn one_cache(attributes: &str) -> String {
    let pu = r#"<object type="PU" os_index="0"/>"#;
    let cache = format!(r#"<object type="L2Cache" gp_index="7" {attributes}>{pu}</object>"#);
    format!(r#"<topology version="2.0"><object type="Machine">{cache}</object></topology>"#)
}

#[test]
fn a_hybrid_machine_keeps_its_unequal_parts() {
    let m = read(HYBRID);
    assert_eq!(cpus(&m), [0, 1, 3, 4, 5, 6, 7, 8, 9]);
    let of = |figure: fn(&Worker) -> u32| m.workers().iter().map(figure).collect::<Vec<_>>();
    assert_eq!(of(|w| w.speed), [100, 100, 100, 76, 76, 76, 76, 50, 50]);
    assert_eq!(of(|w| w.core), [0, 0, 1, 2, 3, 4, 5, 6, 7]);
    let last = |w| m.cluster(m.last_level(WorkerId(w))).cache.unwrap();
    assert_eq!((last(0).level, last(0).inclusion), (Level(3), Inclusion::Inclusive));
    assert_eq!((last(8).level, last(8).ways), (Level(2), 0));
    let l1 = m.cluster(m.workers()[0].leaf).cache.unwrap();
    assert_eq!((l1.size, l1.inclusion), (Bytes::kib(48), Inclusion::NonInclusive));
    assert_eq!((m.mhz, m.memory.controllers), (5000, 1));
}

#[test]
fn a_file_of_hwloc_1_is_read() {
    let m = read(HWLOC1);
    assert_eq!(cpus(&m), [0, 1, 2]);
    assert_eq!((m.mhz, m.memory.controllers), (2270, 2));
    assert_eq!(m.levels(), [Level(1), Level(2), Level(3)]);
    assert_eq!(m.clusters().len(), 1 + 3 + 2);
}

/// Two packages of two cores with an L2 each; the machine has these attributes.
fn two_packages(machine: &str, pu: &str) -> String {
    let core = |cpu: u32| {
        let pu = format!(r#"<object type="PU" os_index="{cpu}" {pu}/>"#);
        let l2 = r#"type="L2Cache" cache_size="262144" depth="2""#;
        format!(r#"<object {l2}><object type="Core">{pu}</object></object>"#)
    };
    let package = |n: u32| {
        let node = format!(r#"<object type="NUMANode" os_index="{n}"/>"#);
        let cores = core(2 * n) + &core(2 * n + 1);
        format!(r#"<object type="Package" os_index="{n}">{node}{cores}</object>"#)
    };
    let packages = package(0) + &package(1);
    format!(
        r#"<topology version="3.0"><object type="Machine" {machine}>{packages}</object></topology>"#
    )
}

#[test]
fn pus_that_are_not_allowed_or_offline_are_left_out_with_their_caches_and_nodes() {
    for (machine, pu, left, nodes) in [
        ("", "", &[0, 1, 2, 3][..], 2),
        (r#"allowed_cpuset="0x3" allowed_nodeset="0x1""#, "", &[0, 1], 1),
        (r#"allowed_cpuset="0x6" allowed_nodeset="0x3""#, "", &[1, 2], 2),
        (r#"allowed_cpuset="0xf" online_cpuset="0x7""#, "", &[0, 1, 2], 2),
        (r#"allowed_cpuset="0xf...f""#, "", &[0, 1, 2, 3], 2),
    ] {
        let m = read(&two_packages(machine, pu));
        assert_eq!(cpus(&m), left, "{machine}");
        assert_eq!((m.clusters().len(), m.memory.controllers), (1 + left.len(), nodes));
    }
    assert_eq!(read(&two_packages("", "")).packages(), [0, 0, 1, 1]);
    let own = r#"allowed_cpuset="0x0""#;
    assert!(message(&two_packages("", own)).contains("machine: has no worker"));
}

#[test]
fn the_first_machine_says_which_pus_are_allowed() {
    let inner = r#"<object type="Machine" allowed_cpuset="0x1"/>"#;
    let text = two_packages(r#"allowed_cpuset="0x7""#, "");
    let first = text.find("<object type=\"Package\"").unwrap();
    let (begin, rest) = text.split_at(first);
    assert_eq!(cpus(&read(&format!("{begin}{inner}{rest}"))), [0, 1, 2]);
}

#[test]
fn kinds_of_cpus_are_bounded() {
    let kinds = |count| {
        let kinds = r#"<cpukind cpuset="0x1"/>"#.repeat(count);
        let pu = r#"<object type="PU" os_index="0"/>"#;
        format!(r#"<topology version="2.4">{pu}{kinds}</topology>"#)
    };
    assert_eq!(cpus(&read(&kinds(64))), [0]);
    assert!(message(&kinds(65)).contains("more than 64 kinds of CPUs"));
}

#[test]
fn the_machine_is_named_after_its_file_and_so_is_the_error_of_one_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("my box.xml"), HYBRID).unwrap();
    std::fs::write(dir.path().join("binary.xml"), [0xff; 64]).unwrap();
    let find = |name| Machine::find(dir.path().join(name).to_str().unwrap());
    assert_eq!(find("my box.xml").unwrap().name, "my box");
    for name in ["missing.xml", "binary.xml"] {
        assert!(find(name).unwrap_err().to_string().contains(name));
    }
}

#[test]
fn unknown_sizes_and_ways_are_assumed_and_said_to_be() {
    let m = read(&one_cache(
        r#"cache_size="0" depth="2" cache_linesize="0" cache_associativity="0" cache_type="0""#,
    ));
    assert_eq!(m.name, "test (caches assumed)");
    let l2 = m.clusters()[1].cache.unwrap();
    assert_eq!((l2.size, l2.line, l2.ways), (Bytes::kib(512), Bytes(64), 16));
}

#[test]
fn tiers_of_memory_beside_the_same_cpus_are_one_controller() {
    let package = |cpu: u32| {
        let nodes = r#"<object type="NUMANode" os_index="0"/>"#.repeat(2);
        format!(r#"<object type="Package">{nodes}<object type="PU" os_index="{cpu}"/></object>"#)
    };
    let packages = package(0) + &package(1);
    let machine = format!(r#"<object type="Machine">{packages}</object>"#);
    let m = read(&format!(r#"<topology version="2.0">{machine}</topology>"#));
    assert_eq!(m.memory.controllers, 2);
}

/// The controllers of a machine with these objects, each of which has a PU of its own for each
/// `PU` in it.
fn controllers(objects: &str) -> u32 {
    let pus = objects.split("PU").enumerate().map(|(at, text)| match at {
        0 => text.to_owned(),
        _ => format!(r#"<object type="PU" os_index="{at}"/>{text}"#),
    });
    let node = r#"<object type="NUMANode"/>"#;
    let objects = pus.collect::<String>().replace("NODE", node);
    let machine = format!(r#"<object type="Machine">{objects}</object>"#);
    read(&format!(r#"<topology version="2.0">{machine}</topology>"#)).memory.controllers
}

#[test]
fn tiers_of_memory_are_no_further_controllers_wherever_they_stand() {
    let object = |kind: &str, inside: &str| format!(r#"<object type="{kind}">{inside}</object>"#);
    let behind_cache = object("MemCache", "NODE");
    // DRAM behind a cache on its side, and CXL's.
    assert_eq!(controllers(&object("Package", &format!("{behind_cache}NODEPU"))), 1);
    assert_eq!(controllers(&object("Package", &format!("NODE{behind_cache}PU"))), 1);
    // A node without CPUs beside two packages of a node each.
    let packages = object("Package", "NODEPU").repeat(2);
    assert_eq!(controllers(&format!("NODE{packages}")), 2);
    // Clusters of a package's cores and controllers.
    let clusters = object("Group", "NODEPU").repeat(4);
    assert_eq!(controllers(&object("Package", &clusters)), 4);
    assert_eq!(controllers(&object("Package", &format!("NODE{clusters}"))), 4);
    assert_eq!(controllers("PU"), 1);
}

#[test]
fn the_nodes_of_a_package_share_its_bandwidth() {
    // 40 bytes a cycle of each package, at 2.5 GHz.
    let of = |package: &str| {
        let package = format!(r#"<object type="Package">{package}</object>"#);
        let text = format!(r#"<topology version="2.0">{package}</topology>"#);
        let memory = read(&text).memory;
        (memory.controllers, memory.bandwidth)
    };
    let half = |cpu: u32| {
        let pu = format!(r#"<object type="PU" os_index="{cpu}"/>"#);
        format!(r#"<object type="Group"><object type="NUMANode"/>{pu}</object>"#)
    };
    assert_eq!(of(&half(0)), (1, 40.0));
    assert_eq!(of(&(half(0) + &half(1))), (2, 20.0));
    assert_eq!(read(&two_packages("", "")).memory.bandwidth, 40.0);
    // A clock of 5 GHz and of 2.27.
    let hybrid = read(HYBRID).memory;
    assert_eq!((hybrid.latency.0, hybrid.bandwidth), (500, 20.0));
    assert_eq!(read(HWLOC1).memory.latency.0, 227);
}

#[test]
fn a_cache_whose_size_is_not_told_is_no_smaller_than_those_below_it() {
    let l3 = |kib: u64| {
        let pu = r#"<object type="PU" os_index="0"/>"#;
        let l2 = format!(r#"type="L2Cache" depth="2" cache_size="{}""#, kib << 10);
        let l2 = format!(r#"<object type="Group"><object {l2}>{pu}</object></object>"#);
        let l3 = r#"type="L3Cache" depth="3" cache_size="0" cache_associativity="12""#;
        let m = read(&format!("<topology><object {l3}>{l2}</object></topology>"));
        m.clusters()[1].cache.unwrap().size
    };
    assert_eq!((l3(1024), l3(8192)), (Bytes::mib(4), Bytes::mib(8)));
    // In whole sets of its assumed 16 ways.
    assert_eq!(l3(4097), Bytes::kib(4097));
}

#[test]
fn an_error_is_one_line_whatever_it_quotes() {
    for attributes in
        [r#"cache_size="a&#10;b" depth="2""#, r#"cache_size="1000" depth="2" os_index="3&#10;""#]
    {
        let message = message(&one_cache(attributes));
        assert!(message.contains(r"\n"), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
    }
    let element = message("<topology version=\"9&#10;\"/>");
    assert!(!element.contains(char::is_control), "{element}");
}

#[test]
fn what_is_no_lstopo_file_or_made_to_harm_is_refused() {
    let pu = |attributes: &str| format!(r#"<topology><object type="PU" {attributes}/></topology>"#);
    let twice = r#"<object type="PU" os_index="1"/>"#.repeat(2);
    let twice = format!("<topology>{twice}</topology>");
    let deep = format!("<topology>{}", r#"<object type="Group">"#.repeat(100_000));
    for (text, expected) in [
        ("", "no <topology>"),
        ("<html></html>", "<html> where <topology> should stand"),
        ("<topology/>", "machine: has no worker"),
        (r#"<topology version="7.1"></topology>"#, "version 7.1"),
        ("<topology><object type=\"Machine\">", "ends inside of an element"),
        ("<topology><object/></topology>", "an object has no type"),
        (&pu(""), "type PU has no os_index"),
        (&pu(r#"os_index="-1""#), "no number in range"),
        (&twice, "cpu1: is listed twice"),
        (&deep, "elements nest deeper than 256"),
    ] {
        assert!(message(text).contains(expected), "{expected}");
    }
    assert!(message("<topology></object></topology>").starts_with("XML, at byte 10: "));
    // Entities do not expand.
    let bomb = r#"<!DOCTYPE t [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
        <topology version="&b;"/>"#;
    assert!(message(bomb).starts_with("XML, at byte"));
}

#[test]
fn impossible_caches_are_named() {
    let huge = r#"cache_size="18446744073709551615" depth="2"
        cache_linesize="9223372036854775808" cache_associativity="4294967295""#;
    let odd = r#"cache_size="1000" depth="2" cache_linesize="64" cache_associativity="2""#;
    for (attributes, expected) in [
        (r#"depth="2""#, "type L2Cache has no cache_size"),
        (r#"cache_size="64""#, "type L2Cache has no depth"),
        (r#"cache_size="64" depth="999""#, "depth=\"999\" is no number in range"),
        (odd, "L2Cache with gp_index 7: its size of 1000 bytes"),
        (huge, "is no multiple"),
    ] {
        assert!(message(&one_cache(attributes)).contains(expected), "{expected}");
    }
}

#[test]
fn words_are_read_highest_first() {
    let set = Bitmap::parse("0x00000001,,0x80000002").unwrap();
    let members: Vec<u32> = (0..128).filter(|cpu| set.contains(*cpu)).collect();
    assert_eq!(members, [1, 31, 64]);
    assert!(Bitmap::parse("0xf...f,0x0").unwrap().contains(u32::MAX));
    assert!(Bitmap::parse("0x0").unwrap().is_empty());
    assert!(Bitmap::parse("12").is_none() && Bitmap::parse("0x1ffffffff").is_none());
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = Machine::from_xml("test", &text);
    }

    #[test]
    fn no_damaged_file_panics(
        which in any::<bool>(),
        at in any::<prop::sample::Index>(),
        length in 0usize..40,
        insert in "[ -~]{0,12}",
    ) {
        let text = if which { HYBRID } else { HWLOC1 };
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let damaged = format!("{}{insert}{}", &text[..at], &text[end..]);
        if let Ok(machine) = Machine::from_xml("test", &damaged) {
            invariants::check(&machine);
        }
    }
}

#[test]
fn workers_are_the_allowed_cpus_whichever_version_tells_of_them() {
    let pu = |cpu: u32, more: &str| format!(r#"<object type="PU" os_index="{cpu}" {more}/>"#);
    let machine = |version: &str, attributes: &str, of_pu: fn(u32) -> String| {
        let core = |n: u32| {
            let pus: String = [2 * n, 2 * n + 1].map(|cpu| pu(cpu, &of_pu(cpu))).concat();
            let cache = r#"type="L2Cache" depth="2" cache_size="1048576" cache_linesize="64""#;
            format!(r#"<object {cache}><object type="Core">{pus}</object></object>"#)
        };
        let cores: String = (0..20).map(core).collect();
        read(&format!(
            r#"<topology version="{version}"><object type="Machine" {attributes}>{cores}</object></topology>"#
        ))
    };
    // hwloc 2: the machine tells. CPUs 1, 2, 3 and 33; core 0 keeps a thread, 2 to 15 are gone.
    let m = machine("2.0", r#"allowed_cpuset="0x00000002,0x0000000e""#, |_| String::new());
    assert_eq!(cpus(&m), [1, 2, 3, 33]);
    assert_eq!(m.clusters().len(), 1 + 3);
    // hwloc 1: each object does.
    let m = machine("1", r#"allowed_cpuset="0xf...f""#, |cpu| {
        let allowed = if cpu < 6 { 1_u64 << cpu } else { 0 };
        format!(r#"online_cpuset="0x{:x}" allowed_cpuset="0x{allowed:x}""#, 1_u64 << cpu.min(5))
    });
    assert_eq!(cpus(&m), [0, 1, 2, 3, 4, 5]);
    // Without a word of it all are.
    assert_eq!(cpus(&machine("2.0", "", |_| String::new())).len(), 40);
}
