use proptest::prelude::*;

use crate::{Bytes, Cycles, Inclusion, Level, Machine, Placement, Replacement, invariants};

fn read(text: &str) -> Machine {
    text.parse().unwrap()
}

fn message(text: &str) -> String {
    text.parse::<Machine>().unwrap_err().to_string()
}

#[test]
fn a_string_of_hwloc_s_manual_is_read() {
    let m = read("pack:4 l3:1(size=25165824) core:8 l2:1(size=262144) l1:1(size=32768) pu:1");
    invariants::check(&m);
    assert_eq!(m.workers().len(), 32);
    assert_eq!(m.clusters().len(), 1 + 4 + 32 + 32);
    assert_eq!(m.clusters()[1].cache.unwrap().size, Bytes::mib(24));
    assert_eq!(m.memory.controllers, 4);
    assert_eq!(m.name, "pack:4 l3:1(size=25165824) core:8 l2:1(size=262144) l1:1(size=32768) pu:1");
}

#[test]
fn what_lstopo_prints_as_synthetic_is_read() {
    let m = read(
        "Package:2 [NUMANode(memory=4523765760)] L3Cache:1(size=110100480) L2Cache:2(size=2097152)
         L1dCache:1(size=49152) L1iCache:1(size=32768) Core:1 PU:2(indexes=0,4,1,5,2,6,3,7)",
    );
    invariants::check(&m);
    assert_eq!(m.workers().len(), 8);
    assert_eq!(m.levels(), [Level(1), Level(2), Level(3)]);
    assert_eq!(m.memory.controllers, 2);
    assert!(m.workers().iter().all(|w| w.os_index.is_none()));
}

#[test]
fn all_attributes_are_applied() {
    let m = read(
        "(mhz=3000 latency=300 remote=400 controllers=2 bandwidth=12.5 parallelism=8 window=64
          placement=1 operation=0.5)
         l2:2(size=96KiB line=128 ways=6 latency=11 inclusion=exclusive replacement=plru)
         core:1(speed=80)
         l1:1(size=0x4000 ways=full replacement=random) pu:1",
    );
    assert_eq!((m.mhz, m.cycles_per_operation), (3000, 0.5));
    assert_eq!((m.memory.latency, m.memory.remote_latency), (Cycles(300), Cycles(400)));
    assert_eq!((m.memory.bandwidth, m.memory.parallelism, m.memory.window), (12.5, 8.0, 64));
    assert_eq!((m.memory.controllers, m.memory.placement), (2, Placement::Bound(1)));
    let l2 = m.clusters()[1].cache.unwrap();
    assert_eq!((l2.size, l2.line, l2.ways), (Bytes::kib(96), Bytes(128), 6));
    assert_eq!(l2.latency, Cycles(11));
    assert_eq!((l2.inclusion, l2.replacement), (Inclusion::Exclusive, Replacement::TreePlru));
    let l1 = m.clusters()[2].cache.unwrap();
    assert_eq!((l1.size, l1.ways, l1.replacement), (Bytes::kib(16), 0, Replacement::Random));
    assert_eq!(m.workers()[0].speed, 80);
}

#[test]
fn units_are_hwloc_s() {
    for (text, bytes) in [("3kB", 3000), ("3KiB", 3072), ("1MB", 1_000_000), ("1GiB", 1 << 30)] {
        let machine = read(&format!("l1:1(size={text} ways=1 line=1) pu:1"));
        assert_eq!(machine.clusters()[1].cache.unwrap().size, Bytes(bytes));
    }
}

#[test]
fn types_may_be_left_out() {
    let m = read("2 3 4");
    invariants::check(&m);
    assert_eq!((m.workers().len(), m.clusters().len()), (24, 1));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let start = "synthetic string, at byte ";
    for (text, place, what) in [
        ("", "0 (`end`): no level; write for example `pack:2 l3:1 core:4 pu:1`", ""),
        ("pack:2 foo:1", "7 (`foo:1`): unknown type `foo`", ""),
        ("pack:2 pu:x", "7 (`pu:x`): the count is no number", ""),
        ("pu:0", "", "the count must be above 0"),
        ("pu:1 core:1", "", "nothing can stand under a pu"),
        ("l3:2 16 pack:1 pu:1", "8 (`pack:1`): a package can stand under no cache", ""),
        ("pack:2 pack:1 pu:1", "7 (`pack:1`): a package can stand under no cache", ""),
        ("pack:2 core:2", "", "the last level must be pu"),
        ("l1:1(size=9 pu:1", "", "no `)` closes this"),
        ("l1:1(size=big) pu:1", "", "`size` needs a size such as"),
        ("l1:1(size=99999999999TiB) pu:1", "", "`size` needs a size such as"),
        ("l1:1(color=red) pu:1", "", "unknown attribute `color`; known here are size"),
        ("pack:99999 core:99999 pu:1", "", "more than 262144 objects"),
        ("é:1", "", "unknown type `é`"),
    ] {
        let message = message(text);
        assert!(message.starts_with(&format!("{start}{place}")), "{message}");
        assert!(message.contains(what), "{message}");
    }
    for (text, what) in [
        ("(runs=16385) pu:1", "runs must be 0 to 16384"),
        ("(tlb=0) pu:1", "tlb must be 1 to 1048576 pages"),
        ("(tlb=1048577) pu:1", "tlb must be 1 to 1048576 pages"),
        ("(walk=-1) pu:1", "walk must be 0 to 1000000 cycles"),
        ("(walks=0.5) pu:1", "walks must be 1 or more"),
        ("(tables=9) pu:1", "tables must be 0 to 8 lines a walk"),
        ("(frames=any) pu:1", "frames is random or sidebyside"),
    ] {
        assert!(message(text).contains(what), "{text}: {}", message(text));
    }
    assert!(message("l1:1(size=1000) pu:1").starts_with("L1 #0: its size of 1000 bytes"));
    assert!(message("l1:1 l2:1 pu:1").contains("levels must fall"));
}

