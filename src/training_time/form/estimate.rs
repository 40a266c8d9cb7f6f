//! The fields of a step that is estimated without samples, and the answer to them.

use std::ops::ControlFlow;

use super::TrainingTime;
use crate::{
    form::{Choices, Control, Field, Form},
    progress::Progress,
    training_time::{
        estimate::{
            device::Precision,
            efficiency::AttentionKernel,
            layouts::MOST_GPUS,
            own_steps::by_name,
            question::EstimateSettings,
            stack::{GRADIENTS, Recomputation, Sharding, Stack},
            step::Schedule,
        },
        models::{KNOWN, MOST_PREDICTION_LAYERS, Transformer, known},
        settings::Group,
    },
};

/// The names of values as the options of a field.
fn options<T>(all: &[(T, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(_, name)| ((*name).to_owned(), (*name).to_owned())).collect()
}

/// A choice of one of some values.
fn one<T: Copy + PartialEq>(form: &mut Form<'_>, key: &str, label: &str, all: &[(T, &'static str)], usual: T) -> T {
    let named = crate::training_time::estimate::listing::name_of(all, usual);
    let chosen = form.chosen(Field::new(key, label, Control::One(options(all))).usually(named));
    chosen.and_then(|word| by_name(all, word)).unwrap_or(usual)
}

/// A choice of one of some values, or of what is usual where the files say nothing.
fn one_or_usual<T: Copy + PartialEq>(
    form: &mut Form<'_>,
    (key, label): (&str, &str),
    all: &[(T, &'static str)],
    usual: &str,
    said: Option<T>,
) -> Option<T> {
    if let Some(said) = said {
        return Some(one(form, key, label, all, said));
    }
    let mut named = vec![(String::new(), usual.to_owned())];
    named.extend(options(all));
    let chosen = form.chosen(Field::new(key, label, Control::One(named)));
    chosen.and_then(|word| by_name(all, word))
}

/// The key of the model whose step is estimated.
const MODEL: &str = "e.model";

/// Whether a model is chosen that is known by name, which needs no file.
pub fn names_model(choices: &Choices) -> bool {
    // The page asks this, and shall not carry the reader of models for it.
    choices.get(MODEL).is_some_and(|name| KNOWN.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)))
}

impl TrainingTime {
    /// Whether there are files of a model whose steps are estimated.
    fn has_model_files(&self) -> bool {
        let bundle = self.study.bundle();
        !(bundle.model_files.is_empty() && bundle.traces.is_empty())
    }

    /// Whether there is a model whose steps are estimated, and no samples to learn from.
    pub(super) fn only_estimates(&self) -> bool {
        self.study.bundle().clusters.is_empty() && (self.has_model_files() || names_model(&self.choices))
    }

