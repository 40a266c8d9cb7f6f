//! The sections of each panel. Where a question can't be answered, its section says why.

use super::Tuning;
use crate::{
    collective::{Configuration, Workload},
    form::RowChoice,
    launch::Sizes,
    plot::FileLine,
    progress::Progress,
    report::{
        Exhibit, Section, TextFile,
        placement::{Placement, RowMark},
    },
    text::{Column, Entry, Listing},
    tuning::{
        ab::{AbAnswer, script::CampaignPlan, verdict::RuleVerdict},
        address::{Address, Panel},
        campaign::history,
        conf::{
            Finding, Severity,
            export::{self, ConfFile, Refusal},
            lint,
            overlay::{self, OverlayPoint},
        },
        coverage::CoverageAnswer,
        hotspots::{self, HotspotQuestion},
        library_choice, listing,
        plan::{self, PlanAnswer, PlanQuestion},
        reach::{self, PathEvidence, Reach, ReachLine},
        report::trust,
        result::Recommendation,
        settings::Group,
        study::TuningStudyError,
        sweep::Sweep,
    },
    units::{Size, count, significant},
};

/// The number of unmeasured workloads that are named.
const MAX_NAMED: usize = 12;
/// The explanation of a search in which nothing is ticked.
const SEARCHED: &str = "With nothing ticked, what was measured is searched. What was not measured is searched where it can \
                        run and the model can predict it.";
/// The largest number of findings that are sent to the page.
const MAX_FINDINGS: usize = 5000;

impl Section {
    /// A section of a panel, with words beside its heading.
    pub(super) fn led(group: Group, lead: &str) -> Self {
        let mut section = Self::with_form(group);
        lead.clone_into(&mut section.placement.lead);
        section
    }

    /// A section without fields of its own that is shown folded.
    fn folded(title: &str, files: Vec<TextFile>) -> Self {
        let placement = Placement { is_folded: true, ..Placement::default() };
        Self { title: title.to_owned(), files, placement, ..Self::default() }
    }

    pub(super) fn saying(mut self, text: &str) -> Self {
        self.text.push(text.to_owned());
        self
    }
}

fn file(name: impl Into<String>, note: impl Into<String>, text: String) -> TextFile {
    TextFile { name: name.into(), note: note.into(), text }
}

impl Tuning {
    /// The sections of the panel that is chosen.
    pub(super) fn make_sections(&mut self, progress: &mut dyn Progress) -> Vec<Section> {
        self.compared.unread.clear();
        match self.settings.panel {
            Panel::Answer => self.answered(progress),
            Panel::HeatMap => Vec::new(),
            Panel::Model => self.model(progress),
            Panel::Noise => self.noise(),
            Panel::TunerFiles => self.tuner_files(),
            Panel::Coverage => self.covered(),
            Panel::Plan => self.planned(progress),
            Panel::Ab => self.ab(),
            Panel::Campaign => self.histories(),
            Panel::Tables => self.tables(),
            Panel::Compare => self.compared(),
            Panel::CostModel => self.cost_model(),
        }
    }

    /// The sections below the answer: hotspots, answers for typed sizes, and where the model searches.
    fn answered(&mut self, progress: &mut dyn Progress) -> Vec<Section> {
        let mut sections = self.dips();
        if self.has_data() {
            sections.extend(self.own_sizes(progress).into_iter().flatten());
            let mut limits = Section::with_form(Group::Limits).saying(SEARCHED);
            limits.placement.is_folded = true;
            sections.push(limits);
        }
        sections
    }

    /// The sections on how the model is learnt, how far to trust it, and the importance of its features.
    fn model(&mut self, progress: &mut dyn Progress) -> Vec<Section> {
        if !self.has_data() {
            return Vec::new();
        }
        let mut learning = Section::with_form(Group::Model);
        learning.placement.submit = Some("Train".to_owned());
        let mut sections = vec![learning];
        let view = self.view.as_ref().map(|(_, view)| view);
        let chart = view.and_then(|view| view.predicted_over_measured.clone());
        let evaluation = self.loaded.study.evaluation();
        sections.extend(evaluation.map(|evaluation| trust::section(evaluation, chart.into_iter().collect())));
        if self.loaded.study.parameters().is_some() {
            sections.push(self.features(progress));
        }
        sections
    }

