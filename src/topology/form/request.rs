//! What graphs, synthesizers and conditions are called in choices.

use std::sync::Arc;

use crate::{
    form::ChoiceError,
    schedule::synthesize::Method,
    topology::{
        conditions::{Custom, MOST_PAIRS, RequestError, read_custom},
        dump::{Graphs, Machine},
        model::Topology,
        mscclpp::Verdict,
        study::{Part, StudyError},
    },
    workbench::WorkbenchError,
};

/// A form that can be made: its word, its name, what its size is, and that as long as nothing is chosen.
pub(super) struct GeneratedGraph {
    pub word: &'static str,
    pub name: &'static str,
    pub size: &'static str,
    pub likely: &'static [&'static str],
}

/// All of them. The first is what is seen before anything is chosen.
pub(super) const GENERATED_GRAPHS: [GeneratedGraph; 11] = [
    GeneratedGraph { word: "dgx1v", name: "DGX-1 with V100", size: "", likely: &[] },
    GeneratedGraph { word: "ring", name: "Ring", size: "Nodes", likely: &["5", "8", "16", "8:one-way"] },
    GeneratedGraph { word: "line", name: "Line", size: "Nodes", likely: &["5", "8"] },
    GeneratedGraph {
        word: "mesh",
        name: "Mesh",
        size: "Rows x columns",
        likely: &["4x4", "8x8", "16x16", "32x32", "4x4x4"],
    },
    GeneratedGraph { word: "torus", name: "Torus", size: "Rows x columns", likely: &["4x4", "8x8", "4x4x4"] },
    GeneratedGraph { word: "hypercube", name: "Hypercube", size: "Dimensions", likely: &["3", "4", "6"] },
    GeneratedGraph { word: "full", name: "Fully connected", size: "Nodes", likely: &["8", "16"] },
    GeneratedGraph { word: "switch", name: "Switch, unrolled", size: "Nodes", likely: &["8", "16"] },
    GeneratedGraph {
        word: "fattree",
        name: "Fat tree, unrolled",
        size: "Leaves x nodes of each:oversubscription",
        likely: &["2x4", "4x8", "4x8:2"],
    },
    GeneratedGraph {
        word: "twogroups",
        name: "Two groups",
        size: "Nodes of each x links between",
        likely: &["4x2", "8x2"],
    },
    GeneratedGraph { word: "random", name: "Random", size: "Nodes:links of each:seed", likely: &["12:3:1", "64:4:1"] },
];

pub(super) fn title(method: Method) -> &'static str {
    match method {
        Method::Auto => "Automatic",
        Method::Tacos => "TACOS, random matching",
        Method::Earliest => "Earliest arrival, rarest chunk",
        Method::Restarts => "The same from many seeds",
        Method::Beam => "Beam search",
        Method::Symmetric => "Symmetric construction",
        Method::Routed => "Relayed",
        Method::Exact => "Exact search",
    }
}

/// The loaded files of one kind, with their names.
pub(super) fn of_kind<'a, T>(
    parts: &'a [(String, Part)],
    is: fn(&'a Part) -> Option<T>,
) -> impl Iterator<Item = (&'a str, T)> {
    parts.iter().filter_map(move |(name, part)| Some((name.as_str(), is(part)?)))
}

pub(super) fn topology(part: &Part) -> Option<&Topology> {
    if let Part::Topology(topology) = part { Some(topology) } else { None }
}

pub(super) fn machine(part: &Part) -> Option<&Machine> {
    if let Part::Machine(machine) = part { Some(machine) } else { None }
}

pub(super) fn plan(part: &Part) -> Option<&Verdict> {
    if let Part::Plan(verdict) = part { Some(verdict) } else { None }
}

pub(super) fn graphs(part: &Part) -> Option<&Graphs> {
    if let Part::Patterns(graphs) = part { Some(graphs) } else { None }
}

/// The topology of a dropped schedule.
pub(super) fn links(part: &Part) -> Option<&Topology> {
    if let Part::Result(result) = part { Some(&result.topology) } else { None }
}

pub(super) fn custom(part: &Part) -> Option<(&Arc<Custom>, Option<u64>)> {
    if let Part::Conditions(custom, size) = part { Some((custom, *size)) } else { None }
}

/// The graph that is shown as long as none is chosen: the first loaded one, or an example.
pub(super) fn usual_graph(parts: &[(String, Part)]) -> String {
    let has = |is: &dyn Fn(&Part) -> bool| parts.iter().any(|(_, part)| is(part));
    let key = match () {
        () if has(&|part| topology(part).is_some()) => "f1",
        () if has(&|part| machine(part).is_some()) => "m1",
        () if has(&|part| links(part).is_some()) => "r1",
        () => GENERATED_GRAPHS[0].word,
    };
    key.to_owned()
}

