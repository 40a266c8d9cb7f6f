//! Checks the layers of modules: a top-level module imports from layers below its own, never from its own layer or from
//! above, and only the page uses what belongs to the browser.
//!
//! It reads the tokens of every file under `src`: each path that begins with `crate::`, `collectune::` or enough
//! `super::` to leave its top-level module, in code, in macros and in tests.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use crate::circles;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The folders with top-level modules: the library's, and that of the crate `compute`, whose modules the library
/// re-exports.
const SOURCES: [&str; 2] = ["src", "compute/src"];

/// The top-level modules by layer, from the lowest up.
const LAYERS: [&[&str]; 12] = [
    &["units", "glossary", "math", "order", "intervals", "progress", "records", "crc32"],
    &["archive", "sqlite"],
    &["collective"],
    &["ceiling", "learn", "bandit", "schedule", "pipeline", "conf", "plot", "text", "form"],
    &["report", "command", "launch", "cost_model"],
    &["workbench", "measure"],
    &["tuning", "policy", "training_time", "topology", "overlap"],
    &["registry"],
    &["intake"],
    &["worker"],
    &["app", "cli"],
    &[ENTRY_POINTS],
];
/// `main.rs` and `bin/*.rs`.
const ENTRY_POINTS: &str = "entry points";
/// `lib.rs`, which declares every top-level module and imports none.
const MAP: &str = "lib";

/// Crates that work in a browser only.
const BROWSER_CRATES: [&str; 6] =
    ["js_sys", "leptos", "plotters_canvas", "wasm_bindgen", "wasm_bindgen_futures", "web_sys"];
/// Names that show text as markup.
const RAW_HTML: [&str; 4] = ["inner_html", "set_inner_html", "set_outer_html", "insert_adjacent_html"];

/// An import or a name that is not allowed in its module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, relative to the project's root.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, as a text for users.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// Checks every Rust file of the project at `root`. Returns their number, and what is wrong.
///
/// # Errors
/// When a file can't be read.
pub fn check(root: &Path) -> io::Result<(usize, Vec<Fault>)> {
    let mut count = 0;
    let mut faults = Vec::new();
    for folder in SOURCES {
        let folder = root.join(folder);
        let mut files = Vec::new();
        rust_files(&folder, &mut files)?;
        files.sort();
        count += files.len();
        let read =
            |file: PathBuf| Ok((file.strip_prefix(&folder).unwrap_or(&file).to_owned(), fs::read_to_string(file)?));
        let files = files.into_iter().map(read).collect::<io::Result<Vec<_>>>()?;
        let mut found: Vec<Fault> = files.iter().flat_map(|(file, text)| check_file(file, text)).collect();
        found.extend(circles::check(&files));
        let place = folder.strip_prefix(root).unwrap_or(&folder);
        faults.extend(found.into_iter().map(|fault| Fault { file: place.join(&fault.file), ..fault }));
    }
    Ok((count, faults))
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Checks one file, given by its path relative to its folder of [`SOURCES`], and its text.
pub fn check_file(file: &Path, text: &str) -> Vec<Fault> {
    let module = module_path(file);
    let top_module = match module.first().map(String::as_str) {
        None => ENTRY_POINTS,
        Some(MAP) => return Vec::new(),
        Some(top_module) => top_module,
    };
    let mut walk = Walk { file, top_module, faults: Vec::new() };
    if layer(top_module).is_none() {
        walk.fault(1, format!("`{top_module}` has no layer; give it one in xtask/src/layers.rs"));
    }
    match text.parse::<TokenStream>() {
        Ok(tokens) => walk.tokens(tokens, &module),
        Err(error) => walk.fault(error.span().start().line, format!("not Rust: {error}")),
    }
    walk.faults
}

/// `tuning/read.rs` is the module `tuning::read`; the doors are their own crates' roots.
pub(crate) fn module_path(file: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        file.with_extension("").components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|name| name == "mod") {
        path.pop();
    }
    if path == ["main"] || path.first().is_some_and(|folder| folder == "bin") {
        path.clear();
    }
    path
}

fn layer(top_module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&top_module))
}

struct Walk<'a> {
    file: &'a Path,
    top_module: &'a str,
    faults: Vec<Fault>,
}

