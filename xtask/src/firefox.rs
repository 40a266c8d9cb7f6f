//! Which browser tests don't run in Firefox, and why.

const APART: &str = "its driver runs scripts of tests beside the page's own, whose errors and objects are others";
const UNKNOWN: &str = "it fails there, and it is not known yet whether by the page or by its driver";

/// Names of tests, as `module::test`, with the reason. `docs/ux.md` lists them too; a test holds the two together.
pub const LEFT_OUT: [(&str, &str); 13] = [
    ("accessibility::a_page_that_has_stopped", APART),
    ("home::a_page_that_stops_offers_its_diagnostics", APART),
    ("loading::a_browser_without_webassembly_is_told", APART),
    ("home::pasted_text_opens_as_a_file_unless_a_field_takes_it", "a script can't fill a paste event there"),
    ("accessibility::each_side_of_the_workbench", UNKNOWN),
    ("home::what_the_page_is_and_diagnostics_without_data", "it looks for Chrome's name in the diagnostics"),
    ("keyboard::tab_reaches_and_shows_everything", UNKNOWN),
    ("keyboard::dialogs_keep_the_focus_and_give_it_back", UNKNOWN),
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
