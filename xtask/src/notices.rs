//! The third-party notices: whose code the page is made of, and under which licences.
//!
//! Read from the dependency tree of the page itself (its target, its features, without what only builds it) and from
//! the licence files in the packages. A package that is linked and then left out, because nothing of it is called, is
//! listed all the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    Result, root,
    shell::{cargo, output},
};

/// The name of the file beside the page.
pub const FILE: &str = "third-party-notices.txt";

/// A package that the page contains.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// `csv 1.4.0`.
    pub name: String,
    /// SPDX expression.
    pub licence: String,
    /// Where its source is developed; empty where it doesn't say.
    pub repository: String,
    /// Who wrote it, as it says.
    authors: Vec<String>,
    folder: PathBuf,
}

/// The packages that the page contains, besides the project's own.
///
/// # Errors
/// When cargo fails or says what can't be read.
pub fn packages() -> Result<Vec<Package>> {
    let target = "wasm32-unknown-unknown";
    let tree = output(cargo().args(["tree", "--package", "collectune", "--target", target]).args([
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p}",
    ]))?;
    let metadata = output(cargo().args(["metadata", "--format-version", "1", "--filter-platform", target]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let contained: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(" (").next()).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = format!("{} {}", text(&package["name"]), text(&package["version"]));
        let is_ours = package["source"].is_null();
        if is_ours || !contained.contains(name.replacen(' ', " v", 1).as_str()) {
            continue;
        }
        found.push(Package {
            name,
            licence: text(&package["license"]),
            repository: text(&package["repository"]),
            authors: package["authors"].as_array().into_iter().flatten().map(text).collect(),
            folder: Path::new(&text(&package["manifest_path"])).parent().map(Path::to_owned).unwrap_or_default(),
        });
    }
    found.sort();
    if found.is_empty() { Err("cargo names no package that the page contains".to_owned()) } else { Ok(found) }
}

/// The notices as one text: the list of packages, then each licence text once, with the packages that it is of.
///
/// # Errors
/// When a file can't be read, or a package has neither a licence text nor a licence whose text is known.
pub fn text(packages: &[Package]) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut list = String::new();
    for package in packages {
        let Package { name, licence, repository, .. } = package;
        let _ = writeln!(list, "  {name}: {licence}{}{repository}", if repository.is_empty() { "" } else { ", " });
        for text in licence_texts(package)? {
            texts.entry(text).or_default().push(name);
        }
    }
    let mut all = format!("{HEAD}{list}");
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by_key(|(_, names)| names.clone());
    for (text, names) in texts {
        let _ = write!(all, "\n{RULE}\n{}\n{RULE}\n\n{}\n", names.join(", "), text.trim_matches('\n'));
    }
    Ok(all)
}

const HEAD: &str = "\
Third-party notices of Collectune

The page contains Rust's standard library (The Rust Project Contributors, MIT or Apache-2.0, https://www.rust-lang.org)
and the packages below, each under its own licence. Where a package lets one choose, this page takes it under any of the
licences offered. The texts follow the list.

";

const RULE: &str = "--------------------------------------------------------------------------------";

/// The licence texts of a package: its files, or where it has none, the text that its licence stands for.
fn licence_texts(package: &Package) -> Result<Vec<String>> {
    let Package { name, licence, authors, folder, .. } = package;
    let fault = |error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_licence = ["license", "licence", "copying", "unlicense", "notice", "copyright"]
            .iter()
            .any(|word| file.starts_with(word));
        if is_licence && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let read = |path: &PathBuf| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut texts = files.iter().map(|path| Ok(normal(&read(path)?))).collect::<Result<Vec<_>>>()?;
    if texts.is_empty() {
        let ours = |file: &str| read(&root().join(file)).map(|text| normal(&text));
        if licence.contains("Apache-2.0") {
            texts.push(ours("LICENSE-APACHE")?);
        } else if licence.contains("MIT") {
            let text = ours("LICENSE-MIT")?;
            let holder = if authors.is_empty() { format!("the authors of {name}") } else { authors.join(", ") };
            let is_ours = |line: &&str| line.starts_with("Copyright");
            let line = text.lines().find(is_ours).ok_or("LICENSE-MIT names no holder")?;
            texts.push(text.replace(line, &format!("Copyright (c) {holder}")));
        } else {
            return Err(format!("{name} ({licence}) carries no licence text, and none is known for it"));
        }
    }
    Ok(texts)
}

/// Texts that differ in line ends and in space around them are the same.
fn normal(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_of_the_page_is_named_with_its_licence_and_a_text() {
        let packages = packages().unwrap();
        let names: Vec<&str> = packages.iter().map(|package| package.name.split(' ').next().unwrap()).collect();
        // Some that the page surely contains, and some that only build or test it.
        for name in ["leptos", "serde", "plotters", "smartcore", "wasm-bindgen", "postcard"] {
            assert!(names.contains(&name), "{name} is missing");
        }
        for name in ["clap", "criterion", "serde_derive", "insta", "ureq", "collectune", "collectune-compute"] {
            assert!(!names.contains(&name), "{name} is not in the page");
        }
        let text = text(&packages).unwrap();
        let (list, texts) = text.split_once(RULE).unwrap();
        for Package { name, licence, .. } in &packages {
            assert!(!licence.is_empty(), "{name} names no licence");
            assert!(list.contains(&format!("  {name}: {licence}")), "{name} is not listed");
            let heads = texts.split(RULE).any(|head| head.split(", ").any(|one| one.trim() == name));
            assert!(heads, "{name} has no licence text");
        }
    }

    #[test]
    fn a_package_without_a_known_text_is_an_error() {
        let folder = std::env::temp_dir().join(format!("collectune-notices-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let package = |licence: &str| Package {
            name: "bare 1.0.0".into(),
            licence: licence.into(),
            repository: String::new(),
            authors: vec!["A. Author".into()],
            folder: folder.clone(),
        };
        assert!(text(&[package("MIT")]).unwrap().contains("Copyright (c) A. Author\n"));
        assert!(text(&[package("Zlib")]).unwrap_err().contains("bare 1.0.0"));
        fs::write(folder.join("LICENSE"), "as you like\r\n").unwrap();
        assert!(text(&[package("Zlib")]).unwrap().ends_with("\nas you like\n"));
    }
}
