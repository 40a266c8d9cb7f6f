//! The check that files do not import each other in a circle.
//!
//! A file imports another where one of its paths (`use` or not, in code and in macros) leads there, directly or by a
//! `use` of a module on the way. Modules and those inside them may use each other: one is declared by the other. So may
//! tests, which stand above what they test.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::layers::{Fault, inner_module, is_separator, module_path};

/// How many `use` declarations are followed from a name to the file that declares it.
const MAX_HOPS: usize = 8;

/// A path as it stands in a file.
struct Mention {
    /// The module in which it stands.
    module: Vec<String>,
    path: Vec<String>,
    line: usize,
}

/// The files of a crate and what they mention.
#[derive(Default)]
struct Crate {
    /// The file of every module, those inside of files too.
    files: BTreeMap<Vec<String>, usize>,
    mentions: Vec<(usize, Mention)>,
    /// What a name in a module stands for, by its `use` declarations.
    names: BTreeMap<(Vec<String>, String), Mention>,
}

/// Finds the circles among files, given with their paths relative to the crate's folder and their texts.
pub fn check(files: &[(PathBuf, String)]) -> Vec<Fault> {
    let imports = imports(files);
    let name = |file: usize| files[file].0.to_string_lossy().into_owned();
    let mut faults = Vec::new();
    for circle in circles(&imports) {
        let way = shortest(&imports, &circle);
        let line = imports[way[0]][&way[1]];
        let way: Vec<String> = way.into_iter().map(name).collect();
        let what = format!(
            "{} files import each other ({}); what two files share belongs in a file below both",
            circle.len(),
            way.join(" → ")
        );
        faults.push(Fault { file: way[0].clone().into(), line, what });
    }
    faults
}

/// For each file, the files that it imports, with the line of the first import. Modules and those inside them are left
/// out.
fn imports(files: &[(PathBuf, String)]) -> Vec<BTreeMap<usize, usize>> {
    let mut all = Crate::default();
    for (number, (path, text)) in files.iter().enumerate() {
        let module = module_path(path);
        // The layers' check names a file that is no Rust.
        if let Ok(tokens) = text.parse::<TokenStream>() {
            all.files.insert(module.clone(), number);
            all.walk(number, tokens, &module);
        }
    }
    let mut imports = vec![BTreeMap::new(); files.len()];
    for (file, mention) in &all.mentions {
        for other in all.resolve(mention) {
            if other != *file
                && !is_within(&files[*file].0, &files[other].0)
                && !is_within(&files[other].0, &files[*file].0)
            {
                imports[*file].entry(other).or_insert(mention.line);
            }
        }
    }
    imports
}

/// Whether the module of a file is inside that of another.
fn is_within(inner: &Path, outer: &Path) -> bool {
    module_path(inner).starts_with(&module_path(outer))
}

impl Crate {
    fn walk(&mut self, file: usize, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => {
                    let inner = inner_module(&tokens[..at], module);
                    if inner.len() == module.len() {
                        self.walk(file, group.stream(), module);
                    } else if !is_test(&tokens[..at]) {
                        self.files.insert(inner.clone(), file);
                        self.walk(file, group.stream(), &inner);
                    }
                }
                TokenTree::Ident(ident) if ident == "use" => {
                    let end = tokens[at..].iter().position(is_semicolon).map_or(tokens.len(), |end| at + end);
                    self.declaration(file, &tokens[at + 1..end], module, &[]);
                    at = end;
                }
                TokenTree::Ident(ident) if is_separator(&tokens[at + 1..]) => {
                    let line = ident.span().start().line;
                    let mut path = vec![ident.to_string()];
                    while is_separator(&tokens[at + 1..])
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    self.mentions.push((file, Mention { module: module.to_owned(), path, line }));
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The paths of a `use` declaration, or of a part of its braces.
    fn declaration(&mut self, file: usize, tokens: &[TokenTree], module: &[String], prefix: &[String]) {
        for tokens in tokens.split(|token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',')) {
            let mut path = prefix.to_vec();
            let mut line = 0;
            let mut name = None;
            let mut is_renamed = false;
            for token in tokens {
                match token {
                    TokenTree::Ident(ident) if ident == "as" => is_renamed = true,
                    TokenTree::Ident(ident) if is_renamed => name = Some(ident.to_string()),
                    // `a::{self}` is `a`.
                    TokenTree::Ident(ident) if ident == "self" && !path.is_empty() => line = ident.span().start().line,
                    TokenTree::Ident(ident) => {
                        path.push(ident.to_string());
                        line = ident.span().start().line;
                    }
                    TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.declaration(file, &inner, module, &path);
                        line = 0;
                    }
                    _ => {}
                }
            }
            if line > 0
                && let Some(last) = path.last().cloned()
            {
                let mention = |path| Mention { module: module.to_owned(), path, line };
                self.names.insert((module.to_owned(), name.unwrap_or(last)), mention(path.clone()));
                self.mentions.push((file, mention(path)));
            }
        }
    }

