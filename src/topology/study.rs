//! Holds what was dropped and found, and answers questions about it.

use std::borrow::Cow;

use super::{
    charts,
    conditions::{Custom, Wanted, WantedError},
    dump::{Machine, Pattern},
    export::{self, ExportError, File, Form, Material},
    film::Film,
    generate::RecipeError,
    layout, listing,
    model::{Topology, TopologyError},
    request::{Answer, Opened, Question, Shown, Source, Standing, Verified},
    result::ResultFile,
    robust::{self, Damage},
    time::Clock,
};
use crate::{
    progress::Progress,
    schedule::{
        analysis::analyse,
        demand::Demand,
        plan::Schedule,
        synthesize::{Method, Search, State},
    },
    text::Listing,
    units::count,
};

mod verify;

pub use verify::{check, verify};

/// Why a question can't be answered, for people.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No topology was chosen.
    #[error("there is no topology yet: drop one, or make one")]
    NoTopology,
    /// No search was begun.
    #[error("there is no schedule yet: begin a search")]
    NoSearch,
    /// None was found yet.
    #[error("no schedule was found yet; let the search go on")]
    NothingFound,
    /// A file that is not loaded.
    #[error("this file is not loaded any more: drop it again")]
    NoFile,
    /// A topology that can't be used.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A form that can't be made.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// What is asked for can't be done.
    #[error(transparent)]
    Wanted(#[from] WantedError),
    /// What can't leave.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// What one dropped file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Links.
    Topology(Topology),
    /// A schedule.
    Result(ResultFile),
    /// A machine.
    Machine(Machine),
    /// Rings and trees.
    Patterns(Vec<Pattern>),
    /// Conditions, and bytes of a chunk where they say so.
    Conditions(Custom, Option<u64>),
    /// An algorithm of MSCCL, and what came of running it: a sentence, or why it can't be run.
    Algorithm(Result<String, String>),
}

/// The workbench's state.
#[derive(Default)]
pub struct Study {
    parts: Vec<(String, Part)>,
    topology: Option<Topology>,
    at: Option<Current>,
    kept: Vec<(String, Film, f64)>,
}

/// A search and what it is about.
struct Current {
    wanted: Wanted,
    clock: Clock,
    search: Search,
    is_working: bool,
    effort: u64,
    seed: u64,
}

