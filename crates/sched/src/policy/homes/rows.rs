//! How wide each worker's place is, by what a computation goes through.
//!
//! Sockets whose caches or cores differ are given parts of a computation that differ. Divided by
//! speed alone, a socket of many cores and a small cache may get more than its cache holds while
//! another one's cache stands half empty. It then brings the rest in again in each round, and all
//! others wait for it. So each socket gets what it can go through in the same time: at the pace of
//! its cores what its cache holds, and what is beyond with the time that it takes to bring it in.
//! A program that computes much for each line is thus divided by speed, another one by caches; one
//! of which no sizes are known, by speed.

use befit_machine::{Bytes, Machine, WorkerId};

use super::{
    home::{Home, Kind},
    pace::Pace,
    row::Row,
};
use crate::policy::bitier::Sockets;

/// Amounts of data are told apart by eighths of what all caches hold, up to three times that.
const EIGHTHS: u32 = 8;
const MOST: u32 = 3 * EIGHTHS;
/// Paces are told apart by powers of two, up to 256 cycles for each line.
const PACES: u32 = 9;
/// The pace of a program, in cycles for each line, before it is known: about as long as it takes to
/// bring one in.
const USUAL: f64 = 32.0;

/// The rows of a machine: one, or one for each amount of data and pace.
#[derive(Debug)]
pub(super) struct Rows {
    all: Vec<Row>,
    /// What all caches hold together.
    caches: Bytes,
    line: Bytes,
}

/// A socket, as far as it matters what part it gets.
struct Socket {
    /// Of its workers together; 1 is full speed of one.
    speed: f64,
    /// In lines.
    cache: f64,
    /// Cycles to bring a line in from memory, and another one back.
    exchange: f64,
}

impl Rows {
    /// Of a machine with these sockets, on which a worker brings in a line in `line_cycles`.
    pub(super) fn new(machine: &Machine, sockets: &Sockets, line_cycles: f64) -> Self {
        let ids = || (0..sockets.count()).map(|i| machine.cluster(sockets.cluster(i)));
        let caches = Bytes(ids().map(|it| it.size().0).sum());
        let line = ids().filter_map(|it| it.cache).map(|it| it.line).max().unwrap_or(Bytes(64));
        let socket = |i| Socket::new(machine, sockets, i, line, line_cycles);
        let all: Vec<_> = (0..sockets.count()).map(socket).collect();
        let alike = |it: &Socket| it.speed * all[0].cache == all[0].speed * it.cache;
        let count = if all.iter().all(alike) { 1 } else { MOST * PACES };
        let row = |index: u32| {
            let eighths = f64::from(index / PACES + 1) / f64::from(EIGHTHS);
            let lines = caches.0 as f64 / line.0 as f64 * eighths;
            let parts = parts(&all, lines, f64::from(index % PACES).exp2());
            let weight = |w: u32| {
                let socket = sockets.of(WorkerId(w));
                parts[socket] * speed(machine, w) / all[socket].speed
            };
            Row::new(index as u8, (0..machine.workers().len() as u32).map(weight))
        };
        Self { all: (0..count).map(row).collect(), caches, line }
    }

    /// What finds the pace, if that matters.
    pub(super) fn pace(&self, machine: &Machine) -> Option<Pace> {
        let speeds = (0..machine.workers().len() as u32).map(|w| speed(machine, w));
        let differ = self.all.len() > 1;
        differ.then(|| Pace::new(speeds, USUAL, f64::from(machine.mhz) / 1e3))
    }

    /// How many lines so much data are.
    pub(super) fn lines(&self, data: Bytes) -> u64 {
        data.0 / self.line.0.max(1)
    }

    /// The one that a home lies in.
    pub(super) fn of(&self, home: Home) -> &Row {
        &self.all[usize::from(home.row)]
    }

    /// The first `workers`, to go through so much data in this power of two of cycles for each
    /// line. By speed alone where it is not known how much: as if the caches held all of it.
    pub(super) fn whole(&self, data: Option<Bytes>, pace: u32, workers: u32) -> Home {
        let eighths = data
            .map_or(1, |data| data.0.saturating_mul(EIGHTHS.into()).div_ceil(self.caches.0.max(1)));
        let amount = eighths.clamp(1, MOST.into()) as usize - 1;
        let pace = pace.min(PACES - 1) as usize;
        let index = amount * PACES as usize + pace;
        self.all[index.min(self.all.len() - 1)].of(0..workers, Kind::Dealt)
    }
}

