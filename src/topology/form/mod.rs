//! The topology workbench: which graph, which collective, who looks for how long, which links and nodes are damaged.

pub mod edit;
mod follow_up;
mod request;
mod settings;

use crate::{
    command::Commands,
    form::{Choices, Field, Form},
    progress::Progress,
    report::{Contents, Exhibit, Report, Section, TextFile},
    schedule::{replay::Replay, synthesize::Method},
    text::Listing,
    topology::{
        charts, command,
        dump::{MOST_HOPS, Machine, Pattern, Rates},
        export::Form as FileForm,
        layout, listing,
        nccl_graph::{self, GraphError, Rings},
        network::{self, CutRequest, Network},
        report::{COMPARISON, MACHINE, ROBUSTNESS, RUN},
        robust,
        settings::Group,
        study::{self, Opened, Part, SearchStatus, Shown, Source, StudyError},
        timeline::{MAX_TRANSFERS, Timeline},
    },
    units::{capitalised, count},
    workbench::{Attachment, AttachmentKind, Jobs, ReportContext, Study, WorkbenchError},
};
use edit::Damage;
use follow_up::{Baseline, Robustness, SeedVariance};
use settings::{SearchRequest, Settings};

/// The number of decisions in the first piece of a search.
const PIECE: u64 = 40_000;
/// The bounds of later ones, and how long each is to take.
const PIECES: (f64, f64) = (500.0, 10_000_000.0);
const PIECE_MS: f64 = 80.0;
/// Pieces of a search on the whole graph, where what is shown is a damaged one.
const BEFORE_DAMAGE: u32 = 4;
/// The most faults of a dropped schedule that are listed.
const MOST_LISTED: usize = 12;

const FILES: [(&str, &str, FileForm); 6] = [
    ("plan", "Save MSCCL++ plan", FileForm::Mscclpp),
    ("csv", "Save result CSV", FileForm::Csv),
    ("json", "Save JSON", FileForm::Json),
    ("trace", "Save Perfetto trace", FileForm::Perfetto),
    ("xml", "Save MSCCL XML for older RCCL", FileForm::Msccl),
    ("topology", "Save topology CSV", FileForm::Topology),
];

/// Rings for a machine, which no schedule is needed for.
const GRAPH: (&str, &str) = ("graph", "Save NCCL graph file");

/// The state of the topology workbench.
#[derive(Default)]
pub struct Topology {
    study: study::Study,
    /// The study of the damaged topology, if there is damage.
    damaged: Option<study::Study>,
    choices: Choices,
    source: Option<Source>,
    /// Links that were added to it and removed, as they were chosen.
    edits: [String; 2],
    opened: Opened,
    /// Rings for the machine, where one is shown.
    rings: Option<Result<Rings, GraphError>>,
    asked: Option<SearchRequest>,
    /// The reason why there is no schedule.
    why: Option<String>,
    /// The best schedule so far, evaluated.
    found: Option<Shown>,
    /// The time limit of a search in milliseconds.
    limit_ms: u32,
    /// The time spent on the search, and the number of decisions of the next piece.
    spent_ms: u32,
    piece: f64,
    /// The purpose of the previous piece: the search itself, or that of a baseline.
    last: Option<Option<Method>>,
    robustness: Robustness,
    seed_variance: SeedVariance,
    baselines: Vec<Baseline>,
    /// Dropped schedules: their names, the findings on them, and those without fault.
    dropped: Vec<(String, Vec<String>, Option<Timeline>)>,
    /// Whether the results changed since they were last drawn.
    is_new: bool,
}

impl Topology {
    /// The state after files were loaded.
    pub fn new(parts: Vec<(String, Part)>) -> Self {
        Self { study: study::Study::new(parts), ..Self::default() }
    }

