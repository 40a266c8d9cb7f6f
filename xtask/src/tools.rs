//! The tools of the build: which, which version, how to install one that is missing.
//!
//! The pinned versions live in `Trunk.toml`, where trunk itself holds to them. A tool of the right version is taken
//! wherever it lies on the path; a missing one goes to a folder of our own ([`home`]), so that nothing else on the
//! machine changes and every clone finds it again.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread::{self, ScopedJoinHandle},
};

use crate::{
    Result, root,
    shell::{cargo, command, find, first_line, run},
};

/// The folder that missing tools are installed into: `$XDG_CACHE_HOME/collectune` or `~/.cache/collectune`, and
/// `target/tools` where there is no home.
pub fn home() -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    cache
        .filter(|folder| folder.is_absolute())
        .map_or_else(|| root().join("target/tools"), |folder| folder.join("collectune"))
}

/// The folders of [`home`] that hold programs.
pub fn folders() -> [PathBuf; 2] {
    [home().join("bin"), home().join("node_modules/.bin")]
}

/// Makes sure of everything that building the page needs.
///
/// # Errors
/// One sentence that says what to do about a tool that is missing and could not be installed.
pub fn for_build() -> Result<()> {
    let Pins { trunk, wasm_bindgen, binaryen } = Pins::read()?;
    let tools = [
        ("trunk", &trunk, "up to 20 minutes"),
        ("wasm-bindgen", &wasm_bindgen, "up to 7 minutes"),
        ("wasm-opt", &binaryen, "a download"),
    ];
    let missing: Vec<String> = tools
        .iter()
        .filter(|(program, version, _)| !has_version(program, version))
        .map(|(program, version, takes)| format!("{program} {version} ({takes} on two busy cores)"))
        .collect();
    if !missing.is_empty() {
        eprintln!("Installing what builds the page, once, into {}: {}.", home().display(), missing.join(", "));
    }
    rust_target("wasm32-unknown-unknown")?;
    // Beside each other: while one waits for a download or for its last crate, the others use the processor.
    thread::scope(|scope| {
        let others = [
            scope.spawn(|| cargo_tool("wasm-bindgen-cli", "wasm-bindgen", &wasm_bindgen, &[])),
            scope.spawn(|| wasm_opt(&binaryen)),
        ];
        let trunk = cargo_tool("trunk", "trunk", &trunk, &["--locked"]);
        let ended = |other: ScopedJoinHandle<Result<()>>| {
            other.join().unwrap_or_else(|_| Err("the installation of a tool ended without an answer".to_owned()))
        };
        others.into_iter().map(ended).fold(trunk, Result::and)
    })
}

/// Makes sure of everything that `cargo xtask test` needs beyond [`for_build`]'s: rustfmt and clippy.
///
/// # Errors
/// As [`for_build`].
pub fn for_lints() -> Result<()> {
    for (component, program) in [("rustfmt", "cargo-fmt"), ("clippy", "cargo-clippy")] {
        let version = || first_line(command(program).arg("--version"));
        if version().is_none() {
            let install = ["component", "add", component];
            install_by(command("rustup").args(install), component, &format!("rustup {}", install.join(" ")))?;
        }
    }
    Ok(())
}

/// Makes sure of what holds the dependencies against `deny.toml`.
///
/// # Errors
/// As [`for_build`].
pub fn for_dependencies() -> Result<()> {
    cargo_tool("cargo-deny", "cargo-deny", CARGO_DENY, &["--locked"])
}

/// A browser and the program that drives it.
#[derive(Clone, Debug)]
pub struct Browser {
    /// Chromium, or a Chrome.
    pub chrome: PathBuf,
    /// The chromedriver of the same version.
    pub driver: PathBuf,
}

/// Makes sure of a browser for the tests. `CHROME` and `CHROMEDRIVER` name others than those on the path.
///
/// # Errors
/// As [`for_build`].
pub fn for_browser_tests() -> Result<Browser> {
    let look = || {
        let chrome = named("CHROME", &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])?;
        Some(Browser { chrome, driver: named("CHROMEDRIVER", &["chromedriver"])? })
    };
    if let Some(browser) = look() {
        return Ok(browser);
    }
    let advice = "apt-get install chromium chromium-driver (or set CHROME and CHROMEDRIVER)";
    packages(&["chromium", "chromium-driver", "fonts-dejavu-core"], "Chromium", advice)?;
    look().ok_or_else(|| missing("Chromium or its chromedriver", advice))
}

