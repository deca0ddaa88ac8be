use std::hint::black_box;

use super::*;

/// A way to read closures; the stack that is near ends at the address of `base`.
fn reader<F>(base: &u8, closure: &F) -> Captured<impl Fn(usize) -> bool> {
    let here = 0u8;
    let stack = (&raw const here).addr()..std::ptr::from_ref(base).addr();
    let is_near = move |address: usize| stack.contains(&address) && address + 8 <= stack.end;
    // SAFETY: the closure is a live one of this size, and used at once; what lies between a
    // variable of this function and one of a caller is the stack of both.
    unsafe { Captured::new(std::ptr::from_ref(closure).cast(), size_of::<F>(), is_near) }
}

/// All words of a closure, each of which is the same when it is read alone.
fn words<F>(base: &u8, closure: &F) -> Vec<(Word, u64)> {
    let reader = reader(base, closure);
    let mut found = [(Word::own(0).unwrap(), 0); Word::COUNT as usize];
    let count = reader.all(&mut found);
    assert!(found[..count].is_sorted_by_key(|(word, _)| word));
    for (word, value) in &found[..count] {
        assert_eq!(reader.word(*word), Some(*value), "{word}");
    }
    found[..count].to_vec()
}

/// The closure's own words that are not 0, in ascending order.
fn own<F>(base: &u8, closure: &F) -> Vec<u64> {
    let words = words(base, closure).into_iter();
    let mut own: Vec<u64> = words.filter(|(w, _)| w.references() == 0).map(|w| w.1).collect();
    own.sort_unstable();
    own
}

/// Whether one of the words behind so many references has this value.
fn has<F>(base: &u8, closure: &F, references: u16, value: u64) -> bool {
    words(base, closure).iter().any(|(w, v)| (w.references(), *v) == (references, value))
}

/// Calls `f` with a variable of a frame that is older than those of `f`.
fn below(f: &dyn Fn(&u8)) {
    let base = 0;
    black_box(f)(black_box(&base));
}

fn used<T>(value: T) {
    let _ = black_box(value);
}

#[test]
fn a_slice_is_its_length_and_a_range_its_bounds() {
    let numbers = vec![0u32; 1000];
    below(&|base| {
        let (slice, range) = (&numbers[..700], 3..90usize);
        let closure = move || used((slice, range));
        assert_eq!(own(base, &closure), [3, 90, 700]);
    });
}

