//! The table of the fields, and the settings that they make.

use super::{
    edit::{Damage, LISTS},
    follow_up::{MOST_SEEDS, SEEDS},
    request::{
        GENERATED_GRAPHS, chosen_machine, conditions, custom, links, loaded, machine, made, method, number, of_kind,
        title, topology, usual_graph,
    },
};
use crate::{
    collective::Collective,
    form::{ChoiceError, Control, Field, Form, Setting},
    schedule::synthesize::Method,
    topology::{
        conditions::CollectiveRequest,
        dump::Rates,
        generate::{Kind, Recipe},
        model::Unit,
        robust,
        settings::Group,
        study::{Part, Source, StudyError},
    },
    units::Size,
    workbench::WorkbenchError,
};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SearchRequest {
    pub wanted: CollectiveRequest,
    pub by: Method,
    pub seed: u64,
    pub damage: Damage,
}

/// What is chosen besides graph and search.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub varied: robust::VariationOptions,
    /// Whether every link and node is damaged, however long that takes.
    pub every: bool,
    /// The number of seeds to try; `None` where none was chosen.
    pub seeds: Option<u32>,
    /// The synthesizers to compare with.
    pub baselines: Vec<Method>,
}

/// The collectives that are offered.
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

fn option(value: impl Into<String>, label: impl Into<String>) -> (String, String) {
    (value.into(), label.into())
}

/// A number that is not negative.
fn positive<T: Setting + Copy + Into<Option<f64>>>(form: &mut Form<'_>, field: Field, place: &mut T) {
    const EXPECTED: &str = "a number that is not negative";
    let label = field.label.clone();
    form.field_of(field, EXPECTED, place);
    let value: Option<f64> = (*place).into();
    if let Some(value) = value.filter(|value| value.is_nan() || *value < 0.0) {
        form.refuse(ChoiceError::new(&label, &value.to_string(), EXPECTED));
    }
}

fn text(key: &str, label: &str, likely: &[&str]) -> Field {
    Field::new(key, label, Control::text(likely))
}

fn number_of(key: &str, label: &str) -> Field {
    Field::new(key, label, Control::Number)
}

/// All fields; those about results only where something was found.
pub(super) fn fields(form: &mut Form<'_>, rates: Form<'_>, parts: &[(String, Part)], has_results: bool) {
    // What can't be is refused by the answer.
    drop(search(form, parts, 0));
    form.append(rates);
    limits(form);
    for (group, key, label, hint) in LISTS {
        form.group(group);
        form.chosen(text(key, label, &[]).hinted(hint));
    }
    if has_results {
        others(form);
    }
}

/// The fields of the graph, and those of the rates of its links.
pub(super) fn source<'a>(
    form: &mut Form<'a>,
    rates: &mut Form<'a>,
    parts: &[(String, Part)],
) -> Result<Source, StudyError> {
    let mut graphs = Vec::new();
    graphs.extend((1..).zip(of_kind(parts, topology)).map(|(n, (name, _))| option(format!("f{n}"), name)));
    graphs.extend((1..).zip(of_kind(parts, machine)).map(|(n, (name, _))| option(format!("m{n}"), name)));
    let of_results = (1..).zip(of_kind(parts, links));
    graphs.extend(of_results.map(|(n, (name, _))| option(format!("r{n}"), format!("Links of {name}"))));
    graphs.extend(GENERATED_GRAPHS.iter().map(|made| option(made.word, made.name)));
    // Another graph has other links and nodes.
    let led = [Group::Edits, Group::Damage, Group::Links, Group::Machine].map(|group| Some(group.into()));
    let usual = usual_graph(parts);
    let field = Field::new("graph", "Graph", Control::One(graphs)).leading(led.into()).usually(usual.clone());
    let graph = form.offered(field).map_or(usual, str::to_owned);
    rates.group(Group::Links);
    if let Some(made) = made(&graph) {
        let kind = |size: &str| Kind::parse(&format!("{}:{}", made.word, size.replace(['×', '*', ' '], "x")));
        let (usual, kind) = match made.likely.first() {
            Some(usual) => {
                let size = form.chosen(text(made.word, made.size, made.likely).usually(*usual));
                (kind(usual)?, kind(size.unwrap_or(usual)))
            }
            None => (Kind::parse(made.word)?, Kind::parse(made.word)),
        };
        let mut recipe = Recipe::new(usual);
        recipe_fields(rates, &graph, &mut recipe);
        return Ok(Source::Made(Recipe { kind: kind?, ..recipe }));
    }
    if let Some(place) = number(&graph, 'm') {
        return Ok(Source::Machine(place as u32, machine_fields(rates, &graph, parts)));
    }
    let mut topology = loaded(&graph, parts).cloned();
    let usual = topology.as_ref().map(|topology| topology.unit).unwrap_or_default();
    let unit = unit(rates, usual);
    topology.iter_mut().for_each(|topology| topology.unit = unit);
    topology.map(Source::Edited).ok_or(StudyError::NoFile)
}

