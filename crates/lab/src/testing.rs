//! Small programs and machines for tests.

use befit_machine::{Bytes, Machine};
use befit_program::{Declared, Meta, Program, ProgramBuilder, ScopeId};

/// Eight tasks that each walk 16 KiB of their own, twice.
pub(crate) fn program() -> Program {
    let each = 256;
    let meta = Meta { name: "walks --n 8".to_owned(), line_size: Bytes(64), filter: 8 };
    let mut builder = ProgramBuilder::new(meta);
    builder.declare_root(Declared { size: Some(Bytes(8 * each * 64)), strand: None });
    builder.work(1, 1, 1);
    for _ in 0..2 {
        for task in 0..8 {
            builder
                .fork(ScopeId(1), Declared { size: Some(Bytes(each * 64)), strand: None })
                .unwrap();
            for line in 0..each {
                builder.touch(task * each + line, line % 2 == 0, false);
            }
            builder.work(each, each / 2, each);
            builder.end().unwrap();
        }
        builder.sync(ScopeId(1)).unwrap();
    }
    builder.finish().unwrap()
}

/// `sockets` sockets of two cores, each core with an L1 and an L2.
pub(crate) fn machine(sockets: u32) -> Machine {
    let text =
        format!("pack:{sockets} l3:1(size=65536) core:2 l2:1(size=16384) l1:1(size=4096) pu:1");
    text.parse().unwrap()
}
