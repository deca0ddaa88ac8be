//! One worker: where the sets of its caches are, its masks of sharers, and its counts.

use befit_machine::ClusterId;

use super::{
    Caches, Inclusive, Rows, Shape, Starts,
    rows::{MODIFIED, MOST_CORES, MOST_WORKERS, SOCKETS, TO_LOST, core_bit, socket_bit},
};
use crate::{
    Found,
    hierarchy::{cluster_of, layout::Layout},
    hint::on_huge_pages,
    lanes::{EMPTY, ENTRIES, Entries, NO_TAG, TAGS, Tags},
};

/// Levels of the caches, as indices of [`WorkerState`]'s figures.
pub(super) const INNER: usize = 0;
pub(super) const OUTER: usize = 1;
pub(super) const LAST: usize = 2;
/// Where else a line may be found.
pub(super) const REMOTE: usize = 3;
pub(super) const MEMORY: usize = 4;

/// One worker.
///
/// It counts the events in its caches that its own accesses cause, so that an access has one
/// address for all it needs; [`super::inspect`] adds the counts up. Masks are of the bits of a
/// directory row, which name the sharers of a line (see [`super::rows`]).
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct WorkerState {
    /// Where the sets of its caches start.
    pub(super) inner: u32,
    pub(super) last: u32,
    pub(super) outer: u32,
    pub(super) core: u32,
    pub(super) socket: u32,
    /// In the first word of a row, the bits of all cores and sockets but its own.
    pub(super) others: u64,
    /// Of those, the sockets' bits.
    pub(super) other_sockets: u64,
    /// The bits of its own core and socket.
    pub(super) held: u64,
    /// The bit of its core.
    pub(super) core_bit: u64,
    /// All bits but its core's.
    pub(super) without_core: u64,
    /// All bits but its socket's and *modified*.
    pub(super) without_last: u64,
    /// The bits of its socket's cores.
    pub(super) below: u64,
    /// The bit of a line that its socket lost to a write.
    pub(super) lost: u64,
    /// In the second word, the bits of a line that its core lost.
    pub(super) private_lost: u64,
    /// The outcomes, by where the line was found, but for one found in another socket.
    pub(super) outcomes: [Found; 5],
    /// In the first word of a row, the bits of the other sockets of its package.
    pub(super) package: u64,
    /// The bits of the sockets to the right of its own.
    pub(super) right: u64,
    /// Its accesses, by where they found their line.
    pub(super) found: [u64; 5],
    /// Modified lines of other sockets that it read: they went to memory then.
    pub(super) shared: u64,
    /// Dirty lines that made room for its lines, by level.
    pub(super) writebacks: [u64; 3],
    /// Its misses on lines that were lost to another worker's write, by level.
    pub(super) coherence_misses: [u64; 3],
}

/// The core or the socket that a cache belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum CacheOwner {
    Inner(u32),
    Outer(u32),
    Last(u32),
}

impl Inclusive {
    /// Empty caches of a machine of this shape.
    pub(in crate::hierarchy) fn new(shape: Shape, layout: &Layout) -> Self {
        let mut owners = vec![CacheOwner::Inner(0); layout.caches.len()];
        let (mut cores, mut sockets) = (Vec::new(), Vec::new());
        let mut workers: Vec<WorkerState> = Vec::new();
        for path in &layout.paths {
            let [inner, outer, last] =
                [0, 1, 2].map(|i| layout.steps[path.start as usize + i].cache);
            let (core, socket) = (number(&mut cores, inner), number(&mut sockets, last));
            owners[inner as usize] = CacheOwner::Inner(core);
            owners[outer as usize] = CacheOwner::Outer(core);
            owners[last as usize] = CacheOwner::Last(socket);
            let own = |cache| Found::Own(cluster_of(cache));
            workers.push(WorkerState {
                inner: core * shape.inner_stride(),
                outer: core * shape.outer_stride(),
                last: socket * shape.last_stride(),
                core,
                socket,
                others: 0,
                other_sockets: 0,
                held: core_bit(core) | socket_bit(socket),
                core_bit: core_bit(core),
                without_core: !core_bit(core),
                without_last: !(socket_bit(socket) | MODIFIED),
                below: 0,
                lost: socket_bit(socket) << TO_LOST,
                private_lost: core_bit(core) | core_bit(core) << 32,
                outcomes: [own(inner), own(outer), own(last), Found::Memory, Found::Memory],
                package: 0,
                right: SOCKETS & !(socket_bit(socket) | (socket_bit(socket) - 1)),
                found: [0; 5],
                writebacks: [0; 3],
                coherence_misses: [0; 3],
                shared: 0,
            });
        }
        let all: Vec<(u32, u32)> = workers.iter().map(|w| (w.core, w.socket)).collect();
        let held = workers.iter().fold(0, |held, w| held | w.held);
        for worker in &mut workers {
            worker.others = held & !worker.held;
            worker.other_sockets = worker.others & SOCKETS;
            let near = |other: &usize| layout.outermost.are_near(worker.socket, *other as u32);
            let near = (0..sockets.len()).filter(near);
            worker.package = near.fold(0, |near, socket| near | socket_bit(socket as u32));
            worker.package &= worker.others;
            let below = all.iter().filter(|(_, socket)| *socket == worker.socket);
            worker.below = below.fold(0, |below, (core, _)| below | core_bit(*core));
        }
        let mut fixed = Box::new([workers[0]; MOST_WORKERS]);
        fixed[..workers.len()].copy_from_slice(&workers);
        let private =
            |stride: u32| on_huge_pages(Entries([EMPTY; ENTRIES]), cores.len() * stride as usize);
        let shared = sockets.len() * shape.last_stride() as usize;
        let caches = Caches {
            inner: private(shape.inner_stride()),
            outer: private(shape.outer_stride()),
            last: on_huge_pages(Tags([NO_TAG; TAGS]), shared),
            rows: Rows::new(shape.lines),
            lost: [[0; MOST_CORES]; 3],
            sockets: std::array::from_fn(|socket| match sockets.get(socket) {
                Some(cache) => cluster_of(*cache),
                None => ClusterId::ROOT,
            }),
            shape,
        };
        let starts = Box::new(Starts {
            inner: fixed.map(|w| w.inner),
            outer: fixed.map(|w| w.outer),
            last: fixed.map(|w| w.last),
            core: fixed.map(|w| w.core),
            socket: fixed.map(|w| w.socket),
        });
        Self { worker_count: workers.len() as u32, workers: fixed, starts, owners, caches }
    }
}

/// The number of `cache` in order of appearance.
fn number(seen: &mut Vec<u32>, cache: u32) -> u32 {
    let number = seen.iter().position(|c| *c == cache).unwrap_or_else(|| {
        seen.push(cache);
        seen.len() - 1
    });
    number as u32
}