fn recipe_fields(form: &mut Form<'_>, graph: &str, recipe: &mut Recipe) {
    let has_rates = graph != GENERATED_GRAPHS[0].word;
    form.is_listed = has_rates;
    positive(form, number_of("latency", "Latency, ns"), &mut recipe.latency_ns);
    let unit_name =
        if form.get("unit").map_or(recipe.unit == Unit::Gb, |unit| unit == "gb") { Unit::Gb } else { Unit::Gib }.name();
    positive(form, number_of("bandwidth", &format!("Bandwidth, {unit_name}")), &mut recipe.bandwidth);
    form.is_listed = has_rates && ["mesh", "torus", "fattree", "twogroups", "random"].contains(&graph);
    let which = match graph {
        "mesh" | "torus" => "along all dimensions but the last",
        "random" => "of some links",
        _ => "between groups",
    };
    positive(form, number_of("slower", &format!("Bandwidth {which}, {unit_name}")), &mut recipe.slow_bandwidth);
    positive(form, number_of("later", &format!("Latency {which}, ns")), &mut recipe.slow_latency_ns);
    form.is_listed = true;
    recipe.unit = unit(form, recipe.unit);
}

/// The unit of bandwidths: a file may say it.
fn unit(form: &mut Form<'_>, usual: Unit) -> Unit {
    let known = [("gib", Unit::Gib, "2^30"), ("gb", Unit::Gb, "10^9")];
    let units = known.map(|(key, unit, bytes)| option(key, format!("{}, {bytes} B/s", unit.name())));
    let usual_key = if usual == Unit::Gb { "gb" } else { "gib" };
    let chosen = form.chosen(Field::new("unit", "Bandwidths in", Control::One(units.into())).usually(usual_key));
    let Some(chosen) = chosen else { return usual };
    let unit = known.into_iter().find(|(key, ..)| *key == chosen).map(|(_, unit, _)| unit);
    unit.unwrap_or_else(|| {
        form.refuse(ChoiceError::new("Bandwidths in", chosen, "gib or gb"));
        usual
    })
}

/// The rates of a dump's links.
fn machine_fields(form: &mut Form<'_>, graph: &str, parts: &[(String, Part)]) -> Rates {
    form.group(Group::Machine);
    let mut rates = Rates::default();
    let gpus = chosen_machine(graph, parts).map(|machine| machine.gpus.as_slice()).unwrap_or_default();
    // Those of its GPUs are listed, in their order.
    let of = |generation: &str| rates.links.iter().position(|(name, _)| name == generation);
    let other = of("");
    let mut places: Vec<usize> = gpus.iter().filter_map(|gpu| of(&gpu.generation).or(other)).collect();
    let listed = places.len();
    places.extend(0..rates.links.len());
    for (at, place) in places.iter().enumerate() {
        form.is_listed = at < listed;
        let (name, gbps) = &mut rates.links[*place];
        if !places[..at].contains(place) {
            let label = format!("One link of {}, GB/s", if name.is_empty() { "other GPUs" } else { &*name });
            positive(form, number_of(&format!("rate.{name}"), &label), gbps);
        }
    }
    form.is_listed = !gpus.is_empty();
    positive(form, number_of("latency", "Latency, ns"), &mut rates.latency_ns);
    form.field(number_of("machines", "Nodes like this, joined by a switch"), &mut rates.nodes);
    positive(form, number_of("later", "Latency of the network, ns"), &mut rates.net_latency_ns);
    rates
}