    fn features(&mut self, progress: &mut dyn Progress) -> Section {
        let section = Section::with_form(Group::Importances).saying(
            "How much the prediction needs each feature. A small importance of algorithm or channels says nothing about \
             regret, because most of the variance comes from the size.",
        );
        if !self.settings.importances {
            return section;
        }
        let learnt = self.learnt();
        if self.importances.as_ref().is_none_or(|(of, _)| *of != learnt) {
            match self.loaded.study.importances(progress) {
                Ok(importances) => self.importances = Some((learnt, importances)),
                Err(error) => return failed(section, &error),
            }
        }
        let rows = self.importances.iter().flat_map(|(_, importances)| importances).map(|importance| {
            vec![
                Entry::text(importance.feature.clone()),
                Entry::number(importance.impurity, |share| format!("{share:.4}")),
                Entry::number(Some(importance.permutation_pct), significant),
            ]
        });
        let columns = vec![
            Column::words("Feature", "what the model is given"),
            Column::numbers("Impurity", "share of the impurity that its splits removed"),
            Column::numbers("Permutation", "rise of MAPE in points when its values are shuffled"),
        ];
        let listing = Listing { columns, rows: rows.collect() };
        Section { tables: vec![Exhibit::new("importances", "Feature importance", listing)], ..section }
    }

    /// The answers for sizes that the user typed, measured or not.
    fn own_sizes(&mut self, progress: &mut dyn Progress) -> Option<[Section; 2]> {
        let Workload { collective, scale, .. } = self.settings.shown?;
        let mut section = Section::led(Group::OwnSizes, &format!("{collective} on {scale}"));
        section.placement.submit = Some("Answer".to_owned());
        section.placement.is_folded = true;
        section.placement.is_open = !self.settings.own_sizes.trim().is_empty();
        let mut limits = Section::with_form(Group::OwnLimits).saying(SEARCHED);
        limits.placement.is_folded = true;
        let sizes = match self.settings.own_sizes() {
            Ok(sizes) => sizes,
            Err(wrong) => {
                section.placement.error = Some(wrong.to_string());
                return Some([section, limits]);
            }
        };
        if sizes.is_empty() {
            return Some([section, limits]);
        }
        let workloads = sizes.iter().map(|&size_bytes| Workload { collective, scale, size_bytes }).collect();
        let question = (self.learnt(), workloads, self.settings.own_limits.clone());
        if self.own.as_ref().is_none_or(|(of, _)| *of != question) {
            match self.loaded.study.recommend(&question.1, Some(&question.2), true, progress) {
                Ok(answers) => self.own = Some((question, answers)),
                Err(error) => return Some([failed(section, &error), limits]),
            }
        }
        let answers = self.own.as_ref().map_or(&[][..], |(_, answers)| answers);
        let differs = |answer: &Recommendation| {
            let ((other, busbw), size) = (answer.exhaustive?, Size(answer.workload.size_bytes));
            Some(format!("{size}: the exhaustive search finds {other} at {} GB/s.", significant(busbw)))
        };
        let differences: Vec<String> = answers.iter().filter_map(differs).collect();
        if differences.is_empty() {
            section.placement = section.placement.noted(["The exhaustive search finds the same.".to_owned()]);
        }
        section.placement = section.placement.warned(differences);
        section.tables.push(Exhibit {
            choose: Some(RowChoice { key: "s".to_owned(), values: sizes.iter().map(ToString::to_string).collect() }),
            ..Exhibit::new("answers", "Answers for sizes of your own", listing::recommendations(answers))
        });
        Some([section, limits])
    }

    pub(super) fn has_data(&self) -> bool {
        !self.loaded.study.groups().is_empty()
    }

