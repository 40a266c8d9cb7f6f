//! Which browser tests don't run in Firefox, and why.

/// Names of tests, as `module::test`, with the reason. `docs/ux.md` lists them too; a test holds the two together.
pub const LEFT_OUT: [(&str, &str); 0] = [];

/// What leaves those out, and the times of the page, which are told of Chromium.
pub fn options() -> Vec<&'static str> {
    let names = LEFT_OUT.iter().map(|(name, _)| *name);
    names.chain(["speed::", "other_browsers::"]).flat_map(|name| ["--skip", name]).collect()
}
