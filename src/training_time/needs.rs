//! The samples that a run needs and a cluster lacks, found before anything is computed.

use serde::{Deserialize, Serialize};

use super::{
    anatomy::Anatomy,
    bundle::Bundle,
    catalogue::{Role, StandIn},
    communicators::Communicators,
    prediction::Mode,
    run::Run,
    samples::{Cluster, Communicator, family_of},
    step::{
        plan::{PartQuery, Plan},
        rules,
    },
};
use crate::order::CompactSort;

/// Something that a run needs and that was not sampled as it needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// The samples that are missing.
    pub what: NeededSamples,
    /// The purpose of these samples, such as `every layer` or `the gradients' exchange`.
    pub purpose: String,
    /// The substitute; `None` if there is none, so that nothing can be predicted.
    pub instead: Option<String>,
    /// The need as a whole sentence, with its purpose and substitute.
    pub sentence: String,
}

/// The kinds of missing samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NeededSamples {
    /// There are no samples at all.
    Cluster,
    /// The operator with this name.
    Operator(String),
    /// This operator was sampled, but not at these inputs.
    Points(String),
    /// This collective over this communicator.
    Collective(String, Communicator),
    /// Samples in this precision; there are some in another one.
    Precision(String),
}

impl NeededSamples {
    /// A noun phrase for reports, such as `operator linear1`.
    pub fn text(&self) -> String {
        match self {
            Self::Cluster => "samples of the GPU".to_owned(),
            Self::Operator(name) => format!("operator {name}"),
            Self::Points(name) => format!("operator {name} at the run's inputs"),
            Self::Collective(name, communicator) => format!("{name} over {communicator}"),
            Self::Precision(precision) => format!("samples in {precision}"),
        }
    }
}

impl Need {
    /// The only need where there are no samples at all.
    pub(super) fn of_samples(sentence: String) -> Self {
        Self { what: NeededSamples::Cluster, purpose: "everything".to_owned(), instead: None, sentence }
    }
}

/// The samples that a run needs in a mode and that are missing, those without a substitute first. Empty if the run
/// breaks a rule of layouts.
pub fn needs(bundle: &Bundle, run: &Run, functions: &[String], mode: Mode) -> Vec<Need> {
    let Some(cluster) = bundle.cluster_for(run).and_then(|at| bundle.clusters.get(at)) else {
        let named = run.cluster.as_deref().or(run.gpu.as_deref()).unwrap_or("any GPU");
        let known: Vec<&str> = bundle.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        return vec![Need::of_samples(format!(
            "The run asks for samples of {named}, and there are samples of {known}"
        ))];
    };
    of_cluster(bundle, cluster, run, functions, mode)
}

/// The same of the samples of a cluster, whatever the run names.
pub fn of_cluster(bundle: &Bundle, cluster: &Cluster, run: &Run, functions: &[String], mode: Mode) -> Vec<Need> {
    if rules::check(run, mode).is_err() {
        return Vec::new();
    }
    let mut list = List { bundle, cluster, run, mode, needs: Vec::new() };
    list.precision();
    list.operators(functions);
    list.optimizers();
    list.collectives();
    list.needs.compact_sort_by_key(|need| need.instead.is_some());
    list.needs
}

/// Operators of a step that were sampled, but not where the run asks for them.
pub fn points(plan: &Plan) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for part in &plan.parts {
        let (PartQuery::Operator(..), Some(beyond)) = (&part.asked, &part.prediction.beyond) else { continue };
        let what = NeededSamples::Points(part.name.clone());
        if needs.iter().all(|need| need.what != what) {
            let instead = "its samples at other inputs".to_owned();
            let sentence = format!("Of operator {}, {beyond}: {instead} are used, marked extrapolated", part.name);
            needs.push(Need { what, purpose: "these inputs".to_owned(), instead: Some(instead), sentence });
        }
    }
    needs
}

struct List<'a> {
    bundle: &'a Bundle,
    cluster: &'a Cluster,
    run: &'a Run,
    mode: Mode,
    needs: Vec<Need>,
}

