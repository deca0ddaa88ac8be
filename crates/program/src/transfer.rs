//! The work of one recording for another of the same program: at another size, say.

use std::collections::HashMap;

use crate::{Class, ClassWork, Program, StrandId, WorkRun};

/// A class in words that do not depend on the recording.
#[derive(PartialEq, Eq, Hash)]
struct Name<'a> {
    kinds: (std::mem::Discriminant<crate::Begin>, std::mem::Discriminant<crate::End>),
    begin: &'a str,
    end: &'a str,
}

impl<'a> Name<'a> {
    fn of(program: &'a Program, class: &Class) -> Self {
        let kinds = (std::mem::discriminant(&class.begin), std::mem::discriminant(&class.end));
        let (begin, end) = (program.place(class.begin.place()), program.place(class.end.place()));
        Self { kinds, begin, end }
    }
}

/// A mean of classes' work, each with the weight of its strands.
#[derive(Default)]
struct Mean {
    strands: u64,
    picoseconds: f64,
    spread: f64,
}

impl Mean {
    fn add(&mut self, work: &ClassWork) {
        let weight = work.strands as f64;
        self.strands = self.strands.saturating_add(work.strands);
        self.picoseconds += weight * work.ps_per_operation;
        self.spread += weight * work.spread;
    }

    fn work(&self) -> Option<ClassWork> {
        let weight = self.strands as f64;
        (self.strands > 0).then(|| ClassWork {
            ps_per_operation: self.picoseconds / weight,
            strands: self.strands,
            spread: self.spread / weight,
        })
    }
}

impl Program {
    /// This program with the work of `other`, a recording of the same code, and the share of its
    /// operations whose class has work there, 0 to 1; 1 without operations. A class that has none
    /// takes the mean of those that begin at the same place, else that of all. Without work in
    /// `other` nothing changes, and the share is 0.
    pub fn with_work_of(self, other: &Self) -> (Self, f64) {
        let Some(run) = other.work_run() else { return (self, 0.0) };
        let mut known = HashMap::new();
        let mut by_place: HashMap<&str, Mean> = HashMap::new();
        let mut all = Mean::default();
        for (class, work) in other.classes().iter().zip(&run.classes) {
            let Some(work) = work else { continue };
            let name = Name::of(other, class);
            by_place.entry(name.begin).or_default().add(work);
            all.add(work);
            known.insert(name, *work);
        }
        let found: Vec<(Option<ClassWork>, bool)> = self
            .classes()
            .iter()
            .map(|class| {
                let name = Name::of(&self, class);
                let near = || by_place.get(name.begin).and_then(Mean::work);
                match known.get(&name) {
                    Some(work) => (Some(*work), true),
                    None => (near().or_else(|| all.work()), false),
                }
            })
            .collect();
        let (mut operations, mut matched) = (0.0, 0.0);
        for strand in (0..self.strands()).map(StrandId) {
            let work = self.work(strand);
            let here = work.loads as f64 + work.stores as f64 + work.blocks as f64;
            operations += here;
            matched += if found[self.class(strand).0 as usize].1 { here } else { 0.0 };
        }
        let classes = found.into_iter().map(|(work, _)| work).collect();
        let share = if operations > 0.0 { matched / operations } else { 1.0 };
        (self.with_work(WorkRun { classes, ..run.clone() }), share)
    }
}

#[cfg(test)]
mod tests {
    use befit_machine::Bytes;

    use crate::{ClassWork, Declared, Meta, Program, ProgramBuilder, ScopeId, WorkRun};

    /// A task at each of the places, and nothing else. One at `a>b` ends by a fork at `b`.
    fn program(places: &[&str]) -> Program {
        let meta = Meta { name: "places".into(), line_size: Bytes(64), filter: 8 };
        let mut builder = ProgramBuilder::new(meta);
        for name in places {
            let mut names = name.split('>');
            let [place, child] =
                [(); 2].map(|()| names.next().map(|it| builder.place(it).unwrap()));
            builder.fork_at(ScopeId(1), Declared::default(), place.unwrap()).unwrap();
            builder.work(1, 1, 1);
            if let Some(child) = child {
                builder.fork_at(ScopeId(1), Declared::default(), child).unwrap();
                builder.end().unwrap();
            }
            builder.end().unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn work_goes_by_names_and_classes_that_are_new_take_the_mean() {
        let work = |ps_per_operation| ClassWork { ps_per_operation, strands: 1, spread: 0.5 };
        let learnt = program(&["a", "b"]).with_work(WorkRun {
            host_mhz: 3000,
            host_operation: 0.25,
            host: "host".into(),
            faults_per_page: 1.0,
            recorded: 0.75,
            classes: vec![Some(work(100.0)), Some(work(300.0))],
        });
        let (program, share) = program(&["new", "b", "a", "a"]).with_work_of(&learnt);
        let found = &program.work_run().unwrap().classes;
        let found: Vec<f64> = found.iter().map(|work| work.unwrap().ps_per_operation).collect();
        assert_eq!((found, share), (vec![200.0, 300.0, 100.0], 0.75));
    }

    #[test]
    fn a_class_without_work_of_its_own_takes_the_mean_of_its_place_or_of_all_by_strands() {
        let work = |ps_per_operation, strands, spread| {
            Some(ClassWork { ps_per_operation, strands, spread })
        };
        let learnt = program(&["a", "a>b", "b", "b>b"]).with_work(WorkRun {
            host_mhz: 3000,
            host_operation: 0.25,
            host: "host".into(),
            faults_per_page: 1.0,
            recorded: 0.75,
            classes: vec![work(100.0, 1, 0.5), work(500.0, 3, 0.25), work(50.0, 4, 0.0), None],
        });
        let (program_of_both, share) =
            program(&["a>c", "b>b", "c", "a", "b"]).with_work_of(&learnt);
        let expected = [
            work(400.0, 4, 1.25 / 4.0),
            work(50.0, 4, 0.0),
            work(225.0, 8, 1.25 / 8.0),
            work(100.0, 1, 0.5),
            work(50.0, 4, 0.0),
        ];
        assert_eq!(program_of_both.work_run().unwrap().classes, expected);
        assert_eq!(share, 2.0 / 5.0);
        assert_eq!(program(&[]).with_work_of(&learnt).1, 1.0, "nothing is missing of nothing");
    }

    #[test]
    fn a_recording_without_work_has_none_to_give() {
        let (program, share) = program(&["a"]).with_work_of(&program(&["a"]));
        assert!(program.work_run().is_none() && share == 0.0);
    }
}
