//! Measured steps as runs, on the cluster that they ran on.

use super::{
    calibrate::Measured,
    catalogue::{Catalogue, ClusterEntry},
    prediction::Mode,
    run::{Execution, Layout, Model, Run},
    samples::{Cluster, CollectiveRow, CollectiveSamples, Communicator, SourceLine, family_of},
    steps::{MeasuredStep, ReduceTable, StepTable},
};
use crate::{order::CompactSort, text::excerpt, units::count};

/// The cluster that a table's steps ran on: the one whose name its path holds, else that of the samples.
pub fn cluster_entry<'a>(table: &StepTable, samples: &Cluster, catalogue: &'a Catalogue) -> Option<&'a ClusterEntry> {
    let path = table.name.to_ascii_lowercase();
    let named = catalogue.clusters.iter().find(|entry| path.contains(&entry.name.to_ascii_lowercase()));
    named.or_else(|| catalogue.cluster(&samples.name))
}

/// The operators of samples on another cluster: its all-reduce tables, and what the catalogue knows of its network. The
/// samples' own cluster stays as it is.
pub fn on_cluster(samples: &Cluster, entry: &ClusterEntry, reduces: &[ReduceTable], catalogue: &Catalogue) -> Cluster {
    if entry.name.eq_ignore_ascii_case(&samples.name) {
        return samples.clone();
    }
    let mut rows: Vec<CollectiveRow> = Vec::new();
    for table in reduces.iter().filter(|table| is_of_gpu(table, &entry.gpu, catalogue)) {
        let communicator = Communicator { nodes: 1, per_node: table.ranks };
        if rows.iter().any(|row| row.communicator == communicator) {
            continue;
        }
        rows.extend(table.points.iter().map(|point| row(point, communicator)));
    }
    rows.compact_sort_by_key(|row| (row.communicator, row.elements));
    let collective = CollectiveSamples { collective: "allreduce".to_owned(), precision: "fp16".to_owned(), rows };
    let collectives = if collective.rows.is_empty() { Vec::new() } else { vec![collective] };
    Cluster { name: entry.name.clone(), collectives, ..samples.clone() }
}

/// The samples with the all-reduce tables of their GPU, over GPUs of a node over which nobody sampled; and what became
/// of each table, in words. Parity composes from samples alone.
pub fn with_tables(
    samples: &Cluster,
    tables: &[ReduceTable],
    catalogue: &Catalogue,
    mode: Mode,
) -> (Cluster, Vec<String>) {
    let (mut cluster, mut told) = (samples.clone(), Vec::new());
    let name = "allreduce";
    for table in tables {
        let communicator = Communicator { nodes: 1, per_node: table.ranks };
        let is_sampled = |of: &CollectiveSamples| {
            family_of(&of.collective) == name && of.rows.iter().any(|row| row.communicator == communicator)
        };
        let why_not = match () {
            () if mode == Mode::Parity => Some("parity knows only samples".to_owned()),
            () if !is_of_gpu(table, &samples.gpu, catalogue) => Some(format!("it is not of {}", samples.gpu)),
            () if cluster.collectives.iter().any(is_sampled) => Some("that was sampled".to_owned()),
            () => None,
        };
        let points = count(table.points.len() as u64, "time");
        if let Some(why) = why_not {
            told.push(format!("{}: its {points} of {name} over {communicator} are not used: {why}", table.name));
            continue;
        }
        told.push(format!(
            "{}: its {points} are those of {name} over {communicator}, where nobody sampled",
            table.name
        ));
        let at = cluster.collectives.iter().position(|of| of.collective == name).unwrap_or_else(|| {
            cluster.collectives.push(CollectiveSamples {
                collective: name.to_owned(),
                precision: "fp16".to_owned(),
                rows: Vec::new(),
            });
            cluster.collectives.len() - 1
        });
        let rows = &mut cluster.collectives[at].rows;
        rows.extend(table.points.iter().map(|point| row(point, communicator)));
        rows.compact_sort_by_key(|row| (row.communicator, row.elements));
    }
    (cluster, told)
}

fn row(&(bytes, time_us): &(u64, f64), communicator: Communicator) -> CollectiveRow {
    CollectiveRow { elements: bytes / 2, communicator, time_us, place: SourceLine::default() }
}

