//! A catalogue is written as YAML, an entry per line.

use super::{Architecture, Catalogue, ClusterEntry, Collective, Gpu, LayerItem, Operator, StandIn, read::ROLES};
use crate::text::yaml::scalar;

/// The members of a mapping in braces, each `key: value`.
#[derive(Default)]
struct Entry(Vec<String>);

impl Entry {
    fn with(mut self, key: &str, value: impl Into<Option<String>>) -> Self {
        self.0.extend(value.into().map(|value| format!("{}: {value}", scalar(key))));
        self
    }

    fn text(self) -> String {
        format!("{{{}}}", self.0.join(", "))
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn words(words: &[String]) -> String {
    list(words.iter().map(|word| scalar(word)))
}

/// A list, or `None` if it is empty.
fn some(list: String) -> Option<String> {
    Some(list).filter(|list| list != "[]" && list != "{}")
}

fn quoted(expression: &impl ToString) -> String {
    scalar(&expression.to_string())
}

pub(super) fn catalogue(catalogue: &Catalogue) -> String {
    let mut text = String::from("catalogue: 1\n");
    let mut section = |name: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            text += &format!("{name}:\n");
            entries.iter().for_each(|entry| text += &format!("  - {entry}\n"));
        }
    };
    section("gpus", catalogue.gpus.iter().map(gpu).collect());
    section("clusters", catalogue.clusters.iter().map(cluster).collect());
    section("operators", catalogue.operators.iter().map(operator).collect());
    section("collectives", catalogue.collectives.iter().map(collective).collect());
    section("architectures", catalogue.architectures.iter().map(architecture).collect());
    text
}

fn gpu(gpu: &Gpu) -> String {
    let peaks = gpu.peak_tflops.iter().fold(Entry::default(), |entry, (name, peak)| entry.with(name, peak.to_string()));
    Entry::default()
        .with("name", scalar(&gpu.name))
        .with("aliases", some(words(&gpu.aliases)))
        .with("peak_tflops", some(peaks.text()))
        .with("memory_gib", gpu.memory_gib.map(|value| value.to_string()))
        .with("memory_gbps", gpu.memory_gbps.map(|value| value.to_string()))
        .with("multiprocessors", gpu.multiprocessors.map(|value| value.to_string()))
        .with("link_gbps", gpu.link_gbps.map(|value| value.to_string()))
        .with("linked_gpus", gpu.linked_gpus.map(|value| value.to_string()))
        .with("network_gbps", gpu.network_gbps.map(|value| value.to_string()))
        .with("kernels", gpu.kernels.as_ref().map(|name| scalar(name)))
        .text()
}

fn cluster(cluster: &ClusterEntry) -> String {
    Entry::default()
        .with("name", scalar(&cluster.name))
        .with("gpu", scalar(&cluster.gpu))
        .with("gpus_per_node", cluster.gpus_per_node.to_string())
        .with("nodes", cluster.nodes.map(|value| value.to_string()))
        .with("intra_gbps", cluster.intra_gbps.map(|value| value.to_string()))
        .with("inter_gbps_per_gpu", cluster.inter_gbps_per_gpu.map(|value| value.to_string()))
        .with("latency_us", cluster.latency_us.map(|value| value.to_string()))
        .with(
            "steps",
            cluster.steps.as_ref().map(|steps| {
                let entry = Entry::default().with("architecture", scalar(&steps.architecture));
                entry.with("zero", steps.zero.to_string()).text()
            }),
        )
        .text()
}

fn operator(operator: &Operator) -> String {
    let stands_in_for = operator.stands_in_for.as_ref().map(|stand_in| match stand_in {
        StandIn::Gemm => "gemm".to_owned(),
        StandIn::Operator(name) => scalar(name),
    });
    Entry::default()
        .with("name", scalar(&operator.name))
        .with("inputs", words(&operator.inputs))
        .with("features", list(operator.features.iter().map(quoted)))
        .with("gemm", operator.gemm.as_ref().map(|gemm| list(gemm.iter().map(quoted))))
        .with("flop", operator.flop.as_ref().map(quoted))
        .with("bytes", operator.bytes.as_ref().map(quoted))
        .with("least_bytes", operator.least_bytes.as_ref().map(quoted))
        .with("backward_factor", operator.backward_factor.map(|value| value.to_string()))
        .with("stands_in_for", stands_in_for)
        .text()
}

fn collective(collective: &Collective) -> String {
    let role = ROLES.iter().find(|(_, role)| *role == collective.role).map_or("", |(word, _)| word);
    let communicator =
        Entry::default().with("nodes", quoted(&collective.nodes)).with("per_node", quoted(&collective.per_node));
    Entry::default()
        .with("name", scalar(&collective.name))
        .with("role", role.to_owned())
        .with("busbw_factor", quoted(&collective.busbw_factor))
        .with("shape", quoted(&collective.shape))
        .with("communicator", communicator.text())
        .text()
}

fn architecture(architecture: &Architecture) -> String {
    let variables = &architecture.variables;
    let variables = variables.iter().fold(Entry::default(), |entry, (name, value)| entry.with(name, value.to_string()));
    let items = |items: &[LayerItem]| list(items.iter().map(item));
    let parameters = architecture.parameters.as_ref().map(|parameters| {
        Entry::default()
            .with("layer", quoted(&parameters.layer))
            .with("first", quoted(&parameters.first))
            .with("last", quoted(&parameters.last))
            .text()
    });
    Entry::default()
        .with("name", scalar(&architecture.name))
        .with("variables", some(variables.text()))
        .with("layer", items(&architecture.layer))
        .with("first", some(items(&architecture.first)))
        .with("last", some(items(&architecture.last)))
        .with("syncs", format!("[{}, {}]", architecture.syncs[0], architecture.syncs[1]))
        .with("parameters", parameters)
        .with("activation_bytes", architecture.activation_bytes.as_ref().map(quoted))
        .text()
}

fn item(item: &LayerItem) -> String {
    if item.repeat.is_none() && item.overrides.is_empty() {
        return scalar(&item.operator);
    }
    let entry =
        Entry::default().with("operator", scalar(&item.operator)).with("repeat", item.repeat.as_ref().map(quoted));
    item.overrides.iter().fold(entry, |entry, (name, value)| entry.with(name, quoted(value))).text()
}
