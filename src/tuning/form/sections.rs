//! The sections of each panel. A question that can't be answered says why in its section.

use super::{fields::Group, workload_label};
use crate::{
    progress::Progress,
    report::{
        Exhibit, Section, TextFile,
        placement::{Placement, RowMark},
    },
    tuning::{
        ab::{
            AbAnswer, AbQuestion,
            script::CampaignPlan,
            verdict::{Limits, RuleVerdict},
        },
        address::Panel,
        conf::{
            Finding, Reader, Severity,
            export::{self, ConfFile, ExportOptions, Refusal},
            lint,
            overlay::{self, OverlayPoint},
        },
        coverage::{CoverageAnswer, CoverageQuestion},
        hotspots::{self, HotspotQuestion},
        launch::Sizes,
        loaded::LoadedTuning,
        plan::{self, PlanAnswer, PlanQuestion},
        study::TuningStudyError,
    },
    units::count,
};

/// The number of unmeasured workloads that are named.
const MAX_NAMED: usize = 12;
/// The largest number of findings that are sent to the page.
const MAX_FINDINGS: usize = 5000;

impl Section {
    /// A section of a panel.
    fn of(group: Group, title: &str, lead: &str) -> Self {
        Self { title: title.to_owned(), placement: Placement::new(group.key(), lead), ..Self::default() }
    }

    /// A section without fields of its own that is shown folded.
    fn folded(title: &str, files: Vec<TextFile>) -> Self {
        let placement = Placement { is_folded: true, ..Placement::default() };
        Self { title: title.to_owned(), files, placement, ..Self::default() }
    }

    fn saying(mut self, text: &str) -> Self {
        self.text.push(text.to_owned());
        self
    }
}

fn file(name: impl Into<String>, note: impl Into<String>, text: String) -> TextFile {
    TextFile { name: name.into(), note: note.into(), text }
}

impl LoadedTuning {
    /// The sections of the panel that is chosen.
    pub(super) fn make_sections(&mut self, progress: &mut dyn Progress) -> Vec<Section> {
        match self.panel.settings.panel {
            Panel::Answer => self.dips(),
            Panel::TunerFiles => self.tuner_files(),
            Panel::Coverage => self.covered(),
            Panel::Plan => self.planned(progress),
            Panel::Ab => self.campaigns(),
            Panel::Tables => self.tables(),
            Panel::Noise | Panel::Compare => Vec::new(),
        }
    }

    fn has_data(&self) -> bool {
        !self.study.groups().is_empty()
    }

