use befit_machine::Bytes;

use super::*;
use crate::{Meta, ProgramBuilder, RawTouch, ScopeId, tables::Blobs};

const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Tasks that walk, and jump, and use their stacks.
fn program() -> Program {
    let meta = Meta { name: "some".into(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    let mut random = fastrand::Rng::with_seed(3);
    for task in 0..20 {
        builder.fork(ScopeId(1), Default::default()).unwrap();
        for i in 0..300 {
            builder.touch(5000 + task * 200 + i, i % 3 == 0, false);
            builder.touches(&[RawTouch::dependent_on_last(random.u64(..9000))]);
            builder.touch(random.u64(..100), true, true);
        }
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    builder.finish().unwrap()
}

#[test]
fn each_touch_is_in_the_sample_of_its_group_and_sets_stay_together() {
    let program = program();
    for (coarser, modulus, count) in [(0, 64, 16), (0, 64, 2), (0, 8, 8), (1, 64, 4)] {
        let groups = LineGroups::new(coarser, modulus, count).unwrap();
        let wanted: Vec<u32> = (0..count).collect();
        let samples = program.samples(groups, &wanted, TWO);
        let all: u64 = samples.iter().map(|sample| sample.total_touches(&program)).sum();
        assert_eq!(all, program.total_touches());
        let table = groups.table();
        for strand in (0..program.strands()).map(StrandId) {
            let mut kept: Vec<_> =
                samples.iter().map(|s| s.touches(&program, strand).iter()).collect();
            for touch in program.touches(strand) {
                let line = touch.line >> coarser;
                let (group, place) = table[(line % modulus) as usize];
                let found = kept[usize::from(group)].next().unwrap().touch();
                let number = line / modulus * (modulus / count) + u32::from(place);
                assert_eq!(found, Touch { line: number, dependent: false, ..touch });
                let sample = &samples[usize::from(group)];
                assert!(touch.stack || sample.numbered_before(number) == line);
                assert!(number < if touch.stack { sample.stack_lines } else { sample.lines });
                // A cache of 128 sets and, in the sample, one of as many times fewer.
                let sets = 2 * modulus;
                let same = number % (sets / count) / (modulus / count);
                assert_eq!(same, line % sets / modulus);
            }
            assert!(kept.iter_mut().all(|rest| rest.next().is_none()));
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (program, groups) = (program(), LineGroups::new(0, 64, 8).unwrap());
    let on = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let samples = program.take_samples(groups, &[5, 2], threads);
        samples.into_iter().map(|s| (s.touches, s.ends)).collect::<Vec<_>>()
    };
    assert_eq!(on(1), on(7));
}

#[test]
fn a_group_of_more_lines_than_a_kept_touch_can_tell_is_known() {
    let can =
        |coarser, count, lines| LineGroups::new(coarser, 64, count).unwrap().can_number(lines);
    // Touches have 29 bits for a line.
    assert!(can(0, 2, (1 << 30) - 512) && !can(0, 2, 1 << 30));
    assert!(can(0, 4, 1 << 30) && !can(0, 4, 1 << 31) && can(1, 4, 1 << 31));
    assert!(can(0, 16, u32::MAX));
}

#[test]
fn hot_lines_have_the_number_that_they_had_before() {
    let meta = Meta { name: "some".into(), line_size: Bytes(64), filter: 1 };
    let mut builder = ProgramBuilder::new(meta);
    for _ in 0..2 {
        builder.fork(ScopeId(1), Default::default()).unwrap();
        (0..1000).for_each(|i| builder.touch(20 + 11 * (i % 2), true, false));
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    (0..9000).for_each(|line| builder.touch(line, false, false));
    let groups = LineGroups::new(0, 64, 2).unwrap();
    for sample in builder.finish().unwrap().samples(groups, &[0, 1], TWO) {
        let hot = (sample.lines() - 2..sample.lines()).map(|line| sample.numbered_before(line));
        assert_eq!(hot.collect::<Vec<_>>(), [20, 31]);
    }
}

#[test]
fn the_share_of_dependent_touches_is_that_of_those_which_may_miss() {
    let meta = Meta { name: "some".into(), line_size: Bytes(64), filter: 1 };
    let mut builder = ProgramBuilder::new(meta);
    let groups = LineGroups::new(0, 64, 2).unwrap();
    for line in 0..100 {
        builder.touch(line, false, false);
        builder.touches(&[RawTouch::dependent_on_last(1000 + line)]);
        // Lines that a strand comes back to count once.
        (0..5).for_each(|_| builder.touch(line, false, false));
    }
    assert_eq!(builder.finish().unwrap().dependent_share(groups, TWO), 0.5);
}

#[test]
fn the_heaviest_group_is_told_as_a_multiple_of_the_mean() {
    // So many touches of each of the lines 0, 1, …, each by a strand of its own.
    let heaviest = |counts: &[u64], (coarser, modulus, count)| {
        let meta = Meta { name: "some".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        for (line, touches) in (0..).zip(counts) {
            for _ in 0..*touches {
                builder.fork(ScopeId(1), Default::default()).unwrap();
                builder.touch(line, false, false);
                builder.end().unwrap();
            }
        }
        builder.sync(ScopeId(1)).unwrap();
        let groups = LineGroups::new(coarser, modulus, count).unwrap();
        assert_eq!(groups.count(), count);
        builder.finish().unwrap().heaviest_group(groups, TWO)
    };
    assert_eq!(heaviest(&[], (0, 4, 4)), 0.0);
    assert_eq!(heaviest(&[7], (0, 4, 4)), 4.0);
    assert_eq!(heaviest(&[5; 8], (0, 4, 4)), 1.0);
    // 2 + 2, 1, 1, 2: a mean of 2.
    assert_eq!(heaviest(&[2, 1, 1, 2, 2], (0, 4, 4)), 2.0);
    // Lines of two: 3, 3, 0, 0.
    assert_eq!(heaviest(&[2, 1, 1, 2], (1, 4, 4)), 2.0);
    // Whichever two classes make a group.
    assert_eq!(heaviest(&[1, 1, 1, 1], (0, 4, 2)), 1.0);
}

#[test]
fn all_samples_have_the_hot_lines_whose_touches_stand_for_themselves() {
    let meta = Meta { name: "hot".into(), line_size: Bytes(64), filter: 1 };
    let mut builder = ProgramBuilder::new(meta);
    for _ in 0..2 {
        builder.fork(ScopeId(1), Default::default()).unwrap();
        for i in 0..100 {
            builder.touch(7, true, false);
            builder.touch(128 + i, false, false);
        }
        builder.end().unwrap();
    }
    builder.sync(ScopeId(1)).unwrap();
    let program = builder.finish().unwrap();
    // Pages 0, 2 and 3: of 192 lines a group of two has half, and a page's half to spare.
    let samples = program.samples(LineGroups::new(0, 64, 2).unwrap(), &[0, 1], TWO);
    for strand in [0, 1].map(StrandId) {
        let others = samples.iter().map(|sample| {
            assert_eq!((sample.one_in(), sample.coarser(), sample.hot()), (2, 0, &[7][..]));
            assert_eq!((sample.lines(), sample.stack_lines()), (96 + 32 + 1, 32));
            let kept = sample.touches(&program, strand);
            let hot = Touch { line: 128, write: true, ..Touch::default() };
            assert_eq!(kept.iter().filter(|kept| kept.touch() == hot).count(), 100);
            let others = kept.len() as u64 - 100;
            assert_eq!(sample.stands_for(kept), 100 + 2 * others);
            others
        });
        assert_eq!(others.sum::<u64>(), 100);
    }
    // Where none is hot, each touch stands for as many.
    let cold = self::program();
    let [sample] = &cold.samples(LineGroups::new(0, 64, 4).unwrap(), &[1], TWO)[..] else {
        panic!("one is wanted")
    };
    let kept = sample.touches(&cold, StrandId(0));
    assert_eq!(sample.stands_for(kept), 4 * kept.len() as u64);
}

#[test]
fn groups_are_joined_until_one_would_be_left() {
    let groups = LineGroups::new(1, 32, 4).unwrap();
    assert_eq!(groups.fewer(), LineGroups::new(1, 32, 2));
    assert_eq!(groups.fewer().and_then(LineGroups::fewer), None);
}

#[test]
fn groups_that_cannot_be_are_refused() {
    for (coarser, modulus, count) in [(0, 64, 128), (0, 128, 2), (0, 24, 8), (0, 64, 3)] {
        assert_eq!(LineGroups::new(coarser, modulus, count), None);
    }
}

/// A program whose blobs have so many touches, as far as their table tells.
fn of_blobs(touches: &[u64]) -> Program {
    let meta = Meta { name: "blobs".into(), line_size: Bytes(64), filter: 1 };
    let mut program = ProgramBuilder::new(meta).finish().unwrap();
    let table = touches.iter().map(|touches| Blob { end: 0, touches: *touches }).collect();
    program.blobs = Blobs { table, ..Blobs::default() }.into();
    program
}

#[test]
fn blobs_are_divided_into_no_more_ranges_than_asked_for_and_each_is_in_one() {
    for touches in [&[][..], &[0; 100], &[1 << 63; 2], &[u64::MAX; 50], &[1, 9, 0, 0, 7, 100, 3]] {
        let program = of_blobs(touches);
        for parts in [1, 2, 7, 1000] {
            let ranges = program.even_ranges(parts);
            assert!((1..=parts).contains(&ranges.len()), "{touches:?}: {ranges:?}");
            let blobs: Vec<u32> = ranges.iter().cloned().flatten().collect();
            assert_eq!(blobs, Vec::from_iter(0..touches.len() as u32));
            assert!(touches.is_empty() || ranges.iter().all(|range| !range.is_empty()));
        }
    }
    let ranges = of_blobs(&[0; 100]).even_ranges(7);
    assert_eq!(ranges, std::slice::from_ref(&(0..100)));
    assert_eq!(of_blobs(&[1 << 63; 2]).even_ranges(7), [0..1, 1..2]);
    assert_eq!(of_blobs(&[5; 9]).even_ranges(3), [0..3, 3..6, 6..9]);
}

#[test]
fn of_more_lines_than_a_number_tells_apart_a_group_says_the_largest_number() {
    let kept = |count, lines| LineGroups::new(0, 64, count).unwrap().kept(lines);
    assert_eq!(kept(1, u32::MAX), u32::MAX);
    assert_eq!(kept(2, u32::MAX), (1 << 31) + 32);
    assert_eq!(kept(64, 65), 3);
}

#[test]
fn touches_that_no_strand_has_are_in_no_sample_and_not_looked_at() {
    let mut program = program();
    let blobs = program.blobs.table.len();
    let groups = LineGroups::new(0, 64, 2).unwrap();
    let before = program.take_samples(groups, &[0, 1], TWO);
    // To go through all its touches would take centuries.
    let mut more = Blobs {
        bytes: program.blobs.bytes.clone(),
        table: program.blobs.table.clone(),
        ..Blobs::default()
    };
    more.table.push(Blob { end: more.bytes.len() as u64, touches: 1 << 63 });
    program.blobs = more.into();
    program.hot = Default::default();
    for (sample, before) in program.take_samples(groups, &[0, 1], TWO).iter().zip(before) {
        assert_eq!((&sample.touches, &sample.ends[..blobs]), (&before.touches, &before.ends[..]));
    }
}
