//! The project's own commands.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Instant, SystemTime},
};

use xtask::{
    Result, firefox, layers, notices, plugin as tuner_plugin, root,
    server::Server,
    shell::{cargo, command, output, run},
    site, target, tools, weight,
};

const USAGE: &str = "\
cargo xtask serve [--port N]    build the page and serve it on loopback (a free port by default)
cargo xtask build               build the page into dist/
cargo xtask plugin              build the tuner plugin for NCCL and RCCL, and say where it is
cargo xtask test [--only PART]… check everything, or parts of it: layers, format, deny, lint-wasm, build, same-bits,
                                lint, doc, plugin, unit, weight, browser
cargo xtask firefox [TEST]...   run the browser tests in Firefox, all but those of which docs/ux.md says why not
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
        ["firefox", names @ ..] => browser_tests_in_firefox(names),
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
    /// Is told the names of all parts that are run.
    check: fn(&[&str]) -> Result<()>,
    /// Works on the page that this other part builds.
    needs: Option<&'static str>,
    /// Runs beside the parts that are not: most of what it does is optimising whole programs, on one core.
    is_beside: bool,
}

const PARTS: &[Part] = &[
    Part { name: "layers", check: |_| check_layers(), needs: None, is_beside: false },
    Part { name: "format", check: |_| check_format(), needs: None, is_beside: false },
    Part { name: "deny", check: |_| check_dependencies(), needs: None, is_beside: false },
    Part { name: "lint-wasm", check: |_| lint_wasm(), needs: None, is_beside: true },
    Part { name: "build", check: |_| build(), needs: None, is_beside: true },
    Part { name: "same-bits", check: |_| same_bits(), needs: Some("build"), is_beside: true },
    Part { name: "lint", check: |_| lint(), needs: None, is_beside: false },
    Part { name: "doc", check: |_| check_documentation(), needs: None, is_beside: false },
    Part { name: "plugin", check: plugin_tests, needs: None, is_beside: false },
    Part { name: "unit", check: unit_tests, needs: None, is_beside: false },
    Part { name: "weight", check: |_| check_weight(), needs: Some("build"), is_beside: false },
    Part { name: "browser", check: |_| browser_tests(), needs: Some("build"), is_beside: false },
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
    let parts: Vec<&Part> = PARTS.iter().filter(|part| is_chosen(part)).collect();
    let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
    let runs_beside = parts.iter().any(|part| !part.is_beside);

    let mut failures: Vec<&str> = Vec::new();
    let mut beside = None;
    for part in &parts {
        if part.is_beside && runs_beside {
            if beside.is_none() {
                let of = |part: &&&Part| part.is_beside;
                beside = Some(Beside::start(parts.iter().filter(of).map(|part| part.name).collect())?);
            }
            continue;
        }
        if let (Some(_), Some(running)) = (part.needs, &mut beside) {
            failures.extend(running.ended());
        }
        println!("\n── {}", part.name);
        let start = Instant::now();
        let outcome = match part.needs {
            Some(needed) if failures.contains(&needed) => Err(format!("not run: {needed} failed")),
            _ => (part.check)(&names),
        };
        if let Err(sentence) = outcome {
            eprintln!("error: {sentence}");
            failures.push(part.name);
        }
        println!("── {} took {:.1} s", part.name, start.elapsed().as_secs_f64());
    }
    failures.extend(beside.iter_mut().flat_map(Beside::ended));

    println!("\n{} parts passed, {} failed", parts.len() - failures.len(), failures.len());
    if failures.is_empty() { Ok(()) } else { Err(format!("{FAILED}{}", failures.join(", "))) }
}

/// What the last line of `test` says before the names of the parts that failed.
const FAILED: &str = "failed: ";

/// Parts of `test` that run beside the others, in a process of their own. What it prints is shown when it has ended.
struct Beside {
    parts: Vec<&'static str>,
    process: Option<Child>,
    output: PathBuf,
}

impl Beside {
    fn start(parts: Vec<&'static str>) -> Result<Self> {
        // Installed before, so that no two processes install the same. Whoever needs what can't be installed says so.
        let _ = tools::for_lints().and_then(|()| tools::for_build());
        println!("\n── {}: beside the others", parts.join(", "));
        let output = env::temp_dir().join(format!("collectune-test-{}.txt", std::process::id()));
        let shown = |error: io::Error| format!("{}: {error}", output.display());
        let file = File::create(&output).map_err(shown)?;
        let program = env::current_exe().map_err(|error| format!("this program's place is not known: {error}"))?;
        let process = command(program)
            .arg("test")
            .args(parts.iter().flat_map(|part| ["--only", part]))
            .stdout(Stdio::from(file.try_clone().map_err(shown)?))
            .stderr(Stdio::from(file))
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", parts.join(", ")))?;
        Ok(Self { parts, process: Some(process), output })
    }

    /// Waits for the end, and shows what was printed. Answers which parts failed, once.
    fn ended(&mut self) -> Vec<&'static str> {
        let Some(mut process) = self.process.take() else { return Vec::new() };
        let is_success = process.wait().is_ok_and(|status| status.success());
        let output = fs::read(&self.output).unwrap_or_default();
        let _ = fs::remove_file(&self.output);
        let output = String::from_utf8_lossy(&output);
        println!("{output}");
        failed_of(&self.parts, is_success, &output)
    }
}