    /// The files to which a path leads.
    fn resolve(&self, mention: &Mention) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut next = self.absolute(&mention.module, &mention.path, None);
        for _ in 0..MAX_HOPS {
            let Some(path) = next.take() else { break };
            let Some(end) = (0..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end])) else { break };
            let (module, rest) = path.split_at(end);
            found.insert(self.files[module]);
            let declared = rest.first().and_then(|name| self.names.get(&(module.to_owned(), name.clone())));
            next = declared.and_then(|declared| {
                let of = self.absolute(&declared.module, &declared.path, Some(&rest[0]))?;
                Some([&of, &rest[1..]].concat())
            });
        }
        found
    }

    /// A path from the crate's root; `None` where it leads out of the crate. `but` is a name whose own declaration this
    /// is.
    fn absolute(&self, module: &[String], path: &[String], but: Option<&String>) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            "crate" | "collectune" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            _ => {
                let inner = [module, std::slice::from_ref(first)].concat();
                if self.files.contains_key(&inner) {
                    inner
                } else if but == Some(first) {
                    return None;
                } else {
                    let declared = self.names.get(&(module.to_owned(), first.clone()))?;
                    self.absolute(&declared.module, &declared.path, Some(first))?
                }
            }
        };
        if rest.first().is_some_and(|next| next == "super") {
            return self.absolute(&base, rest, None);
        }
        Some([base, rest.to_vec()].concat())
    }
}

/// Whether the tokens before a module's braces say that it is compiled for tests only.
fn is_test(before: &[TokenTree]) -> bool {
    let attributes = before.iter().rev().skip(2).take_while(|token| !matches!(token, TokenTree::Ident(_)));
    let mut groups = attributes.filter_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Some(group.stream().to_string()),
        _ => None,
    });
    groups.any(|attribute| attribute.replace(' ', "") == "cfg(test)")
}

fn is_semicolon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(end) if end.as_char() == ';')
}

/// The largest sets of files that import each other.
fn circles(imports: &[BTreeMap<usize, usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..imports.len()).map(|file| reached(imports, file)).collect();
    let mut circles = Vec::new();
    for file in 0..imports.len() {
        let circle: Vec<usize> =
            reached[file].iter().copied().filter(|other| reached[*other].contains(&file)).collect();
        if circle.first() == Some(&file) {
            circles.push(circle);
        }
    }
    circles
}

/// The files that a file imports, and those that they import.
fn reached(imports: &[BTreeMap<usize, usize>], file: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![file];
    while let Some(at) = waiting.pop() {
        waiting.extend(imports[at].keys().filter(|other| reached.insert(**other)));
    }
    reached
}

/// The shortest way from a file of a circle back to itself.
fn shortest(imports: &[BTreeMap<usize, usize>], circle: &[usize]) -> Vec<usize> {
    let ways = circle.iter().filter_map(|start| {
        let mut from = BTreeMap::new();
        let mut waiting = VecDeque::from([*start]);
        while let Some(at) = waiting.pop_front() {
            for other in imports[at].keys() {
                if other == start {
                    let mut way = vec![*start, at];
                    while let Some(before) = from.get(way.last()?) {
                        way.push(*before);
                    }
                    way.reverse();
                    return Some(way);
                }
                if !from.contains_key(other) {
                    from.insert(*other, at);
                    waiting.push_back(*other);
                }
            }
        }
        None
    });
    ways.min_by_key(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(PathBuf, String)> =
            files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    const OF_TWO: &str = "a/b.rs:1: 2 files import each other (a/b.rs → a/c.rs → a/b.rs); what two files share belongs in a \
                          file below both";

    #[test]
    fn two_files_may_not_import_each_other() {
        for c in [
            "use crate::a::b::B;",
            "use super::{d, b::{self, B}};",
            "fn f() { x(super::b::B) }",
            "mod inner { use super::super::b; }",
            "use crate::a; fn f() -> a::b::B {}",
            "use super::B;",
            "use super::Renamed as R;",
        ] {
            let module = "mod b; mod c; mod d; pub use b::{B, B as Renamed};";
            let files = [("a/mod.rs", module), ("a/b.rs", "use super::c::C;"), ("a/c.rs", c), ("a/d.rs", "")];
            assert_eq!(faults(&files), [OF_TWO], "{c}");
        }
    }

    #[test]
    fn a_longer_circle_is_shown_by_its_shortest_way() {
        let files = [
            ("a/b.rs", "use super::c;"),
            ("a/c.rs", "use super::d;"),
            ("a/d.rs", "use super::{e, b};"),
            ("a/e.rs", ""),
        ];
        let found = faults(&files);
        assert!(found[0].contains("3 files import each other (a/b.rs → a/c.rs → a/d.rs → a/b.rs)"), "{found:?}");
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn modules_and_those_inside_them_may_use_each_other() {
        let files = [
            ("a/mod.rs", "mod b; use b::B; pub struct A;"),
            ("a/b/mod.rs", "use super::A; mod c;"),
            ("a/b/c.rs", "use crate::a::A;"),
        ];
        assert_eq!(faults(&files), Vec::<String>::new());
    }

    #[test]
    fn tests_may_import_what_imports_their_file() {
        let files = [("a/b.rs", "#[cfg(test)] mod tests { use super::super::c; }"), ("a/c.rs", "use super::b;")];
        assert_eq!(faults(&files), Vec::<String>::new());
    }

    #[test]
    fn other_crates_and_own_names_are_no_imports() {
        let files = [
            ("a/b.rs", "use std::c; use serde::c as d; use e::e; fn f() { c::g(); d::h() }"),
            ("a/c.rs", "use super::b;"),
        ];
        assert_eq!(faults(&files), Vec::<String>::new());
    }
}