/// The kind of generated topology that is chosen, if any.
pub(super) fn made(graph: &str) -> Option<&'static GeneratedGraph> {
    GENERATED_GRAPHS.iter().find(|made| made.word == graph)
}

/// Reads `f1`: the place of a loaded part of one kind.
pub(super) fn number(graph: &str, kind: char) -> Option<usize> {
    graph.strip_prefix(kind)?.parse::<usize>().ok()?.checked_sub(1)
}

/// The loaded links that are chosen: a topology, or those of a schedule.
pub(super) fn loaded<'a>(graph: &str, parts: &'a [(String, Part)]) -> Option<&'a Topology> {
    let place = number(graph, 'f').map(|place| of_kind(parts, topology).nth(place));
    let place = place.or_else(|| number(graph, 'r').map(|place| of_kind(parts, links).nth(place)));
    place.flatten().map(|(_, topology)| topology)
}

pub(super) fn chosen_machine<'a>(graph: &str, parts: &'a [(String, Part)]) -> Option<&'a Machine> {
    of_kind(parts, machine).nth(number(graph, 'm')?).map(|(_, machine)| machine)
}

pub(super) fn method(name: &str, label: &str) -> Result<Method, ChoiceError> {
    let wrong = || ChoiceError::new(label, name, &format!("one of {}", Method::ALL.map(Method::name).join(", ")));
    Method::ALL.into_iter().find(|method| method.name() == name).ok_or_else(wrong)
}

/// Conditions of one's own, a chunk in each line: `0 -> 1,2` or `3 -> all`; or as JSON.
pub(super) fn conditions(text: &str, nodes: u32) -> Result<(Arc<Custom>, Option<u64>), WorkbenchError> {
    if text.trim_start().starts_with('{') {
        return Ok(read_custom(text).map_err(StudyError::from)?);
    }
    let mut custom = Custom::default();
    let mut pairs = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let both = line.split_once("->").and_then(|(has, wants)| Some((listed(has, nodes)?, listed(wants, nodes)?)));
        const EXPECTED: &str = "a chunk: who has it and who is to have it, as in 0 -> 1,2 or 3 -> all";
        let (has, mut wants) = both.ok_or_else(|| ChoiceError::new("Conditions", line, EXPECTED))?;
        wants.retain(|node| has.binary_search(node).is_err());
        // `all` makes a short line long.
        pairs += (has.len() + wants.len()) as u64;
        if pairs > MOST_PAIRS {
            return Err(StudyError::from(RequestError::TooMany(pairs)).into());
        }
        custom.names.push(custom.chunks.len().to_string());
        custom.chunks.push((has, wants));
    }
    Ok((Arc::new(custom), None))
}

/// Reads `1,2` or `all`: nodes, ascending and each once; `None` where a word is neither.
fn listed(text: &str, nodes: u32) -> Option<Vec<u32>> {
    let mut listed = Vec::new();
    let mut is_all = false;
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        if word == "all" {
            is_all = true;
        } else {
            listed.push(word.parse().ok()?);
        }
    }
    if is_all {
        listed.extend(0..nodes);
    }
    listed.sort_by_cached_key(|node| u64::from(*node));
    listed.dedup();
    Some(listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{
        conditions::CollectiveRequest,
        generate::{Kind, Recipe},
    };

    #[test]
    fn all_swallows_nothing() {
        let (custom, _) = conditions("2,0,2 -> 1,all\nall -> all", 3).unwrap();
        assert_eq!(custom.chunks, [(vec![0, 2], vec![1]), (vec![0, 1, 2], vec![])]);
        let wrong = conditions("1 -> 2\n0 -> all,foo", 3).unwrap_err().to_string();
        assert!(wrong.contains("0 -> all,foo"), "{wrong}");
        let (custom, _) = conditions("0 -> all,9999", 3).unwrap();
        let wanted = CollectiveRequest { collective: None, custom: Some(custom), ..CollectiveRequest::default() };
        let topology = Recipe::new(Kind::parse("line:3").unwrap()).make().unwrap();
        assert_eq!(wanted.problem(&topology).unwrap_err(), RequestError::NoNode("0".into(), 9999));
    }

    #[test]
    fn a_short_text_asks_for_no_more_than_can_be_held() {
        let nodes = 100_000;
        let lines = |count: usize| "all -> all\n".repeat(count);
        assert_eq!(conditions(&lines(200), nodes).unwrap().0.chunks.len(), 200);
        let refused = conditions(&lines(201), nodes).unwrap_err().to_string();
        assert!(refused.contains("20,100,000 pairs of a chunk and a node"), "{refused}");
    }
}
