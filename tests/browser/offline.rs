//! The copy of the page on the device: it opens without a network, is of one build, and asks for nothing.

use std::{fs, path::Path};

use serde_json::json;

use crate::{loading::dist, page::Page, sweep::sweep};

/// A copy of the built page that a test may deploy something else into.
pub fn deployed() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            if from.is_dir() {
                copy(&from, &to);
            } else {
                fs::copy(from, to).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&dist(), folder.path());
    folder
}

/// Puts a build with other style sheets, under other names, in place of the one that lies there.
fn deploy_another(folder: &Path) -> String {
    let index = folder.join("index.html");
    let mut page = fs::read_to_string(&index).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".css") {
            let (stem, hash) = name.trim_end_matches(".css").rsplit_once('-').unwrap();
            let renamed = format!("{stem}-{}.css", hash.chars().rev().collect::<String>());
            let style = fs::read_to_string(&path).unwrap() + "/* another build */";
            fs::write(folder.join(&renamed), style).unwrap();
            fs::remove_file(&path).unwrap();
            page = page.replace(&name, &renamed);
        }
    }
    // The old style sheets' hashes don't fit the new ones.
    let links = page.split("integrity=").map(|rest| match rest.split_once("sha384-") {
        Some((before, hash)) if before.len() <= 1 => {
            hash.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+/=".contains(c)).trim_start_matches('"')
        }
        _ => rest,
    });
    fs::write(&index, links.collect::<String>()).unwrap();
    xtask::site::finish(folder, "0.0.0").unwrap()
}

fn caches(page: &Page) -> Vec<String> {
    let names = page.run("return caches.keys()", &[]);
    names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn it_opens_without_a_network_after_the_first_visit() {
    let page = Page::open();
    page.unplug(true);
    page.reload();
    page.click("button", "Open the example");
    page.wait_until_idle();
    assert!(page.text_in("region", "Answer").contains("GB/s"));
    page.visit("index.html");
    page.wait_until_idle();
    let notices = page.run("return (await fetch('third-party-notices.txt')).text()", &[]);
    assert!(notices.as_str().unwrap().contains("leptos"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn opened_from_its_copy_it_asks_only_whether_that_is_the_newest() {
    let page = Page::open();
    let before = page.requests().len();
    page.reload();
    let asked = || page.requests().split_off(before);
    let check = ["/tools/collectune/service-worker.js"];
    page.wait_until(|| asked() == check, "the browser asks for a newer build");
    page.drop_files(&[("sweep.csv", sweep(10, 6).as_bytes())]);
    page.wait_until_idle();
    page.show("Model");
    page.fill("Trees", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    page.unfold();
    page.click("button", "Close sweep.csv");
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.click("button", "About");
    assert_eq!(asked(), check);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_newer_build_waits_until_it_is_asked_for_and_comes_whole() {
    let folder = deployed();
    let page = Page::of(folder.path());
    page.visit("");
    page.wait_until_idle();
    let first = page.build();
    assert_eq!(caches(&page), [format!("collectune /tools/collectune/ {first}")]);

    let second = deploy_another(folder.path());
    assert_ne!(first, second);
    page.reload();
    assert_eq!(page.build(), first, "the old build stays whole");
    page.wait_for_text("A newer version is ready.");
    let styled = "return [...document.styleSheets].every((sheet) => sheet.cssRules.length > 0)";
    assert_eq!(page.run(styled, &[]), true);

    page.click("button", "Reload the page");
    page.wait_until(|| page.build() == second, "the newer build opens");
    page.wait_until_idle();
    assert_eq!(page.run(styled, &[]), true);
    assert!(!page.text().contains("A newer version"), "{}", page.text());
    let only_second = vec![format!("collectune /tools/collectune/ {second}")];
    page.wait_until(|| caches(&page) == only_second, "the old copy is removed");
    page.unplug(true);
    page.reload();
    assert_eq!(page.build(), second);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_tab_of_the_build_before_works_on_and_keeps_its_files() {
    let folder = deployed();
    let page = Page::of(folder.path());
    page.visit("");
    page.wait_until_idle();
    page.reload();
    let (old, first) = (page.tab(), page.build());
    let second = deploy_another(folder.path());
    page.in_another_tab(|| {
        page.wait_for_text("A newer version is ready.");
        page.click("button", "Reload the page");
        page.wait_until(|| page.build() == second, "the newer build opens");
        page.wait_until_idle();
        assert_eq!(caches(&page).len(), 2, "another tab may need the old copy");
    });
    page.back_in(&old, || {
        assert_eq!(page.build(), first);
        page.drop_files(&[("sweep.csv", sweep(10, 6).as_bytes())]);
        page.wait_until_idle();
        assert!(page.text_in("region", "Answer").contains("GB/s"));
        page.reload();
        assert_eq!(page.build(), second);
        page.wait_until(|| caches(&page).len() == 1, "the old copy is removed");
    });
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn files_of_two_builds_make_no_copy() {
    let folder = deployed();
    fs::write(folder.path().join("icon.svg"), "<svg xmlns='http://www.w3.org/2000/svg'/>").unwrap();
    let page = Page::of(folder.path());
    page.visit("");
    page.wait_until_idle();
    assert_eq!(caches(&page), [] as [String; 0]);
    page.click("button", "Open the example");
    page.wait_until_idle();
    assert!(page.text_in("region", "Answer").contains("GB/s"));
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn where_service_workers_are_missing_nothing_else_is() {
    let page = Page::closed();
    page.before_loading("delete Navigator.prototype.serviceWorker");
    page.visit("");
    page.wait_until_idle();
    page.click("button", "Open the example");
    page.wait_until_idle();
    let requests = page.requests();
    let is_asked_for = requests.iter().any(|target| target.ends_with("/service-worker.js"));
    assert!(!requests.is_empty() && !is_asked_for, "{requests:?}");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn where_they_are_forbidden_nothing_else_is() {
    let page = Page::closed();
    page.before_loading(
        "ServiceWorkerContainer.prototype.register = async () => { throw new DOMException('no', 'SecurityError'); }",
    );
    page.visit("");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn it_can_be_installed() {
    let page = Page::open();
    let manifest = page.run(
        "const link = document.querySelector('link[rel=manifest]');
         const manifest = await (await fetch(link.href)).json();
         const sizes = await Promise.all(manifest.icons.map(async ({ src, sizes, type }) => {
             const blob = await (await fetch(new URL(src, link.href))).blob();
             if (type !== 'image/png') return [type === blob.type, sizes];
             const { width, height } = await createImageBitmap(blob);
             return [type === blob.type && `${width}x${height}` === sizes, sizes];
         }));
         return [manifest.name, manifest.display, new URL(manifest.start_url, link.href).pathname, sizes];",
        &[],
    );
    let icons = json!([[true, "any"], [true, "192x192"], [true, "512x512"], [true, "512x512"]]);
    assert_eq!(manifest, json!(["Collectune", "standalone", "/tools/collectune/", icons]));
    assert_eq!(page.installability_errors(), json!([]));
    page.assert_clean();
}
