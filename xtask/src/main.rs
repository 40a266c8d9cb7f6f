//! The project's own commands.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
    time::{Instant, SystemTime},
};

use xtask::{
    Result, layers, notices, plugin as tuner_plugin, root,
    server::Server,
    shell::{cargo, command, output, run},
    site, tools, weight,
};

const USAGE: &str = "\
cargo xtask serve [--port N]    build the page and serve it on loopback (a free port by default)
cargo xtask build               build the page into dist/
cargo xtask plugin              build the tuner plugin for NCCL and RCCL, and say where it is
cargo xtask test [--only PART]… check everything, or parts of it: layers, format, deny, lint, lint-wasm, doc, unit,
                                plugin, build, same-bits, weight, browser
cargo xtask bench               weigh the page and time it in the browser, from its first load on
cargo xtask fuzz [--minutes N | --executions N | --each N] [--reader NAME]... [--seed N] [--input FILE] [--threads N]
                                feed the readers with mutated files (a million executions by default)
cargo xtask icons               draw public/icons from public/icon.svg

Missing tools are installed first.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["serve"] => serve(0),
        ["serve", "--port", port] => match port.parse() {
            Ok(port) => serve(port),
            Err(_) => Err(format!("{port} is not a port")),
        },
        ["build"] => build(),
        ["plugin"] => plugin(),
        ["test", options @ ..] => test(options),
        ["bench"] => bench(),
        ["icons"] => icons(),
        ["fuzz", options @ ..] => fuzz(options),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn dist() -> PathBuf {
    root().join("dist")
}

fn serve(port: u16) -> Result<()> {
    build()?;
    let server = Server::start(&dist(), "/", port).map_err(|error| format!("port {port}: {error}"))?;
    println!("Collectune: {}", server.url());
    loop {
        thread::park();
    }
}

fn build() -> Result<()> {
    tools::for_build()?;
    if is_built() {
        println!("dist/ is up to date");
        return Ok(());
    }
    // trunk builds offline, so that nothing but the pinned tools can come in.
    run(cargo().args(["fetch", "--target", "wasm32-unknown-unknown"]))?;
    run(&mut trunk())?;
    let notices = notices::text(&notices::packages()?)?;
    fs::write(dist().join(notices::FILE), notices).map_err(|error| format!("{}: {error}", notices::FILE))?;
    let build = site::finish(&dist(), &xtask::version()?)?;
    println!("dist/ holds build {build}");
    Ok(())
}

fn plugin() -> Result<()> {
    println!("{}", tuner_plugin::build()?.display());
    Ok(())
}

/// What the page is made of, besides the Rust toolchain.
const INGREDIENTS: [&str; 11] = [
    "src",
    "compute",
    "style",
    "public",
    "xtask/src",
    "index.html",
    "web",
    "Cargo.toml",
    "Cargo.lock",
    "Trunk.toml",
    ".cargo/config.toml",
];

/// Whether the page is younger than everything that it is made of: optimising the same WebAssembly again takes a
/// minute.
fn is_built() -> bool {
    let built = fs::metadata(dist().join(site::SERVICE_WORKER)).and_then(|page| page.modified());
    let changed = INGREDIENTS.iter().map(|path| last_change(&root().join(path))).collect::<io::Result<Vec<_>>>();
    matches!((built, changed), (Ok(built), Ok(changed)) if changed.iter().all(|change| *change < built))
}

/// When a file, or a folder with all that is in it, was last changed.
fn last_change(path: &Path) -> io::Result<SystemTime> {
    let mut last = fs::metadata(path)?.modified()?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            last = last.max(last_change(&entry?.path())?);
        }
    }
    Ok(last)
}

fn trunk() -> Command {
    let mut trunk = command("trunk");
    trunk.args(["build", "--release"]);
    // trunk reads this variable as `true` or `false` only.
    if env::var_os("NO_COLOR").is_some() {
        trunk.env("NO_COLOR", "true");
    }
    trunk
}