    /// The fields of an estimate; the model and the settings.
    pub(super) fn estimate_fields(&self, form: &mut Form<'_>) -> (Option<(String, Transformer)>, EstimateSettings) {
        let bundle = self.study.bundle();
        let models = || bundle.model_files.iter().filter_map(|(name, file)| Some((name, file.model.as_ref()?)));
        let dropped = models().map(|(name, _)| (name.clone(), name.clone()));
        let by_name = KNOWN.iter().map(|(name, _)| ((*name).to_owned(), format!("{name} (known)")));
        let options: Vec<(String, String)> = dropped.chain(by_name).collect();
        // Without files a model has to be chosen, so that none is usual.
        let usual =
            options.first().filter(|_| self.has_model_files()).map(|(name, _)| name.clone()).unwrap_or_default();
        let chosen = form.offered(Field::new(MODEL, "Model", Control::One(options)).usually(usual.clone()));
        let name = chosen.unwrap_or(&usual).to_owned();
        let own = models().find(|(known, _)| **known == name).map(|(_, model)| model.clone());
        let trained = bundle.training_of(&name).map(|(name, file)| (name, &file.training));
        let mut settings = EstimateSettings::of_files(trained);
        let mut model = own.or_else(|| known(&name).ok());
        let told =
            |gpu: &&crate::training_time::catalogue::Gpu| gpu.multiprocessors.is_some() && gpu.link_gbps.is_some();
        let gpus = bundle.catalogue.gpus.iter().filter(told).map(|gpu| (gpu.name.clone(), gpu.name.clone()));
        let usual = bundle.catalogue.gpu(&settings.gpu).map_or_else(String::new, |gpu| gpu.name.clone());
        let chosen = form.chosen(Field::new("e.gpu", "GPU", Control::One(gpus.collect())).usually(usual.clone()));
        chosen.unwrap_or(&usual).clone_into(&mut settings.gpu);
        if let Some(model) = &model {
            settings.limit_sequence(model);
        }
        let whole = |least, most| Control::whole(least, most);
        form.field(Field::new("e.gpus", "GPUs", whole(1, MOST_GPUS as u32)), &mut settings.gpus);
        form.field(Field::new("e.sequence", "Sequence", whole(1, 1 << 24)), &mut settings.sequence);
        let mut batch = settings.batch();
        form.field(Field::new("e.batch", "Global batch", whole(1, 1 << 30)), &mut batch);
        settings.global_batch = Some(batch);
        form.group(Group::Model);
        if let Some(model) = &mut model {
            let mut layers = model.prediction_layers;
            let field = Field::new(
                "e.mtp",
                "Layers of multi-token prediction (MTP)",
                Control::whole(0, MOST_PREDICTION_LAYERS),
            );
            form.field(field.hinted("0 where the training leaves them out"), &mut layers);
            model.set_prediction_layers(layers);
        }
        settings.stack = one(form, "e.stack", "Software", &Stack::ALL, settings.stack);
        settings.precision = one(form, "e.precision", "Products in", &Precision::ALL, settings.precision);
        let usual = "as the software usually does";
        let attention = ("e.attention", "Attention");
        settings.attention = one_or_usual(form, attention, &AttentionKernel::ALL, usual, settings.attention);
        let gradients = ("e.gradients", "Gradients in");
        settings.gradient_bytes = one_or_usual(form, gradients, &GRADIENTS, usual, settings.gradient_bytes);
        let nccl = Field::new("e.nccl", "Exchanges by the cost model of NCCL", Control::text(&[]));
        form.field(nccl.hinted("its version, like 2.28.9; empty for the bandwidth of links"), &mut settings.nccl);
        let mut price = 0.0;
        let field = Field::new("e.price", "Price of a GPU hour", Control::within(0.0, 1e6));
        form.field(field.hinted("in any currency; 0 for none"), &mut price);
        settings.price_per_gpu_hour = Some(price).filter(|price| *price > 0.0);
        let reserve = Field::new("e.reserve", "Kept free of the memory, GiB", Control::within(0.0, 1e4));
        form.field(reserve, &mut settings.reserve_gib);
        Self::layout_fields(form, &mut settings);
        Self::estimate_changes(form, model.as_ref(), &mut settings);
        (model.map(|model| (name, model)), settings)
    }

    /// The fields of a layout, which is found unless one is given.
    fn layout_fields(form: &mut Form<'_>, settings: &mut EstimateSettings) {
        form.group(Group::Estimate);
        let mut is_given = settings.layout.is_some();
        form.field(
            Field::new("e.given", "Give the layout instead of finding the best one", Control::Switch),
            &mut is_given,
        );
        form.is_listed = is_given;
        let mut layout = settings.layout.unwrap_or(settings.said);
        for (key, label, value) in [
            ("e.tp", "Tensor degree", &mut layout.tensor),
            ("e.pp", "Pipeline stages", &mut layout.pipeline),
            ("e.chunks", "Chunks per stage", &mut layout.virtual_stages),
            ("e.cp", "Context degree", &mut layout.context),
            ("e.ep", "Expert degree", &mut layout.expert),
            ("e.b", "Sequences of a micro-batch", &mut layout.micro_batch),
        ] {
            form.field(Field::new(key, label, Control::whole(1, 65_536)), value);
        }
        let (field, usual) = (("e.recompute", "Recompute"), "the least that fits");
        layout.recomputation = one_or_usual(form, field, &Recomputation::ALL, usual, layout.recomputation);
        let (field, usual) = (("e.sharding", "Sharded"), "as the software usually does");
        layout.sharding = one_or_usual(form, field, &Sharding::ALL, usual, layout.sharding);
        let replicate = Field::new("e.replicate", "Groups with a whole copy (dp_replicate)", Control::whole(1, 65_536));
        form.field(
            replicate.hinted("hybrid sharding: what is sharded is divided within each group"),
            &mut layout.replicate,
        );
        form.is_listed = true;
        settings.schedule = one(form, "e.schedule", "Schedule", &Schedule::ALL, settings.schedule);
        settings.set_layout(is_given.then_some(layout));
    }

    /// Estimates the step of the model that is chosen, if there is one.
    pub(super) fn estimate(&mut self, form: &mut Form<'_>, progress: &mut dyn Progress) {
        let (model, settings) = self.estimate_fields(form);
        let bundle = self.study.bundle();
        self.estimated = model.map(|(name, model)| {
            let progress = |share: f64| {
                progress.report("Searching layouts", (share * 100.0) as u64, 100);
                ControlFlow::Continue(())
            };
            let steps = bundle.own_steps_of(&name);
            let answer = settings.answer(&model, &bundle.catalogue, &steps, &bundle.traces, progress);
            (name, model, answer.map_err(|error| error.to_string()))
        });
    }
}