    fn dips(&mut self) -> Vec<Section> {
        if !self.has_data() {
            return Vec::new();
        }
        let rule = self.settings.hotspots;
        let learnt = self.learnt();
        if self.hotspots.as_ref().is_none_or(|(of, by, _)| (of, by) != (&rule, &learnt)) {
            self.hotspots = Some((rule, learnt, self.loaded.hotspots(&HotspotQuestion { rule })));
        }
        let Some((.., found)) = &self.hotspots else { return Vec::new() };
        let mut section = Section::led(Group::Hotspots, "Sizes with a lower busbw than a smaller size.");
        section.placement.is_folded = true;
        section.placement.is_open = !found.hotspots.is_empty();
        if found.hotspots.is_empty() {
            section = section
                .saying("No hotspots: not for the default, the best measured or the recommended configurations.");
        } else {
            section.tables.push(Exhibit::new("hotspots-found", "Where busbw drops", found.listing.clone()));
        }
        let mut sections = vec![section];
        // A header line alone is an empty report.
        if found.report.lines().count() > 1 {
            let report = file(hotspots::FILE_NAME, "", found.report.clone());
            sections.push(Section::folded("The default's hotspots as rccl-sweep reports them", vec![report]));
        }
        sections
    }

    fn planned(&self, progress: &mut dyn Progress) -> Vec<Section> {
        let lead = "One launch measures every size with one configuration.";
        let mut section = Section::led(Group::Plan, lead);
        if !self.has_data() {
            return vec![section.saying("Drop a sweep first: the plan says what to add to it.")];
        }
        let typed = self.settings.coverage.typed.as_ref().filter(|_| self.settings.by_hand);
        let question = PlanQuestion {
            uncovered: self.uncovered.clone(),
            job_data_types: typed.map(|typed| typed.job().data_types),
            ..self.settings.plan.clone()
        };
        let PlanAnswer { notes, listing, script, sweep_arguments, .. } =
            match self.loaded.plan(&question, None, progress) {
                Ok(plan) => plan,
                Err(error) => return vec![failed(section, &error)],
            };
        section.placement = section.placement.noted(notes);
        if listing.rows.is_empty() {
            return vec![section];
        }
        section.tables.push(Exhibit::new("measure-next", "The most urgent first", listing));
        section.files.push(file(plan::script::FILE_NAME, "launches of nccl-tests or rccl-tests", script));
        vec![section, Section::folded("As arguments of rccl-sweep", vec![file("", "rccl-sweep", sweep_arguments)])]
    }

    fn ab(&self) -> Vec<Section> {
        let section = Section::with_form(Group::Ab);
        let judged = if self.settings.ab.file.is_some() {
            self.campaign(section)
        } else {
            section.saying(
                "Drop the per-size statistics of a campaign (per_size_stats.csv), and the tuner file that it ran beside \
                 it, to see which rules to keep.",
            )
        };
        [judged].into_iter().chain(self.next_campaign()).collect()
    }

    fn campaign(&self, mut section: Section) -> Section {
        let conf = self.settings.ab.conf;
        let AbAnswer { void, notes, problems, verdicts, by_rule, by_size, chart, trimmed, .. } =
            match self.loaded.ab(&self.settings.ab) {
                Ok(answer) => answer,
                Err(error) => return failed(section, &error),
            };
        let placement = section.placement.noted(notes).warned(problems.kept.iter().map(ToString::to_string));
        section.placement = Placement { error: void.map(|why| format!("The campaign is void: {why}")), ..placement };
        let mark = |verdict: &RuleVerdict| match verdict {
            RuleVerdict::Keep => RowMark::Good,
            RuleVerdict::Drop(_) => RowMark::Changed,
            RuleVerdict::NotJudged(_) => RowMark::Dead,
        };
        let marks = verdicts.iter().map(mark).collect();
        section.tables = vec![
            Exhibit { marks, ..Exhibit::new("ab-by-rule", "By rule", by_rule) },
            Exhibit::new("ab-by-size", "By size", by_size),
        ];
        section.charts.extend(chart);
        let name = conf.map_or_else(|| "trimmed.conf".to_owned(), |conf| trimmed_name(self.loaded.name(conf)));
        section.files.extend(trimmed.map(|text| file(name, "what is left of the tuner file", text)));
        section
    }

