use super::*;

const MEMORY: Reason = Reason { part: Part::Memory, line: 0, wires: Ticks(0), walk: Ticks(0) };

fn takes(latency: u64, dependent: bool) -> Takes {
    Takes { walk: Ticks::default(), latency: Ticks(latency), dependent }
}

/// The time at which misses of these positions and latencies are over, an operation a tick.
fn time(flight: InFlight, misses: &[(u64, u64)]) -> u64 {
    let flight = flight.at_pace(1.0);
    let mut waits = Waits::default();
    let (mut clock, mut at) = (Ticks::default(), 0);
    for &(position, latency) in misses {
        clock += Ticks(position - at);
        at = position;
        let mut now = Now { clock, position, pace: 1.0 };
        now.clock += waits.before(now);
        clock = now.clock + waits.miss(&flight, now, takes(latency, false), MEMORY);
    }
    (clock + waits.all(&flight, clock)).0
}

#[test]
fn misses_wait_for_one_another_as_window_and_buffers_allow() {
    let each = [(0, 7), (0, 7), (1, 7)];
    for (window, misses, expected) in [
        // Those of a window are in flight together: until 100, 104, and 109.
        (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 100), (4, 100), (9, 100)][..], 109),
        // The next window begins when the first is over.
        (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 100), (10, 100), (12, 100)], 202),
        // The operations behind a window's end come after its wait.
        (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 100), (30, 100)], 220),
        // No more than the buffers hold.
        (InFlight::new(100, 3.0, 1.0, 1.0, 1, 1), &[(0, 50), (1, 50), (2, 50), (3, 50)], 100),
        // A longer one is waited for until it comes; hits are not.
        (InFlight::new(10, 8.0, 1.0, 1.0, 1, 1), &[(0, 30), (1, 100), (2, 40), (3, 0)], 101),
        // Operations that take longer than the miss cover it.
        (InFlight::new(50, 8.0, 1.0, 1.0, 1, 1), &[(0, 20), (60, 0)], 60),
        // An in-order core waits for each.
        (InFlight::new(0, 10.0, 1.0, 1.0, 1, 1), &each, 22),
        (InFlight::new(10, 1.0, 1.0, 1.0, 1, 1), &each, 21),
    ] {
        assert_eq!(time(window, misses), expected, "{window:?} {misses:?}");
    }
}

#[test]
fn threads_that_share_a_core_have_a_part_of_its_window_and_of_its_buffers_each() {
    let core = |misses| InFlight::new(20, misses, 1.0, 4.0, 1, 1);
    let misses = [(0, 50), (1, 50), (2, 50), (3, 50)];
    // Eight buffers, four, two, and one at least.
    let of = |sharers| time(core(8.0).shared_by(sharers), &misses);
    assert_eq!([1, 2, 4, 8, 9].map(of), [53, 53, 101, 200, 200]);
    // The second half begins when the window's first line is there.
    let wide = [(0, 100), (9, 100), (10, 100)];
    assert_eq!([1, 2].map(|sharers| time(core(8.0).shared_by(sharers), &wide)), [110, 200]);
    let walks = [1, 2, 6].map(|sharers| core(8.0).shared_by(sharers).a_walk(Ticks(40)));
    assert_eq!(walks, [10, 20, 60].map(Ticks));
}

#[test]
fn parts_of_a_buffer_count() {
    // Lines that take 1000 ticks, and a window that holds all of them.
    let misses: Vec<_> = (0..2000).map(|i| (i, 1000)).collect();
    for (buffers, expected) in [(10.0, 200_000.0), (13.8, 144_928.0), (1.9, 1_052_632.0)] {
        let flight = InFlight::new(100_000, buffers, 1.0, 1.0, 1, 1);
        let off = time(flight, &misses) as f64 / expected - 1.0;
        assert!(off.abs() < 0.01, "{buffers} {off}");
    }
    // Two threads have half of 11.5 each.
    let flight = InFlight::new(200_000, 11.5, 1.0, 1.0, 1, 1).shared_by(2);
    let off = time(flight, &misses) as f64 / (2_000_000.0 / 5.75) - 1.0;
    assert!(off.abs() < 0.01, "{off}");
}

#[test]
fn misses_that_come_evenly_take_the_longer_of_operations_and_latencies() {
    // A miss every 10 operations, so 10 of them in a window of 100.
    let misses = |latency| (0..1000).map(|i| (i * 10, latency)).collect::<Vec<_>>();
    for (buffers, latency, expected) in [
        // The operations cover it.
        (16.0, 90, 10_000),
        // The window's operations take half as long as a line.
        (16.0, 200, 20_000),
        // Five buffers for what takes as long as 20.
        (5.0, 200, 40_000),
    ] {
        let flight = InFlight::new(100, buffers, 1.0, 1.0, 1, 1);
        let taken = time(flight, &misses(latency));
        assert!(taken.abs_diff(expected) <= latency, "{buffers} {latency}: {taken}");
    }
}

