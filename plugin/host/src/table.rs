//! The library's table of costs: one block of floats, a row for each algorithm, with guard words before and after it.

use collectune::math::Stream;

/// An entry that can't be used (`NCCL_ALGO_PROTO_IGNORE`).
pub const IGNORE: f32 = -1.0;
/// The number of guard words before and after the table.
const GUARDS: usize = 64;
/// A value that is neither a cost nor a pointer.
const GUARD: f32 = f32::from_bits(0x7FA5_5A5A);

/// A table of costs with guard words around it.
#[derive(Clone, Debug)]
pub struct Table {
    words: Vec<f32>,
    /// Number of rows.
    pub algorithms: usize,
    /// Number of columns.
    pub protocols: usize,
}

impl Table {
    /// Creates a table in which all entries cost 1.
    pub fn new(algorithms: usize, protocols: usize) -> Self {
        let mut words = vec![GUARD; algorithms * protocols + 2 * GUARDS];
        words[GUARDS..GUARDS + algorithms * protocols].fill(1.0);
        Self { words, algorithms, protocols }
    }

    /// The entries, row by row.
    pub fn entries(&self) -> &[f32] {
        &self.words[GUARDS..self.words.len() - GUARDS]
    }

    /// The entries for writing, row by row.
    pub fn entries_mut(&mut self) -> &mut [f32] {
        let end = self.words.len() - GUARDS;
        &mut self.words[GUARDS..end]
    }

    /// Fills in random costs; one entry in three can't be used.
    pub fn fill(&mut self, stream: &mut Stream) {
        for entry in self.entries_mut() {
            *entry = if stream.below(3) == 0 { IGNORE } else { 1.0 + stream.unit() as f32 };
        }
    }

    /// Marks a combination as unusable.
    pub fn rule_out(&mut self, algorithm: usize, protocol: usize) {
        let place = algorithm * self.protocols + protocol;
        self.entries_mut()[place] = IGNORE;
    }

    /// The combination that the library takes: the smallest cost that is not negative, the first of equal ones.
    pub fn chosen(&self) -> Option<(usize, usize)> {
        let mut best: Option<(usize, f32)> = None;
        for (place, cost) in self.entries().iter().enumerate() {
            if *cost >= 0.0 && best.is_none_or(|(_, least)| *cost < least) {
                best = Some((place, *cost));
            }
        }
        best.map(|(place, _)| (place / self.protocols, place % self.protocols))
    }

    /// The entry that a tuner has made the cheapest.
    pub fn forced(&self) -> Option<(usize, usize)> {
        self.chosen().filter(|(a, p)| self.entries()[a * self.protocols + p].to_bits() == 0)
    }

    /// Whether nothing was written before or after the table.
    pub fn guards_are_intact(&self) -> bool {
        let is_guard = |word: &f32| word.to_bits() == GUARD.to_bits();
        self.words[..GUARDS].iter().all(is_guard) && self.words[self.words.len() - GUARDS..].iter().all(is_guard)
    }

    /// Whether at most one entry changed, which was usable before and costs nothing now.
    pub fn was_changed_as_allowed(&self, before: &[f32]) -> bool {
        let mut changes = 0;
        for (now, before) in self.entries().iter().zip(before) {
            if now.to_bits() != before.to_bits() {
                changes += 1;
                if *before < 0.0 || now.to_bits() != 0 {
                    return false;
                }
            }
        }
        changes <= 1
    }
}
