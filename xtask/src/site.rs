//! What makes a site of what trunk built: one name for the build, the size of its code, the list that the service
//! worker keeps for offline use, and the headers of files that never change.

use std::{fmt::Write, fs, path::Path};

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

use crate::{Result, root, shorten::shorten};

/// The script that keeps a build on the device. It names the build and its files, so it is written last.
pub const SERVICE_WORKER: &str = "service-worker.js";

/// Not files of the page: read by the host, or by the browser to ask for updates.
const APART: [&str; 2] = ["_headers", SERVICE_WORKER];

/// What the page's code and the workers' are each made of, by how the names end: a script and a module.
const CODE: [&str; 2] = [".js", "_bg.wasm"];

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
    page = join_styles(dist, &page)?;
    for (stem, hashed) in shorten_code(dist)? {
        // trunk gives the workers' code a name without a hash, and doesn't write it into the page.
        page = page.replace(if stem == "worker" { "WORKER_CODE" } else { &stem }, &hashed);
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

/// Makes one file of the page's stylesheets, in their order: one request, and less to load, since what they have in
/// common is compressed once. Answers the page with a link to it.
fn join_styles(dist: &Path, page: &str) -> Result<String> {
    let (mut styles, mut first, mut joined, mut rest) = (String::new(), None, String::new(), page);
    while let Some(begin) = rest.find("<link ") {
        let (before, tag) = rest.split_at(begin);
        let end = tag.find('>').map_or(tag.len(), |end| end + 1);
        let (tag, after) = tag.split_at(end);
        joined += before;
        rest = after;
        if !tag.contains("stylesheet") {
            joined += tag;
            continue;
        }
        let address = tag.split_once("href=").map_or("", |(_, address)| address.trim_start_matches('"'));
        let name = address.trim_start_matches("./").split(['"', ' ', '>']).next().unwrap_or_default();
        styles += &read(dist, name)?;
        fs::remove_file(dist.join(name)).map_err(|error| format!("{name}: {error}"))?;
        first.get_or_insert(joined.len());
    }
    joined += rest;
    if let Some(first) = first {
        let name = format!("style-{}.css", hex(&Sha256::digest(&styles)[..8]));
        write(dist, &name, &styles)?;
        let integrity = integrity(styles.as_bytes());
        joined.insert_str(first, &format!("<link rel=\"stylesheet\" href=\"./{name}\" integrity=\"{integrity}\">"));
    }
    Ok(joined)
}

/// Shortens the names in each module and its script, and names both files by the hash of what they hold. Answers the
/// names without ending, before and after.
fn shorten_code(dist: &Path) -> Result<Vec<(String, String)>> {
    let all = files(dist)?;
    let stems = all.iter().filter_map(|name| name.strip_suffix(CODE[1]));
    let stems = stems.filter(|stem| all.contains(&format!("{stem}{}", CODE[0])));
    let mut renamed = Vec::new();
    for stem in stems {
        let [script, module] = CODE.map(|ending| dist.join(format!("{stem}{ending}")));
        let unread = |error| format!("{stem}: {error}");
        let (short_script, short_module) =
            shorten(&fs::read_to_string(&script).map_err(unread)?, &fs::read(&module).map_err(unread)?)
                .map_err(|why| format!("{stem}: {why}"))?;
        let both = Sha256::new().chain_update(&short_script).chain_update(&short_module).finalize();
        let hashed = format!("{}-{}", stem.split('-').next().unwrap_or_default(), hex(&both[..8]));
        for (old, ending, content) in [(&script, CODE[0], short_script.as_bytes()), (&module, CODE[1], &short_module)] {
            fs::remove_file(old).map_err(unread)?;
            fs::write(dist.join(format!("{hashed}{ending}")), content).map_err(unread)?;
        }
        renamed.push((stem.to_owned(), hashed));
    }
    Ok(renamed)
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

    #[test]
    fn stylesheets_are_one_file_in_their_order() {
        let dist = dist("styles");
        write(&dist, "b-0123456789abcdef.css", "b{color:red}").unwrap();
        write(&dist, "a-0123456789abcdef.css", "a{color:blue}").unwrap();
        let page = read(&dist, "index.html").unwrap();
        let links = "<title>x</title><link rel=\"stylesheet\" href=\"./b-0123456789abcdef.css\" integrity=\"sha384-x\"/>\
                     <link rel=icon href=i.svg><link href=./a-0123456789abcdef.css integrity=sha384-y rel=stylesheet><p>";
        write(&dist, "index.html", &format!("{page}{links}")).unwrap();
        let first = finish(&dist, "1.2.3").unwrap();
        // printf 'b{color:red}a{color:blue}' | sha256sum
        let name = "style-40c09d22e2e0518f.css";
        assert_eq!(read(&dist, name).unwrap(), "b{color:red}a{color:blue}");
        let page = read(&dist, "index.html").unwrap();
        let link = format!("<title>x</title><link rel=\"stylesheet\" href=\"./{name}\" integrity=\"sha256-");
        assert!(page.contains(&link) && page.ends_with("\"><link rel=icon href=i.svg><p>"), "{page}");
        assert_eq!(files(&dist).unwrap().iter().filter(|file| file.ends_with(".css")).count(), 1);
        assert_eq!(finish(&dist, "1.2.3").unwrap(), first, "a finished folder stays as it is");
    }

    // printf 'let wasm_bindgen\0asm\1\0\0\0' | sha256sum, and of `let page` with the same
    const WORKER: &str = "worker-10ecd582a4a693c9";
    const PAGE: &str = "page-a7bfc503628a3b62";

    fn dist(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("collectune-site-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("examples")).unwrap();
        let page = "<html data-version=PAGE_VERSION data-build=PAGE_BUILD data-worker=WORKER_CODE>\
                    <link data-bytes=WASM_BYTES href=page-0123456789abcdef_bg.wasm>";
        for (name, content) in [
            ("index.html", page),
            ("page-0123456789abcdef.js", "let page"),
            ("page-0123456789abcdef_bg.wasm", "\0asm\x01\0\0\0"),
            ("worker.js", "let wasm_bindgen"),
            ("worker_bg.wasm", "\0asm\x01\0\0\0"),
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
            format!(
                "<html data-version=1.2.3 data-build={first} data-worker={WORKER}><link data-bytes=8 href={PAGE}_bg.wasm>"
            )
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
        assert!(worker.contains(&format!("\"{PAGE}_bg.wasm\"")));
        assert!(worker.contains(&format!("\"{WORKER}_bg.wasm\"")) && worker.contains(&format!("\"{WORKER}.js\"")));
        assert!(!worker.contains("\"worker.js\""), "{worker}");
        assert!(!worker.contains("// "), "{worker}");
        assert!(!worker.contains("\"_headers\"") && !worker.contains("\"service-worker.js\""));
    }

    #[test]
    fn files_that_never_change_may_be_kept_for_ever() {
        assert!(is_hashed("page-0123456789abcdef_bg.wasm") && is_hashed("style-0123456789abcdef.css"));
        assert!(!is_hashed("icon.svg") && !is_hashed("third-party-notices.txt") && !is_hashed("service-worker.js"));
        let dist = dist("headers");
        finish(&dist, "1.2.3").unwrap();
        let headers = read(&dist, "_headers").unwrap();
        let block = format!("/{PAGE}_bg.wasm\n  Cache-Control: public, max-age=31536000, immutable\n");
        assert!(headers.contains(&block) && headers.contains(&format!("/{WORKER}.js\n")), "{headers}");
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