/// A table whose path names another GPU is of that one.
fn is_of_gpu(table: &ReduceTable, gpu: &str, catalogue: &Catalogue) -> bool {
    let path = table.name.to_ascii_lowercase();
    let names = |known: &super::catalogue::Gpu| {
        known.aliases.iter().chain([&known.name]).any(|name| path.contains(&name.to_ascii_lowercase()))
    };
    let named: Vec<&str> =
        catalogue.gpus.iter().filter(|known| names(known)).map(|known| known.name.as_str()).collect();
    let own = catalogue.gpu(gpu).map(|known| known.name.as_str());
    named.is_empty() || own.is_some_and(|own| named.contains(&own))
}

/// The settings that measured steps inherit where their table does not state them.
#[derive(Clone, Copy, Debug, Default)]
pub struct InheritedSettings<'a> {
    /// The architecture that was said by hand, of the catalogue.
    pub named: Option<&'a str>,
    /// The run to predict; `None` if no configuration was dropped.
    pub run: Option<&'a Run>,
}

/// Measured steps, converted to runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConvertedSteps {
    /// The steps that can be composed.
    pub measured: Vec<Measured>,
    /// Steps that don't fit what is known of them, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Notes on what was inherited.
    pub notes: Vec<String>,
}

/// The source of the architecture of a step.
#[derive(Clone, Copy, PartialEq)]
enum ArchitectureSource {
    Table,
    Hand,
    Published,
    Run,
}

/// Its steps as runs: each of the architecture that its row says, or else that was said by hand, that is published of
/// its cluster's steps, or that the run to predict has. A row that fits none of them is left out.
pub fn runs(
    table: &StepTable,
    entry: &ClusterEntry,
    catalogue: &Catalogue,
    heritage: InheritedSettings<'_>,
) -> ConvertedSteps {
    let mut taken = ConvertedSteps::default();
    let mut inherited: Vec<(ArchitectureSource, String, u8, u64)> = Vec::new();
    for step in &table.steps {
        match run(step, entry, catalogue, heritage) {
            Ok((run, origin)) => {
                let name = run.model.architecture.clone().unwrap_or_else(|| "the layer that it lists".to_owned());
                let zero = run.execution.zero;
                match inherited.iter_mut().find(|known| (known.0, &known.1, known.2) == (origin, &name, zero)) {
                    Some(known) => known.3 += 1,
                    None => inherited.push((origin, name, zero, 1)),
                }
                taken.measured.push(Measured { run, time_us: step.time_us });
            }
            Err(why) => taken.left_out.push((name_of(step), why)),
        }
    }
    for (origin, name, zero, rows) in inherited {
        let from = match origin {
            ArchitectureSource::Table => continue,
            ArchitectureSource::Hand => "as was said".to_owned(),
            ArchitectureSource::Published => format!("as the catalogue has it of the steps of {}", entry.name),
            ArchitectureSource::Run => "as of the run to predict".to_owned(),
        };
        let sharded = if zero == 0 { "not sharded" } else { "sharded" };
        taken.notes.push(format!(
            "{} of {} without an architecture of their own: {name} with the optimizer {sharded} is taken, {from}; the columns \
             architecture, attention, feed-forward width, kv heads and zero say others",
            count(rows, "measured step"),
            table.steps.len()
        ));
    }
    taken
}

fn name_of(step: &MeasuredStep) -> String {
    format!("{}×{}×{}, b {}", step.pipeline, step.tensor, step.data, step.micro_batch)
}

/// Whether the attention of a layer never materialises its scores.
fn is_flash(layer: &[String]) -> bool {
    layer.iter().any(|operator| operator == "flash_atten")
}