/// The string of `machine` reads back as the same machine.
fn reads_back(machine: Machine) {
    let text = machine.synthetic();
    let again = Machine { name: machine.name.clone(), ..read(&text) };
    assert_eq!(again.workers().len(), machine.workers().len(), "{text}");
    // The system's numbers are not part of a string.
    assert_eq!(again, machine, "{text}");
}

#[test]
fn every_attribute_reads_back() {
    // A string cannot say that parts are unequal, and `host` may have any.
    let told = |name: &str| !["host", "ryzen-hx-370"].contains(&name);
    for (name, _) in crate::presets().into_iter().filter(|(name, _)| told(name)) {
        reads_back(Machine::find(name).unwrap());
    }
    reads_back(read(
        "(mhz=3000 latency=300 remote=400 far=500 clean=memory controllers=3 bandwidth=12.5
          fabric=99.5 package-link=0.1 parallelism=8 streams=20.5 window=64 runs=512
          placement=firsttouch tlb=1200 walk=55.5 walks=4.5 tables=2 frames=random operation=0.7
          inlined=1 pending=2 region=12 published=13 stolen=14 spawn=10 job=11 call=3 lock=4
          steal=5 far-steal=6 poll=7 wake=8 fault=9)
         pack:2 l3:3(size=96KiB line=128 ways=6 latency=11 transfer=30 stream=2.5 link=20
                     link-write=10.5
                     inclusion=exclusive replacement=plru)
         core:2(speed=80) l1:2(size=8KiB ways=full line=128 replacement=random) pu:2",
    ));
}

#[test]
fn wires_and_prices_have_defaults_and_limits() {
    let m = read("(mhz=1000 remote=77) pack:2 l3:2(link=9) core:1 pu:1");
    assert_eq!(m.packages(), [0, 0, 1, 1]);
    assert_eq!((m.memory.far_latency, m.prices.wake), (Cycles(77), 5000.0));
    assert_eq!((m.memory.fabric, m.memory.streams()), (None, m.memory.parallelism));
    let link = m.clusters()[1].cache.unwrap().link.unwrap();
    assert_eq!((link.read, link.write), (9.0, 9.0));
    for (text, what) in [
        ("l2:1 l1:1(link=4) pu:1", "only a last-level cache has a link"),
        ("l2:1(link=0) pu:1", "link and link-write must be above 0"),
        ("l2:1(stream=0) pu:1", "stream must be above 0 cycles"),
        ("(fabric=-1) pu:1", "fabric must be above 0"),
        ("(package-link=nan) pu:1", "package-link must be above 0"),
        ("(package-link=inf) pu:1", "package-link must be above 0 bytes per cycle, and finite"),
        ("(call=-1) pu:1", "the price `call` must be 0 to 1000000000 cycles"),
        ("(region=inf) pu:1", "the price `region` must be 0 to 1000000000 cycles"),
        ("(far-steal=nan) pu:1", "the price `far-steal` must be 0 to 1000000000 cycles"),
        ("(streams=0.5) pu:1", "streams must be at least 1"),
        ("(clean=maybe) pu:1", "clean is memory or cache"),
    ] {
        assert!(message(text).contains(what), "{text}");
    }
}

#[test]
fn untold_memory_takes_as_many_seconds_at_any_clock_and_told_figures_stay() {
    let [slow, fast] = [1250, 5000].map(|mhz| {
        let memory = read(&format!("(mhz={mhz}) pu:1")).memory;
        let latencies = [memory.latency, memory.remote_latency, memory.far_latency];
        (latencies.map(|cycles| cycles.0 * 1000 / mhz), memory.bandwidth * mhz as f64 / 1000.0)
    });
    assert_eq!(slow, fast);
    assert_eq!(slow, ([100, 140, 140], 100.0));
    // Wherever the clock stands.
    let m = read("(latency=7 remote=8 far=9 bandwidth=3 wake=5 mhz=5000) pu:1");
    let latencies = [m.memory.latency, m.memory.remote_latency, m.memory.far_latency];
    assert_eq!(latencies, [7, 8, 9].map(Cycles));
    assert_eq!((m.mhz, m.memory.bandwidth, m.prices.wake), (5000, 3.0, 5.0));
    let m = read("(latency=7 mhz=5000) pu:1");
    assert_eq!((m.memory.latency, m.memory.remote_latency), (Cycles(7), Cycles(700)));
    assert_eq!((m.memory.bandwidth, m.prices.wake), (20.0, 25_000.0));
}

