//! What befit keeps between its runs, in lines.

use std::{fmt::Write, path::Path, time::SystemTime};

use befit_lab::{KeptKind, KeptThing, MOST};

use crate::columns::mib;

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The recordings in `folder` one by one, the other things by kind.
pub fn kept(folder: &Path, things: &[KeptThing], now: SystemTime) -> String {
    let mut text = format!("{}\n", folder.display());
    for kind in KeptKind::ALL {
        let of = || things.iter().filter(move |thing| thing.kind == kind);
        let bytes = of().map(|thing| thing.size.0).sum();
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "  {:10}  {:5}  {:>12}", kind.name(), of().count(), mib(bytes) + " MiB");
        for thing in of().filter(|_| kind == KeptKind::Recordings) {
            let name = thing.path.file_stem().unwrap_or_default().to_string_lossy();
            // Without the hash that the name ends with.
            let name = name.rsplit_once('-').map_or(&*name, |(name, _)| name);
            let age = now.duration_since(thing.used).unwrap_or_default().as_secs() / DAY;
            let size = mib(thing.size.0) + " MiB";
            let _ = writeln!(text, "    {name:<36}  {size:>12}  used {}", days(age));
        }
    }
    text + &format!("Recordings and results have {MOST} at most: the oldest are removed first.\n")
}

fn days(age: u64) -> String {
    match age {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days => format!("{days} days ago"),
    }
}

/// What was removed.
pub fn cleared(things: &[KeptThing]) -> String {
    let bytes = things.iter().map(|thing| thing.size.0).sum();
    match things.len() {
        0 => "nothing to remove\n".to_owned(),
        1 => format!("removed 1 thing, {} MiB\n", mib(bytes)),
        count => format!("removed {count} things, {} MiB\n", mib(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use befit_machine::Bytes;

    use super::*;

    #[test]
    fn recordings_are_named_and_the_rest_is_summed_up() {
        let now = SystemTime::now();
        let thing = |kind, path: &str, mib, days| KeptThing {
            kind,
            path: path.into(),
            size: Bytes::mib(mib),
            used: now - Duration::from_secs(days * DAY + 60),
        };
        let things = [
            thing(KeptKind::Recordings, "/c/rrm-n-10000000-0a1b.befit", 3, 2),
            thing(KeptKind::Results, "/c/results/1.json", 1, 0),
            thing(KeptKind::Results, "/c/results/2.json", 2, 0),
        ];
        let text = kept(Path::new("/c"), &things, now);
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert!(lines[1].starts_with("recordings") && lines[1].ends_with("3.00 MiB"), "{text}");
        assert!(lines[2].starts_with("rrm-n-10000000 "), "{text}");
        assert!(lines[2].ends_with("used 2 days ago"), "{text}");
        assert!(lines[3].contains(" 2 ") && lines[3].ends_with("3.00 MiB"), "{text}");
        assert!(lines[4].starts_with("builds"), "{text}");
        assert_eq!(cleared(&things), "removed 3 things, 6.00 MiB\n");
        assert_eq!(cleared(&[]), "nothing to remove\n");
    }
}