    fn dips(&mut self) -> Vec<Section> {
        if !self.has_data() {
            return Vec::new();
        }
        let rule = self.panel.settings.hotspots;
        let learnt = self.learnt();
        if self.panel.hotspots.as_ref().is_none_or(|(of, by, _)| (of, by) != (&rule, &learnt)) {
            self.panel.hotspots = Some((rule, learnt, self.hotspots(&HotspotQuestion { rule })));
        }
        let Some((.., found)) = &self.panel.hotspots else { return Vec::new() };
        let mut section = Section::of(Group::Hotspots, "Hotspots", "Sizes with a lower busbw than a smaller size.");
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
        let mut section = Section::of(Group::Plan, "What to measure next", lead);
        if !self.has_data() {
            return vec![section.saying("Drop a sweep first: the plan says what to add to it.")];
        }
        let shown = self.panel.settings.shown.filter(|_| self.panel.settings.only_shown);
        let of = shown.map(|workload| (workload.collective, workload.scale));
        let question = PlanQuestion { of, uncovered: self.panel.uncovered.clone(), ..self.panel.settings.plan.clone() };
        let PlanAnswer { notes, listing, script, sweep_arguments, .. } = match self.plan(&question, progress) {
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

    fn campaigns(&self) -> Vec<Section> {
        let section = Section::of(Group::Campaign, "A/B", "");
        let judged = if self.panel.settings.campaign.is_some() {
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
        let conf = self.panel.settings.campaign_conf;
        let question = AbQuestion {
            file: self.panel.settings.campaign,
            conf,
            collective: self.panel.settings.campaign_collective,
            ranks: None,
            limits: Limits { confidence: self.panel.settings.confidence_pct / 100.0, ..self.panel.settings.limits },
        };
        let AbAnswer { void, notes, problems, verdicts, by_rule, by_size, chart, trimmed, .. } =
            match self.ab(&question) {
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
        let name = conf.map_or_else(|| "trimmed.conf".to_owned(), |conf| trimmed_name(self.name(conf)));
        section.files.extend(trimmed.map(|text| file(name, "what is left of the tuner file", text)));
        section
    }

    /// The script of a campaign with three arms for the collective and scale that are shown.
    fn next_campaign(&self) -> Option<Section> {
        let shown = self.panel.settings.shown?;
        let (collective, scale) = (shown.collective, shown.scale);
        let groups = self.study.groups();
        let group = groups.iter().find(|group| (group.collective, group.scale) == (collective, scale))?;
        let campaign = CampaignPlan {
            collective,
            scale,
            sizes: Sizes::to_cover(*group.sizes.first()?, *group.sizes.last()?),
            repeats: self.panel.settings.arm_launches,
            seed: 42,
            launcher: self.panel.settings.arm_launcher,
            plugin: self.panel.settings.plugin.clone(),
            conf: self.panel.settings.conf_path.clone(),
        };
        let lead = "No plugin, the plugin with the tuner file, the plugin with an empty one.";
        let name = format!("ab_{collective}_{}n.sh", scale.nodes);
        let script = file(name, "three arms in a balanced order", campaign.script());
        Some(Section { files: vec![script], ..Section::of(Group::NextCampaign, "The next campaign", lead) })
    }

    fn tables(&self) -> Vec<Section> {
        let lead = "For reading only: no model is trained on these.";
        let mut section = Section::of(Group::Tables, "Tables", lead);
        let listings = &self.files.listings;
        let shown = listings.iter().find(|(file, _)| Some(*file) == self.panel.settings.table);
        section.tables.extend(shown.map(|(_, listing)| Exhibit::new("table", "Content", listing.clone())));
        vec![section]
    }

    fn covered(&mut self) -> Vec<Section> {
        let settings = &self.panel.settings;
        let lead = "The sizes that a job sends, and what a tuner file chooses for them.";
        let mut section = Section::of(Group::Coverage, "Coverage", lead);
        let has_log = !self.files.jobs.is_empty();
        let by_hand = settings.by_hand || !has_log;
        if !has_log {
            section = section.saying(
                "Drop the job's NCCL log (NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL or TUNING), or type what it sends.",
            );
        }
        let mut typed = Section::of(Group::Calls, "What the job sends", "");
        typed.placement.submit = Some("Show".to_owned());
        let calls = if by_hand { settings.typed() } else { Ok(None) };
        typed.placement.error = calls.as_ref().err().cloned();
        let question = CoverageQuestion {
            typed: calls.unwrap_or_default(),
            conf: settings.rules,
            reader: settings.reader,
            library: settings.library,
            scale: settings.scale.or(settings.shown.map(|shown| shown.scale)),
            divide_by: settings.divide_by,
        };
        let mut sections: Vec<Section> = Some(typed).filter(|_| by_hand).into_iter().collect();
        self.panel.cost_tables.clear();
        if by_hand && question.typed.is_none() {
            sections.push(section);
            return sections;
        }
        let CoverageAnswer { listing, sentence, histogram, costs, measure_next, notes, .. } =
            match self.coverage(&question) {
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
            sections
                .extend(never_measured(measure_next.iter().map(|(workload, _)| workload_label(workload)).collect()));
        }
        // Calls that were never measured go to the plan.
        self.panel.uncovered = measure_next;
        self.panel.cost_tables = costs.iter().map(|chart| chart.title.clone()).collect();
        let chart = costs.get(self.panel.settings.cost_table as usize).or(costs.first()).cloned();
        sections.extend(chart.map(|chart| Section {
            charts: vec![chart],
            ..Section::of(Group::Costs, "The library's cost table beside the measurements", "")
        }));
        sections
    }

    fn tuner_files(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        if let Some(file) = self.panel.settings.checked {
            sections.extend(self.checked(file));
        }
        if self.has_data() {
            sections.extend(self.written());
            sections.extend(self.environment_variables());
        }
        if self.panel.settings.checked.is_none() {
            let text = "Drop a tuner file to see what each of its rules does in each reader, and what it would choose at \
                        every measured size.";
            sections.push(Section::of(Group::Check, "Check a tuner file", "").saying(text));
        }
        sections
    }

    /// The findings about a loaded file, and its choices at the measured sizes.
    fn checked(&self, file: u32) -> Vec<Section> {
        let settings = &self.panel.settings;
        let (reader, library) = (settings.reader, settings.library);
        let mut section = Section::of(Group::Check, "What this tuner file does", "");
        let readers = if settings.all_readers { Reader::ALL } else { &[reader] };
        let mut findings = match self.lint(file, readers, library) {
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
        let choices = match self.overlay(file, reader, library) {
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
            tables: vec![Exhibit::new("overlay", "What it would choose at the measured sizes", listing)],
            ..Section::default()
        };
        vec![section, overlay]
    }

    fn written(&self) -> Vec<Section> {
        let settings = &self.panel.settings;
        let mut section = Section::of(Group::Write, "Write a tuner file", "");
        let options = ExportOptions {
            reader: settings.reader,
            library: settings.library,
            by_scale: settings.by_scale,
            open_ends: settings.open_ends,
            architecture: Some(settings.architecture.clone()).filter(|text| !text.is_empty()),
            ..ExportOptions::default()
        };
        let written = match self.export(&options) {
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
        vec![section, Section { title: "What will run".to_owned(), tables: vec![run], ..Section::default() }]
    }

    fn environment_variables(&self) -> Option<Section> {
        let shown = self.panel.settings.shown?;
        let configuration = if self.panel.settings.of_size { Some(self.recommended(&shown)?) } else { None };
        let mut section = Section::of(Group::Environment, "As environment variables, for the whole job", "");
        section.placement.is_folded = true;
        let of = (shown.collective, shown.scale);
        Some(match self.environment(of, configuration, self.panel.settings.library) {
            Ok(environment) => {
                section.files.push(file("", environment.configuration.to_string(), environment.text));
                Section { placement: section.placement.clone().warned(environment.warnings), ..section }
            }
            Err(error) => failed(section, &error),
        })
    }

    /// The configuration to deploy for a workload, measured or not.
    fn recommended(&self, workload: &crate::collective::Workload) -> Option<crate::collective::Configuration> {
        let study = &self.study;
        let answer = study.to_deploy().ok()?;
        match answer.iter().find(|found| found.workload == *workload) {
            Some(found) => found.configuration,
            None => study.view(workload).ok()?.recommendation.configuration,
        }
    }
}

fn failed(mut section: Section, error: &TuningStudyError) -> Section {
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