    /// The reason why there is no schedule, if there is none.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    fn active(&self) -> &study::Study {
        self.damaged.as_ref().unwrap_or(&self.study)
    }

    fn active_mut(&mut self) -> &mut study::Study {
        self.damaged.as_mut().unwrap_or(&mut self.study)
    }

    fn prepare(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let (mut form, mut rates) = (Form::new(&self.choices), Form::new(&self.choices));
        let source = settings::source(&mut form, &mut rates, self.study.parts())?;
        form.append(rates);
        let source = form.checked(source)?;
        let edits = ["add", "remove"].map(|key| self.choices.get(key).unwrap_or_default().to_owned());
        if self.source.as_ref() != Some(&source) || self.edits != edits {
            (self.source, self.asked, self.damaged, self.found) = (None, None, None, None);
            self.opened = self.study.open(source.clone())?;
            self.edit()?;
            let nodes = if let Source::Machine(_, rates) = &source { rates.nodes } else { 1 };
            let patterns = &mut self.opened.patterns;
            patterns.iter_mut().for_each(|pattern| pattern.nodes = nodes.max(1));
            if patterns.iter().map(Pattern::hops).sum::<u64>() > MOST_HOPS {
                patterns.clear();
                let left_out = format!("The dumped rings and trees are left out: over {nodes} nodes they are too long");
                self.opened.notes.push(left_out);
            }
            (self.source, self.edits) = (Some(source), edits);
            self.rings = self.machine().map(|(machine, rates)| nccl_graph::rings(machine, rates));
        }
        let topology = self.study.topology()?;
        let mut form = Form::new(&self.choices);
        let mut asked = settings::search(&mut form, self.study.parts(), topology.nodes)?;
        (asked.seed, self.limit_ms) = settings::limits(&mut form);
        asked.damage = edit::damage(&self.choices, topology)?;
        let asked = form.checked(asked)?;
        if self.asked.as_ref() != Some(&asked) {
            let is_same = |of: &SearchRequest| {
                let whole = |of: &SearchRequest| SearchRequest { damage: Damage::default(), ..of.clone() };
                whole(of) == whole(&asked)
            };
            let is_begun = self.asked.take().is_some_and(|before| is_same(&before)) && self.study.search().is_ok();
            (self.damaged, self.found) = (None, None);
            (self.spent_ms, self.piece, self.last) = (0, PIECE as f64, None);
            let SearchRequest { wanted, by, seed, damage } = asked.clone();
            if !is_begun {
                self.study.begin(wanted.clone(), by, seed, PIECE, progress)?;
            }
            if !damage.is_empty() {
                for _ in 0..BEFORE_DAMAGE {
                    if !self.study.improve(PIECE, progress)?.is_working {
                        break;
                    }
                }
                let mut study = study::Study::default();
                let (topology, dead) = (self.study.topology()?, damage.dead());
                let topology = network::damaged(topology, &damage.left(topology), &dead);
                // From here on the links are damaged, whatever comes of it.
                study.open(Source::Edited(topology))?;
                let wanted = wanted.without(&dead).map_err(StudyError::from)?;
                study.begin(wanted, by, seed, PIECE, progress)?;
                self.damaged = Some(study);
            }
            self.asked = Some(asked);
            self.baselines.clear();
            self.seed_variance = SeedVariance::default();
        }
        self.check();
        self.look()
    }

    /// Adds and removes links of the graph that was opened. Nodes stay where they are.
    fn edit(&mut self) -> Result<(), WorkbenchError> {
        let topology = self.study.topology()?;
        let Some(mut edited) = edit::edited(&self.choices, topology)? else { return Ok(()) };
        let of_links = topology.notes();
        edited.shape = layout::shape(topology);
        edited.name += "-edited";
        let again = self.study.open(Source::Edited(edited))?;
        let before = std::mem::take(&mut self.opened);
        let mut notes = before.notes;
        notes.retain(|note| !of_links.contains(note));
        notes.extend(again.notes);
        self.opened = Opened { topology: again.topology, notes, ..before };
        Ok(())
    }

    /// Looks at the best so far, from all sides where it is another.
    fn look(&mut self) -> Result<(), WorkbenchError> {
        let status = self.active().status()?;
        let Some(time_ns) = status.time_ns else {
            if let (false, Some(asked)) = (status.is_working, &self.asked) {
                let why = asked.by.made_for().unwrap_or("it has nothing more to try");
                self.why = Some(format!("{} makes no schedule here: {why}; take another", request::title(asked.by)));
            }
            return Ok(());
        };
        if let Some(mut shown) = self.found.take().filter(|shown| shown.status.time_ns == Some(time_ns)) {
            self.active().renew(&mut shown)?;
            self.found = Some(shown);
            return Ok(());
        }
        self.found = Some(self.active().show()?);
        self.is_new = true;
        self.robustness = Robustness::new(self.robustness.varied.clone(), self.robustness.every);
        Ok(())
    }

    /// Applies the choices that don't concern the search.
    fn apply_other_choices(&mut self) -> Result<(), WorkbenchError> {
        let mut form = Form::new(&self.choices);
        let settings = settings::others(&mut form);
        let Settings { varied, every, seeds, baselines: mut methods } = form.checked(settings)?;
        if (&self.robustness.varied, self.robustness.every) != (&varied, every) {
            self.robustness = Robustness::new(varied, every);
        }
        if self.seed_variance.asked != seeds {
            self.seed_variance = SeedVariance::new(seeds);
        }
        let by = self.asked.as_ref().map(|asked| asked.by);
        methods.retain(|method| by != Some(*method));
        self.is_new |= self.baselines.iter().any(|baseline| !methods.contains(&baseline.method()));
        self.baselines.retain(|baseline| methods.contains(&baseline.method()));
        for method in methods {
            if !self.baselines.iter().any(|baseline| baseline.method() == method) {
                self.baselines.push(Baseline::new(method));
            }
        }
        Ok(())
    }

    /// Checks the schedules that were dropped against what is asked for.
    fn check(&mut self) {
        let is_result = |part: &Part| matches!(part, Part::Result(_));
        let names: Vec<String> =
            self.study.parts().iter().filter(|(_, part)| is_result(part)).map(|(name, _)| name.clone()).collect();
        self.dropped.clear();
        for (number, name) in (0..).zip(names) {
            let (text, timeline) = match self.study.verify(number) {
                Ok(verified) => {
                    let mut text = verified.sentences;
                    // The first stands in the sentences.
                    let more = verified.faults.len().saturating_sub(1 + MOST_LISTED);
                    let faults = verified.faults.iter().skip(1).take(MOST_LISTED);
                    text.extend(faults.map(|fault| format!("{}.", capitalised(fault))));
                    if more > 0 {
                        let least = if verified.is_cut { "at least " } else { "" };
                        text.push(format!("And {least}{}.", count(more as u64, "more fault")));
                    }
                    (text, verified.timeline)
                }
                Err(error) => (vec![format!("{}.", capitalised(&error.to_string()))], None),
            };
            self.dropped.push((name, text, timeline.filter(|_| self.damaged.is_none())));
        }
    }

    fn is_searching(&self) -> bool {
        let status = self.active().status();
        // Until there is something to be left with, no time is over.
        let is_open = |status: SearchStatus| status.time_ns.is_none() || self.spent_ms < self.limit_ms;
        self.why.is_none() && status.is_ok_and(|status| status.is_working && is_open(status))
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.found.as_ref()?.timeline.as_ref()
    }

    fn has_more(&self) -> bool {
        self.why.is_none()
            && (self.is_searching()
                || self.baselines.iter().any(|baseline| !baseline.is_done())
                || self.timeline().is_some() && !(self.robustness.is_done() && self.seed_variance.is_done()))
    }

    /// Adapts the size of pieces to the time of the previous one.
    fn pace(&mut self, last_ms: u32) {
        let (Some(last), true) = (self.last.take(), last_ms > 0) else { return };
        let faster = (PIECE_MS / f64::from(last_ms)).clamp(0.2, 2.0);
        self.piece = (self.piece * faster).clamp(PIECES.0, PIECES.1);
        match last {
            None => self.spent_ms = self.spent_ms.saturating_add(last_ms),
            Some(method) => {
                let baseline = self.baselines.iter_mut().find(|baseline| baseline.method() == method);
                baseline.into_iter().for_each(|baseline| baseline.spent_ms = baseline.spent_ms.saturating_add(last_ms));
            }
        }
    }

    /// Carries out a piece of the computations that follow the search.
    fn run_follow_up(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let (piece, limit_ms) = (self.piece as u64, self.limit_ms);
        if self.is_searching() {
            self.last = Some(None);
            self.active_mut().improve(piece, progress)?;
            return self.look();
        }
        let asked = self.asked.clone();
        let study = self.damaged.as_ref().unwrap_or(&self.study);
        if let (Some(baseline), Some(asked)) = (self.baselines.iter_mut().find(|baseline| !baseline.is_done()), asked) {
            self.last = Some(Some(baseline.method()));
            let (wanted, ..) = study.search()?;
            baseline.go_on(wanted, study.topology()?, asked.seed, piece, limit_ms)?;
            self.is_new |= baseline.is_done();
            return Ok(());
        }
        let study = self.damaged.as_mut().unwrap_or(&mut self.study);
        if let Some(timeline) = self.found.as_ref().and_then(|found| found.timeline.as_ref()) {
            if self.robustness.is_done() {
                self.seed_variance.go_on(study, timeline)?;
            } else {
                self.robustness.go_on(study, timeline)?;
            }
        }
        Ok(())
    }

    /// A sentence on the old schedule with damaged links.
    fn stale_schedule_note(&self) -> Option<String> {
        let damage = &self.asked.as_ref().filter(|asked| !asked.damage.is_empty())?.damage;
        let topology = self.study.topology().ok()?;
        let (_, clock, search, _) = self.study.search().ok()?;
        let (schedule, _) = search.best()?;
        let (left, dead) = (damage.left(topology), damage.dead());
        let mut replay = Replay::new(&search.problem, &schedule);
        let mut run = replay.run(&mut |link, usual| match left.binary_search_by_key(&link, |(of, _)| *of) {
            Err(_) => Some(usual),
            Ok(at) => {
                Some(left[at].1).filter(|left| *left > 0.0).map(|left| robust::slowed(topology, clock, link, left))
            }
        });
        let mut undelivered = "undelivered";
        if !dead.is_empty() {
            run.undelivered = replay.undelivered_among_others(&dead);
            undelivered = "undelivered among the others";
        }
        let planned = listing::time(clock.ns(schedule.end(&search.problem.graph)));
        Some(if run.undelivered > 0 {
            format!(
                "The schedule for the whole graph took {planned}; here it leaves {} of a chunk and a node {undelivered}.",
                count(run.undelivered, "pair")
            )
        } else {
            let now = listing::time(clock.ns(run.end));
            format!("The schedule for the whole graph took {planned}; in the same order it takes {now} here.")
        })
    }

    /// The damage that is chosen, even if no schedule exists under it.
    fn damage(&self) -> Damage {
        edit::damage(&self.choices, &self.opened.topology).unwrap_or_default()
    }

    fn damage_words(&self) -> Option<String> {
        const NAMED: usize = 4;
        let damage = Some(self.damage()).filter(|damage| !damage.is_empty())?;
        let topology = &self.opened.topology;
        let mut words = Vec::new();
        for (node, left) in &damage.nodes {
            let name = topology.label(*node);
            words.push(match *left {
                0.0 => format!("without node {name}"),
                left => format!("with all links of node {name} at {:.0} %", left * 100.0),
            });
        }
        // Both directions of a pair are one entry.
        for (link, left) in &damage.links {
            let of = topology.links.get(*link as usize)?;
            let back = |(other, left): &(u32, f64)| {
                let other = topology.links.get(*other as usize);
                *left == 0.0 && other.is_some_and(|other| (other.from, other.to) == (of.to, of.from))
            };
            let damage = match (*left > 0.0, damage.links.iter().any(back)) {
                (true, _) => robust::Damage::Slow(*link, *left),
                (false, true) if of.from < of.to => robust::Damage::Pair(of.from, of.to),
                (false, true) => continue,
                (false, false) => robust::Damage::Link(*link),
            };
            words.push(robust::describe(topology, &damage));
        }
        let more = words.len().saturating_sub(NAMED);
        words.truncate(NAMED);
        words.extend((more > 0).then(|| format!("{more} more")));
        Some(capitalised(&words.join(", ")))
    }

    /// The schedules to compare, the best first.
    fn timelines(&self) -> Vec<(&str, &Timeline, f64)> {
        let bound = self.found.as_ref().map_or(0.0, |found| found.status.bound_ns);
        let best = self.timeline().map(|timeline| ("Best so far", timeline, bound));
        let baselines =
            self.baselines.iter().filter_map(|baseline| Some((baseline.name(), baseline.timeline.as_ref()?, bound)));
        let dropped =
            self.dropped.iter().filter_map(|(name, _, timeline)| Some((name.as_str(), timeline.as_ref()?, bound)));
        best.into_iter().chain(baselines).chain(dropped).collect()
    }

    fn robustness_section(&self, contents: &Contents) -> Section {
        let mut section = Section::with_form(Group::Robustness);
        section.text.clone_from(&self.robustness.text);
        if section.text.is_empty() {
            section.text.push("It is looked at when the search is over.".into());
        }
        section.charts.extend(self.robustness.chart.clone().filter(|_| contents.charts));
        let tables = [
            ("topology-damaged", "The same schedule with each link damaged", &self.robustness.links),
            ("topology-nodes", "The same schedule with each node damaged", &self.robustness.nodes),
        ];
        for (id, title, listing) in tables.into_iter().filter(|(.., listing)| !listing.rows.is_empty()) {
            section.tables.push(Exhibit::new(id, title, listing.clone()));
        }
        section
    }

    fn comparison_section(&self, contents: &Contents) -> Section {
        let timelines = self.timelines();
        let mut section = Section::with_form(Group::Comparison);
        for baseline in self.baselines.iter().filter(|baseline| baseline.is_done() && baseline.timeline.is_none()) {
            section.text.push(format!("{}: no schedule was found.", baseline.name()));
        }
        if timelines.len() < 2 {
            let beside = "Other synthesizers, and schedules that are dropped, stand beside the best one here.";
            section.text.push(beside.into());
        } else {
            if contents.charts {
                let of_chart: Vec<(&str, &Timeline)> =
                    timelines.iter().map(|(name, timeline, _)| (*name, *timeline)).collect();
                section.charts.push(charts::progress(&of_chart));
            }
            section.tables.push(Exhibit::new("topology-comparison", "Schedules", listing::comparison(&timelines)));
        }
        section.text.extend(self.seed_variance.text());
        if let Some(shown) = &self.found
            && let Some(chart) =
                self.seed_variance.chart(shown.status.time_ns.unwrap_or_default(), shown.status.bound_ns)
        {
            section.text.push(chart.summary.clone());
            section.charts.extend(Some(chart).filter(|_| contents.charts));
        }
        section
    }

    /// The sections that follow the schedule.
    fn more(&self, contents: &Contents) -> Vec<Section> {
        let mut sections =
            vec![self.robustness_section(contents).on(ROBUSTNESS), self.comparison_section(contents).on(COMPARISON)];
        let mut dropped: Vec<String> = Vec::new();
        for (name, text, _) in &self.dropped {
            let named = text.first().map(|first| format!("{name}: {first}"));
            dropped.extend(named.into_iter().chain(text.iter().skip(1).cloned()));
        }
        for (name, part) in self.study.parts() {
            if let Part::Algorithm(verdict) = part {
                let said = verdict.clone().unwrap_or_else(|refusal| format!("{}: {}.", refusal.meaning, refusal.why));
                dropped.push(format!("{name}: {said}"));
            }
        }
        if !dropped.is_empty() {
            let section = Section { title: "Dropped schedules".into(), text: dropped, ..Section::default() };
            sections.push(section.on(COMPARISON));
        }
        sections.push(self.run_section());
        let dumped = self.dumped();
        if self.opened.machine.is_some() || dumped.is_some() {
            let mut section = Section::with_form(Group::Machine);
            if let Some((text, listing)) = dumped {
                section.text.push(text);
                section.tables.push(Exhibit::new("topology-dumped", "Dumped rings and trees", listing));
            }
            if let Some(machine) = &self.opened.machine {
                section.tables.push(Exhibit::new("topology-machine", "GPUs and their ports", machine.clone()));
                if let Some(Source::Machine(_, rates)) = &self.source {
                    section.tables.push(Exhibit::new("topology-rates", "Rates of links", rates.listing()));
                }
            }
            sections.push(section.on(MACHINE));
        }
        sections
    }

    /// What runs a schedule, and what is wrong with dropped plans.
    fn run_section(&self) -> Section {
        let mut section = Section { title: "Run it".into(), ..Section::default() };
        section.tables.push(Exhibit::new("topology-run", "What runs a schedule", listing::runners()));
        for (number, (name, verdict)) in request::of_kind(self.study.parts(), request::plan).enumerate() {
            section.text.push(format!("{name}: {}", verdict.sentence()));
            section.text.extend(verdict.notes.iter().cloned());
            if !verdict.faults.is_empty() {
                let id = format!("topology-plan-{}", number + 1);
                section.tables.push(Exhibit::new(&id, format!("Faults of {name}"), listing::plan_faults(verdict)));
            }
        }
        self.add_graphs(&mut section);
        section.on(RUN)
    }

    /// The machine that is shown, with its rates, as long as it is whole.
    fn machine(&self) -> Option<(&Machine, &Rates)> {
        let Some(Source::Machine(place, rates)) = &self.source else { return None };
        let (_, machine) = request::of_kind(self.study.parts(), request::machine).nth(*place as usize)?;
        Some((machine, rates))
    }

    /// Checks dropped graph files, and says what rings the machine could have.
    fn add_graphs(&self, section: &mut Section) {
        for (number, (name, graphs)) in request::of_kind(self.study.parts(), request::graphs).enumerate() {
            let checks = nccl_graph::checks(graphs, self.machine());
            section.text.push(format!("{name}: {}", nccl_graph::sentence(&checks)));
            section.text.extend(checks.iter().flat_map(|check| check.notes.iter().cloned()));
            let (id, title) = (format!("topology-graphs-{}", number + 1), format!("Channels of {name}"));
            section.tables.push(Exhibit::new(&id, title, listing::graph_checks(&checks)));
        }
        match &self.rings {
            Some(Ok(rings)) => section.text.push(rings.sentence()),
            Some(Err(why)) => section.text.push(format!("No graph file of NCCL is offered: {why}.")),
            None => {}
        }
    }

    /// A table that compares the dumped rings and trees with the schedule.
    fn dumped(&self) -> Option<(String, Listing)> {
        let patterns = Some(&self.opened.patterns).filter(|patterns| !patterns.is_empty())?;
        let (study, mut found) = (self.active(), None);
        let (wanted, ..) = study.search().ok()?;
        let collective = wanted.collective?;
        if let Some(shown) = &self.found {
            found = shown.status.time_ns;
        }
        let machine = self.machine();
        let bytes = wanted.chunk_bytes * u64::from(wanted.chunks);
        let takes = |pattern: &Pattern| {
            // A damaged graph has other links than those that were dumped.
            pattern.takes_ns(collective, study.topology().ok()?, machine, bytes)
        };
        let all: Vec<(&Pattern, Option<f64>)> = patterns.iter().map(|pattern| (pattern, takes(pattern))).collect();
        let words = format!(
            "What NCCL would run for this {collective}, in the same cost model: rings in steps as long as their slowest link \
             takes for its channels, trees of an all_reduce in pieces as small as one likes."
        );
        Some((words, listing::dumped(&all, found)))
    }

    /// The title and text that are shown if there is no schedule.
    fn nothing(&self) -> (String, Vec<String>) {
        let why = self.why.clone().map(|why| format!("{}.", capitalised(why.trim_end_matches('.'))));
        let name = if self.opened.topology.name.is_empty() { "this graph" } else { &self.opened.topology.name };
        let mut text: Vec<String> = self.damage_words().map(|words| format!("{words}.")).into_iter().collect();
        text.push(why.unwrap_or_else(|| "No schedule was found yet.".into()));
        (format!("No schedule for {name}"), text)
    }
}