/// The fields of the search, and the search on a topology of so many nodes; without its seed and what is damaged.
pub(super) fn search(
    form: &mut Form<'_>,
    parts: &[(String, Part)],
    nodes: u32,
) -> Result<SearchRequest, WorkbenchError> {
    let mut wanted = CollectiveRequest::default();
    let mut all: Vec<_> = COLLECTIVES.iter().map(|collective| option(collective.name(), collective.name())).collect();
    let files = (1..).zip(of_kind(parts, custom));
    all.extend(files.map(|(n, (name, _))| option(format!("c{n}"), format!("Conditions of {name}"))));
    all.push(option("own", "Conditions of one's own"));
    let mut chosen = Collective::AllGather.name().to_owned();
    form.field(Field::new("collective", "Collective", Control::One(all)), &mut chosen);
    // Conditions of a file may say how long a chunk is.
    let place = number(&chosen, 'c');
    let of_file = place.and_then(|place| of_kind(parts, custom).nth(place)).map(|(_, of_file)| of_file);
    let mut chunk = Size(of_file.and_then(|(_, bytes)| bytes).unwrap_or(wanted.chunk_bytes));
    let field = text("chunk", "Chunk", &["64 KiB", "1 MiB", "16 MiB"]);
    let is_chosen = form.get("chunk").is_some_and(|text| !text.trim().is_empty());
    form.field_of(field, "a size such as 1 MiB", &mut chunk);
    let collective = Collective::parse(&chosen);
    form.is_listed = collective.is_some();
    form.field(number_of("chunks", "Chunks per node"), &mut wanted.chunks);
    form.is_listed = collective.is_some_and(Collective::has_root);
    form.field(number_of("root", "Root"), &mut wanted.root);
    let is_own = chosen == "own";
    form.is_listed = is_own;
    let field = Field::new("conditions", "Who has a chunk, and who is to have it", Control::Lines);
    let lines = form.chosen(field.hinted("0 -> 1,2")).unwrap_or_default();
    form.is_listed = true;
    let methods = Method::OFFERED.map(|method| option(method.name(), title(method)));
    let field = Field::new("by", "Synthesizer", Control::One(methods.into())).usually(Method::Auto.name());
    let by = form.chosen(field).map(|name| method(name, "Synthesizer"));
    let by = by.transpose().unwrap_or_else(|error| {
        form.refuse(error);
        None
    });
    if is_own {
        let (own, bytes) = conditions(lines, nodes)?;
        (wanted.collective, wanted.custom) = (None, Some(own));
        chunk = Size(bytes.filter(|_| !is_chosen).unwrap_or(chunk.0));
    } else if place.is_some() {
        (wanted.collective, wanted.custom) = (None, Some(of_file.ok_or(StudyError::NoFile)?.0.clone()));
    } else {
        let wrong = || ChoiceError::new("Collective", &chosen, "one of those that are offered");
        wanted.collective = Some(collective.ok_or_else(wrong)?);
    }
    wanted.chunk_bytes = chunk.0;
    Ok(SearchRequest { wanted, by: by.unwrap_or_default(), seed: 0, damage: Damage::default() })
}

/// The fields of seed and time limit: the seed, and the limit in milliseconds.
pub(super) fn limits(form: &mut Form<'_>) -> (u64, u32) {
    form.group(Group::Search);
    let (mut seed, mut seconds) = (1, 5.0);
    form.field(number_of("seed", "Seed"), &mut seed);
    let limits = Control::one(&[("1", "1 s"), ("5", "5 s"), ("30", "30 s"), ("300", "5 minutes")]);
    form.field_of(Field::new("limit", "Search for at most", limits), "a number of seconds", &mut seconds);
    within(form, "Search for at most", seconds, 0.1, 86_400.0);
    (seed, (seconds * 1000.0) as u32)
}

pub(super) fn others(form: &mut Form<'_>) -> Settings {
    let mut settings = Settings::default();
    form.group(Group::Robustness);
    form.field(number_of("sigma", "Spread of durations, σ"), &mut settings.varied.sigma);
    form.field(number_of("draws", "Draws"), &mut settings.varied.draws);
    form.field(Field::new("every", "damage every link and node", Control::Switch), &mut settings.every);
    within(form, "Spread of durations", settings.varied.sigma, 0.0, robust::MAX_SIGMA);
    within(form, "Draws", settings.varied.draws.into(), 1.0, robust::MAX_DRAWS.into());
    form.group(Group::Comparison);
    let baselines = Method::OFFERED.iter().filter(|method| **method != Method::Auto);
    let baselines = Control::Many(baselines.map(|method| option(method.name(), title(*method))).collect());
    for name in form.chosen(Field::new("with", "Compared with", baselines)).unwrap_or_default().split(',') {
        match method(name, "Compared with") {
            Ok(method) => settings.baselines.push(method),
            Err(error) if !name.is_empty() => form.refuse(error),
            Err(_) => {}
        }
    }
    form.field(number_of("seeds", "Seeds").usually(SEEDS.to_string()), &mut settings.seeds);
    within(form, "Seeds", settings.seeds.unwrap_or(1).into(), 1.0, MOST_SEEDS.into());
    settings
}

fn within(form: &mut Form<'_>, label: &str, value: f64, least: f64, most: f64) {
    if !(least..=most).contains(&value) {
        form.refuse(ChoiceError::new(label, &value.to_string(), &format!("a number from {least} to {most}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Choices;

    #[test]
    fn choices_become_what_is_asked() {
        let choices = Choices::parse("#v=1&graph=mesh&mesh=2x3&collective=own&conditions=0%20-%3E%20all&chunk=64K");
        let (mut form, mut rates) = (Form::new(&choices), Form::new(&choices));
        let Ok(Source::Made(recipe)) = source(&mut form, &mut rates, &[]) else { panic!("a mesh") };
        let topology = recipe.make().unwrap();
        let asked = search(&mut form, &[], topology.nodes).unwrap();
        assert_eq!((topology.nodes, asked.wanted.chunk_bytes), (6, 65536));
        assert_eq!(asked.wanted.custom.unwrap().chunks, [(vec![0], vec![1, 2, 3, 4, 5])]);
    }
}