    /// The script of a campaign with three arms for the collective and scale that are shown.
    fn next_campaign(&self) -> Option<Section> {
        let shown = self.settings.shown?;
        let (collective, scale) = (shown.collective, shown.scale);
        let groups = self.loaded.study.groups();
        let group = groups.iter().find(|group| (group.collective, group.scale) == (collective, scale))?;
        let campaign = CampaignPlan {
            collective,
            scale,
            sizes: Sizes::to_cover(*group.sizes.first()?, *group.sizes.last()?, scale.ranks),
            repeats: self.settings.arms.0,
            seed: 42,
            launcher: self.settings.arms.1,
            plugin: self.settings.paths[0].clone(),
            conf: self.settings.paths[1].clone(),
        };
        let lead = "No plugin, the plugin with the tuner file, the plugin with an empty one.";
        let name = format!("ab_{collective}_{}n.sh", scale.nodes);
        let script = file(name, "three arms in a balanced order", campaign.script());
        Some(Section { files: vec![script], ..Section::led(Group::NextAb, lead) })
    }

    /// What each launch of the loaded campaigns brought.
    fn histories(&self) -> Vec<Section> {
        let journals = self.loaded.files.journals.iter();
        journals.filter_map(|(file, journal)| history::section(journal, u16::try_from(*file).ok(), true)).collect()
    }

    /// What NCCL chooses by its own cost model, beside what was measured.
    fn cost_model(&self) -> Vec<Section> {
        let question = &self.settings.library_choice;
        let section = Section::with_form(Group::CostModel);
        let model = match question.model() {
            Ok(model) => model,
            Err(error) => {
                let placement = Placement { error: Some(error.to_string()), ..section.placement };
                return vec![Section { placement, ..section }];
            }
        };
        let (collective, nothing) = (question.collective, Sweep::default());
        let compared = self.loaded.sweep_for_nccl();
        let sweep = compared.unwrap_or(&nothing);
        let lines = library_choice::lines(&model, collective, sweep);
        let mut section = section.saying(&library_choice::sentence(&model, collective, &lines));
        section.text.extend(library_choice::verdict(&lines));
        let notes = question.assumptions().into_iter().chain([library_choice::KNOWN_ERROR.to_owned()]);
        let other = library_choice::other_platform(&model, self.loaded.platform());
        section.placement = section.placement.noted(other.into_iter().chain(notes));
        section.charts.push(library_choice::chart(&model, collective, &lines, sweep));
        section.tables.push(Exhibit::new("cost-model", "At each size", library_choice::listing(&lines)));
        let cells = library_choice::cells(&model, collective);
        let title = "Latency and bandwidth of each";
        let table = Exhibit::new("cost-table", title, cells);
        vec![section, Section { tables: vec![table], ..Section::folded(title, Vec::new()) }]
    }

    fn tables(&self) -> Vec<Section> {
        let lead = "For reading only: no model is trained on these.";
        let mut section = Section::led(Group::Tables, lead);
        let listings = &self.loaded.files.listings;
        let shown = listings.iter().find(|(file, _)| Some(*file) == self.settings.table);
        section.tables.extend(shown.map(|(_, listing)| Exhibit::new("table", "Content", listing.clone())));
        vec![section]
    }

