//! Reads a catalogue from YAML.

use super::{
    super::expression::Expression, Architecture, Catalogue, ClusterEntry, Collective, Gpu, LayerItem, NAMES, Operator,
    Parameters, Role, StandIn, StepsEntry,
};
use crate::text::yaml::{Fields, KeyError, Node};

type Result<T> = std::result::Result<T, KeyError>;

pub(super) fn catalogue(root: &Node) -> Result<Catalogue> {
    let mut fields = Fields::of(root, "the catalogue")?;
    let version = fields.needed("catalogue", "the version 1")?;
    if version.whole("catalogue", 0)? != 1 {
        return Err(version.unexpected("catalogue", "the version 1"));
    }
    let catalogue = Catalogue {
        gpus: entries(fields.optional("gpus"), "gpus", gpu)?,
        clusters: entries(fields.optional("clusters"), "clusters", cluster)?,
        operators: entries(fields.optional("operators"), "operators", operator)?,
        collectives: entries(fields.optional("collectives"), "collectives", collective)?,
        architectures: entries(fields.optional("architectures"), "architectures", architecture)?,
    };
    fields.refuse_rest("gpus, clusters, operators, collectives or architectures")?;
    Ok(catalogue)
}

/// The entries of a section, whose names must be distinct.
fn entries<T>(section: Option<&Node>, name: &str, read: fn(&mut Fields<'_>, String) -> Result<T>) -> Result<Vec<T>> {
    let Some(section) = section else { return Ok(Vec::new()) };
    let mut names: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for node in section.list(name)? {
        let mut fields = Fields::of(node, name)?;
        let named = fields.needed("name", "a name")?;
        let own = named.word("name")?.to_owned();
        if names.contains(&own) {
            return Err(named.wrong("name", format!("\"{own}\" stands twice among the {name}")));
        }
        names.push(own.clone());
        all.push(read(&mut fields, own)?);
        fields.refuse_rest(&format!("a key of {name}"))?;
    }
    Ok(all)
}

fn positive(node: Option<&Node>, key: &str) -> Result<Option<f64>> {
    node.map(|node| {
        node.number(key)
            .and_then(|value| if value > 0.0 { Ok(value) } else { Err(node.unexpected(key, "a number above zero")) })
    })
    .transpose()
}

/// An expression, whose names are among the known ones and these.
fn expression(node: &Node, key: &str, names: &[String]) -> Result<Expression> {
    let text = node.text().ok_or_else(|| node.unexpected(key, "an expression"))?;
    let expression = Expression::parse(text).map_err(|error| node.wrong(key, error.to_string()))?;
    let is_known = |name: &&str| NAMES.contains(name) || names.iter().any(|known| known == name);
    if let Some(name) = expression.names().find(|name| !is_known(name)) {
        return Err(node.wrong(key, format!("nothing is known of \"{}\" in \"{text}\"", crate::text::excerpt(name))));
    }
    Ok(expression)
}

fn gpu(fields: &mut Fields<'_>, name: String) -> Result<Gpu> {
    let mut peak_tflops = Vec::new();
    if let Some(peaks) = fields.optional("peak_tflops") {
        for (precision, peak) in
            peaks.entries().ok_or_else(|| peaks.unexpected("peak_tflops", "a mapping of precisions"))?
        {
            let precision = precision.word("peak_tflops")?;
            peak_tflops.extend(positive(Some(peak), precision)?.map(|peak| (precision.to_owned(), peak)));
        }
    }
    let aliases = fields.optional("aliases").map(|node| node.words("aliases")).transpose()?.unwrap_or_default();
    Ok(Gpu {
        name,
        aliases,
        peak_tflops,
        memory_gib: positive(fields.optional("memory_gib"), "memory_gib")?,
        memory_gbps: positive(fields.optional("memory_gbps"), "memory_gbps")?,
        multiprocessors: fields.optional("multiprocessors").map(|node| node.count("multiprocessors", 1)).transpose()?,
        link_gbps: positive(fields.optional("link_gbps"), "link_gbps")?,
        linked_gpus: fields.optional("linked_gpus").map(|node| node.count("linked_gpus", 1)).transpose()?,
        network_gbps: positive(fields.optional("network_gbps"), "network_gbps")?,
        kernels: fields.optional("kernels").map(|node| node.word("kernels").map(str::to_owned)).transpose()?,
    })
}

fn cluster(fields: &mut Fields<'_>, name: String) -> Result<ClusterEntry> {
    Ok(ClusterEntry {
        name,
        gpu: fields.needed("gpu", "a GPU's name")?.word("gpu")?.to_owned(),
        gpus_per_node: fields.needed("gpus_per_node", "a whole number")?.count("gpus_per_node", 1)?,
        nodes: fields.optional("nodes").map(|node| node.count("nodes", 1)).transpose()?,
        intra_gbps: positive(fields.optional("intra_gbps"), "intra_gbps")?,
        inter_gbps_per_gpu: positive(fields.optional("inter_gbps_per_gpu"), "inter_gbps_per_gpu")?,
        latency_us: positive(fields.optional("latency_us"), "latency_us")?,
        steps: fields.optional("steps").map(steps).transpose()?,
    })
}

fn steps(node: &Node) -> Result<StepsEntry> {
    let mut fields = Fields::of(node, "steps")?;
    let architecture = fields.needed("architecture", "an architecture's name")?.word("architecture")?.to_owned();
    let zero = fields.needed("zero", "0 or 1")?;
    let entry = StepsEntry {
        architecture,
        zero: match zero.text() {
            Some("0") => 0,
            Some("1") => 1,
            _ => return Err(zero.unexpected("zero", "0 or 1")),
        },
    };
    fields.refuse_rest("architecture or zero")?;
    Ok(entry)
}

fn operator(fields: &mut Fields<'_>, name: String) -> Result<Operator> {
    let inputs = fields.needed("inputs", "a list of columns")?.words("inputs")?;
    let features = fields.needed("features", "a list of expressions")?.list("features")?;
    let features = features.iter().map(|node| expression(node, "features", &inputs)).collect::<Result<_>>()?;
    let mut of = |key: &str| fields.optional(key).map(|node| expression(node, key, &inputs)).transpose();
    let (flop, bytes, least_bytes) = (of("flop")?, of("bytes")?, of("least_bytes")?);
    let gemm = match fields.optional("gemm") {
        None => None,
        Some(node) => {
            let sides = node.list("gemm")?;
            let mut sides = sides.iter().map(|node| expression(node, "gemm", &inputs)).collect::<Result<Vec<_>>>()?;
            if sides.len() == 3 {
                sides.insert(0, Expression::constant(1.0));
            }
            Some(
                <[Expression; 4]>::try_from(sides)
                    .map_err(|_other| node.unexpected("gemm", "[m, k, n] or [count, m, k, n]"))?,
            )
        }
    };
    let stands_in_for = match fields.optional("stands_in_for") {
        None => None,
        Some(node) if node.text() == Some("gemm") => {
            if gemm.is_none() {
                return Err(node.wrong("stands_in_for", "gemm needs the key gemm: [m, k, n]"));
            }
            Some(StandIn::Gemm)
        }
        Some(node) => Some(StandIn::Operator(node.word("stands_in_for")?.to_owned())),
    };
    let backward_factor = positive(fields.optional("backward_factor"), "backward_factor")?;
    Ok(Operator { name, inputs, features, gemm, flop, bytes, least_bytes, backward_factor, stands_in_for })
}

pub(super) const ROLES: [(&str, Role); 5] = [
    ("tensor", Role::Tensor),
    ("gradient", Role::Gradient),
    ("gather", Role::Gather),
    ("pipeline", Role::Pipeline),
    ("expert", Role::Expert),
];

fn collective(fields: &mut Fields<'_>, name: String) -> Result<Collective> {
    let expected = "tensor, gradient, gather, pipeline or expert";
    let role = fields.needed("role", expected)?;
    let found = ROLES.iter().find(|(word, _)| role.text() == Some(word));
    let role = found.ok_or_else(|| role.unexpected("role", expected))?.1;
    let communicator = fields.needed("communicator", "nodes and per_node")?;
    let mut sides = Fields::of(communicator, "communicator")?;
    let collective = Collective {
        name,
        role,
        busbw_factor: expression(fields.needed("busbw_factor", "an expression")?, "busbw_factor", &[])?,
        shape: expression(fields.needed("shape", "an expression")?, "shape", &[])?,
        nodes: expression(sides.needed("nodes", "an expression")?, "nodes", &[])?,
        per_node: expression(sides.needed("per_node", "an expression")?, "per_node", &[])?,
    };
    sides.refuse_rest("nodes or per_node")?;
    Ok(collective)
}

fn architecture(fields: &mut Fields<'_>, name: String) -> Result<Architecture> {
    let mut variables = Vec::new();
    if let Some(node) = fields.optional("variables") {
        for (key, value) in node.entries().ok_or_else(|| node.unexpected("variables", "a mapping of numbers"))? {
            let key = key.word("variables")?;
            variables.push((key.to_owned(), value.number(key)?));
        }
    }
    let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
    let mut items = |key: &str, needed: bool| match fields.optional(key) {
        Some(node) => node.list(key)?.iter().map(|node| item(node, key, &names)).collect(),
        None if needed => Err(fields.missing(key, "a list of operators")),
        None => Ok(Vec::new()),
    };
    let (layer, first, last) = (items("layer", true)?, items("first", false)?, items("last", false)?);
    let syncs = match fields.optional("syncs") {
        None => [2, 2],
        Some(node) => match node.list("syncs")? {
            [forward, backward] => [forward.count("syncs", 0)?, backward.count("syncs", 0)?],
            _ => return Err(node.unexpected("syncs", "[forward, backward]")),
        },
    };
    let parameters = match fields.optional("parameters") {
        None => None,
        Some(node) => {
            let mut parts = Fields::of(node, "parameters")?;
            let mut of = |key: &str| expression(parts.needed(key, "an expression")?, key, &names);
            let parameters = Parameters { layer: of("layer")?, first: of("first")?, last: of("last")? };
            parts.refuse_rest("layer, first or last")?;
            Some(parameters)
        }
    };
    let activation_bytes = fields.optional("activation_bytes");
    let activation_bytes = activation_bytes.map(|node| expression(node, "activation_bytes", &names)).transpose()?;
    Ok(Architecture { name, variables, layer, first, last, syncs, parameters, activation_bytes })
}

/// An operator of a layer: `linear1`, or `{operator: linear1, repeat: 2, ffn: "1408"}`.
fn item(node: &Node, key: &str, names: &[String]) -> Result<LayerItem> {
    if let Some(operator) = node.text().filter(|text| !text.is_empty()) {
        return Ok(LayerItem::once(operator));
    }
    let mut fields = Fields::of(node, key)?;
    let operator = fields.needed("operator", "an operator's name")?.word("operator")?.to_owned();
    let repeat = fields.optional("repeat").map(|node| expression(node, "repeat", names)).transpose()?;
    let overrides = fields.rest().map(|(name, _, value)| Ok((name.to_owned(), expression(value, name, names)?)));
    Ok(LayerItem { operator, repeat, overrides: overrides.collect::<Result<_>>()? })
}