/// Which of these parts failed, by what `test` printed; all where it ended without saying so.
fn failed_of(parts: &[&'static str], is_success: bool, output: &str) -> Vec<&'static str> {
    if is_success {
        return Vec::new();
    }
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    let said: Vec<&str> = last
        .strip_prefix("error: ")
        .and_then(|sentence| sentence.strip_prefix(FAILED))
        .map(|names| names.split(", ").collect())
        .unwrap_or_default();
    let failed: Vec<&'static str> = parts.iter().copied().filter(|part| said.contains(part)).collect();
    if failed.is_empty() { parts.to_vec() } else { failed }
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
    // In the page's profile, whose macros are built once for both.
    let target = ["--profile", "page", "--target", "wasm32-unknown-unknown"];
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

/// The tests of all packages. Those of the plugin are among them where both are asked for: by themselves, they would
/// have the library built a second time, because other features of what it depends on are on.
fn unit_tests(parts: &[&str]) -> Result<()> {
    let others = if parts.contains(&"plugin") { &[][..] } else { &PLUGIN_PACKAGES };
    let others = others.iter().flat_map(|name| ["--exclude", name]);
    // Built with the tests of its own package.
    let program = target().join("debug/collectune");
    run(cargo().args(["test", "--workspace", "--no-fail-fast"]).args(others).env("COLLECTUNE_CLI", program))
}

/// The tuner plugin and the program that drives it as the libraries do.
const PLUGIN_PACKAGES: [&str; 2] = ["collectune-plugin", "collectune-plugin-host"];

/// The plugin as it is deployed, and its tests, unless they are run with all others.
fn plugin_tests(parts: &[&str]) -> Result<()> {
    plugin()?;
    if parts.contains(&"unit") {
        return Ok(());
    }
    run(cargo().args(["test", "--no-fail-fast"]).args(PLUGIN_PACKAGES.iter().flat_map(|name| ["--package", name])))
}

/// The same seed gives the same model, natively and in WebAssembly.
fn same_bits() -> Result<()> {
    run(command("sh").arg("tests/same_bits/compare.sh"))
}

fn check_weight() -> Result<()> {
    weight::check(&weight::weigh(&dist()).map_err(|error| format!("dist: {error}"))?)
}

/// How many browsers run at the same time.
fn threads() -> String {
    let cores = thread::available_parallelism().map_or(2, std::num::NonZero::get);
    format!("--test-threads={}", cores.min(4))
}

fn browser_tests() -> Result<()> {
    // One browser is enough to say whether the page is right; in the others the main flow is.
    let mut tests = browser_suite(&["--skip", "speed::", &threads()])?;
    let skipped = |name: &str, sentence: &String| eprintln!("The test in {name} is skipped: {sentence}");
    match tools::for_firefox().inspect_err(|sentence| skipped("Firefox", sentence)) {
        Ok([firefox, driver]) => tests.env("FIREFOX", firefox).env("GECKODRIVER", driver),
        Err(_) => tests.args(["--skip", "other_browsers::firefox"]),
    };
    match tools::for_webkit().inspect_err(|sentence| skipped("WebKit", sentence)) {
        Ok([webkit, driver]) => tests.env("WEBKIT", webkit).env("WEBKITDRIVER", driver),
        Err(_) => tests.args(["--skip", "other_browsers::webkit"]),
    };
    run(&mut tests)
}

/// The whole suite takes an hour there, so that it is asked for by itself.
fn browser_tests_in_firefox(names: &[&str]) -> Result<()> {
    build()?;
    let [firefox, driver] = tools::for_firefox()?;
    let mut tests = browser_suite(&[names, &firefox::options(), &[&threads()]].concat())?;
    tests.env("COLLECTUNE_BROWSER", "firefox").env("FIREFOX", firefox).env("GECKODRIVER", driver);
    run(&mut tests)
}

fn bench() -> Result<()> {
    build()?;
    check_weight()?;
    run(&mut browser_suite(&["speed::", "--nocapture", "--test-threads=1"])?)
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

/// The tests of the built page, with what they need in Chromium.
fn browser_suite(options: &[&str]) -> Result<Command> {
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
    if !has_shared_data() {
        println!("Tests whose names end in `with_shared_data` are filtered out: they need ../shared/data.");
        tests.args(["--skip", "with_shared_data"]);
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_ran_beside_and_failed_are_named() {
        let parts = ["lint-wasm", "build", "same-bits"];
        assert_eq!(failed_of(&parts, true, "3 parts passed, 0 failed\n"), [""; 0]);
        let printed = "1 parts passed, 2 failed\nerror: failed: build, same-bits\n";
        assert_eq!(failed_of(&parts, false, printed), ["build", "same-bits"]);
        assert_eq!(failed_of(&parts, false, "killed"), parts);
    }

    #[test]
    fn a_part_comes_after_what_it_needs() {
        for (place, part) in PARTS.iter().enumerate() {
            let is_before = |needed| PARTS[..place].iter().any(|other| other.name == needed);
            assert!(part.needs.is_none_or(is_before), "{}", part.name);
        }
    }
}
