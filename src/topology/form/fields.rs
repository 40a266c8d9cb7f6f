//! The fields of the topology workbench.

use super::{
    Topology,
    request::{
        GENERATED_GRAPHS, chosen_machine, custom, graph, links, loaded, machine, made, of_kind, recipe, title,
        topology, usual_graph,
    },
};
use crate::{
    collective::Collective,
    form::{Control, Field},
    schedule::synthesize::Method,
    topology::{conditions::has_root, dump::Rates, model::Unit, settings::Group},
    units::Size,
};

const COLLECTIVES: [Collective; 8] = [
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllReduce,
    Collective::Broadcast,
    Collective::Reduce,
    Collective::Scatter,
    Collective::Gather,
    Collective::AllToAll,
];

/// The time limits of a search.
const LIMITS: [(&str, &str); 4] = [("1", "1 s"), ("5", "5 s"), ("30", "30 s"), ("300", "5 minutes")];
/// The default time limit.
pub(super) const LIMIT: &str = LIMITS[1].0;

fn option(value: impl Into<String>, label: impl Into<String>) -> (String, String) {
    (value.into(), label.into())
}

impl Topology {
    fn field(&self, key: &str, label: &str, control: Control, usual: impl Into<String>) -> Field {
        Field::of_choices(&self.choices, key, label, control, usual)
    }

    fn likely(values: &[&str]) -> Control {
        Control::Text(values.iter().map(|value| (*value).to_owned()).collect())
    }

    /// All fields with their current values.
    pub(super) fn fields(&self) -> Vec<Field> {
        let parts = self.study.parts();
        let mut graphs = Vec::new();
        graphs.extend((1..).zip(of_kind(parts, topology)).map(|(n, (name, _))| option(format!("f{n}"), name)));
        graphs.extend((1..).zip(of_kind(parts, machine)).map(|(n, (name, _))| option(format!("m{n}"), name)));
        let of_results = (1..).zip(of_kind(parts, links));
        graphs.extend(of_results.map(|(n, (name, _))| option(format!("r{n}"), format!("Links of {name}"))));
        graphs.extend(GENERATED_GRAPHS.iter().map(|made| option(made.word, made.name)));
        // Another graph has other links and nodes.
        let choice = self.field("graph", "Graph", Control::One(graphs), usual_graph(parts));
        let mut fields = vec![choice.leading(
            [Group::Edits, Group::Damage, Group::Links, Group::Machine].map(|group| Some(group.into())).into(),
        )];
        let graph = graph(&self.choices, parts);
        let made = made(&graph);
        if let Some(made) = made.filter(|made| !made.likely.is_empty()) {
            let usual = made.likely[0];
            fields.push(self.field(made.word, made.size, Self::likely(made.likely), usual));
        }
        fields.extend(self.collective());
        let methods = Method::OFFERED.map(|method| option(method.name(), title(method)));
        fields.push(self.field("by", "Synthesizer", Control::One(methods.into()), Method::Auto.name()));
        fields.extend(self.rates(&graph));
        let limits = LIMITS.map(|(value, label)| option(value, label));
        fields.push(self.field("seed", "Seed", Control::Number, "1").of(Group::Search));
        fields.push(self.field("limit", "Search for at most", Control::One(limits.into()), LIMIT).of(Group::Search));
        let mut text = |group: Group, key: &str, label: &str, hint: &str| {
            fields.push(self.field(key, label, Control::Text(Vec::new()), "").hinted(hint).of(group));
        };
        text(Group::Edits, "add", "Add links", "0-3, or 0-3*50*500: bandwidth, ns");
        text(Group::Edits, "remove", "Remove links", "0-1,1-0");
        text(Group::Damage, "cut", "Cut links", "0-1,1-0");
        text(Group::Damage, "slow", "Slow links", "0-1 at half, 0-1*0.1 at a tenth");
        text(Group::Damage, "dead", "Dead nodes", "3,4");
        text(Group::Damage, "weak", "Nodes with slow links", "3 at half, 3*0.1 at a tenth");
        if self.found.is_none() {
            return fields;
        }
        fields.push(self.field("sigma", "Spread of durations, σ", Control::Number, "0.2").of(Group::Robustness));
        fields.push(self.field("draws", "Draws", Control::Number, "500").of(Group::Robustness));
        fields.push(self.field("every", "damage every link and node", Control::Switch, "").of(Group::Robustness));
        let baselines = Method::OFFERED.iter().filter(|method| **method != Method::Auto);
        let baselines = baselines.map(|method| option(method.name(), title(*method))).collect();
        fields.push(self.field("with", "Compared with", Control::Many(baselines), "").of(Group::Comparison));
        fields.push(self.field("seeds", "Seeds", Control::Number, "100").of(Group::Comparison));
        fields
    }

