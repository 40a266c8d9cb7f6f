//! The table of the fields, and the settings of the study that they make.

use super::{TrainingTime, answers::key_of};
use crate::{
    form::{Control, Field, Form},
    order::CompactSort,
    training_time::{
        bundle::Answers, calibrate::Terms, health::LeftOut, regressors::Mode, report::SHOWN, settings::Group,
        study::Settings,
    },
};

impl TrainingTime {
    /// All fields but those of files, and the settings.
    pub(super) fn settings(&self, form: &mut Form<'_>) -> Settings {
        let bundle = self.study.bundle();
        form.is_listed = bundle.runs.len() > 1;
        let names = numbered(bundle.runs.iter().map(|configured| configured.run.name.clone()));
        let chosen = form.chosen(Field::new("run", "Run", Control::One(names)).usually("1").leading(vec![None]));
        let number = chosen.and_then(|number| number.parse::<usize>().ok()).unwrap_or(1);
        let dropped = bundle.runs.get(number.saturating_sub(1)).map(|configured| &configured.run);
        // Its fields stand below that of the cluster, which depends on it.
        let mut of_run = Form::new(&self.choices);
        let run = self.run(&mut of_run, dropped);

        let mut settings = Settings::default();
        let usual = run.as_ref().and_then(|run| bundle.cluster_for(run)).unwrap_or(0);
        let mut number = None;
        form.is_listed = false;
        form.field_of(Field::new("cluster", "Cluster", Control::Number), "the number of a cluster", &mut number);
        let held = number.filter(|number| (1..=bundle.clusters.len()).contains(number));
        settings.stands_in = held.is_some();
        settings.cluster = held.map_or(usual, |number| number - 1);
        // Where samples would stand in for another GPU's, somebody says so.
        let chosen = bundle.clusters.get(settings.cluster);
        let stands_in = run.as_ref().zip(chosen).is_some_and(|(run, chosen)| bundle.other_gpu(run, chosen).is_some());
        let mut all = numbered(bundle.clusters.iter().map(|cluster| format!("{} ({})", cluster.name, cluster.gpu)));
        let mut usual = (settings.cluster + 1).to_string();
        if stands_in {
            all.insert(0, (String::new(), "…".to_owned()));
            usual.clear();
        }
        form.is_listed = bundle.clusters.len() > 1 || stands_in;
        form.chosen(Field::new("cluster", "Cluster", Control::One(all)).usually(usual));
        form.is_listed = true;
        let modes =
            [("default", "power laws, trees and curves; simulated pipeline"), ("parity", "as estimate-train-time")];
        let mode = form.chosen(Field::new("mode", "Mode", Control::one(&modes)).usually("default"));
        settings.mode = if mode == Some("parity") { Mode::Parity } else { Mode::Default };
        form.append(of_run);
        settings.changes = Self::changes(form, run.as_ref());
        let searched = run.clone().unwrap_or_else(|| self.blank());
        (settings.search, settings.reserve_gib) = self.search(form, searched, settings.cluster, settings.mode);
        settings.run = run;
        self.calibration_fields(form, &mut settings);
        self.regressor_fields(form, &mut settings);
        settings
    }

    fn calibration_fields(&self, form: &mut Form<'_>, settings: &mut Settings) {
        let bundle = self.study.bundle();
        form.group(Group::Calibration);
        let is_there = !bundle.steps.is_empty();
        form.is_listed = is_there;
        let mut tables = vec![("0".to_owned(), "none".to_owned())];
        tables.extend(numbered(bundle.steps.iter().map(|table| table.name.clone())));
        let mut table = 0;
        form.field_of(Field::new("steps", "Measured steps", Control::One(tables)), "the number of a table", &mut table);
        let table = usize::checked_sub(table, 1);
        form.is_listed = is_there && table.is_some();
        let named = |first: &str, names: &mut dyn Iterator<Item = &String>| {
            let mut all = vec![(String::new(), first.to_owned())];
            all.extend(names.map(|name| (name.clone(), name.clone())));
            Control::One(all)
        };
        // What the files tell is the usual one; a choice stays a choice.
        let is_chosen = form.get("steps-on").is_some();
        let usual = table.filter(|_| !is_chosen).and_then(|table| self.study.ran_on(table)).unwrap_or_default();
        let clusters = named("…", &mut bundle.catalogue.clusters.iter().map(|entry| &entry.name));
        let measured_on = form.chosen(Field::new("steps-on", "Measured on", clusters).usually(usual));
        settings.measured_on = measured_on.map(str::to_owned);
        let first = "as its rows say, or of the cluster's steps, or of the run";
        let architectures = named(first, &mut bundle.catalogue.architectures.iter().map(|known| &known.name));
        let measured_as = form.chosen(Field::new("steps-as", "Architecture of the steps", architectures));
        settings.measured_as = measured_as.filter(|name| !name.is_empty()).map(str::to_owned);
        let field = Field::new("steps-anyway", "Use coefficients that do not help", Control::Switch);
        form.field(field, &mut settings.calibrate_anyway);
        form.is_listed = is_there;
        let terms = Control::one(&[("4", "four"), ("6", "six")]);
        let terms = form.chosen(Field::new("terms", "Coefficients", terms).usually("4"));
        let terms = if terms == Some("6") { Terms::Six } else { Terms::Four };
        settings.calibrate = table.map(|table| (table, terms));
    }