    fn covered(&mut self) -> Vec<Section> {
        let settings = &self.settings;
        let lead = "The sizes that a job sends, and what a tuner file chooses for them.";
        let mut section = Section::led(Group::Coverage, lead);
        let has_log = !self.loaded.files.jobs.is_empty();
        let by_hand = settings.by_hand;
        if !has_log {
            section = section.saying(
                "Drop the job's log (NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING), or type what it sends.",
            );
        }
        let mut typed = Section::with_form(Group::Calls);
        typed.placement.submit = Some("Show".to_owned());
        typed.placement.error.clone_from(&settings.wrong_calls);
        let mut sections: Vec<Section> = Some(typed).filter(|_| by_hand).into_iter().collect();
        self.cost_tables.clear();
        if by_hand && settings.coverage.typed.is_none() {
            sections.push(section);
            return sections;
        }
        let CoverageAnswer { listing, sentence, histogram, costs, measure_next, notes, reach, .. } =
            match self.loaded.coverage(&settings.coverage) {
                Ok(answer) => answer,
                Err(error) => {
                    sections.push(failed(section, &error));
                    return sections;
                }
            };
        if listing.rows.is_empty() {
            sections.push(section);
        } else {
            section.text.push(sentence);
            section.placement = section.placement.noted(notes);
            section.tables.push(Exhibit::new("coverage", "Calls", listing));
            section.charts.push(histogram);
            sections.push(section);
            sections.extend(reach.map(|reach| self.reached(&reach)));
            sections
                .extend(never_measured(measure_next.iter().map(|(workload, _)| Address::label(workload)).collect()));
        }
        // Calls that were never measured go to the plan.
        self.uncovered = measure_next;
        self.cost_tables = costs.iter().map(|chart| chart.title.clone()).collect();
        let chart = costs.get(self.settings.cost_table).or(costs.first()).cloned();
        sections.extend(chart.map(|chart| Section { charts: vec![chart], ..Section::with_form(Group::Costs) }));
        sections
    }

    /// Which of the calls a tuner is asked about, each with the line of the log that shows it.
    fn reached(&self, reach: &Reach) -> Section {
        let files = &self.loaded.files.jobs;
        let line_of = |line: &ReachLine| match line.evidence {
            PathEvidence::Line(place) => {
                let (file, _) = files.get(place.file as usize)?;
                Some(FileLine { file: u16::try_from(*file).ok()?, line: u32::try_from(place.line).ok()?, others: 0 })
            }
            PathEvidence::Inferred(_) => None,
        };
        let lines = reach.lines.iter().map(line_of).collect();
        let calls = Exhibit { lines, ..Exhibit::new("reach", "The path of each call", reach::listing(reach)) };
        let paths = Exhibit::new("paths", "Paths through the library", reach::path_listing(&reach.total));
        let see_more = reach.switch_on.iter().map(|what| format!("To see more: {what}"));
        Section {
            title: "Which calls a tuner decides".to_owned(),
            text: vec![format!("{}.", reach.headline)],
            tables: vec![paths, calls],
            placement: Placement::default().noted(reach.notes.iter().cloned().chain(see_more)),
            ..Section::default()
        }
    }

    fn tuner_files(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        if let Some(file) = self.settings.checked {
            sections.extend(self.checked(file));
        }
        if self.has_data() {
            sections.extend(self.written());
            sections.extend(self.environment_variables());
        }
        if self.settings.checked.is_none() {
            let text = "Drop a tuner file to see what each of its rules does in each reader, and what it would choose at \
                        every measured size.";
            let title = "Tuner files".to_owned();
            sections.push(Section { title, ..Section::default() }.saying(text));
        }
        sections
    }

    /// The findings about a loaded tuner file, and what it runs at the measured sizes.
    fn checked(&self, file: u32) -> Vec<Section> {
        let settings = &self.settings;
        let (reader, library) = (settings.export.reader, settings.export.library);
        let mut section = Section::with_form(Group::Check);
        let readers = if settings.all_readers { self.loaded.readers_of(file) } else { &[reader] };
        let mut findings = match self.loaded.lint(file, readers, settings.export.platform()) {
            Ok(findings) => findings,
            Err(error) => return vec![failed(section, &error)],
        };
        let mut summary = lint::summary(&findings);
        if findings.len() > MAX_FINDINGS {
            findings.truncate(MAX_FINDINGS);
            summary += &format!("; the first {MAX_FINDINGS} are shown");
        }
        section.text.push(summary);
        let mark = |finding: &Finding| match finding.severity {
            Severity::Changes => RowMark::Changed,
            Severity::Dead => RowMark::Dead,
            Severity::Note => RowMark::Plain,
        };
        if !findings.is_empty() {
            let marks = findings.iter().map(mark).collect();
            section.tables.push(Exhibit { marks, ..Exhibit::new("findings", "Findings", lint::listing(&findings)) });
        }
        if !self.has_data() {
            return vec![section.saying("Drop the sweep beside it to see what the file would cost or gain.")];
        }
        let choices = match self.loaded.overlay(file, reader, library) {
            Ok(choices) => choices,
            Err(error) => return vec![failed(section, &error)],
        };
        let chart = settings.shown.and_then(|shown| {
            let is_shown =
                |at: &&OverlayPoint| (at.workload.collective, at.workload.scale) == (shown.collective, shown.scale);
            let of: Vec<OverlayPoint> = choices.iter().filter(is_shown).cloned().collect();
            (!of.is_empty()).then(|| overlay::chart(&of, shown.collective, shown.scale, reader))
        });
        let listing = overlay::listing(&choices);
        let overlay = Section {
            title: "What it would choose".to_owned(),
            text: vec![overlay::summary(&choices)],
            charts: chart.into_iter().collect(),
            ..Section::default()
        };
        let table = Exhibit::new("overlay", "What it would choose at the measured sizes", listing);
        let sizes = Section { tables: vec![table], ..Section::folded("At each measured size", Vec::new()) };
        vec![section, overlay, sizes]
    }