#[test]
fn the_nodes_of_a_package_share_its_bandwidth_where_that_is_assumed() {
    let all = |text: &str| {
        let memory = read(text).memory;
        (memory.controllers, memory.bandwidth * f64::from(memory.controllers))
    };
    assert_eq!(all("pack:1 [numa] core:4 pu:1"), (1, 40.0));
    assert_eq!(all("pack:1 numa:4 core:1 pu:1"), (4, 40.0));
    assert_eq!(all("pack:2 [numa] core:2 pu:1"), (2, 80.0));
    assert_eq!(all("pack:2 core:2 pu:1"), (2, 80.0));
    assert_eq!(all("pack:2 numa:2 core:1 pu:1"), (4, 80.0));
    assert_eq!(all("(controllers=1) pack:2 core:2 pu:1"), (1, 40.0));
    assert_eq!(all("(bandwidth=40) pack:1 numa:4 core:1 pu:1"), (4, 160.0));
}

#[test]
fn an_error_is_one_line_whatever_it_quotes() {
    for text in ["l1:1(color=a\u{1b}[2Jb) pu:1", "pack:2\nfoo\u{7}:1", "pack:2 pu\u{0}:1"] {
        let message = message(text);
        assert!(!message.contains(char::is_control), "{message}");
        assert!(message.contains(r"\u{"), "{message}");
    }
    let open = message("l1:1(size=9\nline=8 pu:1");
    assert!(open.contains(r"(`(size=9\nline=8 pu:1`)"), "{open}");
}

#[test]
fn what_takes_time_takes_a_billion_cycles_at_most_and_a_line_has_64_kib() {
    let most = "(latency=1000000000 remote=1000000000 far=1000000000 steal=1e9 operation=1e9) \
                l1:1(size=64KiB line=64KiB latency=1000000000 transfer=1000000000 stream=1e9) pu:1";
    assert_eq!(read(most).memory.latency, Cycles(1_000_000_000));
    for (text, what) in [
        ("(latency=72057594037927940) pu:1", "latency, remote and far must be 0 to 1000000000"),
        ("(remote=1000000001) pu:1", "latency, remote and far must be 0 to 1000000000"),
        ("(far=1000000001) pu:1", "latency, remote and far must be 0 to 1000000000"),
        ("(steal=1e300) pu:1", "the price `steal` must be 0 to 1000000000 cycles"),
        ("(operation=1e10) pu:1", "cycles per operation must be 0 to 1000000000"),
        ("(issue=1e-10) pu:1", "cycles per operation must be 0 to 1000000000"),
        ("l1:1(latency=1000000001) pu:1", "latency and transfer must be 0 to 1000000000"),
        ("l1:1(transfer=1000000001) pu:1", "latency and transfer must be 0 to 1000000000"),
        ("l1:1(stream=1e10) pu:1", "stream must be above 0 cycles, and at most 1000000000"),
        ("l1:1(size=1TiB line=1TiB) pu:1", "its line of 1099511627776 bytes is longer than 64 KiB"),
    ] {
        assert!(message(text).contains(what), "{text}: {}", message(text));
    }
}

prop_compose! {
    /// A string of falling levels with sizes that fit, packages and groups in between.
    fn valid()(
        outer in prop::option::of((
            prop::sample::select(vec!["pack", "numa", "die", "group"]),
            1usize..4,
        )),
        caches in prop::collection::btree_map(1u8..6, (1usize..4, 0u32..4, 0u32..3), 0..5),
        core in 1usize..4,
        threads in 1usize..4,
    ) -> String {
        let outer = outer.iter().map(|(kind, count)| format!("{kind}:{count}"));
        let mut words: Vec<String> = outer.collect();
        for (level, (count, sets, ways)) in caches.iter().rev() {
            // 64 times as large from level to level, so that sizes ascend whatever the rest is.
            let size = (64u64 << sets << ways) << (6 * level);
            words.push(format!("l{level}:{count}(size={size} ways={})", 1 << ways));
        }
        words.push(format!("core:{core} pu:{threads}"));
        words.join(" ")
    }
}

proptest! {
    #[test]
    fn every_valid_string_gives_a_proper_tree(text in valid()) {
        let machine: Machine = text.parse().unwrap();
        invariants::check(&machine);
        machine.draw();
    }

    #[test]
    fn a_machine_s_string_reads_back_as_the_machine(text in valid()) {
        let machine: Machine = text.parse().unwrap();
        reads_back(machine);
    }

    #[test]
    fn no_string_panics(text in any::<String>()) {
        let _ = text.parse::<Machine>();
    }

    #[test]
    fn no_string_of_near_grammar_panics(text in concat!(
        "(\\(|\\)|\\[|\\]|pu|core|l[0-9]|pack|numa|:|=|size|ways|",
        "[0-9]{1,3}|é| |KiB){0,24}",
    )) {
        if let Ok(machine) = text.parse::<Machine>() {
            invariants::check(&machine);
        }
    }
}