    fn regressor_fields(&self, form: &mut Form<'_>, settings: &mut Settings) {
        form.group(Group::Regressors);
        let library = self.study.library().ok();
        let inputs = self.shown().zip(library).map(|(shown, library)| library.inputs(shown)).unwrap_or_default();
        if let Some(usual) = inputs.last().cloned() {
            let inputs = inputs.into_iter().map(|input| (input.clone(), input)).collect();
            form.chosen(Field::new("over", "Shown over", Control::One(inputs)).usually(usual));
        }
        if settings.mode == Mode::Parity {
            let cluster = self.study.bundle().clusters.get(settings.cluster);
            let operators = cluster.iter().flat_map(|cluster| cluster.operators.iter().map(|of| of.operator.clone()));
            let collectives = cluster.iter().flat_map(|c| c.collectives.iter().map(|of| of.collective.clone()));
            let mut names: Vec<(String, String)> = vec![(String::new(), "none".to_owned())];
            names.extend(operators.chain(collectives).map(|name| (name.clone(), name)));
            let grid = Field::new("grid", "Search settings of", Control::One(names));
            let chosen = form.chosen(grid.hinted("on the reference's full grid: minutes"));
            settings.settings_of = chosen.filter(|name| !name.is_empty()).map(str::to_owned);
        }
    }

    /// The field of entries of the catalogue, and what is typed in it.
    pub(super) fn catalogue<'a>(form: &mut Form<'a>) -> &'a str {
        form.group(Group::Catalogue);
        let lines = Field::new("catalogue", "Added to the catalogue", Control::Lines);
        form.chosen(lines.hinted("catalogue: 1")).unwrap_or_default()
    }

    /// The fields of odd rows and of questions about files: which rows are to be left out, by their keys, and answers.
    pub(super) fn file_fields<'a>(&self, form: &mut Form<'a>) -> (&'a str, Answers) {
        form.group(Group::Samples);
        let flags = self.study.health().map(|health| health.flags.as_slice()).unwrap_or_default();
        let flags = flags.iter().filter(|flag| flag.rule.is_doubtful());
        let own = flags.map(|flag| (key_of(&LeftOut::from(flag)), format!("{}: {}", flag.target, flag.what)));
        let known = self.study.dropped().left_out().iter();
        let known = known.map(|rows| (key_of(rows), format!("{}: {} rows", rows.target, rows.places.len())));
        let mut all: Vec<(String, String)> = known.chain(own).collect();
        // Rows stay in their place in the list when they are left out.
        all.compact_sort();
        form.is_listed = !all.is_empty();
        let out = form.chosen(Field::new("out", "Leave out", Control::Many(all))).unwrap_or_default();
        form.is_listed = true;
        let answered = self.asked.iter().filter_map(|question| {
            let mut choices = question.asks.answers();
            choices.insert(0, (String::new(), "…".to_owned()));
            let key = format!("ask.{}", question.file);
            let chosen = form.chosen(Field::new(&key, &question.path, Control::One(choices)))?;
            Some((question.path.clone(), question.asks.answer(chosen).filter(|_| !chosen.is_empty())?))
        });
        (out, answered.collect())
    }

    /// The number of the regressor that is shown.
    pub(super) fn shown(&self) -> Option<u32> {
        self.choices.get(SHOWN).and_then(|number| number.parse().ok())
    }
}

fn numbered(names: impl Iterator<Item = String>) -> Vec<(String, String)> {
    (1..).zip(names).map(|(number, name): (u32, _)| (number.to_string(), name)).collect()
}

/// A field of a number that is left as it is where no finite one was typed.
pub(super) fn decimal(form: &mut Form<'_>, field: Field, place: &mut f64) {
    let mut typed = *place;
    form.field(field, &mut typed);
    if typed.is_finite() {
        *place = typed;
    }
}
