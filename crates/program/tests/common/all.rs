//! Two programs, compared. The fuzz targets use this, too.

use befit_program::{Program, Site, StrandId, TaskId, Touch};

/// Everything that can be asked of a program, to compare two.
pub(crate) fn all(program: &Program) -> String {
    let mut all = format!("{:?} {:?}\n", program.meta(), program.stats());
    for task in (0..program.tasks()).map(TaskId) {
        let site = program.site(task);
        all += &format!(
            "{:?} {:?} {site:?} {:?} {:?}\n",
            program.parent(task),
            program.declared(task),
            program.captured(task),
            program.ops(task)
        );
        let Site { place, bytes, index } = program.sites()[site.0 as usize];
        let source = program.source(site);
        all += &format!("{} {bytes} {index} {source:?}\n", program.place(place));
    }
    for strand in (0..program.strands()).map(StrandId) {
        let class = program.classes()[program.class(strand).0 as usize];
        let (begin, end) = (program.place(class.begin.place()), program.place(class.end.place()));
        all += &format!("{:?} {class:?} {begin} {end} ", program.work(strand));
        for Touch { line, write, stack, streaming, dependent } in program.touches(strand) {
            let flags = [write, stack, streaming, dependent].map(u8::from);
            all += &format!("{line}{flags:?} ");
        }
    }
    all + &format!(
        "\n{:?} {} {} {} {}",
        program.work_run(),
        program.scopes(),
        program.lines(),
        program.stack_lines(),
        program.total_touches()
    )
}