/// One part of `test`.
struct Part {
    name: &'static str,
    check: fn() -> Result<()>,
    /// Works on the page that this other part builds.
    needs: Option<&'static str>,
}

const PARTS: &[Part] = &[
    Part { name: "layers", check: check_layers, needs: None },
    Part { name: "format", check: check_format, needs: None },
    Part { name: "deny", check: check_dependencies, needs: None },
    Part { name: "lint", check: lint, needs: None },
    Part { name: "lint-wasm", check: lint_wasm, needs: None },
    Part { name: "doc", check: check_documentation, needs: None },
    Part { name: "unit", check: unit_tests, needs: None },
    Part { name: "plugin", check: plugin_tests, needs: None },
    Part { name: "build", check: build, needs: None },
    Part { name: "same-bits", check: same_bits, needs: Some("build") },
    Part { name: "weight", check: check_weight, needs: Some("build") },
    Part { name: "browser", check: browser_tests, needs: Some("build") },
];

fn test(options: &[&str]) -> Result<()> {
    let mut chosen = Vec::new();
    for pair in options.chunks(2) {
        match pair {
            ["--only", name] if PARTS.iter().any(|part| part.name == *name) => chosen.push(*name),
            _ => return Err(format!("`{}` is not an option of test\n{USAGE}", pair.join(" "))),
        }
    }
    let is_chosen = |part: &Part| {
        let is_needed = || PARTS.iter().any(|other| other.needs == Some(part.name) && chosen.contains(&other.name));
        chosen.is_empty() || chosen.contains(&part.name) || is_needed()
    };

    let mut failures = Vec::new();
    let mut passed = 0;
    for part in PARTS.iter().filter(|part| is_chosen(part)) {
        println!("\n── {}", part.name);
        let start = Instant::now();
        let outcome = match part.needs {
            Some(needed) if failures.contains(&needed) => Err(format!("not run: {needed} failed")),
            _ => (part.check)(),
        };
        match outcome {
            Ok(()) => passed += 1,
            Err(sentence) => {
                eprintln!("error: {sentence}");
                failures.push(part.name);
            }
        }
        println!("── {} took {:.1} s", part.name, start.elapsed().as_secs_f64());
    }

    println!("\n{passed} parts passed, {} failed", failures.len());
    if failures.is_empty() { Ok(()) } else { Err(format!("failed: {}", failures.join(", "))) }
}

fn check_layers() -> Result<()> {
    let (files, faults) = layers::check(&root()).map_err(|error| format!("src: {error}"))?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    println!("{files} files, {} imports that point up, sideways or in a circle", faults.len());
    if faults.is_empty() { Ok(()) } else { Err("modules may only import from what is below them".to_owned()) }
}

fn check_format() -> Result<()> {
    tools::for_lints()?;
    run(cargo().args(["fmt", "--all", "--check"]))
}

/// What the dependencies are, under which licences and from where; and what is known against them, where that can be
/// fetched.
fn check_dependencies() -> Result<()> {
    tools::for_dependencies()?;
    run(command("cargo-deny").args(["check", "bans", "licenses", "sources"]))?;
    if output(command("cargo-deny").args(["fetch", "db"])).is_err() {
        println!(
            "The advisories of RustSec are not checked: their database is at github.com, which can't be reached from here. \
             .github/workflows/advisories.yml checks them there."
        );
        return Ok(());
    }
    run(command("cargo-deny").args(["check", "advisories"]))
}

