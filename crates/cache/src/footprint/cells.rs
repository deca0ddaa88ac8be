//! The six cells of a pair of tasks.

/// How a task found the frames of a cache after the task before it; each frame is in one cell.
/// Numbers of frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cells {
    /// TH: touched by the previous task; the current one's first access to it hits.
    pub touched_hit: u64,
    /// TM: touched by the previous task; the current one's first access to it misses.
    pub touched_missed: u64,
    /// TU: touched by the previous task and not by the current one.
    pub touched_untouched: u64,
    /// NH: not touched by the previous task; the current one hits what an older one left.
    pub new_hit: u64,
    /// NM: not touched by the previous task; the current one misses and replaces what an older one
    /// left.
    pub new_missed: u64,
    /// NU: touched by neither.
    pub new_untouched: u64,
}

impl Cells {
    /// All cells: the cache's frames.
    pub fn frames(&self) -> u64 {
        self.touched_hit
            + self.touched_missed
            + self.touched_untouched
            + self.new_hit
            + self.new_missed
            + self.new_untouched
    }

    /// The study's *Shared Hit*: TH.
    pub fn shared_hits(&self) -> u64 {
        self.touched_hit
    }

    /// The study's *Shared Miss*: TM.
    pub fn shared_misses(&self) -> u64 {
        self.touched_missed
    }

    /// The study's *Unchanged*: TU, what the previous task left and still stands.
    pub fn unchanged(&self) -> u64 {
        self.touched_untouched
    }

    /// The study's *Overwritten*, read so that it means the word: NM. (Its text calls frames so
    /// that neither task touched.)
    pub fn overwritten(&self) -> u64 {
        self.new_missed
    }

    /// *Overwritten* as the study's table has it, not touched before and touched now: NH + NM. On
    /// look-ups in random order most of these are hits.
    pub fn overwritten_by_table(&self) -> u64 {
        self.new_hit + self.new_missed
    }

    /// What the study orders tasks by: Shared Hits − Shared Misses.
    pub fn affinity(&self) -> i64 {
        self.touched_hit as i64 - self.touched_missed as i64
    }
}

impl std::ops::AddAssign for Cells {
    fn add_assign(&mut self, other: Self) {
        self.touched_hit += other.touched_hit;
        self.touched_missed += other.touched_missed;
        self.touched_untouched += other.touched_untouched;
        self.new_hit += other.new_hit;
        self.new_missed += other.new_missed;
        self.new_untouched += other.new_untouched;
    }
}