fn run(
    step: &MeasuredStep,
    entry: &ClusterEntry,
    catalogue: &Catalogue,
    heritage: InheritedSettings<'_>,
) -> Result<(Run, ArchitectureSource), String> {
    let said = &step.stated;
    let dense = Model::dense(step.layers, step.hidden, step.heads, step.sequence);
    let known = |name: &str| {
        let found = catalogue.architecture(name).map(|found| dense.clone().with_layer_of(found));
        found.ok_or_else(|| format!("the catalogue has no architecture {}", excerpt(name)))
    };
    let fits = |model: &Model| said.flash.is_none_or(|flash| flash == is_flash(&model.layer));
    let published = entry.steps.as_ref();
    let (mut model, origin) = if let Some(name) = &said.architecture {
        let model = known(name)?;
        if !fits(&model) {
            return Err(format!("its attention is not that of its architecture, {}", excerpt(name)));
        }
        (model, ArchitectureSource::Table)
    } else {
        let by_hand = heritage.named.map(known).transpose()?.map(|model| (model, ArchitectureSource::Hand));
        let of_cluster = published.map(|steps| known(&steps.architecture)).transpose()?;
        let of_cluster = of_cluster.map(|model| (model, ArchitectureSource::Published));
        let of_run = heritage.run.map(|run| (like(run, &dense), ArchitectureSource::Run));
        // What was said by hand is not put right by another guess.
        let all = if by_hand.is_some() { vec![by_hand] } else { vec![of_cluster, of_run] };
        all.into_iter().flatten().find(|(model, _)| fits(model)).ok_or_else(|| match said.flash {
            Some(flash) => format!(
                "its attention is {}, which nothing that it could inherit has: say its architecture",
                if flash { "flash" } else { "plain" }
            ),
            None => "its architecture is not said, and there is no run to inherit it from".to_owned(),
        })?
    };
    let of_run = heritage.run.filter(|_| origin == ArchitectureSource::Run);
    model.ffn = said.ffn.unwrap_or(model.ffn);
    model.kv_heads = said.kv_heads.unwrap_or(model.kv_heads);
    model.vocabulary = said.vocabulary.unwrap_or(model.vocabulary);
    if let Some(run) = of_run.filter(|run| !is_of_shape(&run.model, step)) {
        let told = &run.model;
        if said.ffn.is_none() && told.ffn != told.hidden.saturating_mul(4) {
            return Err(format!(
                "its feed-forward width is not said, and that of the run, {}, is of another hidden size",
                told.ffn
            ));
        }
        if said.kv_heads.is_none() && told.kv_heads != told.heads {
            return Err(format!(
                "its key-value heads are not said, and the run's {} are of other heads",
                told.kv_heads
            ));
        }
        if told.experts > 1 {
            return Err("it is of another shape than the run, whose experts it can't inherit".to_owned());
        }
    }
    let takes = |input: &str| {
        let depends =
            |name: &String| catalogue.operator(name).is_some_and(|known| known.inputs.iter().any(|i| i == input));
        model.layer.iter().any(depends)
    };
    if model.ffn != model.hidden.saturating_mul(4) && !takes("ffn") {
        return Err(format!(
            "its feed-forward width {} is not four times its hidden size {}, and no operator of its layer depends on it: say \
             its architecture",
            model.ffn, model.hidden
        ));
    }
    if model.kv_heads != model.heads && !takes("kv_heads") {
        return Err(format!(
            "its {} key-value heads are not its {} heads, and no operator of its layer depends on them: say its architecture",
            model.kv_heads, model.heads
        ));
    }
    let sharding = published.filter(|_| origin == ArchitectureSource::Published).map(|steps| steps.zero);
    let of_execution = heritage.run.map(|run| run.execution.zero);
    let base = of_run.map_or_else(Execution::default, |run| run.execution.clone());
    let expert = of_run.map_or(1, |run| run.layout.expert);
    let run = Run {
        name: name_of(step),
        gpu: None,
        cluster: None,
        model,
        layout: Layout {
            pipeline: step.pipeline,
            tensor: step.tensor,
            data: step.data,
            expert,
            gpus_per_node: entry.gpus_per_node,
        },
        micro_batch: step.micro_batch,
        micro_batches: step.micro_batches(),
        execution: Execution {
            recompute: said.recompute.unwrap_or(if of_run.is_some() { base.recompute } else { step.recompute }),
            zero: said.zero.or(sharding).or(of_execution).unwrap_or(base.zero),
            virtual_stages: step.virtual_stages,
            sequence_parallel: step.sequence_parallel,
            layers_per_stage: None,
            memory_gib: None,
            ..base
        },
    };
    Ok((run, origin))
}

fn is_of_shape(model: &Model, step: &MeasuredStep) -> bool {
    (model.hidden, model.heads, model.layers, model.sequence) == (step.hidden, step.heads, step.layers, step.sequence)
}

/// A model of the run's kind in another shape; in the same shape the run's own.
fn like(run: &Run, dense: &Model) -> Model {
    let own = &run.model;
    let shape = |model: &Model| (model.hidden, model.heads, model.layers, model.sequence);
    if shape(own) == shape(dense) {
        return own.clone();
    }
    Model {
        layers: dense.layers,
        hidden: dense.hidden,
        heads: dense.heads,
        kv_heads: dense.kv_heads,
        sequence: dense.sequence,
        ffn: dense.ffn,
        vocabulary: dense.vocabulary,
        ..own.clone()
    }
}
