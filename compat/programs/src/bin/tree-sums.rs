//! Makes a binary tree, a box for each node, and sums up its numbers ten times, leaving in each
//! node the sum of what is below. The argument is its depth.

/// Subtrees no deeper than this are one task each.
const LITTLE: u32 = 8;

struct Node {
    number: u64,
    below: [Option<Box<Node>>; 2],
}

fn make(depth: u32, number: u64) -> Option<Box<Node>> {
    let below = match depth {
        0 => return None,
        ..=LITTLE => [make(depth - 1, 2 * number), make(depth - 1, 2 * number + 1)],
        _ => {
            let (left, right) = (2 * number, 2 * number + 1);
            rayon::join(|| make(depth - 1, left), || make(depth - 1, right)).into()
        }
    };
    Some(Box::new(Node { number, below }))
}

fn sum(tree: &mut Option<Box<Node>>, depth: u32) -> u64 {
    let Some(node) = tree else { return 0 };
    let [left, right] = &mut node.below;
    let (left, right) = if depth <= LITTLE {
        (sum(left, depth - 1), sum(right, depth - 1))
    } else {
        rayon::join(|| sum(left, depth - 1), || sum(right, depth - 1))
    };
    node.number = node.number.wrapping_add(left).wrapping_add(right);
    node.number
}

fn main() {
    let depth = befit_rayon_programs::size(19) as u32;
    let mut tree = make(depth, 1);
    let all = (0..10).fold(0, |_, _| sum(&mut tree, depth));
    println!("{all}");
}