#[test]
fn a_miss_whose_address_is_still_to_come_begins_when_it_is_there() {
    let flight = InFlight::new(1000, 8.0, 1.0, 1.0, 1, 1).at_pace(1.0);
    // Misses of 100 ticks, a tick apart, and hits; whether each depends on the one before.
    for (loads, expected) in [
        (&[(100, false), (100, false), (100, false)][..], 102),
        (&[(100, false), (100, true), (100, true)], 300),
        // Two chains in one window overlap.
        (&[(100, false), (100, true), (100, false), (100, true)], 202),
        // A hit hands on what it waits for; another one is there at once.
        (&[(100, false), (0, true), (100, true)], 200),
        (&[(100, false), (0, false), (100, true)], 102),
    ] {
        let (mut waits, mut clock) = (Waits::default(), Ticks::default());
        for (at, &(latency, dependent)) in (0..).zip(loads) {
            clock = clock.max(Ticks(at));
            let now = Now { clock, position: at, pace: 1.0 };
            clock += waits.before(now);
            clock += waits.miss(&flight, now, takes(latency, dependent), MEMORY);
        }
        assert_eq!((clock + waits.all(&flight, clock)).0, expected, "{loads:?}");
    }
}

#[test]
fn walks_go_on_side_by_side_as_far_as_the_walkers_allow() {
    for (walks, dependent, expected) in [
        // A walker has the next walk when it is done with the one before.
        (1.0, false, 4 * 20 + 100),
        // Two of them have them in half of the time.
        (2.0, false, 20 + 3 * 10 + 100),
        // An address that is still to come has no walk before.
        (2.0, true, 4 * 120),
    ] {
        let flight = InFlight::new(1000, 8.0, 1.0, walks, 1, 1).at_pace(1.0);
        let (mut waits, now) = (Waits::default(), Now { clock: Ticks(0), position: 0, pace: 1.0 });
        for _ in 0..4 {
            let takes = Takes { walk: Ticks(20), latency: Ticks(100), dependent };
            assert_eq!(waits.miss(&flight, now, takes, MEMORY), Ticks(0));
        }
        assert_eq!(waits.all(&flight, now.clock).0, expected, "{walks} {dependent}");
    }
}

#[test]
fn a_stream_takes_the_longer_of_its_lines_and_the_operations() {
    let flight = InFlight::new(10, 8.0, 4.0, 1.0, 1, 1);
    // A line every 25 ticks at most; the first are ahead by one latency.
    for (operations, lines, expected) in [(10, 1000, 25_000), (40, 1000, 40_000)] {
        let (mut waits, mut clock) = (Waits::default(), Ticks(1_000));
        let each = flight.a_stream(Ticks(100));
        for _ in 0..lines {
            clock += Ticks(operations);
            clock += waits.stream(&flight, clock, Ticks(100), each, Ticks::default(), MEMORY);
        }
        let taken = clock.0 - 1_000;
        assert!(taken.abs_diff(expected) <= 100, "{operations}: {taken}");
    }
}

/// Misses of 1000 ticks each, with a window of 400 operations, a tick each: how long the core
/// waits when it leaves at 40 and at once again when it is back at 2040, and then at the end of
/// the window.
fn left_and_back(each: u64) -> [u64; 3] {
    let flight = InFlight::new(400, 8.0, 1.0, 1.0, 1, each).at_pace(1.0);
    let (mut waits, now) = (Waits::default(), Now { clock: Ticks(0), position: 0, pace: 1.0 });
    assert_eq!(waits.miss(&flight, now, takes(1000, false), MEMORY), Ticks(0));
    let leaves = waits.all(&flight, Ticks(40));
    waits.come_back(Ticks(2040));
    let again = waits.all(&flight, Ticks(2040));
    waits.come_back(Ticks(2040));
    let end = Now { clock: Ticks(2400), position: 400, pace: 1.0 };
    [leaves, again, waits.before(end)].map(|wait| wait.0)
}

#[test]
fn a_core_that_leaves_waits_for_all_or_of_a_sample_for_what_one_window_lacks() {
    assert_eq!(left_and_back(1), [960, 0, 0]);
    // Of four windows one loses the 360 operations that were to come; the others go on.
    assert_eq!(left_and_back(4), [360 / 4, 360 / 4, 600]);
}

#[test]
fn what_follows_a_line_that_is_at_hand_waits_for_none_before_it() {
    let flight = InFlight::new(100, 8.0, 1.0, 1.0, 1, 1).at_pace(1.0);
    let now = Now { clock: Ticks(10), position: 10, pace: 1.0 };
    let no = Ticks::default();
    for (streaming, expected) in [(false, 110), (true, 110)] {
        let mut waits = Waits::default();
        waits.miss(&flight, now, takes(100, false), MEMORY);
        // One of a stream may hit, too.
        let touch = Touch { line: 3, write: false, stack: false, streaming, dependent: false };
        let line = Line {
            line: 3,
            passed: now.clock,
            latency: no,
            walk: no,
            stream: no,
            fault: no,
            part: Part::Caches,
            taken: None,
            followed: streaming,
        };
        assert_eq!(waits.line(&flight, now, touch, &line), no);
        waits.miss(&flight, now, takes(100, true), MEMORY);
        assert_eq!(waits.until.0, expected, "{streaming}");
    }
}