fn lint() -> Result<()> {
    tools::for_lints()?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn lint_wasm() -> Result<()> {
    tools::for_lints()?;
    tools::for_build()?;
    let target = ["--target", "wasm32-unknown-unknown"];
    run(cargo()
        .args(["clippy", "--workspace", "--lib", "--bins"])
        .args(["xtask"].iter().chain(&PLUGIN_PACKAGES).flat_map(|name| ["--exclude", name]))
        .args(target)
        .args(["--", "-D", "warnings"]))
}

/// Every item's documentation, private ones' too: links lead somewhere, and what looks like HTML is none.
fn check_documentation() -> Result<()> {
    run(cargo()
        .args(["doc", "--workspace", "--no-deps", "--document-private-items", "--lib"])
        .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"))
}

fn unit_tests() -> Result<()> {
    let others = PLUGIN_PACKAGES.iter().flat_map(|name| ["--exclude", name]);
    run(cargo().args(["test", "--workspace", "--no-fail-fast"]).args(others))
}

/// The tuner plugin and the program that drives it as the libraries do.
const PLUGIN_PACKAGES: [&str; 2] = ["collectune-plugin", "collectune-plugin-host"];

fn plugin_tests() -> Result<()> {
    plugin()?;
    run(cargo().args(["test", "--no-fail-fast"]).args(PLUGIN_PACKAGES.iter().flat_map(|name| ["--package", name])))
}

/// The same seed gives the same model, natively and in WebAssembly.
fn same_bits() -> Result<()> {
    run(command("sh").arg("tests/same_bits/compare.sh"))
}

fn check_weight() -> Result<()> {
    weight::check(&weight::weigh(&dist()).map_err(|error| format!("dist: {error}"))?)
}

fn browser_tests() -> Result<()> {
    // One browser is enough to say whether the page is right; the other is a smoke test.
    let firefox = tools::for_firefox().inspect_err(|sentence| eprintln!("The test in Firefox is skipped: {sentence}"));
    run_browser_tests(&["--skip", "speed::", "--test-threads=2"], firefox.ok())
}

fn bench() -> Result<()> {
    build()?;
    check_weight()?;
    run_browser_tests(&["speed::", "--nocapture", "--test-threads=1"], None)
}

/// Draws the icons that want pixels. The maskable one is cut to any shape by the system, which takes up to a tenth of
/// each side.
fn icons() -> Result<()> {
    let browser = tools::for_browser_tests()?;
    let public = root().join("public");
    let scratch = root().join("target/icon.html");
    for (file, pixels, size_pct) in
        [("180.png", 180, 100), ("192.png", 192, 100), ("512.png", 512, 100), ("maskable-512.png", 512, 76)]
    {
        let ground = if size_pct < 100 { "#0b3954" } else { "transparent" };
        let page = format!(
            "<body style=\"margin:0;background:{ground}\"><img src=\"file://{}/icon.svg\" \
             style=\"display:block;width:{size_pct}vw;margin:{}vw\">",
            public.display(),
            (100 - size_pct) / 2
        );
        fs::write(&scratch, page).map_err(|error| format!("{}: {error}", scratch.display()))?;
        run(command(&browser.chrome)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--default-background-color=00000000", &format!("--window-size={pixels},{pixels}")])
            .arg(format!("--screenshot={}", public.join("icons").join(file).display()))
            .arg(format!("file://{}", scratch.display())))?;
    }
    Ok(())
}

/// Whether the real measurements are here that some tests need; `COLLECTUNE_DATA` names another folder.
fn has_shared_data() -> bool {
    env::var_os("COLLECTUNE_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from).is_dir()
}

fn fuzz(options: &[&str]) -> Result<()> {
    run(cargo().args(["run", "--profile", "fuzz", "--example", "fuzz", "--"]).args(options))
}

fn run_browser_tests(options: &[&str], firefox: Option<[PathBuf; 2]>) -> Result<()> {
    let browser = tools::for_browser_tests()?;
    let axe = tools::for_accessibility()?;
    let mut tests = cargo();
    tests
        .args(["test", "--test", "browser", "--", "--ignored"])
        .args(options)
        .env("COLLECTUNE_DIST", dist())
        .env("AXE", axe)
        .env("CHROME", browser.chrome)
        .env("CHROMEDRIVER", browser.driver);
    match firefox {
        Some([firefox, driver]) => tests.env("FIREFOX", firefox).env("GECKODRIVER", driver),
        None => tests.args(["--skip", "firefox::"]),
    };
    if !has_shared_data() {
        println!("Tests whose names end in `with_shared_data` are filtered out: they need ../shared/data.");
        tests.args(["--skip", "with_shared_data"]);
    }
    run(&mut tests)
}