impl Study {
    /// Studies what files hold.
    #[must_use]
    pub fn new(parts: Vec<(String, Part)>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Nothing of this trade was dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What was dropped, by its name.
    #[must_use]
    pub fn parts(&self) -> &[(String, Part)] {
        &self.parts
    }

    /// Answers a question.
    ///
    /// # Errors
    /// What stands in the way, in words for people.
    pub fn answer(&mut self, question: Question, progress: &mut dyn Progress) -> Result<Answer, StudyError> {
        Ok(match question {
            Question::Open(source) => Answer::Opened(Box::new(self.open(source)?)),
            Question::Begin { wanted, by, seed, effort } => {
                Answer::Standing(self.begin(wanted, by.method(), seed, effort, progress)?)
            }
            Question::Improve { effort } => Answer::Standing(self.improve(effort, progress)?),
            Question::Show => Answer::Shown(Box::new(self.show()?)),
            Question::Keep(name) => {
                let film = self.film()?;
                let bound_ns = self.standing()?.bound_ns;
                self.kept.retain(|(known, ..)| *known != name);
                self.kept.push((name, film, bound_ns));
                self.compared()
            }
            Question::Forget => {
                self.kept.clear();
                self.compared()
            }
            Question::Verify(file) => Answer::Verified(Box::new(self.verify(file)?)),
            Question::Vary(question) => {
                let varied = self.varied(&question)?;
                let sentence = listing::varied(&varied, question.sigma, question.draws);
                Answer::Varied { ns: [varied.nominal_ns, varied.p50_ns, varied.p95_ns, varied.p99_ns], sentence }
            }
            Question::Damage(damages, effort) => Answer::Damaged(self.damaged(&damages, effort)?),
            Question::Again(damages) => {
                let mut all = Vec::new();
                let total = damages.len() as u64;
                let (at, schedule) = self.found()?;
                let material = self.material(at, &schedule)?;
                for (done, damage) in (0..).zip(&damages) {
                    progress.report("Looking for schedules of damaged links", done, total);
                    all.push(robust::again(&material, damage, at.seed, AGAIN));
                }
                Answer::Again(listing::again(&all))
            }
            Question::Export(form) => Answer::File(self.export(form)?),
        })
    }

    /// Chooses a topology, and forgets what was found for another.
    ///
    /// # Errors
    /// It is not there, or can't be made.
    pub fn open(&mut self, source: Source) -> Result<Opened, StudyError> {
        let mut notes = Vec::new();
        let mut machine = None;
        let find = |number: u32, is: fn(&Part) -> bool| {
            self.parts.iter().filter(move |(_, part)| is(part)).nth(number as usize).ok_or(StudyError::NoFile)
        };
        let topology = match source {
            Source::Loaded(number) => match find(number, |part| matches!(part, Part::Topology(_)))? {
                (_, Part::Topology(topology)) => topology.clone(),
                _ => return Err(StudyError::NoFile),
            },
            Source::Machine(number, rates) => match find(number, |part| matches!(part, Part::Machine(_)))? {
                (name, Part::Machine(of)) => {
                    machine = Some(of.listing());
                    let stem = name.strip_suffix(".xml").unwrap_or(name);
                    let (topology, said) = of.topology(stem, &rates);
                    notes = said;
                    topology
                }
                _ => return Err(StudyError::NoFile),
            },
            Source::Made(recipe) => {
                notes.extend(recipe.kind.contention());
                recipe.make()?
            }
            Source::Edited(topology) => topology,
        };
        // An edited one may hold anything.
        topology.graph(1 << 20)?;
        notes.extend(topology.notes());
        let names = |is: fn(&Part) -> bool| {
            self.parts.iter().filter(|(_, part)| is(part)).map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let conditions = self.parts.iter().filter_map(|(name, part)| match part {
            Part::Conditions(custom, size) => {
                let chunk_bytes = size.unwrap_or(1 << 20);
                let wanted =
                    Wanted { collective: None, chunk_bytes, custom: Some(custom.clone()), ..Wanted::default() };
                Some((name.clone(), wanted))
            }
            _ => None,
        });
        let patterns = self.parts.iter().filter_map(|(_, part)| match part {
            Part::Patterns(patterns) => Some(patterns.iter().filter(|pattern| !pattern.channels.is_empty()).cloned()),
            _ => None,
        });
        let opened = Opened {
            loaded: names(|part| matches!(part, Part::Topology(_))),
            machines: names(|part| matches!(part, Part::Machine(_))),
            results: names(|part| matches!(part, Part::Result(_))),
            conditions: conditions.collect(),
            places: layout::places(&topology),
            notes,
            machine,
            patterns: patterns.flatten().collect(),
            topology: topology.clone(),
        };
        self.topology = Some(topology);
        self.at = None;
        self.kept.clear();
        Ok(opened)
    }

    /// Begins a search.
    ///
    /// # Errors
    /// No topology was chosen, or the collective can't be done on it.
    pub fn begin(
        &mut self,
        wanted: Wanted,
        by: Method,
        seed: u64,
        effort: u64,
        progress: &mut dyn Progress,
    ) -> Result<Standing, StudyError> {
        let (problem, clock) = wanted.problem(self.topology()?)?;
        progress.report("Looking for bounds", 0, 2);
        let search = Search::new(problem, by, seed);
        progress.report("Looking for a schedule", 1, 2);
        self.at = Some(Current { wanted, clock, search, is_working: true, effort: 0, seed });
        self.improve(effort, progress)
    }

    /// Does another piece of a search.
    ///
    /// # Errors
    /// None was begun.
    pub fn improve(&mut self, effort: u64, progress: &mut dyn Progress) -> Result<Standing, StudyError> {
        let at = self.at.as_mut().ok_or(StudyError::NoSearch)?;
        if at.is_working {
            at.is_working = at.search.work(effort.max(1)) == State::Working;
            at.effort = at.effort.saturating_add(effort);
            if let Some((done, total)) = at.search.done() {
                progress.report("Making the first schedule", done, total);
            }
        }
        self.standing()
    }

    /// How far the search is.
    ///
    /// # Errors
    /// None was begun.
    pub fn standing(&self) -> Result<Standing, StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        let ns = |ticks: u64| at.clock.ns(ticks);
        let standing = Standing {
            time_ns: at.search.time().map(ns),
            bound_ns: ns(at.search.bound()),
            proven_ns: ns(at.search.proven()),
            is_optimal: at.search.is_optimal(),
            is_optimal_in_parts: at.search.is_optimal_in_parts(),
            is_working: at.is_working,
            effort: at.effort,
            sentence: String::new(),
        };
        Ok(Standing { sentence: sentence(&standing), ..standing })
    }

    /// What was chosen.
    ///
    /// # Errors
    /// Nothing was.
    pub fn topology(&self) -> Result<&Topology, StudyError> {
        self.topology.as_ref().ok_or(StudyError::NoTopology)
    }

    /// What is asked for, and how its ticks are counted; and the search for it.
    ///
    /// # Errors
    /// No search was begun.
    pub fn search(&self) -> Result<(&Wanted, &Clock, &Search, u64), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        Ok((&at.wanted, &at.clock, &at.search, at.seed))
    }