    fn written(&self) -> Vec<Section> {
        let mut section = Section::with_form(Group::Write);
        let written = match self.loaded.export(&self.settings.export) {
            Ok(written) => written,
            Err(error) => return vec![failed(section, &error)],
        };
        if written.files.is_empty() && written.refusals.is_empty() {
            section = section.saying("No configuration beats the default, so a tuner file would be empty.");
        }
        let refusals = written.refusals.iter().map(Refusal::message);
        section.placement = section.placement.warned(refusals.chain(written.warnings));
        let of = |conf: ConfFile| file(conf.name, count(conf.rules as u64, "rule"), conf.text);
        section.files.extend(written.files.into_iter().map(of));
        section.files.push(file("", "how to make this reader load the file", written.loading));
        let run = Exhibit::new("what-will-run", "What this reader will run", export::listing(&written.rows));
        let run = Section { tables: vec![run], ..Section::folded("What will run", Vec::new()) };
        // Who checks a file that is there reads on before writing another one.
        section.placement.is_folded = self.settings.checked.is_some();
        vec![section, run]
    }

    fn environment_variables(&self) -> Option<Section> {
        let shown = self.settings.shown?;
        let configuration = if self.settings.of_size { Some(self.recommended_at(&shown)?) } else { None };
        let mut section = Section::with_form(Group::Environment);
        section.placement.is_folded = true;
        let of = (shown.collective, shown.scale);
        Some(match self.loaded.environment(of, configuration, self.settings.export.library) {
            Ok(environment) => {
                section.files.push(file("", environment.configuration.to_string(), environment.text));
                Section { placement: section.placement.clone().warned(environment.warnings), ..section }
            }
            Err(error) => failed(section, &error),
        })
    }

    /// The configuration to deploy for a workload, measured or not.
    fn recommended_at(&self, workload: &Workload) -> Option<Configuration> {
        let study = &self.loaded.study;
        let answer = study.to_deploy().ok()?;
        match answer.iter().find(|found| found.workload == *workload) {
            Some(found) => found.configuration,
            None => study.view(workload).ok()?.recommendation.configuration,
        }
    }
}

pub(super) fn failed(mut section: Section, error: &TuningStudyError) -> Section {
    section.placement.error = Some(error.to_string());
    section
}

fn never_measured(mut named: Vec<String>) -> Option<Section> {
    let rest = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    let rest = if rest > 0 { format!("And {rest} more. ") } else { String::new() };
    (!named.is_empty()).then(|| Section {
        title: "Called and never measured".to_owned(),
        placement: Placement::default().noted(named),
        text: vec![format!("{rest}They come first in What to measure next.")],
        ..Section::default()
    })
}

/// The name of a trimmed tuner file: `tuner.trimmed.conf` for `tuner.conf`.
fn trimmed_name(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}.trimmed.{extension}"),
        None => format!("{name}.trimmed.conf"),
    }
}