#[test]
fn a_variable_that_is_captured_by_reference_counts() {
    // As long as what is read behind references: neighbours on the stack change meanwhile.
    #[repr(align(8))]
    struct Four([u32; 2 * WIDTH + 4]);
    below(&|base| {
        let mut four = Four([0; 2 * WIDTH + 4]);
        four.0[..4].copy_from_slice(&[11, 0, 13, 14]);
        let mut long = [0u64; WIDTH];
        long[0] = 77;
        // Copied, so that they lie below `base`.
        let (long, short) = (black_box(long), black_box(four));
        let (whole, second_half, half) = (&short.0[0], &short.0[3], &short.0[2]);
        let closure = move || (*whole, *second_half, *half);
        // The half of a word that does not look like a small number is not read as one.
        assert!(has(base, &closure, 1, 11) && has(base, &closure, 1, 14));
        assert!(!has(base, &closure, 1, 13));
        assert!(has(base, &|| black_box(&long[0]), 1, 77));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn two_references_are_followed_wherever_they_lead() {
    struct Matrix {
        cells: Vec<f64>,
        // Of 32 bits, it would have padding, of any value, beside it.
        rows: usize,
    }
    let matrix = Box::new(Matrix { cells: vec![0.5; 1234], rows: 12 });
    below(&|base| {
        // It has references to the fields that it uses.
        let product = || (matrix.cells.len(), matrix.rows);
        assert!(has(base, &product, 1, 1234) && has(base, &product, 1, 12));
        let closure = || black_box(&product)();
        assert!(has(base, &closure, 2, 1234) && has(base, &closure, 2, 12));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn an_address_of_no_memory_is_told_and_does_no_harm() {
    below(&|base| {
        // Unmapped, or forbidden; near the end of addresses; beyond them.
        let end = ADDRESS_LIMIT;
        for address in [OWN_LIMIT, end - 8, end - 128, end, !7] {
            let address = black_box(address);
            let closure = move || used(address);
            assert_eq!(words(base, &closure), [], "{address:x}");
            let behind = Word::own(0).and_then(|word| word.behind(0)).unwrap();
            let expected = if address == OWN_LIMIT { None } else { Some(0) };
            assert_eq!(reader(base, &closure).word(behind), expected, "{address:x}");
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_there_is_read_beside_what_is_not() {
    let pages = {
        let (readable, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        let flags = private | libc::MAP_ANONYMOUS;
        // SAFETY: new pages, wherever there is room.
        unsafe { libc::mmap(std::ptr::null_mut(), 2 * PAGE, readable, flags, -1, 0) }
    };
    assert_ne!(pages, libc::MAP_FAILED);
    // SAFETY: the second of the pages, which nothing has used.
    let unmapped = unsafe { libc::munmap(pages.wrapping_byte_add(PAGE), PAGE) };
    assert_eq!(unmapped, 0);
    // The last two words of the first page: what lies behind the first of them is cut off.
    let last = pages.wrapping_byte_add(PAGE - 16).cast::<u64>();
    // SAFETY: the page is ours, and nothing else refers to it.
    unsafe { last.write(21) };
    // SAFETY: the same.
    unsafe { last.wrapping_add(1).write(22) };
    let (one, other) = (Box::new([31u64; WIDTH]), Box::new([41u64; WIDTH]));
    below(&|base| {
        let nowhere = black_box(OWN_LIMIT);
        let (one, other) = (one.as_ptr().addr(), other.as_ptr().addr());
        let closure = move || used((nowhere, one, nowhere, last.addr(), other, nowhere));
        let words = words(base, &closure).into_iter().map(|(_, value)| value);
        let expected = [[31; WIDTH].as_slice(), &[21, 22], &[41; WIDTH]].concat();
        assert_eq!(words.collect::<Vec<_>>(), expected);
    });
    // SAFETY: the first page is ours still, and nothing uses it any more.
    unsafe { libc::munmap(pages, PAGE) };
}

#[test]
fn addresses_and_floats_count_as_absent() {
    // As long as what is read behind it: neighbours on the heap change meanwhile.
    let on_heap = Box::new([0u64; WIDTH]);
    below(&|base| {
        let address = on_heap.as_ptr();
        let closure = move || used((address, 1.5f64, -1i64));
        assert_eq!(own(base, &closure), []);
    });
}

#[test]
fn a_closure_of_any_size_and_alignment_is_read_within_its_bounds() {
    #[repr(align(64))]
    #[derive(Clone, Copy)]
    #[expect(dead_code, reason = "it is read as a word of the closure")]
    struct Aligned(u64);
    below(&|base| {
        assert_eq!(words(base, &|| ()), []);
        let byte = black_box(1u8);
        assert_eq!(words(base, &move || used(byte)), []);
        let four = black_box(4u32);
        assert_eq!(own(base, &move || used(four)), [4]);
        let twelve = black_box([4u32, 0, 5]);
        assert_eq!(own(base, &move || used(twelve)), [4, 5]);
        let aligned = black_box(Aligned(6));
        assert!(own(base, &move || used(aligned)).contains(&6));
        let large = black_box([9u64; 512]);
        assert_eq!(own(base, &move || used(large)), [9; WIDTH]);
        let mut few = [(Word::own(0).unwrap(), 0); 3];
        assert_eq!(reader(base, &move || used(large)).all(&mut few), 3);
    });
}
