//! Computations that follow the search for a schedule, piece by piece: its robustness to damaged links, the variance
//! over seeds, and schedules of other synthesizers.

use super::request::title;
use crate::{
    order::CompactSort,
    plot::Chart,
    schedule::{
        greedy::MatchingRule,
        synthesize::{Method, Search, SearchState},
    },
    text::Listing,
    topology::{
        charts,
        conditions::CollectiveRequest,
        listing,
        model::Topology,
        robust, seeds,
        study::{self, StudyError},
        time::Clock,
        timeline::Timeline,
    },
};

/// The number of transfers that one piece replays.
const PIECE: usize = 600_000;
/// The number of transfers up to which robustness is computed without being asked for.
const UNASKED: usize = 6_000_000;

/// The robustness of a schedule to slow or dead links and nodes.
#[derive(Default)]
pub(super) struct Robustness {
    pub varied: robust::VariationOptions,
    /// Whether every link and node is damaged, however long that takes.
    pub every: bool,
    pub text: Vec<String>,
    /// A chart of the finishing times.
    pub chart: Option<Chart>,
    /// A table of the links that were damaged so far.
    pub links: Listing,
    /// A table of the nodes that were damaged so far.
    pub nodes: Listing,
    next: usize,
    is_begun: bool,
    is_done: bool,
}

impl Robustness {
    /// The state before the first piece.
    pub fn new(varied: robust::VariationOptions, every: bool) -> Self {
        Self { varied, every, ..Self::default() }
    }

    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Looks at some more. Returns an error if there is no schedule.
    pub fn go_on(&mut self, study: &study::Study, timeline: &Timeline) -> Result<(), StudyError> {
        let (transfers, links, nodes) = (timeline.len().max(1), timeline.links.len(), timeline.nodes as usize);
        if !std::mem::replace(&mut self.is_begun, true) {
            let most = (UNASKED / transfers) as u32;
            let draws = self.varied.draws.min(most);
            if draws < self.varied.draws.min(20) {
                self.text.push("The schedule is too long to be run again and again.".into());
                self.is_done = true;
            } else {
                let question = robust::VariationOptions { draws, ..self.varied.clone() };
                let varied = study.varied(&question)?;
                self.text.push(listing::varied(&varied, question.sigma));
                self.chart = Some(charts::varied(&varied, question.sigma));
            }
            return Ok(());
        }
        let all = transfers.saturating_mul(links + nodes);
        if !self.every && all.saturating_mul(3) > UNASKED {
            self.text.push("Each link and node slowed and cut: not tried yet, as there are many.".into());
            self.is_done = true;
            return Ok(());
        }
        let effort = robust::effort(transfers, if self.every { 1 } else { links + nodes });
        let many = if effort > 0 { 1 } else { (PIECE / transfers / 3).max(1) };
        if self.next == 0 && effort == 0 {
            self.text.push("New schedules without each of them: not looked for yet, as there are many.".into());
        }
        // Links first, then nodes, each in a table of its own.
        let (first, last) = if self.next < links { (self.next, links) } else { (self.next, links + nodes) };
        let last = last.min(first + many);
        let damage = |at: usize| match at.checked_sub(links) {
            None => robust::Damage::Link(at as u32),
            Some(node) => robust::Damage::Node(node as u32),
        };
        let some: Vec<robust::Damage> = (first..last).map(damage).collect();
        let found = study.damaged(&some, effort)?;
        let table = if first < links { &mut self.links } else { &mut self.nodes };
        table.columns = found.columns;
        table.rows.extend(found.rows);
        self.next = last;
        if self.next >= links + nodes {
            // The worst first: by how much longer it takes at a half.
            for table in [&mut self.links, &mut self.nodes] {
                table.rows.compact_sort_by_key(|row| {
                    let more = row.get(2).and_then(|entry| entry.number).unwrap_or_default();
                    u64::MAX - (more.max(0.0) * 1e6) as u64
                });
            }
            self.is_done = true;
        }
        Ok(())
    }
}

/// The variation of a greedy schedule's time over seeds.
#[derive(Default)]
pub(super) struct SeedVariance {
    /// The number of seeds that the user asked for.
    pub asked: Option<u32>,
    times: [Vec<f64>; PICKS.len()],
    /// The reason why no seeds are tried.
    why: Option<&'static str>,
    is_done: bool,
}

