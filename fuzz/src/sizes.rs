//! The file of learned sizes.

use befit_sched::sizes::{SizeTable, Words};

use crate::within;

/// A table's first allocations.
const CONSTANT: u64 = 1 << 16;

pub(crate) fn run(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    let Ok(table) = within(100, CONSTANT, input, || text.parse::<SizeTable>()) else {
        return false;
    };
    for site in table.sites() {
        for word in [0, 1, u64::MAX] {
            let Some(found) = table.site(site.key) else { continue };
            let _ = table.predict(found, &Words::own(&[word; 16]));
        }
    }
    let written = table.to_string();
    let again: SizeTable = written.parse().expect("what it writes can be read");
    assert_eq!(again, table);
    assert_eq!(again.to_string(), written);
    true
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let text = "befit.sizes/2
# a comment
recorded merge-sort --n 1000
picoseconds 412.5

site 00000000000000ff sort::merge_sort::{{closure}}
source src/main.rs:12
tasks 31
size 64 + 16 w1 + 0.5 w0 (w3-w2)^0.5
strand 4096
work by depth
error 0.01 0.05
depth 0 tasks 1 size 16000 spread 0 strand 64 work 90000
depth 1 tasks 2 size 8000 spread 0.125 strand 64 work 42000

end 1
";
    vec![text.into()]
}