impl From<StudyError> for WorkbenchError {
    fn from(error: StudyError) -> Self {
        Self::Study(Box::new(error))
    }
}

impl Study for Topology {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        // Whatever can't be, the form stays, so that it can be mended.
        self.why = None;
        let done = self.prepare(progress).and_then(|()| self.apply_other_choices());
        if let Err(error) = done {
            self.why = Some(error.to_string());
            self.found = None;
        }
        self.is_new = true;
        Ok(())
    }

    fn take(&mut self, _: &[u8], _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Ok(())
    }

    fn go_on(&mut self, last_ms: u32, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.pace(last_ms);
        if let Err(error) = self.run_follow_up(progress) {
            self.why = Some(error.to_string());
        }
        Ok(())
    }

    fn choices(&self) -> &Choices {
        &self.choices
    }

    fn commands(&self, _: &[String], changed: &Choices, form: &[Field]) -> Option<Commands> {
        command::synthesize(changed, form)
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let (mut form, mut rates) = (Form::new(&self.choices), Form::new(&self.choices));
        drop(settings::source(&mut form, &mut rates, self.study.parts()));
        settings::fields(&mut form, rates, self.study.parts(), self.found.is_some());
        Ok(form.into_fields())
    }

    fn files(&self) -> Vec<(String, String)> {
        if self.found.is_none() {
            return Vec::new();
        }
        let mut files: Vec<(String, String)> = FILES.map(|(key, label, _)| (key.to_owned(), label.to_owned())).into();
        if matches!(self.rings, Some(Ok(_))) {
            files.insert(1, (GRAPH.0.to_owned(), GRAPH.1.to_owned()));
        }
        files
    }

    fn file(&self, key: &str, _: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        if let (true, Some(Ok(rings))) = (key == GRAPH.0, &self.rings) {
            let name = format!("{}.graph.xml", self.opened.topology.name);
            return Ok(TextFile { name, text: rings.text.clone(), note: nccl_graph::HOW_TO_RUN.to_owned() });
        }
        let form = FILES.iter().find(|(known, ..)| *known == key).map(|(.., form)| *form);
        let form = form.ok_or_else(|| WorkbenchError::NoFile(key.to_owned()))?;
        let file = self.active().export(form)?;
        Ok(TextFile { name: file.name, text: file.text, note: file.note })
    }

    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        Ok(Jobs { goes_on: self.has_more(), ..Jobs::default() })
    }

    fn attachments(&mut self) -> Result<Vec<Attachment>, WorkbenchError> {
        if !std::mem::take(&mut self.is_new) {
            return Ok(Vec::new());
        }
        let shown = self.found.as_ref();
        let damage = self.damage();
        let mut network = Network {
            damaged: damage.left(&self.opened.topology),
            dead: damage.dead(),
            topology: self.opened.topology.clone(),
            places: self.opened.places.clone(),
            cut: Default::default(),
            patterns: self.opened.patterns.clone(),
            bound_ns: shown.map_or(0.0, |shown| shown.status.bound_ns),
            timelines: self
                .timelines()
                .into_iter()
                .map(|(name, timeline, _)| (name.to_owned(), timeline.abridged()))
                .collect(),
        };
        if let Some(shown) = shown {
            let whole = network.whole();
            let crossing = shown.cut.1.iter().filter_map(|link| whole.get(*link as usize).copied());
            let alive = network.alive();
            let inside = shown.cut.0.iter().filter_map(|node| alive.get(*node as usize).copied());
            network.cut = (inside.collect(), crossing.collect());
        }
        Ok(vec![Attachment::new(AttachmentKind::Network, &network)?])
    }

    fn detail(&self, request: &Attachment) -> Result<Attachment, WorkbenchError> {
        if request.kind != AttachmentKind::Network {
            return Err(WorkbenchError::NoDetail);
        }
        let CutRequest { from_ns, chunk } = request.read()?;
        let of = |timeline: &Timeline| match timeline.len() > MAX_TRANSFERS {
            true => timeline
                .window_from(((from_ns.max(0.0) * timeline.ticks_per_ns as f64) as u64).min(timeline.end), chunk),
            false => Timeline::default(),
        };
        let timelines: Vec<Timeline> = self.timelines().into_iter().map(|(_, timeline, _)| of(timeline)).collect();
        Ok(Attachment::new(AttachmentKind::Network, &timelines)?)
    }

    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        // Before anything was chosen, as in the terminal.
        if self.source.is_none() && self.why.is_none() {
            return Err(StudyError::NoTopology.into());
        }
        let ReportContext { files, problems } = material;
        let material = crate::topology::report::TopologyReportInput {
            study: self.active(),
            shown: self.found.as_ref(),
            is_searching: self.is_searching(),
            nothing: self.nothing(),
            more: self.more(contents),
            files,
            problems,
        };
        let mut report = crate::topology::report::report(material, contents)?;
        if self.found.is_some() {
            if let Ok(status) = self.active().status()
                && let Some(sentence) = report.summary.first_mut()
            {
                *sentence = status.sentence;
            }
            if let (Some(words), Some(sentence)) = (self.damage_words(), report.summary.first_mut()) {
                *sentence = format!("{words}: {sentence}");
            }
            report.summary.extend(self.stale_schedule_note());
        }
        let notes = self.opened.notes.iter().map(|note| format!("{}.", capitalised(note.trim_end_matches('.'))));
        report.summary.extend(notes);
        Ok(report)
    }
}