    fn found(&self) -> Result<(&Current, Cow<'_, Schedule>), StudyError> {
        let at = self.at.as_ref().ok_or(StudyError::NoSearch)?;
        let (schedule, _) = at.search.best().ok_or(StudyError::NothingFound)?;
        Ok((at, schedule))
    }

    /// The best so far as a film.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn film(&self) -> Result<Film, StudyError> {
        let (at, schedule) = self.found()?;
        film(at, &schedule).ok_or(StudyError::NothingFound)
    }

    /// The best so far, looked at from all sides.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn show(&self) -> Result<Shown, StudyError> {
        let (at, schedule) = self.found()?;
        let topology = self.topology()?;
        let standing = self.standing()?;
        let bounds = at.search.bounds();
        let mut sentences = vec![format!("{}: {}.", topology.name, at.wanted.words()), standing.sentence.clone()];
        let faults = at.search.problem.faults(&schedule);
        sentences.push(match faults.first() {
            None => format!(
                "{}, checked: durations, one chunk per link at a time, causality, completeness.",
                count(schedule.transfers.len() as u64, "transfer")
            ),
            Some(fault) => format!("The schedule is wrong: {fault}."),
        });
        let narrow = bounds.iter().max_by_key(|of| of.cut_time).map(|of| of.cut.clone()).unwrap_or_default();
        if let Some(of) = bounds.first() {
            sentences.push(format!("The bottleneck: {}.", listing::cut_words(topology, &of.cut)));
        }
        let crosses = |link: &super::model::Link| {
            narrow.inside.binary_search(&link.from).is_ok() && narrow.inside.binary_search(&link.to).is_err()
        };
        let crossing = (0..).zip(&topology.links).filter(|(_, link)| crosses(link)).map(|(index, _)| index).collect();
        let film = film(at, &schedule);
        let of_film = |make: &dyn Fn(&Film) -> Listing| film.as_ref().map(make).unwrap_or_default();
        Ok(Shown {
            standing,
            sentences,
            cut: (narrow.inside, crossing),
            bounds: listing::bounds(topology, &at.wanted, &bounds, &at.clock),
            links: of_film(&|film| listing::links(topology, film)),
            critical: of_film(&|film| listing::critical(topology, film)),
            utilisation: film.as_ref().map(charts::utilisation),
            progress: film.as_ref().map(|film| charts::progress(&[("Arrived", film)])),
            film,
        })
    }

    fn compared(&self) -> Answer {
        let all: Vec<(&str, &Film, f64)> =
            self.kept.iter().map(|(name, film, bound)| (name.as_str(), film, *bound)).collect();
        let films: Vec<(&str, &Film)> = all.iter().map(|(name, film, _)| (*name, *film)).collect();
        Answer::Compared {
            listing: listing::comparison(&all),
            chart: (!films.is_empty()).then(|| charts::progress(&films)),
            kept: self.kept.iter().map(|(name, film, _)| (name.clone(), film.clone())).collect(),
        }
    }

    fn verify(&self, file: u32) -> Result<Verified, StudyError> {
        let results = self.parts.iter().filter_map(|(_, part)| match part {
            Part::Result(result) => Some(result),
            _ => None,
        });
        let result = results.into_iter().nth(file as usize).ok_or(StudyError::NoFile)?;
        let of_file;
        let topology = match &self.topology {
            Some(topology) => topology,
            None => {
                of_file = result.topology.clone();
                &of_file
            }
        };
        let wanted = self.at.as_ref().map(|at| at.wanted.clone());
        Ok(verify(result, topology, &verify::wanted(result, topology, wanted))?)
    }

    /// The best so far under bandwidths that vary.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn varied(&self, question: &robust::Question) -> Result<robust::Varied, StudyError> {
        let (at, schedule) = self.found()?;
        Ok(robust::varied(&at.search.problem, &schedule, self.topology()?, &at.clock, question))
    }

    /// The best so far with each of some links or nodes slow or dead; with a new schedule for each, for which about `effort`
    /// decisions are made, where that is above zero.
    ///
    /// # Errors
    /// Nothing was found.
    pub fn damaged(&self, damages: &[Damage], effort: u64) -> Result<Listing, StudyError> {
        let (at, schedule) = self.found()?;
        // Three runs for each: as many as that is quick for.
        let most = (MOST_REPLAYED / schedule.transfers.len().max(1)).max(1);
        let damages = &damages[..damages.len().min(most)];
        let damaged = robust::damaged(&self.material(at, &schedule)?, damages, at.seed, effort);
        Ok(listing::damaged(self.topology()?, at.clock.ns(schedule.end(&at.search.problem.graph)), &damaged))
    }

    fn material<'a>(&'a self, at: &'a Current, schedule: &'a Schedule) -> Result<Material<'a>, StudyError> {
        Ok(Material {
            topology: self.topology()?,
            wanted: &at.wanted,
            problem: &at.search.problem,
            clock: &at.clock,
            schedule,
            bound_ns: at.clock.ns(at.search.bound()),
        })
    }

    /// The best so far as a file.
    ///
    /// # Errors
    /// Nothing was found, or it can't leave in this form.
    pub fn export(&self, form: Form) -> Result<File, StudyError> {
        let (at, schedule) = self.found()?;
        let is_short = schedule.transfers.len() <= MOST_TRACED;
        let film = if form == Form::Perfetto && is_short { film(at, &schedule) } else { None };
        let material = self.material(at, &schedule)?;
        Ok(export::write(&material, film.as_ref(), form)?)
    }
}

