use crate::{Machine, preset};

#[test]
fn equal_neighbours_are_drawn_once() {
    let expected = "\
xeon-7560-ht: 64 workers on 32 cores, 2266 MHz
memory                         363 cycles  4 controllers of 8 bytes/cycle
└─ 4 × L3      24 MiB  24-way   63 cycles  inclusive
   └─ 8 × L2  256 KiB   8-way    9 cycles
      └─ L1    32 KiB   8-way    4 cycles
         └─ 2 × worker
";
    assert_eq!(preset("xeon-7560-ht").unwrap().draw(), expected);
}

#[test]
fn unequal_neighbours_are_drawn_apart() {
    use crate::{Bytes, MachineSpec, Part};
    let l1 = |parts| Part::cache(1, Bytes::kib(32), 8, parts);
    let core = |speed, cpus: &[u32]| {
        Part::core(speed, vec![l1(cpus.iter().map(|n| Part::worker(Some(*n))).collect())])
    };
    let l2 = |parts| Part::cache(2, Bytes::mib(2), 16, parts);
    let parts = vec![
        l2(vec![core(100, &[0, 1])]),
        l2(vec![core(100, &[2, 3])]),
        l2((4..8).map(|n| core(70, &[n])).collect()),
    ];
    let m = MachineSpec::new("hybrid", vec![Part::cache(3, Bytes::mib(12), 12, parts)])
        .build()
        .unwrap();
    let expected = "\
hybrid: 8 workers on 6 cores, 2500 MHz
memory                           250 cycles  1 controller of 40 bytes/cycle
└─ L3            12 MiB  12-way   50 cycles
   ├─ 2 × L2      2 MiB  16-way   14 cycles
   │  └─ L1      32 KiB   8-way    4 cycles
   │     └─ 2 × worker
   └─ L2          2 MiB  16-way   14 cycles
      └─ 4 × L1  32 KiB   8-way    4 cycles
         └─ worker at 70 % speed
";
    assert_eq!(m.draw(), expected);
}

#[test]
fn the_full_form_lists_every_worker() {
    use crate::{Bytes, MachineSpec, Part};
    let l1 = |n| Part::cache(1, Bytes::kib(48), 12, vec![Part::worker(Some(n))]);
    let m = MachineSpec::new("two", vec![l1(4), l1(7)]).build().unwrap();
    let expected = "\
two: 2 workers on 2 cores, 2500 MHz
memory                  250 cycles  1 controller of 40 bytes/cycle
├─ L1   48 KiB  12-way    4 cycles
│  └─ worker 0 = cpu 4, core 0
└─ L1   48 KiB  12-way    4 cycles
   └─ worker 1 = cpu 7, core 1
";
    assert_eq!(m.draw_full(), expected);
}

#[test]
fn whatever_is_unusual_is_written_out() {
    let text = "(placement=firsttouch) l2:1(size=1MiB line=128 ways=full replacement=plru inclusion=exclusive)
                l1:1(size=32KiB ways=1 replacement=random) pu:1";
    let drawing = text.parse::<Machine>().unwrap().draw();
    for what in [
        "full",
        "direct",
        "exclusive, tree-PLRU, lines of 128 B",
        "random replacement",
        "first touch",
        "1 worker on 1 core",
    ] {
        assert!(drawing.contains(what), "{what} in {drawing}");
    }
    assert!(
        "(controllers=4 placement=2) pu:1"
            .parse::<Machine>()
            .unwrap()
            .draw()
            .contains("pages on 2 of them")
    );
}
