//! Random programs, and the same program as its builder was told it.

// Each test uses its own part.
#![allow(dead_code, unused_imports)]

mod all;
mod forge;

use befit_machine::Bytes;
use befit_program::{Declared, Program, ProgramBuilder, RawTouch, ScopeId, Site, Source};
use proptest::prelude::*;

pub(crate) use all::all;
pub(crate) use forge::*;

/// What a recorder may see.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Join(Vec<Event>, Vec<Event>, Option<u64>),
    /// A scope; its children are forked by tasks `depth` forks further down.
    Scope {
        depth: u32,
        children: Vec<Vec<Event>>,
    },
    Detached(Vec<Event>),
    Walk {
        line: u64,
        lines: u64,
        streams: u64,
        stack: bool,
    },
    Touch {
        line: u64,
        write: bool,
    },
    Dependent {
        line: u64,
    },
    Work(u64, u64, u64),
}

pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let leaf = prop_oneof![
        (0..1u64 << 40, 1..300u64, 1..8u64, prop::bool::weighted(0.2)).prop_map(
            |(line, lines, streams, stack)| {
                Event::Walk { line: if stack { line % 100 } else { line }, lines, streams, stack }
            }
        ),
        (0..1u64 << 58, any::<bool>()).prop_map(|(line, write)| Event::Touch { line, write }),
        (0..1u64 << 58).prop_map(|line| Event::Dependent { line }),
        prop_oneof![(0..1000u64, 0..1000u64, 0..1000u64), any::<(u64, u64, u64)>()]
            .prop_map(|(loads, stores, blocks)| Event::Work(loads, stores, blocks)),
    ];
    let node = leaf.prop_recursive(5, 64, 4, |inner| {
        let part = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (part(), part(), any::<Option<u64>>()).prop_map(|(a, b, size)| Event::Join(a, b, size)),
            (0..3u32, prop::collection::vec(part(), 0..4))
                .prop_map(|(depth, children)| Event::Scope { depth, children }),
            part().prop_map(Event::Detached),
        ]
    });
    prop::collection::vec(node, 0..6)
}

/// Without files of failures: a failure becomes a test of its own.
pub(crate) fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) fn build(events: &[Event]) -> Program {
    let mut recorder = Recorder { builder: ProgramBuilder::new(meta()), scopes: 0 };
    recorder.builder.declare_root(Declared { size: Some(Bytes(1 << 30)), strand: None });
    recorder.run(events);
    recorder.builder.finish().unwrap()
}

struct Recorder {
    builder: ProgramBuilder,
    scopes: u32,
}

impl Recorder {
    fn run(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Join(a, b, size) => {
                    let scope = self.scope();
                    let declared = Declared {
                        size: size.map(Bytes),
                        strand: size.map(|size| Bytes(size / 2)),
                    };
                    self.child(scope, declared, |recorder| recorder.run(a));
                    self.child(scope, declared, |recorder| recorder.run(b));
                    self.builder.sync(scope).unwrap();
                }
                Event::Scope { depth, children } => {
                    let scope = self.scope();
                    self.below(*depth, &mut |recorder| {
                        for child in children {
                            recorder
                                .child(scope, Declared::default(), |recorder| recorder.run(child));
                        }
                    });
                    self.builder.sync(scope).unwrap();
                }
                Event::Detached(task) => {
                    self.child(ScopeId(0), Declared::default(), |recorder| recorder.run(task))
                }
                &Event::Walk { line, lines, streams, stack } => {
                    for i in 0..lines {
                        for stream in 0..streams {
                            let line = line + i + if stack { 0 } else { stream * 12_345 };
                            self.builder.touch(line, stream % 2 == 1, stack);
                        }
                    }
                }
                &Event::Touch { line, write } => {
                    self.builder.touches(&[RawTouch::new(line, write, false)])
                }
                &Event::Dependent { line } => {
                    self.builder.touches(&[RawTouch::dependent_on_last(line)])
                }
                &Event::Work(loads, stores, blocks) => self.builder.work(loads, stores, blocks),
            }
        }
    }

    /// A new scope. Numbers are sparse, as a recorder's may be.
    fn scope(&mut self) -> ScopeId {
        self.scopes += 1;
        ScopeId(self.scopes.wrapping_mul(0x9e37_79b9))
    }

    fn child(&mut self, scope: ScopeId, declared: Declared, run: impl FnOnce(&mut Self)) {
        let n = self.scopes;
        let place = self.builder.place(&format!("place {}", n % 3)).unwrap();
        let site = Site { place, bytes: 8 * (n % 2), index: (n % 2) as u8 };
        let site = self.builder.site(site).unwrap();
        if n % 3 == 1 {
            let (file, function) = ("src/main.rs".into(), "function".into());
            self.builder.source(site, Source { file, line: n % 4, function });
        }
        let word = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 65).min(63);
        let words = [0, word, 0, 0, u64::from(n % 5), 0, 0, word];
        self.builder.fork_from(scope, declared, site, (0..).zip(words)).unwrap();
        run(self);
        self.builder.end().unwrap();
    }

    /// Runs `run` in a task `depth` joins further down.
    fn below(&mut self, depth: u32, run: &mut dyn FnMut(&mut Self)) {
        if depth == 0 {
            return run(self);
        }
        let scope = self.scope();
        self.child(scope, Declared::default(), |recorder| recorder.below(depth - 1, run));
        self.builder.sync(scope).unwrap();
    }
}

/// A task of `scope` that does what `run` builds, and has ended.
pub(crate) fn task(
    builder: &mut ProgramBuilder,
    scope: u32,
    run: impl FnOnce(&mut ProgramBuilder),
) {
    builder.fork(ScopeId(scope), Declared::default()).unwrap();
    run(builder);
    builder.end().unwrap();
}