impl Socket {
    fn new(machine: &Machine, sockets: &Sockets, i: usize, line: Bytes, line_cycles: f64) -> Self {
        let cluster = machine.cluster(sockets.cluster(i));
        let bytes = line.0 as f64;
        let wires = cluster.cache.and_then(|it| it.link);
        let wires = wires.map_or(0.0, |link| bytes / link.read + bytes / link.write);
        Self {
            speed: sockets.workers(i).map(|w| speed(machine, w)).sum(),
            cache: cluster.size().0 as f64 / bytes,
            exchange: wires.max(2.0 * line_cycles / sockets.workers(i).len() as f64),
        }
    }
}

fn speed(machine: &Machine, w: u32) -> f64 {
    f64::from(machine.workers()[w as usize].speed) / 100.0
}

/// The part of so many `lines` for each socket: what it goes through in a time that is the same for
/// all. A line takes `pace` cycles at full speed.
fn parts(sockets: &[Socket], lines: f64, pace: f64) -> Vec<f64> {
    let within = |it: &Socket, time: f64| {
        let each = pace / it.speed;
        let full = it.cache * each;
        time.min(full) / each + (time - full).max(0.0) / (each + it.exchange)
    };
    let all = |time: f64| sockets.iter().map(|it| within(it, time)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while all(high) < lines {
        high *= 2.0;
    }
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if all(middle) < lines { low = middle } else { high = middle }
    }
    sockets.iter().map(|it| within(it, high)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn socket(speed: f64, cache: f64) -> Socket {
        Socket { speed, cache, exchange: 20.0 }
    }

    #[test]
    fn what_computes_little_fills_no_cache_beyond_its_size_while_another_has_room() {
        let sockets = [socket(4.0, 1600.0), socket(5.0, 800.0)];
        let share = |lines, pace| {
            let parts = parts(&sockets, lines, pace);
            (100.0 * parts[0] / lines).round()
        };
        assert_eq!(share(900.0, 1.0), 44.0, "by speed");
        assert_eq!(share(2400.0, 1.0), 66.0, "by cache");
        assert_eq!(share(2400.0, 4096.0), 45.0, "nearly by speed");
    }

    /// The share of the data that the first `workers` get.
    fn share(rows: &Rows, home: Home, workers: u32) -> f64 {
        rows.of(home).times_in(home, 0..workers) // how many such homes they have room for
    }

    #[test]
    fn unequal_sockets_share_by_caches_what_just_fits_them_and_is_soon_gone_through() {
        let machine = befit_machine::preset("ryzen-hx-370").unwrap();
        let rows = Rows::new(&machine, &Sockets::new(&machine), 10.0);
        let first = |mib, pace| share(&rows, rows.whole(Some(Bytes::mib(mib)), pace, 12), 4);
        assert!((first(24, 0) - 0.66).abs() < 0.02, "{}", first(24, 0));
        assert!((first(3, 0) - 0.44).abs() < 0.02, "{}", first(3, 0));
        assert!(first(24, 8) < 0.52, "{}", first(24, 8));
        assert!(first(1024, 0) < first(24, 0), "beyond all caches they matter less");
        let unknown = share(&rows, rows.whole(None, 0, 12), 4);
        assert!((unknown - 0.44).abs() < 0.02, "{unknown}: by speed");
        assert!(rows.pace(&machine).is_some());
    }

    #[test]
    fn equal_sockets_have_one_row_and_no_clock() {
        let machine = befit_machine::preset("epyc-9654").unwrap();
        let rows = Rows::new(&machine, &Sockets::new(&machine), 10.0);
        assert_eq!(rows.all.len(), 1);
        assert!(rows.pace(&machine).is_none());
    }

    proptest! {
        #[test]
        fn the_parts_are_all_of_the_data(
            all in prop::collection::vec((1u32..100, 1u32..100), 1..20),
            lines in 1u32..10_000, pace in 1u32..300,
        ) {
            let sockets: Vec<_> =
                all.iter().map(|(speed, cache)| socket((*speed).into(), (*cache).into())).collect();
            let sum: f64 = parts(&sockets, lines.into(), pace.into()).iter().sum();
            prop_assert!((sum / f64::from(lines) - 1.0).abs() < 1e-6);
        }
    }
}
