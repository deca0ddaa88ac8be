//! Quadtree: sorts points in the plane into the four quadrants of their square, then each
//! quadrant's into its quadrants, and so on.
//!
//! Source: H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola, "Experimental
//! analysis of space-bounded schedulers", SPAA 2014, section 5.1 (Quad-Tree), with its sizes: 100M
//! random points, one thread below 64 Ki points. One thread goes on until a square has at most 16
//! points, or is cut 32 times.
//!
//! Each step moves the points to the second array, so the squares of every other level are in the
//! same one; at the end all are in one of them.
//!
//! Declared sizes: a task on m points touches m of each array, 2 · 16m bytes.

use befit::{ThreadPool, fit, join};

use crate::{
    BOOKKEEPING, Input, KernelError, array,
    distribute::{Distribution, split},
};

/// Fewer points are sorted by one thread.
const SERIAL_BELOW: usize = 1 << 16;
/// So many points are left as they are.
const LEAF: usize = 16;
/// So often a square is cut: points that are equal, or nearly, come to an end.
const DEEPEST: u32 = 32;

/// A point in the unit square.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Point {
    x: f64,
    y: f64,
}

/// A square, by its lower left corner and the length of its sides.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Square {
    corner: Point,
    side: f64,
    cuts: u32,
}

impl Square {
    const UNIT: Self = Self { corner: Point { x: 0.0, y: 0.0 }, side: 1.0, cuts: 0 };

    /// Which quadrant a point lies in: lower left, lower right, upper left, upper right.
    fn quadrant_of(self, point: &Point) -> usize {
        let half = self.side / 2.0;
        2 * usize::from(point.y >= self.corner.y + half)
            + usize::from(point.x >= self.corner.x + half)
    }

    fn quadrant(self, number: usize) -> Self {
        let side = self.side / 2.0;
        let Point { x, y } = self.corner;
        let corner = Point { x: x + side * (number % 2) as f64, y: y + side * (number / 2) as f64 };
        Self { corner, side, cuts: self.cuts + 1 }
    }

    fn is_leaf(self, points: usize) -> bool {
        points <= LEAF || self.cuts == DEEPEST
    }
}

/// Runs it on `input.n` random points.
pub(crate) fn run(pool: &ThreadPool, input: Input) -> Result<(), KernelError> {
    let mut random = fastrand::Rng::with_seed(input.seed);
    let mut points = array::filled(input.n, |_| Point { x: random.f64(), y: random.f64() })?;
    let mut spare = array::filled(input.n, |_| Point::default())?;
    let before = fingerprint(&points);
    let part = input.cut_off(SERIAL_BELOW);
    let work = || build(Square::UNIT, &mut points, &mut spare, part, true);
    pool.install(fit(2 * size_of::<Point>() * input.n, work).strand(strand(input.n, part)));
    check(Square::UNIT, &points, 0)?;
    if fingerprint(&points) == before { Ok(()) } else { Err(KernelError::OtherElements) }
}

/// Sorts `points`, which lie in `square`, and leaves them there if `stay`, else in `spare`.
fn build(square: Square, points: &mut [Point], spare: &mut [Point], part: usize, stay: bool) {
    if square.is_leaf(points.len()) {
        if !stay {
            spare.copy_from_slice(points);
        }
        return;
    }
    let serial = points.len() < part;
    // One thread's part is all there is: no fork.
    let part_here = if serial { points.len() } else { part };
    let class = |point: &Point| square.quadrant_of(point);
    let distribution = Distribution { part: part_here, classes: 4, class };
    let counts = distribution.count(points);
    distribution.copy(points, &counts, spare);
    let lengths = counts.totals;
    let (mut here, mut there) = (split(points, &lengths), split(spare, &lengths));
    let quadrants = (0..4).map(|i| Quadrant {
        square: square.quadrant(i),
        points: std::mem::take(&mut there[i]),
        spare: std::mem::take(&mut here[i]),
    });
    if serial {
        return quadrants.for_each(|quadrant| quadrant.build(part, !stay));
    }
    let mut quadrants: Vec<_> = quadrants.collect();
    let upper = quadrants.split_off(2);
    let (bytes_lower, bytes_upper) = (bytes(&quadrants), bytes(&upper));
    join(
        fit(bytes_lower, || two(quadrants, part, !stay)).strand(BOOKKEEPING),
        fit(bytes_upper, || two(upper, part, !stay)).strand(BOOKKEEPING),
    );
}

/// A quarter of a square, with its points and as much of the other array.
struct Quadrant<'a> {
    square: Square,
    points: &'a mut [Point],
    spare: &'a mut [Point],
}

impl Quadrant<'_> {
    fn build(self, part: usize, stay: bool) {
        build(self.square, self.points, self.spare, part, stay);
    }

    fn bytes(&self) -> usize {
        2 * size_of_val(self.points)
    }

    fn strand(&self, part: usize) -> usize {
        strand(self.points.len(), part)
    }
}

/// Bytes that the strands of the task that sorts so many points touch.
fn strand(points: usize, part: usize) -> usize {
    if points < part {
        2 * points * size_of::<Point>()
    } else {
        BOOKKEEPING + 4 * points.div_ceil(part) * size_of::<usize>()
    }
}

fn bytes(quadrants: &[Quadrant<'_>]) -> usize {
    quadrants.iter().map(Quadrant::bytes).sum()
}

fn two(mut quadrants: Vec<Quadrant<'_>>, part: usize, stay: bool) {
    let (Some(right), Some(left)) = (quadrants.pop(), quadrants.pop()) else { return };
    let (bytes_left, bytes_right) = (left.bytes(), right.bytes());
    let (strand_left, strand_right) = (left.strand(part), right.strand(part));
    join(
        fit(bytes_left, || left.build(part, stay)).strand(strand_left),
        fit(bytes_right, || right.build(part, stay)).strand(strand_right),
    );
}

/// Equal for the same points in any order, and hardly ever for others.
fn fingerprint(points: &[Point]) -> u64 {
    let of = |p: &Point| array::mixed(array::mixed(p.x.to_bits()) ^ p.y.to_bits());
    points.iter().fold(0, |sum: u64, point| sum.wrapping_add(of(point)))
}

/// Checks that the points of each square stand quadrant by quadrant. `first` is the index of the
/// first of `points`.
fn check(square: Square, points: &[Point], first: usize) -> Result<(), KernelError> {
    if square.is_leaf(points.len()) {
        return Ok(());
    }
    let mut start = 0;
    for quadrant in 0..4 {
        let length = points[start..]
            .iter()
            .take_while(|point| square.quadrant_of(point) == quadrant)
            .count();
        check(square.quadrant(quadrant), &points[start..start + length], first + start)?;
        start += length;
    }
    match points.get(start) {
        None => Ok(()),
        Some(point) => Err(KernelError::WrongResult {
            index: first + start,
            found: square.quadrant_of(point) as f64,
            expected: 3.0,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_points_come_to_an_end() {
        let mut points = vec![Point { x: 0.3, y: 0.7 }; 1000];
        let mut spare = points.clone();
        build(Square::UNIT, &mut points, &mut spare, 2000, true);
        assert_eq!(check(Square::UNIT, &points, 0), Ok(()));
    }

    #[test]
    fn points_out_of_order_are_refused() {
        let point = |i: u32| Point { x: f64::from(i % 7) / 7.0, y: f64::from(i % 11) / 11.0 };
        let points: Vec<_> = (0..100).map(point).collect();
        assert!(matches!(check(Square::UNIT, &points, 0), Err(KernelError::WrongResult { .. })));
    }
}