/// Decisions for a schedule of damaged links.
const AGAIN: u64 = 2_000_000;
/// Transfers that are replayed for damages of all links.
const MOST_REPLAYED: usize = 20_000_000;
/// The most pairs of a node and a chunk, and transfers, for which slack is looked at.
const MOST_ANALYSED: usize = 20_000_000;
/// The most transfers of a trace.
const MOST_TRACED: usize = 2_000_000;

fn film(at: &Current, schedule: &Schedule) -> Option<Film> {
    let problem = &at.search.problem;
    let chunks = problem.copy.as_ref().or(problem.reduce.as_ref()).map_or(0, Demand::chunks);
    let is_small = (problem.graph.nodes() * chunks).max(schedule.transfers.len()) <= MOST_ANALYSED;
    let analysis = is_small.then(|| analyse(&problem.graph, schedule, chunks));
    Film::new(problem, schedule, analysis.as_ref(), at.clock.ticks_per_ns)
}

fn sentence(standing: &Standing) -> String {
    let Some(time_ns) = standing.time_ns else {
        return "No schedule was found yet.".to_owned();
    };
    let (time, bound) = (listing::time(time_ns), listing::time(standing.bound_ns));
    let ratio = time_ns / standing.bound_ns;
    if standing.is_optimal {
        return if time_ns <= standing.bound_ns {
            format!("{time}: proven optimal, as it is 1.000 times the bound, and no schedule is shorter than that.")
        } else {
            format!("{time}: proven optimal, though it is {ratio:.3} times the bound of {bound}.")
        };
    }
    if standing.is_optimal_in_parts {
        return format!(
            "{time}, {ratio:.3} times the bound of {bound}: no schedule that adds all up before it copies is shorter."
        );
    }
    let proven = if standing.proven_ns > standing.bound_ns {
        format!("; nothing below {} is possible", listing::time(standing.proven_ns))
    } else {
        String::new()
    };
    format!("{time}, {ratio:.3} times the bound of {bound}{proven}.")
}