/// Firefox and its geckodriver, for the tests there. `FIREFOX` and `GECKODRIVER` name others than those on the path.
///
/// # Errors
/// As [`for_build`].
pub fn for_firefox() -> Result<[PathBuf; 2]> {
    let advice = "apt-get install firefox-esr (or set FIREFOX and GECKODRIVER)";
    let look = || named("FIREFOX", &["firefox-esr", "firefox"]);
    if look().is_none() {
        packages(&["firefox-esr"], "Firefox", advice)?;
    }
    let firefox = look().ok_or_else(|| missing("Firefox", advice))?;
    let driver = || named("GECKODRIVER", &["geckodriver"]);
    if driver().is_none() {
        cargo_tool("geckodriver", "geckodriver", GECKODRIVER, &["--locked"])?;
    }
    Ok([firefox, driver().ok_or_else(|| missing("geckodriver", advice))?])
}

/// WebKitGTK's small browser and its driver, for the test there, and the screen that it is shown on. `WEBKIT` and
/// `WEBKITDRIVER` name others than Debian's.
///
/// # Errors
/// As [`for_build`].
pub fn for_webkit() -> Result<[PathBuf; 2]> {
    let advice = "apt-get install webkit2gtk-driver xvfb (or set WEBKIT and WEBKITDRIVER)";
    let driver = || named("WEBKITDRIVER", &["WebKitWebDriver"]);
    if driver().is_none() || find("xvfb-run").is_none() {
        // It draws by OpenGL, for which Mesa has a driver without a graphics card.
        packages(&["webkit2gtk-driver", "xvfb", "xauth", "libgl1-mesa-dri"], "WebKit", advice)?;
    }
    let browser = named("WEBKIT", &["MiniBrowser"]).or_else(|| {
        let libraries = fs::read_dir("/usr/lib").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let places = libraries.map(|folder| folder.join("webkit2gtk-4.1/MiniBrowser"));
        places.into_iter().find(|place| place.is_file())
    });
    match (browser, driver()) {
        (Some(browser), Some(driver)) => Ok([browser, driver]),
        _ => Err(missing("WebKit or its driver", advice)),
    }
}

/// The program that a variable names, or the first of these on the path.
fn named(variable: &str, names: &[&str]) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).or_else(|| names.iter().find_map(|name| find(name)))
}

