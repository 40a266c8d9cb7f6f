//! What is looked at once a schedule was found: how it does when links are not what they were said to be, and schedules of
//! other synthesizers beside it. Piece by piece, as the search itself.

use super::asked::title;
use crate::{
    order::Order,
    progress::Progress,
    schedule::{
        analysis::analyse,
        demand::Demand,
        synthesize::{Method, Search, State},
    },
    text::Listing,
    topology::{
        conditions::Wanted,
        film::Film,
        model::Topology,
        request::{Answer, Question},
        robust,
        study::{Study, StudyError},
        time::Clock,
    },
};

/// Transfers that are replayed in one piece.
const PIECE: usize = 600_000;
/// Transfers that are replayed without being asked for.
const UNASKED: usize = 6_000_000;

/// How a schedule does when links are slow or dead.
#[derive(Default)]
pub(super) struct Robustness {
    pub varied: robust::Question,
    /// Damages every link, however long that takes.
    pub every: bool,
    /// What was found, in sentences.
    pub text: Vec<String>,
    /// Each link damaged, so far.
    pub damaged: Listing,
    next: u32,
    is_begun: bool,
    is_done: bool,
}

impl Robustness {
    /// Of nothing yet.
    pub fn new(varied: robust::Question, every: bool) -> Self {
        Self { varied, every, ..Self::default() }
    }

    /// Whether nothing is left to be looked at.
    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Looks at some more.
    ///
    /// # Errors
    /// There is no schedule.
    pub fn go_on(&mut self, study: &mut Study, film: &Film, progress: &mut dyn Progress) -> Result<(), StudyError> {
        let (transfers, links) = (film.len().max(1), film.links.len() as u32);
        if !std::mem::replace(&mut self.is_begun, true) {
            let most = (UNASKED / transfers) as u32;
            let draws = self.varied.draws.min(most);
            if draws < self.varied.draws.min(20) {
                self.text.push("The schedule is too long to be run again and again.".into());
                self.is_done = true;
            } else if let Answer::Varied { sentence, .. } =
                study.answer(Question::Vary(robust::Question { draws, ..self.varied.clone() }), progress)?
            {
                self.text.push(sentence);
            }
            return Ok(());
        }
        if !self.every && transfers * 3 * links as usize > UNASKED {
            self.text.push("Each link slowed and cut: not tried yet, as there are many.".into());
            self.is_done = true;
            return Ok(());
        }
        let many = (PIECE / transfers / 3).max(1) as u32;
        let some: Vec<u32> = (self.next..links.min(self.next + many)).collect();
        if !some.is_empty() {
            let found = study.damaged(&some)?;
            self.damaged.columns = found.columns;
            self.damaged.rows.extend(found.rows);
            self.next += some.len() as u32;
        }
        if self.next >= links {
            // The worst first: by how much longer it takes with the link at a half.
            self.damaged.rows.order_by_key(|row| {
                let more = row.get(2).and_then(|entry| entry.number).unwrap_or_default();
                u64::MAX - (more.max(0.0) * 1e6) as u64
            });
            self.is_done = true;
        }
        Ok(())
    }
}

/// A schedule of another synthesizer.
pub(super) struct Rival {
    method: Method,
    search: Option<(Search, Clock)>,
    /// How long was searched.
    pub spent_ms: u32,
    /// The schedule, once it was found.
    pub film: Option<Film>,
    is_done: bool,
}

impl Rival {
    /// One that has not begun.
    pub const fn new(method: Method) -> Self {
        Self { method, search: None, spent_ms: 0, film: None, is_done: false }
    }

    /// Who looks.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        title(self.method)
    }

    /// Whether it is at its end.
    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Searches on.
    ///
    /// # Errors
    /// The collective can't be done on the topology.
    pub fn go_on(
        &mut self,
        wanted: &Wanted,
        topology: &Topology,
        seed: u64,
        piece: u64,
        limit_ms: u32,
    ) -> Result<(), StudyError> {
        let (search, clock) = match &mut self.search {
            Some(begun) => begun,
            none => {
                let (problem, clock) = wanted.problem(topology)?;
                none.insert((Search::new(problem, self.method, seed), clock))
            }
        };
        if search.work(piece) == State::Working && self.spent_ms < limit_ms {
            return Ok(());
        }
        self.is_done = true;
        if let Some((schedule, _)) = search.best() {
            let problem = &search.problem;
            let chunks = problem.copy.as_ref().or(problem.reduce.as_ref()).map_or(0, Demand::chunks);
            let analysis = (schedule.transfers.len() < PIECE).then(|| analyse(&problem.graph, &schedule, chunks));
            self.film = Film::new(problem, &schedule, analysis.as_ref(), clock.ticks_per_ns);
        }
        self.search = None;
        Ok(())
    }
}