    fn collective(&self) -> Vec<Field> {
        let mut all: Vec<_> =
            COLLECTIVES.iter().map(|collective| option(collective.name(), collective.name())).collect();
        let loaded = (1..).zip(of_kind(self.study.parts(), custom));
        all.extend(loaded.map(|(n, (name, _))| option(format!("c{n}"), format!("Conditions of {name}"))));
        all.push(option("own", "Conditions of one's own"));
        let usual = Collective::AllGather.name();
        let mut fields = vec![self.field("collective", "Collective", Control::One(all), usual)];
        let chosen = self.choices.get("collective").unwrap_or(usual);
        // Conditions of a file may say it.
        let place = chosen.strip_prefix('c').and_then(|place| place.parse::<usize>().ok()?.checked_sub(1));
        let of_file = place.and_then(|place| of_kind(self.study.parts(), custom).nth(place)?.1.1);
        let size = of_file.map_or_else(|| "1 MiB".to_owned(), |bytes| Size(bytes).to_string());
        fields.push(self.field("chunk", "Chunk", Self::likely(&["64 KiB", "1 MiB", "16 MiB"]), size));
        match Collective::parse(chosen) {
            Some(collective) => {
                fields.push(self.field("chunks", "Chunks per node", Control::Number, "1"));
                if has_root(collective) {
                    fields.push(self.field("root", "Root", Control::Number, "0"));
                }
            }
            None if chosen == "own" => {
                let lines = self.field("conditions", "Who has a chunk, and who is to have it", Control::Lines, "");
                fields.push(lines.hinted("0 -> 1,2"));
            }
            None => {}
        }
        fields
    }

    fn rates(&self, graph: &str) -> Vec<Field> {
        let machine = chosen_machine(graph, self.study.parts());
        let group = if machine.is_some() { Group::Machine } else { Group::Links };
        let number = |key: &str, label: &str, usual: String| self.field(key, label, Control::Number, usual).of(group);
        let mut fields = Vec::new();
        if let Some(machine) = machine {
            let rates = Rates::default();
            let mut known: Vec<&str> = Vec::new();
            for gpu in &machine.gpus {
                let of = rates.links.iter().map(|(name, _)| name.as_str()).find(|name| *name == gpu.generation);
                let of = of.unwrap_or_default();
                if !known.contains(&of) {
                    known.push(of);
                    let name = if of.is_empty() { "other GPUs" } else { of };
                    let label = format!("One link of {name}, GB/s");
                    fields.push(number(&format!("rate.{of}"), &label, rates.link_gbps(of).to_string()));
                }
            }
            fields.push(number("latency", "Latency, ns", rates.latency_ns.to_string()));
            fields.push(number("machines", "Nodes like this, joined by a switch", rates.nodes.to_string()));
            fields.push(number("later", "Latency of the network, ns", rates.net_latency_ns.to_string()));
            return fields;
        }
        let recipe = made(graph).and_then(|made| recipe(made, &crate::form::Choices::default()).ok());
        if let Some(recipe) = recipe.filter(|_| graph != GENERATED_GRAPHS[0].word) {
            fields.push(number("latency", "Latency, ns", recipe.latency_ns.to_string()));
            fields.push(number("bandwidth", "Bandwidth", recipe.bandwidth.to_string()));
            if ["mesh", "torus", "fattree", "twogroups", "random"].contains(&graph) {
                let which = match graph {
                    "mesh" | "torus" => "along all dimensions but the last",
                    "random" => "of some links",
                    _ => "between groups",
                };
                let usual = |usual: Option<f64>| usual.map(|usual| usual.to_string()).unwrap_or_default();
                fields.push(number("slower", &format!("Bandwidth {which}"), usual(recipe.slow_bandwidth)));
                fields.push(number("later", &format!("Latency {which}, ns"), usual(recipe.slow_latency_ns)));
            }
        }
        // A file may say it.
        let usual = match loaded(graph, self.study.parts()).map(|topology| topology.unit) {
            Some(Unit::Gb) => "gb",
            _ => "gib",
        };
        let units = [("gib", Unit::Gib, "2^30"), ("gb", Unit::Gb, "10^9")];
        let units = units.map(|(key, unit, bytes)| option(key, format!("{}, {bytes} B/s", unit.name())));
        fields.push(self.field("unit", "Bandwidths in", Control::One(units.into()), usual).of(Group::Links));
        fields
    }
}