/// Installs packages of Debian by apt-get, without those that they only recommend. Returns an error that ends with
/// `advice` if that fails.
fn packages(names: &[&str], what: &str, advice: &str) -> Result<()> {
    install_by(as_root("apt-get").arg("update"), what, advice)?;
    let install = ["install", "-y", "--no-install-recommends"];
    install_by(as_root("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(install).args(names), what, advice)
}

/// Makes sure of axe-core, which finds what hinders people who hear the page or use it by keyboard. Answers its script.
///
/// # Errors
/// As [`for_build`].
pub fn for_accessibility() -> Result<PathBuf> {
    // npm takes away from a folder what it was not asked for, so each package has its own.
    let folder = home().join("axe-core");
    let installed = |file| folder.join("node_modules/axe-core").join(file);
    let pinned = format!("\"version\": \"{AXE_CORE}\"");
    if !fs::read_to_string(installed("package.json")).is_ok_and(|package| package.contains(&pinned)) {
        let package = format!("axe-core@{AXE_CORE}");
        npm(&folder, &package, &format!("install Node.js, then: npm install --prefix {} {package}", folder.display()))?;
    }
    Ok(installed("axe.min.js"))
}

/// The version of the accessibility checker.
const AXE_CORE: &str = "4.14.1";

/// The version of the checker of dependencies.
const CARGO_DENY: &str = "0.20.2";

/// The version of the program that drives Firefox.
const GECKODRIVER: &str = "0.37.1";

/// The versions that `Trunk.toml` pins.
#[derive(Debug, PartialEq)]
struct Pins {
    trunk: String,
    wasm_bindgen: String,
    binaryen: String,
}

impl Pins {
    fn read() -> Result<Self> {
        let read = |name| fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"));
        Self::parse(&read("Trunk.toml")?, &read("Cargo.lock")?)
    }

    fn parse(trunk_toml: &str, cargo_lock: &str) -> Result<Self> {
        let value = |key: &str, prefix: &str| {
            trunk_toml
                .lines()
                .filter_map(|line| line.split_once('='))
                .find(|(name, _)| name.trim() == key)
                .and_then(|(_, value)| value.trim().trim_matches('"').strip_prefix(prefix))
                .map(str::to_owned)
                .ok_or_else(|| format!("Trunk.toml has no `{key} = \"{prefix}…\"`"))
        };
        let pins = Self {
            trunk: value("trunk-version", "=")?,
            wasm_bindgen: value("wasm_bindgen", "")?,
            binaryen: value("wasm_opt", "version_")?,
        };
        let library =
            cargo_lock.split("name = \"wasm-bindgen\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
        if library == Some(&pins.wasm_bindgen) {
            Ok(pins)
        } else {
            Err(format!(
                "the library wasm-bindgen in Cargo.lock ({}) and the tool in Trunk.toml ({}) must have the same version",
                library.unwrap_or("none"),
                pins.wasm_bindgen
            ))
        }
    }
}

fn rust_target(target: &str) -> Result<()> {
    let libraries = first_line(command("rustc").args(["--print", "target-libdir", "--target", target]));
    if libraries.is_some_and(|folder| PathBuf::from(folder).is_dir()) {
        return Ok(());
    }
    let install = ["target", "add", target];
    install_by(
        command("rustup").args(install),
        &format!("Rust's {target} target"),
        &format!("rustup {}", install.join(" ")),
    )
}

/// A tool runs for seconds, and is compiled for minutes: most of these go into making it faster than it need be. Only
/// wasm-bindgen, which rewrites all code of the page at each build, is optimised at all.
fn quickly_built(package: &str) -> [(&'static str, &'static str); 3] {
    [
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", if package == "wasm-bindgen-cli" { "1" } else { "0" }),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ]
}

fn cargo_tool(package: &str, program: &str, version: &str, options: &[&str]) -> Result<()> {
    if has_version(program, version) {
        return Ok(());
    }
    let arguments = [&["install", package, "--version", version], options].concat();
    install_by(
        cargo().args(&arguments).arg("--force").arg("--root").arg(home()).envs(quickly_built(package)),
        &format!("{program} {version}"),
        &format!("cargo {}", arguments.join(" ")),
    )
}

fn wasm_opt(version: &str) -> Result<()> {
    if has_version("wasm-opt", version) {
        return Ok(());
    }
    let package = format!("binaryen@{version}");
    npm(&home(), &package, &format!("install Node.js, then: npm install --global {package}"))
}

/// Installs a package of npm into a folder.
fn npm(folder: &Path, package: &str, advice: &str) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    install_by(
        command("npm").args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(folder).arg(package),
        package,
        advice,
    )
}

/// Every one of our tools prints its version as a word of its own.
fn has_version(program: &str, version: &str) -> bool {
    first_line(command(program).arg("--version"))
        .is_some_and(|line| line.split_whitespace().any(|word| word == version))
}

fn install_by(installer: &mut Command, what: &str, advice: &str) -> Result<()> {
    eprintln!("Installing {what} …");
    run(installer).map_err(|error| format!("{error}. {}", missing(what, advice)))
}

fn missing(what: &str, advice: &str) -> String {
    format!("{what} is missing and could not be installed; by hand: {advice}")
}

fn as_root(program: &str) -> Command {
    let is_root = first_line(command("id").arg("-u")).is_some_and(|id| id == "0");
    if is_root || find("sudo").is_none() {
        return command(program);
    }
    let mut sudo = command("sudo");
    sudo.arg("-n").arg(program);
    sudo
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUNK: &str = "trunk-version = \"=0.1.2\"\n[tools]\nwasm_bindgen = \"0.2.3\"\nwasm_opt = \"version_9\"\n";

    #[test]
    fn pins_are_read_from_trunk_toml() {
        let pins = Pins::parse(TRUNK, "name = \"wasm-bindgen\"\nversion = \"0.2.3\"\n");
        let expected = Pins { trunk: "0.1.2".into(), wasm_bindgen: "0.2.3".into(), binaryen: "9".into() };
        assert_eq!(pins, Ok(expected));
    }

    #[test]
    fn library_and_tool_must_agree() {
        let error = Pins::parse(TRUNK, "name = \"wasm-bindgen\"\nversion = \"0.2.4\"\n").unwrap_err();
        assert!(error.contains("0.2.4") && error.contains("0.2.3"), "{error}");
    }

    #[test]
    fn the_projects_own_pins_agree() {
        Pins::read().unwrap();
    }
}