impl List<'_> {
    fn push(&mut self, what: NeededSamples, purpose: &str, instead: Option<String>, sentence: String) {
        if self.needs.iter().all(|need| need.what != what) {
            self.needs.push(Need { what, purpose: purpose.to_owned(), instead, sentence });
        }
    }

    fn precision(&mut self) {
        let wanted = &self.run.execution.precision;
        let operators = self.cluster.operators.iter().map(|samples| (samples.operator.as_str(), &samples.precision));
        let collectives = self.cluster.collectives.iter().map(|of| (family_of(&of.collective), &of.precision));
        let held: Vec<(&str, &String)> = operators.chain(collectives).collect();
        let has_wanted = |name: &str| held.iter().any(|(of, precision)| *of == name && *precision == wanted);
        let others: Vec<&(&str, &String)> = held.iter().filter(|(name, _)| !has_wanted(name)).collect();
        if others.is_empty() {
            return;
        }
        let is_all = others.len() == held.len();
        let mut names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
        names.dedup();
        let names = names.join(", ");
        let mut precisions: Vec<&str> = others.iter().map(|(_, precision)| precision.as_str()).collect();
        precisions.compact_sort();
        precisions.dedup();
        let precisions = precisions.join(", ");
        let of = if is_all { String::new() } else { format!(" of {names}") };
        let sentence =
            format!("The run is {wanted}, the samples{of} are {precisions}: these are used, and marked extrapolated");
        let purpose = if is_all { "everything" } else { &names };
        let instead = format!("samples in {precisions}");
        self.push(NeededSamples::Precision(wanted.clone()), purpose, Some(instead), sentence);
    }

    fn is_sampled(&self, name: &str) -> bool {
        self.cluster.operator(name).is_some_and(|samples| !samples.is_empty())
    }

    fn operators(&mut self, functions: &[String]) {
        let anatomy = Anatomy::of(self.run, &self.bundle.catalogue);
        let names = |ops: &[super::anatomy::OperatorUse]| ops.iter().map(|op| op.name.clone()).collect::<Vec<_>>();
        let groups = [
            ("every layer", names(&anatomy.layer)),
            ("the first stage", names(&anatomy.first)),
            ("the last stage", names(&anatomy.last)),
            ("the list of functions", functions.to_vec()),
        ];
        for (purpose, names) in groups {
            for name in names.into_iter().filter(|name| !self.is_sampled(name)).collect::<Vec<_>>() {
                let (instead, sentence) = self.substitute_for(&name);
                self.push(NeededSamples::Operator(name), purpose, instead, sentence);
            }
        }
    }

    /// The substitute for an operator without samples.
    fn substitute_for(&self, name: &str) -> (Option<String>, String) {
        let catalogue = &self.bundle.catalogue;
        let stand_in = catalogue.operator(name).and_then(|operator| operator.stands_in_for.as_ref());
        let is_gemm = |name: &str| catalogue.operator(name).is_some_and(|operator| operator.gemm.is_some());
        let instead = match stand_in {
            Some(StandIn::Gemm) => {
                let any = self.cluster.operators.iter().any(|samples| is_gemm(&samples.operator));
                any.then(|| "all sampled matrix products".to_owned())
            }
            Some(StandIn::Operator(other)) => self.is_sampled(other).then(|| format!("operator {other}")),
            None => None,
        };
        let sentence = match &instead {
            Some(instead) => {
                let verb = if matches!(stand_in, Some(StandIn::Gemm)) { "stand" } else { "stands" };
                format!("There are no samples of operator {name}: {instead} {verb} in, marked extrapolated")
            }
            None => format!("There are no samples of operator {name}"),
        };
        (instead, sentence)
    }

    fn optimizers(&mut self) {
        let stages = self.run.layout.pipeline;
        // The reference asks for all three, and for none where there is one replica.
        let exist = match self.mode {
            Mode::Default => [true, stages > 2, stages > 1],
            Mode::Parity => [self.run.layout.data > 1; 3],
        };
        let names = ["firstStage_optimizer", "middleStage_optimizer", "lastStage_optimizer"];
        for (name, exists) in names.into_iter().zip(exist) {
            if !exists || self.is_sampled(name) {
                continue;
            }
            let sentence = format!("There are no samples of {name}, for which no other optimizer stands in");
            self.push(NeededSamples::Operator(name.to_owned()), "the optimizer", None, sentence);
        }
    }

    fn collectives(&mut self) {
        let layout = self.run.layout;
        let communicators = match self.mode {
            Mode::Default => Communicators::of(&layout),
            Mode::Parity => Communicators::of_reference(&layout),
        };
        let mut wanted: Vec<(Role, &str, Communicator)> = Vec::new();
        if layout.tensor > 1 {
            wanted.push((Role::Tensor, "the tensor groups", communicators.tensor));
        }
        if layout.data > 1 {
            wanted.push((Role::Gradient, "the gradients' exchange", communicators.data));
            wanted.push((Role::Gather, "the parameters' exchange", communicators.data));
        }
        if layout.pipeline > 1 {
            // Not the way back from the last stage to the first.
            let between = layout.pipeline as usize - 1;
            let boundaries = communicators.boundaries.iter().take(between);
            wanted.extend(boundaries.map(|boundary| (Role::Pipeline, "messages between stages", *boundary)));
        }
        // The reference knows no experts.
        if layout.expert > 1 && self.mode == Mode::Default {
            wanted.push((Role::Expert, "the experts' tokens", communicators.expert));
        }
        for (role, purpose, communicator) in wanted {
            let of_role =
                |role| self.bundle.catalogue.collectives.iter().find(move |collective| collective.role == role);
            let Some(collective) = of_role(role) else { continue };
            self.collective(&collective.name.clone(), purpose, communicator);
        }
    }

    fn collective(&mut self, name: &str, purpose: &str, communicator: Communicator) {
        // Small and large messages are one curve, and in parity mode two regressors.
        let is_parity = self.mode == Mode::Parity;
        let is_of = |of: &str| of == name || !is_parity && family_of(of) == family_of(name);
        let samples = self.cluster.collectives.iter().filter(|samples| is_of(&samples.collective));
        let mut shapes: Vec<Communicator> = samples.flat_map(|s| s.rows.iter().map(|row| row.communicator)).collect();
        shapes.dedup();
        shapes.compact_sort();
        shapes.dedup();
        if shapes.contains(&communicator) {
            return;
        }
        let list = shapes.iter().map(Communicator::to_string).collect::<Vec<_>>().join(", ");
        if is_parity {
            let fallback = (shapes.len() > 1 && self.cluster.has_fallback(name))
                .then(|| format!("the regressor of {name} over any GPUs"));
            let sentence = match (&fallback, shapes.is_empty()) {
                (Some(instead), _) => format!(
                    "{name} was not sampled over {communicator} but over {list}: {instead} is used, marked extrapolated"
                ),
                (None, false) => format!(
                    "{name} was not sampled over {communicator} but over {list}, and there is no regressor over any GPUs"
                ),
                (None, true) => format!("{name} was not sampled over {communicator}, nor over any other GPUs"),
            };
            return self.push(NeededSamples::Collective(name.to_owned(), communicator), purpose, fallback, sentence);
        }
        let is_between = |shape: &&Communicator| (shape.nodes > 1) == (communicator.nodes > 1);
        let away = |shape: &&Communicator| shape.ranks().abs_diff(communicator.ranks());
        let alike = shapes.iter().filter(is_between).min_by_key(away);
        // What the catalogue knows of the network says more than curves of another one.
        let entry = self.bundle.catalogue.cluster_of(self.cluster).filter(|_| alike.is_none());
        let known = entry.filter(|entry| {
            if communicator.nodes > 1 { entry.inter_gbps_per_gpu.is_some() } else { entry.intra_gbps.is_some() }
        });
        let near = alike.or_else(|| shapes.iter().min_by_key(away).filter(|_| known.is_none()));
        let (instead, sentence) = match (near, known) {
            (Some(near), _) => (
                Some(format!("{name} over {near}")),
                format!(
                    "{name} was not sampled over {communicator} but over {list}: the curve of {near} and its like is used, \
                     marked extrapolated"
                ),
            ),
            (None, Some(entry)) => (
                Some(format!("the bandwidth of {} in the catalogue", entry.name)),
                format!(
                    "{name} was not sampled over {communicator}{}: latency and bandwidth of {} in the catalogue are \
                     used, marked extrapolated",
                    if list.is_empty() { ", nor over any other GPUs".to_owned() } else { format!(" but over {list}") },
                    entry.name
                ),
            ),
            (None, None) => (
                None,
                format!(
                    "{name} was not sampled over {communicator}, nor over any other GPUs; a catalogue with the \
                     bandwidths of cluster {} would stand in",
                    self.cluster.name
                ),
            ),
        };
        self.push(NeededSamples::Collective(name.to_owned(), communicator), purpose, instead, sentence);
    }
}
