//! Linux's lists of numbers: `0-3,8,10-11`.

use crate::MOST_OBJECTS;

/// All numbers of the list, in its order; None where it is malformed or longer than any machine is
/// large.
pub(super) fn parse(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for piece in text.trim().split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let length = last.checked_sub(first)? as usize + 1;
        if numbers.len() + length > MOST_OBJECTS {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// `numbers`, ascending, as such a list.
pub(super) fn print(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *n => *last = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let text = runs.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_printed() {
        assert_eq!(parse("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse(""), Some(vec![]));
        assert_eq!(print(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }

    #[test]
    fn a_malformed_or_huge_list_is_refused() {
        for bad in ["a", "3-1", "0-", "1--2", "0-4294967295", "4294967296"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
