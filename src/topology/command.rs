//! The command that gives the workbench's answer in a terminal.

use crate::{
    command::{Command, Commands},
    form::{Choices, Control, Field},
};

/// What was chosen, and the option for it.
const OPTIONS: [(&str, &str); 10] = [
    ("collective", "--collective"),
    ("chunk", "--chunk"),
    ("chunks", "--chunks"),
    ("root", "--root"),
    ("by", "--synthesizer"),
    ("seed", "--seed"),
    ("latency", "--latency"),
    ("bandwidth", "--bandwidth"),
    ("slower", "--slow-bandwidth"),
    ("later", "--slow-latency"),
];

/// The synthesis of a schedule; none where a choice is made that only a report has, such as damage.
pub(super) fn synthesize(changed: &Choices, form: &[Field]) -> Option<Commands> {
    let field = |key: &str| form.iter().find(|field| field.key == key);
    let Field { value: graph, control: Control::One(graphs), .. } = field("graph")? else { return None };
    let is_of_file = graph.strip_prefix(['f', 'm']).is_some_and(|number| number.parse::<u32>().is_ok());
    let name = match field(graph).filter(|_| !is_of_file) {
        Some(size) => format!("{graph}:{}", size.value),
        None if is_of_file => graphs.iter().find(|(value, _)| value == graph)?.1.clone(),
        None => graph.clone(),
    };
    let mut command = Command::new("topology synthesize", &[name]);
    let mut options = changed.clone();
    for (key, value) in changed.iter() {
        match key {
            "graph" | "limit" => {}
            // A field that was emptied counts as not filled in.
            _ if value.trim().is_empty() => {}
            "unit" if value == "gb" => command.word("--decimal"),
            "machines" => command.option("--nodes", value),
            // Conditions of a file or of one's own.
            "collective" if value == "own" || value.starts_with('c') => return None,
            _ if key == graph || field(key).is_none() => {}
            _ => continue,
        }
        options.clear(key);
    }
    command.option("--time-limit", &format!("{}s", field("limit")?.value));
    command.options(&options, &OPTIONS).then(|| command.into())
}
