//! What makes a site of what trunk built: one name for the build, the size of its code, the list that the service
//! worker keeps for offline use, and the headers of files that never change.

use std::{fmt::Write, fs, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

use crate::{Result, root};

/// The script that keeps a build on the device. It names the build and its files, so it is written last.
pub const SERVICE_WORKER: &str = "service-worker.js";

/// Not files of the page: read by the host, or by the browser to ask for updates.
const APART: [&str; 2] = ["_headers", SERVICE_WORKER];

/// What the workers' code is made of, by how the names end.
const WORKER_FILES: [&str; 2] = [".js", "_bg.wasm"];

/// Finishes a folder that trunk has built; one that is finished and was changed gets a new name. Answers the build's
/// name.
///
/// # Errors
/// When a file can't be read or written, or lacks a place that is to be filled in.
pub fn finish(dist: &Path, version: &str) -> Result<String> {
    let mut page = read(dist, "index.html")?.replace("PAGE_VERSION", version);
    if page.contains("PAGE_ICON") {
        page = page.replace("PAGE_ICON", &data_address(&read(dist, "icon.svg")?));
    }
    if let Some(worker) = hash_worker(dist)? {
        page = page.replace("WORKER_CODE", &worker);
    }
    if let Some(code) = files(dist)?.into_iter().find(|name| name.starts_with("page-") && name.ends_with(".wasm")) {
        let code_bytes = fs::metadata(dist.join(&code)).map_err(|error| format!("{code}: {error}"))?.len();
        page = page.replace("WASM_BYTES", &code_bytes.to_string());
    }

    // The page says the build's name, so the name is made from the page without it.
    let before = named(dist).unwrap_or_else(|| "PAGE_BUILD".to_owned());
    if !page.contains(&before) {
        return Err(format!("index.html has no place for the build's name ({before})"));
    }
    let mut all = Sha256::new();
    all.update(page.replace(&before, ""));
    let mut kept = Vec::new();
    for name in files(dist)? {
        if name != "index.html" && !APART.contains(&name.as_str()) {
            let content = fs::read(dist.join(&name)).map_err(|error| format!("{name}: {error}"))?;
            all.update(&name);
            all.update(Sha256::digest(&content));
            kept.push((name, integrity(&content)));
        }
    }
    let build = hex(&all.finalize()[..6]);
    let page = page.replace(&before, &build);
    write(dist, "index.html", &page)?;
    // The page is asked for by its folder's address: some hosts send who asks for the file there.
    kept.insert(0, (String::new(), integrity(page.as_bytes())));

    write(dist, "_headers", &headers(&read(&root().join("public"), "_headers")?, &kept))?;
    let worker = read(&root().join("web"), SERVICE_WORKER)?;
    write(dist, SERVICE_WORKER, &service_worker(&worker, &build, &kept)?)?;
    Ok(build)
}

/// trunk gives the code of workers names without a hash. Answers the name with it, without ending: nothing where a
/// folder was finished before.
fn hash_worker(dist: &Path) -> Result<Option<String>> {
    if !dist.join("worker.js").exists() {
        return Ok(None);
    }
    let mut both = Sha256::new();
    for ending in WORKER_FILES {
        let name = format!("worker{ending}");
        both.update(fs::read(dist.join(&name)).map_err(|error| format!("{name}: {error}"))?);
    }
    let hashed = format!("worker-{}", hex(&both.finalize()[..8]));
    for ending in WORKER_FILES {
        let name = format!("worker{ending}");
        let rename = fs::rename(dist.join(&name), dist.join(format!("{hashed}{ending}")));
        rename.map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(Some(hashed))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The name of the build that a finished folder holds.
pub fn named(dist: &Path) -> Option<String> {
    let worker = fs::read_to_string(dist.join(SERVICE_WORKER)).ok()?;
    let name = worker.split_once("const BUILD = \"")?.1.split('"').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether a file's name carries the hash of its content, as trunk writes it: `page-0123456789abcdef.js`.
fn is_hashed(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let hash = stem.rsplit('-').next().unwrap_or_default();
    let hash = hash.strip_suffix("_bg").unwrap_or(hash);
    stem.contains('-') && hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Blocks that let browsers keep what can't change are put behind those of the source.
fn headers(source: &str, kept: &[(String, String)]) -> String {
    let mut headers = source.to_owned();
    for (name, _) in kept.iter().filter(|(name, _)| is_hashed(name)) {
        let _ = write!(headers, "/{name}\n  Cache-Control: public, max-age=31536000, immutable\n");
    }
    headers
}

fn service_worker(source: &str, build: &str, kept: &[(String, String)]) -> Result<String> {
    let mut list = String::from("{\n");
    for (name, integrity) in kept {
        let _ = writeln!(list, "  {}: \"{integrity}\",", serde_json::Value::from(name.as_str()));
    }
    list.push('}');
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let mut text = source.lines().filter(is_code).fold(String::new(), |text, line| text + line + "\n");
    for (place, filled) in [
        ("const BUILD = \"\";", format!("const BUILD = \"{build}\";")),
        ("const FILES = {};", format!("const FILES = {list};")),
    ] {
        if !text.contains(place) {
            return Err(format!("{SERVICE_WORKER} has no line `{place}`"));
        }
        text = text.replace(place, &filled);
    }
    Ok(text)
}

fn integrity(content: &[u8]) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(content)))
}

/// All files of a folder and its folders, by their paths from it with `/`, sorted.
fn files(folder: &Path) -> Result<Vec<String>> {
    fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
            if path.is_dir() {
                walk(&path, &format!("{name}/"), found)?;
            } else {
                found.push(name);
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(folder, "", &mut found).map_err(|error| format!("{}: {error}", folder.display()))?;
    found.sort();
    Ok(found)
}

fn read(folder: &Path, name: &str) -> Result<String> {
    fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))
}

/// A drawing as an address that holds it whole, for an attribute in double quotes.
fn data_address(svg: &str) -> String {
    let mut address = "data:image/svg+xml,".to_owned();
    let lines: Vec<&str> = svg.lines().map(str::trim).collect();
    for character in lines.concat().chars() {
        match character {
            '"' => address.push('\''),
            '%' | '#' | '<' | '>' | '&' | '\'' => address.push_str(&format!("%{:02X}", u32::from(character))),
            _ => address.push(character),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_is_in_the_page() {
        let dist = dist("icon");
        write(&dist, "icon.svg", "<svg fill=\"#fff\">\n  <g/>\n</svg>\n").unwrap();
        let page = read(&dist, "index.html").unwrap();
        write(&dist, "index.html", &format!("{page}<link href=\"PAGE_ICON\">")).unwrap();
        finish(&dist, "1.2.3").unwrap();
        let page = read(&dist, "index.html").unwrap();
        let icon = "href=\"data:image/svg+xml,%3Csvg fill='%23fff'%3E%3Cg/%3E%3C/svg%3E\"";
        assert!(page.contains(icon), "{page}");
    }

    // printf 'let wasm_bindgen\0asm of workers' | sha256sum
    const WORKER: &str = "worker-3b24fb05d3c0b611";

    fn dist(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("collectune-site-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("examples")).unwrap();
        let page = "<html data-version=PAGE_VERSION data-build=PAGE_BUILD data-worker=WORKER_CODE>\
                    <link data-bytes=WASM_BYTES>";
        for (name, content) in [
            ("index.html", page),
            ("page-0123456789abcdef_bg.wasm", "\0asm"),
            ("worker.js", "let wasm_bindgen"),
            ("worker_bg.wasm", "\0asm of workers"),
            ("examples/one.csv", "a,b\n"),
            ("_headers", ""),
        ] {
            fs::write(folder.join(name), content).unwrap();
        }
        folder
    }

    #[test]
    fn a_build_has_a_name_that_changes_with_any_of_its_files() {
        let dist = dist("name");
        let first = finish(&dist, "1.2.3").unwrap();
        assert_eq!(
            read(&dist, "index.html").unwrap(),
            format!("<html data-version=1.2.3 data-build={first} data-worker={WORKER}><link data-bytes=4>")
        );
        assert_eq!(finish(&dist, "1.2.3").unwrap(), first, "the same files have the same name");
        write(&dist, "examples/one.csv", "a,c\n").unwrap();
        let second = finish(&dist, "1.2.3").unwrap();
        assert_ne!(first, second);
        assert!(read(&dist, "index.html").unwrap().contains(&second));
        write(&dist, "examples/one.csv", "a,b\n").unwrap();
        assert_eq!(finish(&dist, "1.2.3").unwrap(), first);
    }

    #[test]
    fn the_service_worker_lists_every_file_with_its_hash() {
        let dist = dist("list");
        let build = finish(&dist, "1.2.3").unwrap();
        let worker = read(&dist, SERVICE_WORKER).unwrap();
        assert!(worker.contains(&format!("const BUILD = \"{build}\";")), "{worker}");
        let page = integrity(&fs::read(dist.join("index.html")).unwrap());
        assert!(worker.contains(&format!("  \"\": \"{page}\",\n")), "{worker}");
        // printf 'a,b\n' | openssl dgst -sha256 -binary | base64
        let csv = "sha256-W+CMloSh0l787gkxggSCQniwi7+0rvlz/+/QuddHgxM=";
        assert!(worker.contains(&format!("  \"examples/one.csv\": \"{csv}\",\n")), "{worker}");
        assert!(worker.contains("\"page-0123456789abcdef_bg.wasm\""));
        assert!(worker.contains(&format!("\"{WORKER}_bg.wasm\"")) && worker.contains(&format!("\"{WORKER}.js\"")));
        assert!(!worker.contains("\"worker.js\""), "{worker}");
        assert!(!worker.contains("// "), "{worker}");
        assert!(!worker.contains("\"_headers\"") && !worker.contains("\"service-worker.js\""));
    }

    #[test]
    fn files_that_never_change_may_be_kept_for_ever() {
        assert!(is_hashed("page-0123456789abcdef_bg.wasm") && is_hashed("tokens-0123456789abcdef.css"));
        assert!(!is_hashed("icon.svg") && !is_hashed("third-party-notices.txt") && !is_hashed("service-worker.js"));
        let dist = dist("headers");
        finish(&dist, "1.2.3").unwrap();
        let headers = read(&dist, "_headers").unwrap();
        let block = "/page-0123456789abcdef_bg.wasm\n  Cache-Control: public, max-age=31536000, immutable\n";
        assert!(headers.contains(block) && headers.contains(&format!("/{WORKER}.js\n")), "{headers}");
        assert!(headers.contains("/service-worker.js\n  Cache-Control: no-cache\n"), "{headers}");
    }

    /// The policy in the page is the one in the headers, but for what only one of the two can say.
    #[test]
    fn the_page_and_the_headers_have_one_policy() {
        let page = read(&root(), "index.html").unwrap();
        let of_page = page.split("content=\"default-src").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let headers = read(&root().join("public"), "_headers").unwrap();
        let of_headers = headers.split("Content-Security-Policy: default-src").nth(1).unwrap().lines().next().unwrap();
        let expected = of_page.replace("worker-src blob:", "worker-src 'self' blob:") + "; frame-ancestors 'none'";
        assert_eq!(of_headers, expected);
        let guide = read(&root().join("docs"), "hosting.md").unwrap();
        assert_eq!(
            guide.matches(&format!("default-src{of_headers}")).count(),
            3,
            "docs/hosting.md shows another policy"
        );
    }

    #[test]
    fn nothing_but_the_registration_runs_before_the_policy() {
        let page = read(&root(), "index.html").unwrap();
        let before = page.split("Content-Security-Policy").next().unwrap();
        let scripts: Vec<&str> = before.split("<script").skip(1).collect();
        assert!(scripts.len() == 1 && scripts[0].starts_with(" data-trunk src=\"web/register.js\">"), "{before}");
    }
}