/// The greedy synthesizers whose seeds are varied.
const PICKS: [(Method, MatchingRule); 2] =
    [(Method::Tacos, MatchingRule::Tacos), (Method::Earliest, MatchingRule::Rarest)];
/// The default and the largest number of seeds.
pub(super) const SEEDS: u32 = 100;
pub(super) const MOST_SEEDS: u32 = 10_000;
/// The longest schedule that is made again, in transfers: each is made as a whole.
const LONGEST: usize = 2_000_000;
/// The most comparisons of chunks for one schedule.
const MOST_LOOKS: usize = 300_000_000;
/// The number of comparisons that take as long as one transfer.
const LOOKS_FOR_ONE: usize = 20;

impl SeedVariance {
    /// The state before the first seed.
    pub fn new(asked: Option<u32>) -> Self {
        Self { asked, ..Self::default() }
    }

    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Tries some more seeds. Returns an error if there is no search.
    pub fn go_on(&mut self, study: &study::Study, timeline: &Timeline) -> Result<(), StudyError> {
        let seeds = u64::from(self.asked.unwrap_or(SEEDS).min(MOST_SEEDS));
        let transfers = timeline.len().max(1);
        if self.asked.is_none() && transfers.saturating_mul(SEEDS as usize * PICKS.len()) > UNASKED {
            self.why = Some("Other seeds: not tried, as the schedule is long; a number of seeds has them tried.");
            self.is_done = true;
            return Ok(());
        }
        // TACOS looks at all that a node could get before each round of transfers.
        let looks = transfers.saturating_mul(transfers / timeline.links.len().max(1));
        if transfers > LONGEST || looks > MOST_LOOKS {
            self.why = Some("Other seeds: not tried, as one schedule alone takes seconds to make.");
            self.is_done = true;
            return Ok(());
        }
        let (_, clock, search, _) = study.search()?;
        let begun = self.times[0].len() as u64;
        let end = seeds.min(begun + (PIECE / (transfers + looks / LOOKS_FOR_ONE) / 4).max(1) as u64);
        for ((_, pick), times) in PICKS.into_iter().zip(&mut self.times) {
            let Some(more) = seeds::times_ns(&search.problem, clock, pick, begun + 1..end + 1) else {
                self.why = Some("Other seeds: chunks have to be relayed here, which no greedy one does.");
                self.is_done = true;
                return Ok(());
            };
            times.extend(more);
        }
        self.is_done = end >= seeds;
        Ok(())
    }

    /// The reason why there is no chart, if there is none.
    pub fn text(&self) -> Option<String> {
        self.why.map(str::to_owned)
    }

    /// A histogram of the times that were found.
    pub fn chart(&self, best_ns: f64, bound_ns: f64) -> Option<Chart> {
        let all: Vec<(&str, Vec<f64>)> =
            PICKS.into_iter().zip(&self.times).map(|((by, _), times)| (title(by), times.clone())).collect();
        (self.is_done && !all[0].1.is_empty()).then(|| charts::seeds(&all, best_ns, bound_ns))
    }
}

/// A baseline: the schedule of another synthesizer for the same problem.
pub(super) struct Baseline {
    method: Method,
    search: Option<(Search, Clock)>,
    /// The time spent on the search.
    pub spent_ms: u32,
    /// The schedule, once it was found.
    pub timeline: Option<Timeline>,
    is_done: bool,
}

impl Baseline {
    /// A baseline whose search has not started.
    pub const fn new(method: Method) -> Self {
        Self { method, search: None, spent_ms: 0, timeline: None, is_done: false }
    }

    pub const fn method(&self) -> Method {
        self.method
    }

    pub fn name(&self) -> &'static str {
        title(self.method)
    }

    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Searches on. Returns an error if the collective can't be done on the topology.
    pub fn go_on(
        &mut self,
        wanted: &CollectiveRequest,
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
        if search.work(piece) == SearchState::Working && (self.spent_ms < limit_ms || search.time().is_none()) {
            return Ok(());
        }
        self.is_done = true;
        if let Some((schedule, _)) = search.best() {
            self.timeline = study::timeline(&search.problem, &schedule, clock);
        }
        self.search = None;
        Ok(())
    }
}
