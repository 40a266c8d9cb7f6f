//! Which browser tests don't run in Firefox, and why.

/// Names of tests, as `module::test`, with the reason. `docs/ux.md` lists them too; a test holds the two together.
pub const LEFT_OUT: [(&str, &str); 4] = [
    ("offline::it_can_be_installed", "Firefox on a desktop installs no page"),
    ("loading::a_slow_line_shows_the_page_at_once_and_how_much_has_come", "its driver makes no line slow"),
    ("loading::files_are_taken_before_the_workers_are_there", "its driver makes no line slow"),
    ("dropping::a_folder_is_read_whole", "a script can drop files in it, and no folder"),
];

/// What leaves those out, and the times of the page, which are told of Chromium.
pub fn options() -> Vec<&'static str> {
    let names = LEFT_OUT.iter().map(|(name, _)| *name);
    names.chain(["speed::", "other_browsers::"]).flat_map(|name| ["--skip", name]).collect()
}
