//! Recursive repeated gather: fills an array three times in parallel from random places of another,
//! then does the same with each half.
//!
//! Source: H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola, "Experimental
//! analysis of space-bounded schedulers", SPAA 2014, section 5.1 (RGM), with its sizes: n = 10M
//! doubles, three repeats, cut in the middle. B\[i\] = A\[I\[i\] mod len\] with random i32s I; the
//! parallel gather splits in two and is serial below 2¹⁴ elements; the recursion ends at 2¹³.
//!
//! Simhadri et al. define `len` in two ways, so there are two kernels. `rgm` follows their text:
//! the length of the range that the recursive task works on, so that its first levels read from all
//! over the array. `rgm-leaf` follows their code: the length of the serial leaf, so that no read
//! goes further than 2¹⁴ elements from its own place.
//!
//! Declared sizes: a recursive task of m elements touches m of each array, (8 + 8 + 4)m bytes. A
//! part of a gather, of m elements out of a range of r, touches m of B and I, and of A under `rgm`
//! at most one line for each read, and at most the range: 12m + min(64m, 8r); under `rgm-leaf` its
//! own part only: 20m.

use befit::{ThreadPool, fit, join};

use crate::{Input, KernelError, array};

/// How often each range is gathered before it is cut.
const REPEATS: usize = 3;
/// The gather of fewer elements is one serial loop.
const SERIAL_BELOW: usize = 1 << 14;
/// With so many elements or fewer the recursion ends.
const ENDS_AT: usize = 1 << 13;
/// A random read brings a line into a cache.
const LINE: usize = 64;

/// The source of the gathered elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The whole range that the recursive task works on.
    Range,
    /// The serial leaf's own part of it.
    Leaf,
}

/// The source of elements, and the sizes at which parallelism and recursion end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    source: Source,
    serial_below: usize,
    ends_at: usize,
}

impl Shape {
    fn new(source: Source, input: Input) -> Self {
        Self { source, serial_below: input.cut_off(SERIAL_BELOW), ends_at: input.cut_off(ENDS_AT) }
    }
}

/// Runs `rgm` or `rgm-leaf` on `input.n` elements with random indices from the seed.
pub(crate) fn run(pool: &ThreadPool, input: Input, source: Source) -> Result<(), KernelError> {
    let (Input { n, seed, .. }, shape) = (input, Shape::new(source, input));
    let mut random = fastrand::Rng::with_seed(seed);
    let a = array::filled(n, |i| i as f64)?;
    let mut b = array::filled(n, |_| 0.0)?;
    let index = array::filled(n, |_| random.i32(0..i32::MAX))?;
    let size = size_of_val(&a[..]) + size_of_val(&b[..]) + size_of_val(&index[..]);
    pool.install(fit(size, || repeat_and_cut(&a, &mut b, &index, shape)));
    array::check(&b, |i| match last_source(i, n, shape) {
        Some((from, len)) => a[from + place(index[i], len)],
        None => 0.0,
    })
}

/// The element, of `len`, that an index stands for.
fn place(index: i32, len: usize) -> usize {
    index as usize % len
}

fn repeat_and_cut(a: &[f64], b: &mut [f64], index: &[i32], shape: Shape) {
    if a.len() <= shape.ends_at {
        return;
    }
    for _ in 0..REPEATS {
        Gather { range: a, own: a, b, index, shape }.run();
    }
    let (a1, a2) = a.split_at(a.len() / 2);
    let (b1, b2) = b.split_at_mut(a1.len());
    let (index1, index2) = index.split_at(a1.len());
    let size =
        |a: &[f64], b: &[f64], index: &[i32]| size_of_val(a) + size_of_val(b) + size_of_val(index);
    join(
        fit(size(a1, b1, index1), || repeat_and_cut(a1, b1, index1, shape)),
        fit(size(a2, b2, index2), || repeat_and_cut(a2, b2, index2, shape)),
    );
}

/// A part of one gather.
struct Gather<'a> {
    /// The range of the recursive task.
    range: &'a [f64],
    /// The part of it that stands where `b` does.
    own: &'a [f64],
    b: &'a mut [f64],
    index: &'a [i32],
    shape: Shape,
}

impl<'a> Gather<'a> {
    fn run(self) {
        if self.b.len() < self.shape.serial_below {
            return self.run_serially();
        }
        let (one, two) = self.halves();
        join(fit(one.bytes(), || one.run()), fit(two.bytes(), || two.run()));
    }

    fn run_serially(self) {
        let from = match self.shape.source {
            Source::Range => self.range,
            Source::Leaf => self.own,
        };
        for (to, index) in self.b.iter_mut().zip(self.index) {
            *to = from[place(*index, from.len())];
        }
    }

    fn halves(self) -> (Self, Self) {
        let Self { range, own, b, index, shape } = self;
        let (own1, own2) = own.split_at(own.len() / 2);
        let (b1, b2) = b.split_at_mut(own1.len());
        let (index1, index2) = index.split_at(own1.len());
        (
            Self { range, own: own1, b: b1, index: index1, shape },
            Self { range, own: own2, b: b2, index: index2, shape },
        )
    }

    /// Distinct bytes that this part touches.
    fn bytes(&self) -> usize {
        let read = match self.shape.source {
            Source::Range => size_of_val(self.range).min(LINE * self.b.len()),
            Source::Leaf => size_of_val(self.own),
        };
        read + size_of_val(self.b) + size_of_val(self.index)
    }
}

/// For the check: start and length of the range from which element `i` of `n` was gathered last;
/// `None` if it never was. Halves ranges as the kernel does, but by numbers and without recursion.
fn last_source(i: usize, n: usize, shape: Shape) -> Option<(usize, usize)> {
    let half_of = |(from, len): (usize, usize)| {
        let cut = len / 2;
        if i < from + cut { (from, cut) } else { (from + cut, len - cut) }
    };
    let mut range = (0, n);
    if n <= shape.ends_at {
        return None;
    }
    while half_of(range).1 > shape.ends_at {
        range = half_of(range);
    }
    if shape.source == Source::Leaf {
        while range.1 >= shape.serial_below {
            range = half_of(range);
        }
    }
    Some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(source: Source) -> Shape {
        Shape::new(source, Input { shrink: 1, ..Input::default() })
    }

    #[test]
    fn an_element_is_last_gathered_in_the_smallest_range_that_is_gathered() {
        // 40,000 is gathered, then its halves of 20,000, then theirs of 10,000; those of 5,000 are
        // not.
        assert_eq!(last_source(12_345, 40_000, shape(Source::Range)), Some((10_000, 10_000)));
        // 16,384 is gathered in serial leaves of 8,192, and its halves not at all.
        assert_eq!(last_source(9_000, 16_384, shape(Source::Range)), Some((0, 16_384)));
        assert_eq!(last_source(9_000, 16_384, shape(Source::Leaf)), Some((8_192, 8_192)));
        assert_eq!(last_source(5, ENDS_AT, shape(Source::Range)), None);
    }

    #[test]
    fn a_small_part_of_a_gather_declares_a_line_for_each_read() {
        let (a, index) = (vec![0.0; 1 << 16], vec![0; 16]);
        let bytes = |source| {
            Gather {
                range: &a,
                own: &a[..16],
                b: &mut [0.0; 16],
                index: &index,
                shape: shape(source),
            }
            .bytes()
        };
        assert_eq!(bytes(Source::Range), 16 * (64 + 8 + 4));
        assert_eq!(bytes(Source::Leaf), 16 * (8 + 8 + 4));
    }
}