impl Walk<'_> {
    fn fault(&mut self, line: usize, what: String) {
        self.faults.push(Fault { file: self.file.to_owned(), line, what });
    }

    /// Walks the tokens of a module, or of anything inside it.
    fn tokens(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream(), &inner_module(&tokens[..at], module)),
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    self.name(ident.span().start().line, &name);
                    if !follows_a_path(&tokens[..at]) {
                        at += self.path(&name, &tokens[at + 1..], module);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Follows a path that starts with `first`; returns how many tokens of `rest` it has.
    fn path(&mut self, first: &str, rest: &[TokenTree], module: &[String]) -> usize {
        let mut taken = 0;
        let at_root = match first {
            "crate" | "collectune" => true,
            "super" => {
                let mut up = 1;
                while is_separator(&rest[taken..]) && is_ident(rest.get(taken + 2), "super") {
                    taken += 3;
                    up += 1;
                }
                !module.is_empty() && up == module.len()
            }
            _ => false,
        };
        if at_root && is_separator(&rest[taken..]) {
            match rest.get(taken + 2) {
                Some(TokenTree::Ident(top_module)) => {
                    self.import(top_module.span().start().line, &top_module.to_string());
                }
                Some(TokenTree::Group(group)) => self.imports(group.stream()),
                _ => {}
            }
        }
        taken
    }

    /// Checks the top-level modules of a group such as `{units, tuning::{read, result}}`.
    fn imports(&mut self, group: TokenStream) {
        let mut first = true;
        for token in group {
            match token {
                TokenTree::Ident(top_module) if first => {
                    self.import(top_module.span().start().line, &top_module.to_string());
                    first = false;
                }
                TokenTree::Punct(comma) if comma.as_char() == ',' => first = true,
                _ => {}
            }
        }
    }

    fn import(&mut self, line: usize, top_module: &str) {
        if top_module == self.top_module || top_module == "self" {
            return;
        }
        match (layer(self.top_module), layer(top_module)) {
            (_, None) => {
                self.fault(line, format!("`{top_module}` is no top-level module; name the module that it lives in"));
            }
            (Some(own), Some(other)) if other >= own => {
                let way = if other == own { "in the same layer as" } else { "above" };
                self.fault(line, format!("{} imports {top_module}, which is {way} it", self.top_module));
            }
            _ => {}
        }
    }

    fn name(&mut self, line: usize, name: &str) {
        let of_the_page = self.top_module == "app" || self.top_module == ENTRY_POINTS;
        if !of_the_page && (BROWSER_CRATES.contains(&name) || name.starts_with("gloo_")) {
            self.fault(line, format!("{} uses {name}; the browser stays in app", self.top_module));
        }
        if RAW_HTML.contains(&name) {
            self.fault(line, format!("{name} would show text as markup"));
        }
    }
}

/// The module of a group: `module`, or one deeper if `mod name` stands before the group's brace.
pub(crate) fn inner_module(before: &[TokenTree], module: &[String]) -> Vec<String> {
    let mut inner = module.to_vec();
    if let [.., word, TokenTree::Ident(name)] = before
        && is_ident(Some(word), "mod")
    {
        inner.push(name.to_string());
    }
    inner
}

fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == name)
}

/// Whether `::` comes next.
pub(crate) fn is_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(a), TokenTree::Punct(b), ..] if a.as_char() == ':' && b.as_char() == ':')
}

/// Whether the tokens end in `name::`, so that what follows is no start of a path.
fn follows_a_path(before: &[TokenTree]) -> bool {
    match before {
        [.., TokenTree::Ident(_), a, b] => is_separator(&[a.clone(), b.clone()]),
        [.., TokenTree::Group(group)] => group.delimiter() == Delimiter::None,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(file: &str, text: &str) -> Vec<String> {
        check_file(Path::new(file), text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_project_stands() {
        let (files, faults) = check(&crate::root()).unwrap();
        assert!(files > 0);
        assert_eq!(faults, []);
    }

    #[test]
    fn down_is_allowed() {
        let text = "use crate::{collective::Scale, learn::{forest, table}, units::Size};
            use super::result; // crate::app
            fn f() -> crate::text::Problem { view! { <p>{crate::plot::draw()}</p> } }
            mod tests { use super::*; use super::super::read; const TEXT: &str = \"crate::app\"; }";
        assert_eq!(faults("tuning/search.rs", text), Vec::<String>::new());
        assert_eq!(faults("main.rs", "fn main() { collectune::app::open(); leptos::mount(); }"), Vec::<String>::new());
    }

    #[test]
    fn up_is_a_fault() {
        let expected = "text/table.rs:2: text imports tuning, which is above it";
        assert_eq!(faults("text/table.rs", "use std::fmt;\nuse crate::tuning::read;"), [expected]);
        assert_eq!(faults("text/table.rs", "\nuse crate::{units::Size, tuning::{read}};"), [expected]);
        assert_eq!(faults("text/table.rs", "fn f() {}\nfn g() { g!(x, super::super::tuning::read()) }"), [expected]);
        assert_eq!(faults("text/table.rs", "mod tests {\nuse super::super::super::{tuning}; }"), [expected]);
    }

    #[test]
    fn sideways_is_a_fault() {
        let expected = "plot/mod.rs:1: plot imports learn, which is in the same layer as it";
        assert_eq!(faults("plot/mod.rs", "use super::learn;"), [expected]);
        assert_eq!(faults("plot/mod.rs", "use crate::learn as model;"), [expected]);
    }

    #[test]
    fn every_module_has_a_layer() {
        assert_eq!(
            faults("elsewhere.rs", ""),
            ["elsewhere.rs:1: `elsewhere` has no layer; give it one in xtask/src/layers.rs"]
        );
        assert_eq!(faults("cli/mod.rs", "use crate::Anything;").len(), 1);
    }

    #[test]
    fn the_browser_stays_in_the_page() {
        let text = "use wasm_bindgen::JsValue;";
        assert_eq!(faults("app/mod.rs", text), Vec::<String>::new());
        assert_eq!(faults("worker/mod.rs", text).len(), 1);
        assert_eq!(faults("app/mod.rs", "view! { <p inner_html=text></p> }").len(), 1);
    }
}
