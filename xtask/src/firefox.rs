//! Which browser tests don't run in Firefox, and why.

/// Names of tests, as `module::test`, with the reason. `docs/ux.md` lists them too; a test holds the two together.
pub const LEFT_OUT: [(&str, &str); 5] = [
    ("look::the_pictures_in_the_readme_are_current", "its pictures are Chromium's"),
    ("offline::it_can_be_installed", "Firefox on a desktop installs no page"),
    ("loading::a_slow_line_shows_the_page_at_once_and_how_much_has_come", "its driver can't slow the network down"),
    ("loading::files_are_taken_before_the_workers_are_there", "its driver can't slow the network down"),
    ("dropping::a_folder_is_read_whole", "a script can drop files in it, and no folder"),
];

/// What leaves those out, and what is of Chromium or of one browser only: the page's times, and the main flow in each.
pub fn options() -> Vec<&'static str> {
    let names = LEFT_OUT.iter().map(|(name, _)| *name);
    names.chain(["speed::", "other_browsers::"]).flat_map(|name| ["--skip", name]).collect()
}
