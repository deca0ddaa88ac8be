//! Inputs by number: good ones, changed at random.

use crate::Target;

/// No input is longer.
const LONGEST: usize = 1 << 16;

/// What tends to be a border.
const NUMBERS: [&str; 10] =
    ["0", "1", "-1", "255", "65536", "4294967296", "18446744073709551615", "1e999", "0.5", "nan"];

/// The inputs of a target.
#[derive(Debug)]
pub struct Inputs {
    seeds: Vec<Vec<u8>>,
}

impl Inputs {
    /// Those of `target`.
    #[must_use]
    pub fn of(target: Target) -> Self {
        Self { seeds: (target.seeds)() }
    }

    /// The input of this number. The first are the good ones as they are.
    #[must_use]
    pub fn input(&self, number: u64) -> Vec<u8> {
        if let Some(seed) = self.seeds.get(number as usize) {
            return seed.clone();
        }
        let mut random = fastrand::Rng::with_seed(number);
        let mut input = self.seeds[random.usize(..self.seeds.len())].clone();
        // Mostly few changes: more of them seldom come past the first check.
        let most = 1 << random.u32(..5);
        for _ in 0..=random.u32(..most) {
            self.change(&mut input, &mut random);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&self, input: &mut Vec<u8>, random: &mut fastrand::Rng) {
        let at = random.usize(..=input.len());
        let longest = 1 << random.u32(..8);
        let length = random.usize(..=longest.min(input.len() - at));
        match random.u32(..9) {
            0 | 1 if at < input.len() => input[at] ^= 1 << random.u32(..8),
            2 if at < input.len() => input[at] = random.u8(..),
            3 => drop(input.drain(at..at + length)),
            4 => {
                // Once or many times.
                let part = input[at..at + length].repeat(1 << random.u32(..6));
                input.splice(at..at, part);
            }
            5 => {
                let other = &self.seeds[random.usize(..self.seeds.len())];
                let from = random.usize(..=other.len());
                let to = random.usize(from..=other.len());
                input.splice(at..at + length, other[from..to].iter().copied());
            }
            6 => {
                let number = NUMBERS[random.usize(..NUMBERS.len())];
                input.splice(at..at + digits(&input[at..]), number.bytes());
            }
            7 => {
                let word = random.u64(..) >> random.u32(..64);
                let end = (at + 8).min(input.len());
                input.splice(at..end, word.to_le_bytes());
            }
            _ => input.truncate(at),
        }
    }
}

/// How many of the first bytes are digits.
fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
