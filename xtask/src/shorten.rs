//! Short names for what a wasm module and its script call each other by. wasm-bindgen ends them with a hash, which no
//! compression makes smaller, and which stands in both files.

use std::collections::HashMap;

use wasm_encoder::{EntityType, ExportKind, ExportSection, ImportSection, Module, RawSection};
use wasmparser::{Encoding, ExternalKind, Parser, Payload, TypeRef};

use crate::Result;

/// How wasm-bindgen begins the names of exported functions that run closures. The other exports have short names that
/// scripts elsewhere may know.
const CLOSURE: &str = "wasm_bindgen__convert__closures";

/// Renames the imports of a module, and its exports that run closures, in the module and in its script: `_0`, `_1`, and
/// so on in the order in which they stand there. Names that are short already stay as they are.
///
/// # Errors
/// When the module can't be parsed, or imports or exports something else than wasm-bindgen's modules do.
pub fn shorten(script: &str, module: &[u8]) -> Result<(String, Vec<u8>)> {
    let unread = |error: wasmparser::BinaryReaderError| format!("the module can't be read: {error}");
    let mut short = HashMap::new();
    let mut shortened = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.map_err(unread)?;
        match &payload {
            Payload::Version { encoding: Encoding::Component, .. } => {
                return Err("the module is a component".to_owned());
            }
            Payload::ImportSection(imports) => {
                let mut section = ImportSection::new();
                for import in imports.clone().into_imports() {
                    let import = import.map_err(unread)?;
                    let TypeRef::Func(index) = import.ty else {
                        return Err(format!("{} is imported, and no function", import.name));
                    };
                    section.import(import.module, name_of(&mut short, import.name), EntityType::Function(index));
                }
                shortened.section(&section);
            }
            Payload::ExportSection(exports) => {
                let mut section = ExportSection::new();
                for export in exports.clone() {
                    let export = export.map_err(unread)?;
                    let kind = match export.kind {
                        ExternalKind::Func => ExportKind::Func,
                        ExternalKind::Table => ExportKind::Table,
                        ExternalKind::Memory => ExportKind::Memory,
                        ExternalKind::Global => ExportKind::Global,
                        _ => {
                            return Err(format!(
                                "{} is exported, and no function, table, memory or global",
                                export.name
                            ));
                        }
                    };
                    let is_long = export.name.starts_with(CLOSURE);
                    let name = if is_long { name_of(&mut short, export.name) } else { export.name };
                    section.export(name, kind, export.index);
                }
                shortened.section(&section);
            }
            other => {
                if let Some((id, range)) = other.as_section() {
                    let [begin, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
                    shortened.section(&RawSection { id, data: &module[begin..end] });
                }
            }
        }
    }
    Ok((with_names(script, &short), shortened.finish()))
}

/// The short name of a name, a new one if it has none yet.
fn name_of<'a>(short: &'a mut HashMap<String, String>, name: &str) -> &'a str {
    let next = format!("_{}", short.len());
    short.entry(name.to_owned()).or_insert(next)
}

/// A script with each identifier that has a short name replaced.
fn with_names(script: &str, short: &HashMap<String, String>) -> String {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let mut renamed = String::with_capacity(script.len());
    let mut rest = script;
    while let Some(begin) = rest.find(is_part) {
        let (before, from) = rest.split_at(begin);
        let (identifier, after) = from.split_at(from.find(|character| !is_part(character)).unwrap_or(from.len()));
        renamed += before;
        renamed += short.get(identifier).map_or(identifier, String::as_str);
        rest = after;
    }
    renamed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that imports two functions, and exports one of them and a closure's.
    fn module(names: [&str; 4]) -> Vec<u8> {
        let [first, second, plain, closure] = names;
        let mut module = Module::new();
        let mut types = wasm_encoder::TypeSection::new();
        types.ty().function([], []);
        module.section(&types);
        let mut imports = ImportSection::new();
        for name in [first, second] {
            imports.import("./page_bg.js", name, EntityType::Function(0));
        }
        module.section(&imports);
        let mut exports = ExportSection::new();
        exports.export(plain, ExportKind::Func, 0).export(closure, ExportKind::Func, 1);
        module.section(&exports);
        module.section(&wasm_encoder::CustomSection { name: "kept".into(), data: (&[1, 2][..]).into() });
        module.finish()
    }

    #[test]
    fn names_are_short_in_both_and_a_second_time_changes_nothing() {
        let closure = "wasm_bindgen__convert__closures_____invoke__h00_1";
        let long = module(["__wbg_add_0a", "__wbg_addAll_0b", "__wbindgen_malloc", closure]);
        let script = format!(
            "imports = {{ __wbg_add_0a: (a) => `ü`, __wbg_addAll_0b: b }}; X.{closure}(X.__wbindgen_malloc, __wbg_add_0aa)"
        );
        let (script, short) = shorten(&script, &long).unwrap();
        assert_eq!(script, "imports = { _0: (a) => `ü`, _1: b }; X._2(X.__wbindgen_malloc, __wbg_add_0aa)");
        assert_eq!(short, module(["_0", "_1", "__wbindgen_malloc", "_2"]));
        let again = shorten(&script, &short).unwrap();
        assert_eq!(again, (script, short));
    }

    #[test]
    fn no_module_is_an_error() {
        assert!(shorten("", b"\0asm, not").unwrap_err().contains("can't be read"));
        assert!(shorten("", b"").is_err());
    }
}
