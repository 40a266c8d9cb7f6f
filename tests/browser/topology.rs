//! Links and schedules: a graph is dropped or made, a verified schedule comes, and it is played, stepped and damaged.

use serde_json::Value;

use crate::{
    look::assert_fits_a_phone,
    page::Page,
    share::{fragment, share},
    support::real,
};

/// Five nodes in a ring with one slow pair: 80.125 µs is optimal for an all_gather of 1 MiB, without the slow pair.
pub const RING: &str = "5\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n2,1,500,50\n2,3,500,1\n\
                    3,2,500,1\n3,4,500,50\n4,3,500,50\n4,0,500,50\n0,4,500,50\n";

fn ring() -> Page {
    let page = Page::with_files(&[("ring.csv", RING.as_bytes())]);
    page.wait_for_text("all_gather over ring in 80.125 µs");
    page
}

fn answer(page: &Page) -> String {
    page.text_of("return document.querySelector('.answer').textContent")
}

/// How often each layer was drawn: the network, what moves over it, links over time.
fn drawn(page: &Page) -> [u64; 3] {
    let counts = page.run(
        "return ['.network-under', '.network-over', '.network-lanes canvas']
             .map((layer) => Number(document.querySelector(layer).dataset.drawn))",
        &[],
    );
    std::array::from_fn(|layer| counts[layer].as_u64().unwrap())
}

/// Where the cursor is, in ns.
fn cursor(page: &Page) -> f64 {
    page.run("return Number(document.querySelector('.network-scrub input').value)", &[]).as_f64().unwrap()
}

/// Clicks places of the network, as shares of its width and height, line by line until its panel has a heading. Answers
/// where.
fn click_until(page: &Page, heading: &str, across: [f64; 2], down: [f64; 2]) -> [f64; 2] {
    let place = page.run(
        "const [heading, [left, right], [top, bottom]] = arguments;
         for (let x = left; x <= right; x += 0.02) {
             for (let y = top; y <= bottom; y += 0.01) {
                 const stage = document.querySelector('.network-under'), box = stage.getBoundingClientRect();
                 const place = { clientX: box.left + box.width * x, clientY: box.top + box.height * y };
                 stage.dispatchEvent(new MouseEvent('click', { ...place, bubbles: true }));
                 await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
                 if (document.querySelector('.network-picked h3')?.innerText.startsWith(heading)) return [x, y];
             }
         }",
        &[heading.into(), across.to_vec().into(), down.to_vec().into()],
    );
    let at = |which: usize| place[which].as_f64().unwrap_or_else(|| panic!("no click finds \"{heading}\""));
    [at(0), at(1)]
}

/// Gives the focus to the network.
fn focus(page: &Page) {
    page.run("document.querySelector('.network-stage').focus()", &[]);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_dropped_graph_gets_a_verified_schedule() {
    let page = ring();
    assert_eq!(page.fragment(), "#v=1&w=topology");
    let said = answer(&page);
    assert!(said.contains("80.125 µs: proven optimal") && said.contains("20 transfers, checked"), "{said}");
    page.show("Links");
    assert_eq!(page.rows("Every link"), 10);
    page.show("Critical path");
    assert!(page.rows("Lower bounds") == 3 && page.rows("What decides the time") >= 4);
    page.show("Robustness");
    assert_eq!(page.rows("The same schedule with each link damaged"), 10);
    page.wait_for_text("in half of the runs");
    page.show("Schedule");
    page.find("img", "ring, Best so far, at 0 ns of 80.125 µs");
    let saved = String::from_utf8(page.download(|| page.save_from_menu("Save result CSV"))).unwrap();
    assert!(saved.starts_with("NPUs Count,5\n") && saved.contains("\nCollective Time,80125,ns\n"), "{saved}");
    let links = saved.lines().skip_while(|line| !line.starts_with("SrcID")).skip(1);
    let transfers = links.flat_map(|link| link.split(',').skip(4)).filter(|cell| cell.split(':').count() == 3);
    assert_eq!(transfers.count(), 20, "{saved}");
    let trace: Value = serde_json::from_slice(&page.download(|| page.save_from_menu("Save Perfetto"))).unwrap();
    assert!(trace.as_array().or(trace["traceEvents"].as_array()).is_some_and(|events| events.len() > 20));
    let algorithm = String::from_utf8(page.download(|| page.save_from_menu("Save MSCCL XML for older RCCL"))).unwrap();
    assert!(algorithm.contains("<algo") && algorithm.contains("coll=\"allgather\""), "{algorithm}");

    // What was saved is a schedule of this graph, and stands beside it.
    page.drop_files(&[("saved.csv", saved.as_bytes())]);
    page.wait_until_idle();
    page.show("Comparison");
    page.wait_for_text("Nothing is wrong with it; it takes 1.000 times the bound of 80.125 µs");
    assert_eq!(page.rows("Schedules"), 2);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn without_files_a_graph_is_made() {
    let page = Page::open();
    page.click("link", "Topology");
    page.wait_for_text("all_gather over dgx1v in 60.694 µs");
    page.wait_for_text("This is the example: a generated graph.");
    page.choose("Graph", "Mesh");
    page.wait_for_text("all_gather over mesh:4x4 in 160.25 µs");
    page.fill("Rows x columns", "3x3");
    page.wait_for_text("all_gather over mesh:3x3 in 80.125 µs");
    page.choose("Collective", "all_reduce");
    page.wait_for_text("all_reduce over mesh:3x3 in 160.25 µs");
    page.wait_until_idle();
    assert_eq!(page.fragment(), "#v=1&w=topology&graph=mesh&mesh=3x3&collective=all_reduce");
    page.fill("Rows x columns", "3xq");
    page.wait_for_text("is no topology");
    page.find("textbox", "Rows x columns");
    page.reload();
    page.wait_for_text("is no topology");
    page.fill("Rows x columns", "2x3");
    page.wait_for_text("all_reduce over mesh:2x3 in");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn back_takes_choices_back_and_lists_follow() {
    let chosen = |page: &Page, list: &str| {
        let list = page.find("combobox", list);
        page.run("return arguments[0].selectedOptions[0].text", &[list.into()]).as_str().unwrap().to_owned()
    };
    let page = Page::open_at("#v=1&w=topology&graph=mesh");
    page.wait_for_text("all_gather over mesh:4x4 in");
    for (graph, name) in [("Ring", "ring"), ("Mesh", "mesh"), ("Ring", "ring")] {
        page.choose("Graph", graph);
        page.wait_for_text(&format!("all_gather over {name}:"));
        page.wait_until_idle();
    }
    for (way, graph, name) in [("back", "Mesh", "mesh"), ("back", "Ring", "ring"), ("forward", "Mesh", "mesh")] {
        page.run(&format!("history.{way}()"), &[]);
        page.wait_for_text(&format!("all_gather over {name}:"));
        page.wait_until(|| chosen(&page, "Graph").contains(graph), "the list shows what is chosen");
        page.wait_until_idle();
    }
    page.assert_clean();
}

/// A list that is open closes, or forgets where it is pointed at, when anything in it is written.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn lists_are_left_alone_while_answers_come_in() {
    let page = Page::open_at("#v=1&w=topology&graph=mesh");
    page.wait_for_text("all_gather over mesh:4x4 in");
    page.wait_until_idle();
    page.run(
        "window.written = [];
         const said = (change) => `${change.type} ${change.attributeName} of ${change.target.outerHTML}`;
         // The explanation of the field that has the focus is the one attribute that may come.
         const isOwn = (change) => change.attributeName !== 'aria-describedby';
         for (const list of document.querySelectorAll('select')) {
             new MutationObserver((changes) => written.push(...changes.filter(isOwn).map(said)))
                 .observe(list, { subtree: true, childList: true, attributes: true, characterData: true });
         }",
        &[],
    );
    page.fill("Rows x columns", "3x3");
    page.wait_for_text("all_gather over mesh:3x3 in");
    page.wait_until_idle();
    assert_eq!(page.run("return written", &[]), serde_json::json!([]));
    page.assert_clean();
}

/// A long timeline is asked for piece by piece. Where another schedule comes meanwhile, the pieces of both are asked
/// for.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_long_timeline_moves_also_where_another_came_meanwhile() {
    let page = Page::open_at("#v=1&w=topology&graph=mesh");
    page.run(
        "location.hash = '#v=1&w=topology&graph=mesh&mesh=20x20&with=earliest';
         const isThere = (words) => document.body.innerText.includes(words);
         for (let step = 0; !isThere('Compare with'); step += 1) {
             const cursor = document.querySelector('.network-scrub input');
             if (cursor && isThere('over mesh:20x20 in')) {
                 cursor.value = cursor.max * (step % 2 ? 0.3 : 0.7);
                 cursor.dispatchEvent(new Event('input', { bubbles: true }));
             }
             await new Promise((resolve) => setTimeout(resolve, 5));
         }",
        &[],
    );
    page.wait_until_idle();
    assert!(cursor(&page) > 1e6, "the cursor was moved");
    let said = || page.text_of("return document.querySelector('.network-over').ariaLabel");
    page.wait_until(|| !said().contains(": 0 of"), "links are busy at the cursor");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_schedule_is_played_stepped_and_scrubbed() {
    let page = ring();
    focus(&page);
    let before = drawn(&page);
    page.press("\u{e014}");
    page.wait_until(|| cursor(&page) > 0.0, "the arrow steps to the next event");
    let first = cursor(&page);
    assert!((first - 20_031.25).abs() < 0.01, "{first}");
    page.find("img", "at 20.031 µs of 80.125 µs");
    page.press("\u{e010}");
    page.wait_until(|| (cursor(&page) - 80_125.0).abs() < 0.01, "End goes to the end");
    page.find("img", "25 of 25 pairs of chunk and node there");
    page.press("\u{e011}");
    page.wait_until(|| cursor(&page) == 0.0, "Home goes to the beginning");
    page.press("+++ ");
    page.wait_until(|| cursor(&page) > 10_000.0, "it plays");
    page.press(" ");
    page.find("button", "Play");
    let still = cursor(&page);
    assert_eq!(cursor(&page), still);
    let after = drawn(&page);
    assert_eq!((after[0], after[2]), (before[0], before[2]), "what does not change is not drawn again");
    assert!(after[1] > before[1] + 4, "{before:?} {after:?}");
    // In the links over time, a click moves the cursor too.
    page.run(
        "const panel = document.querySelector('.network-time'), box = panel.getBoundingClientRect();
         panel.dispatchEvent(new PointerEvent('pointerdown', { clientX: box.right - 10, clientY: box.top + 20, bubbles: true }));",
        &[],
    );
    page.wait_until(|| (cursor(&page) - 80_125.0).abs() < 100.0, "the cursor is where was clicked");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn motion_is_reduced_to_steps_where_that_is_wished() {
    let page = ring();
    page.emulate(&serde_json::json!([{ "name": "prefers-reduced-motion", "value": "reduce" }]));
    page.click("button", "Play");
    page.wait_until(|| cursor(&page) > 0.0, "it steps");
    let events = [20_031.25, 40_062.5, 60_093.75, 80_125.0];
    let at = cursor(&page);
    assert!(events.iter().any(|event| (at - event).abs() < 0.01), "{at}");
    page.click("button", "Pause");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_link_is_cut_by_clicking_and_restored() {
    let page = ring();
    // The first node is at the top, the second to its right: the link between them is in the middle.
    click_until(&page, "Link ", [0.72, 0.72], [0.05, 0.5]);
    let link = page.text_of("return document.querySelector('.network-picked h3').innerText");
    assert!(link == "Link 0 → 1" || link == "Link 1 → 0", "{link}");
    page.wait_for_text("A chunk takes");
    page.click("button", "Cut");
    page.wait_until_idle();
    page.wait_for_text("Without the links between 0 and 1:");
    let said = answer(&page);
    assert!(said.contains("in 2.951 ms") && said.contains("undelivered"), "{said}");
    assert!(page.fragment().contains("&cut="), "{}", page.fragment());
    page.click("button", "Restore");
    page.wait_until_idle();
    page.wait_for_text("all_gather over ring in 80.125 µs");
    page.click("button", "Slow to 10 %");
    page.wait_until_idle();
    page.wait_for_text("at 10 %");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn synthesizers_stand_beside_each_other() {
    let page = Page::open_at("#v=1&w=topology&with=earliest");
    page.wait_for_text("all_gather over dgx1v in 60.694 µs");
    page.wait_until_idle();
    page.show("Comparison");
    assert_eq!(page.rows("Schedules"), 2);
    page.show("Schedule");
    page.choose("Compare with", "Earliest arrival");
    page.wait_until(
        || page.run("return document.querySelectorAll('.network-stage').length", &[]) == 2,
        "two networks are side by side",
    );
    page.fill("Path of chunk", "3");
    page.find("region", "Path of the chunk");
    assert_eq!(page.rows("Path of the chunk"), 7);
    page.assert_clean();
}

/// Each wrong file is refused with the place of what is wrong, and what is right is used all the same.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn bad_files_and_choices_are_told() {
    const HEADER: &str = "Src,Dest,Latency (ns),Bandwidth (GB/s)\n";
    let wrong = [
        ("count.csv", format!("five\n{HEADER}0,1,500,50\n"), "line 1, whole line: \"five\" is not the number of nodes"),
        ("id.csv", format!("2\n{HEADER}0,1,500,50\n1,7,500,50\n"), "line 4, column Dest: \"7\" is no node"),
        ("loop.csv", format!("2\n{HEADER}0,0,500,50\n"), "it leads from a node to itself"),
        ("twice.csv", format!("2\n{HEADER}0,1,500,50\n0,1,500,5\n"), "is a second link from 0 to 1, as line 3"),
        ("zero.csv", format!("2\n{HEADER}0,1,500,0\n1,0,500,50\n"), "column Bandwidth (GB/s): \"0\" can't be used"),
        ("minus.csv", format!("2\n{HEADER}0,1,500,-5\n1,0,500,50\n"), "column Bandwidth (GB/s): \"-5\" can't be used"),
        ("text.csv", format!("2\n{HEADER}0,1,soon,50\n"), "line 3, column Latency (ns): \"soon\" is not a number"),
        ("dump.xml", "<system version=\"1\"><cpu numaid=\"0\"></cpu></system>".to_owned(), "it has no GPU"),
        ("broken.xml", "<algo name=\"x\"></algo>".to_owned(), "broken.xml can't be used: line 1"),
        ("own.json", r#"{"chunks": 3, "preconditions": {}, "postconditions": {}}"#.to_owned(), "\"chunks\" is no list"),
    ];
    let page = Page::open();
    let mut files = vec![("ring.csv", RING.as_bytes())];
    files.extend(wrong.iter().map(|(name, content, _)| (*name, content.as_bytes())));
    page.drop_files(&files);
    page.wait_until_idle();
    page.wait_for_text("all_gather over ring in 80.125 µs");
    assert_eq!(page.run("return document.querySelectorAll('.file .wrong').length", &[]), wrong.len());
    for (name, _, why) in &wrong {
        assert!(page.text().contains(why), "{name}: {why}");
    }
    page.unfold();
    page.fill("Cut links", "0-3");
    page.wait_for_text("is not a link of this graph");
    page.fill("Cut links", "0-1,0-4");
    page.wait_for_text("No schedule for ring");
    page.wait_for_text("no way leads there");
    page.fill("Cut links", " ");
    page.wait_for_text("all_gather over ring in 80.125 µs");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_choice_of_a_file_follows_the_file() {
    let pair = "2\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n";
    let page = Page::with_files(&[
        ("first.csv", pair.as_bytes()),
        ("ring.csv", RING.as_bytes()),
        ("last.csv", pair.as_bytes()),
    ]);
    page.choose("Graph", "ring.csv");
    page.wait_for_text("all_gather over ring in 80.125 µs");
    page.wait_until_idle();
    page.unfold();
    page.click("button", "Close first.csv");
    page.wait_until(|| !page.text().contains("first.csv"), "the file is closed");
    page.wait_until_idle();
    page.wait_for_text("all_gather over ring in 80.125 µs");
    // Without the file the usual one counts.
    page.unfold();
    page.click("button", "Close ring.csv");
    page.wait_for_text("all_gather over last in");
    page.wait_until_idle();
    // A link that names a file that is not there says what is taken instead.
    page.visit("#v=1&w=topology&graph=f7");
    page.drop_files(&[("ring.csv", RING.as_bytes())]);
    page.wait_for_text("was chosen and is not there");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_is_cut_of_one_graph_is_not_cut_of_the_next() {
    let long = "a_graph_of_two_nodes_whose_name_is_one_long_word_without_any_place_to_break_it_2026_11_30.csv";
    let pair = "2\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n";
    let page = Page::with_files(&[("ring.csv", RING.as_bytes()), (long, pair.as_bytes())]);
    page.wait_for_text("all_gather over ring in 80.125 µs");
    page.unfold();
    page.fill("Dead nodes", "3");
    page.wait_for_text("Without node 3");
    page.wait_until_idle();
    page.click("button", "Close ring.csv");
    page.wait_until(|| !page.text().contains("ring.csv"), "the file is closed");
    page.wait_until_idle();
    page.wait_for_text("all_gather over a_graph_of_two_nodes");
    assert!(!page.text().contains("Without node") && !page.fragment().contains("dead"), "{}", page.fragment());
    assert_fits_a_phone(&page);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_graph_in_pieces_and_a_schedule_of_another_graph_are_told() {
    let apart = "4\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n";
    let page = Page::with_files(&[("apart.csv", apart.as_bytes())]);
    page.wait_for_text("No schedule for apart");
    for words in ["no way leads there", "Node 3 has no link", "has links in only", "Not all nodes can reach each other"]
    {
        assert!(page.text().contains(words), "{words}");
    }
    page.find("combobox", "Graph");
    // The sample of a README belongs to a graph of eight links, not to this ring.
    let other = "NPUs Count,3\nLinks Count,3\nChunks Count,3\nChunk Size,1048576,B\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),\
                 Chunks (ID:ps)\n0,1,500,50,0:20031250:0,2:40062500:20031250\n1,2,500,50,1:20031250:0,0:40062500:20031250\n\
                 2,0,500,50,2:20031250:0,1:40062500:20031250\n";
    let page = ring();
    page.drop_files(&[("other.csv", other.as_bytes())]);
    page.wait_until_idle();
    page.show("Comparison");
    page.wait_for_text("the result uses a link from 2 to 0, which the graph has not: is it of another graph?");
    page.choose("Graph", "Links of other");
    page.wait_until_idle();
    page.show("Comparison");
    page.wait_for_text("Nothing is wrong with it; it takes 1.000 times the bound of 40.062 µs");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_link_is_added_from_node_to_node_and_removed() {
    let page = ring();
    // Node 2 is at the bottom, to the right.
    let [x, y] = click_until(&page, "Node 2", [0.6, 0.9], [0.7, 0.99]);
    page.fill("Node or link", "0");
    page.find("heading", "Node 0");
    page.click("button", "Link from here");
    page.wait_for_text("Click the node that it leads to");
    click_until(&page, "No link 0 → 2", [x, x], [y, y]);
    page.fill("Node or link", "1-3");
    page.find("heading", "No link 1 → 3");
    page.fill("Node or link", "0-2");
    page.find("heading", "No link 0 → 2");
    page.click("button", "Add the link");
    page.wait_until_idle();
    assert!(page.fragment().ends_with("&add=0-2,2-0"), "{}", page.fragment());
    page.wait_for_text("all_gather over ring-edited in");
    page.show("Links");
    assert_eq!(page.rows("Every link"), 12);
    page.show("Schedule");
    page.fill("Node or link", "2-0");
    page.find("heading", "Link 2 → 0");
    page.click("button", "Remove");
    page.wait_until_idle();
    page.wait_for_text("all_gather over ring in 80.125 µs");
    page.fill("Node or link", "2-3");
    page.click("button", "Remove");
    page.wait_until_idle();
    assert!(page.fragment().ends_with("&remove=2-3,3-2"), "{}", page.fragment());
    page.wait_for_text("all_gather over ring-edited in 80.125 µs");
    // What is removed can't be removed again, and comes back once, however often that is asked for.
    assert!(page.look_for("button", "Remove").is_none());
    page.fill("Node or link", "2-3");
    page.find("heading", "No link 2 → 3");
    let twice =
        "const button = [...document.querySelectorAll('button')].find((button) => button.innerText === 'Add the link');
        button.click();
        button.click();";
    page.run(twice, &[]);
    page.wait_until_idle();
    page.find("heading", "Link 2 → 3");
    assert!(!page.fragment().contains("2-3"), "{}", page.fragment());
    page.click("button", "Remove");
    page.wait_until_idle();
    page.fill("Node or link", "2-3");
    page.fill("Bandwidth, GiB/s", "25");
    page.run(twice, &[]);
    page.wait_until_idle();
    assert!(page.fragment().contains("&add=2-3*25,3-2*25"), "{}", page.fragment());
    page.reload();
    page.drop_files(&[("ring.csv", RING.as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("all_gather over ring-edited in");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_node_is_taken_out_and_a_new_schedule_stands_beside_the_old_one() {
    let page = ring();
    page.show("Robustness");
    assert_eq!(page.rows("The same schedule with each node damaged"), 5);
    assert!(page.text_in("region", "Robustness").contains("New ns"), "a new schedule without each");
    page.wait_for_text("When runs end under varying bandwidths");
    page.show("Comparison");
    page.wait_for_text("of 100 seeds are as good as the best schedule");
    page.show("Schedule");
    page.fill("Node or link", "4");
    page.click("button", "Take the node down");
    page.wait_until_idle();
    page.wait_for_text("Without node 4:");
    let said = answer(&page);
    // The slow pair has to carry what went round over node 4.
    assert!(said.contains("in 2.931 ms") && said.contains("undelivered among the others"), "{said}");
    page.find("heading", "Node 4");
    page.wait_for_text("It is down.");
    page.click("button", "Restore");
    page.wait_until_idle();
    page.wait_for_text("all_gather over ring in 80.125 µs");
    page.click("button", "Slow its links to 50 %");
    page.wait_until_idle();
    page.wait_for_text("With all links of node 4 at 50 %:");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn conditions_of_ones_own_and_several_chunks_are_asked_for() {
    let own = br#"{"chunk_size": 1048576, "chunks": [7], "preconditions": {"0": [7]}, "postconditions": {"2": [7]}}"#;
    let page = ring();
    page.fill("Chunks per node", "4");
    page.wait_for_text("all_gather over ring in 320.5 µs");
    page.drop_files(&[("own.json", own)]);
    page.wait_until_idle();
    page.choose("Collective", "Conditions of own.json");
    page.wait_for_text("custom over ring in 40.062 µs");
    page.choose("Collective", "Conditions of one");
    page.wait_for_text("none are given");
    page.fill("Who has a chunk, and who is to have it", "0 -> 1\n2 -> 1");
    page.wait_for_text("custom over ring in 20.031 µs");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_algorithm_that_was_saved_is_run_again() {
    let page = ring();
    let algorithm = String::from_utf8(page.download(|| page.save_from_menu("Save MSCCL XML for older RCCL"))).unwrap();
    // What is not received is not there when the next step reads it; its sender need not wait for it.
    let unread = algorithm.replacen("type=\"r\"", "type=\"nop\"", 1);
    page.drop_files(&[("fine.xml", algorithm.as_bytes()), ("unread.xml", unread.as_bytes())]);
    page.wait_until_idle();
    page.show("Comparison");
    page.wait_for_text("fine.xml: It computes its allgather on 5 ranks and never stands still.");
    page.wait_for_text("unread.xml: It does not compute its allgather");
    page.wait_for_text("reads what was never written");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_plan_that_was_saved_is_run_and_its_faults_are_listed() {
    let page = ring();
    let plan = String::from_utf8(page.download(|| page.save_from_menu("Save MSCCL++ plan"))).unwrap();
    assert!(plan.contains("\"collective\": \"allgather\""), "{plan}");
    // A signal that never comes, and a name that is markup.
    let stands = plan.replacen("{\"name\": \"signal\"", "{\"name\": \"rlxwait\"", 1);
    let hostile = plan.replacen("\"nop\"", "\"<img src=x onerror=alert(1)>\"", 1);
    page.drop_files(&[
        ("fine.json", plan.as_bytes()),
        ("stands.json", stands.as_bytes()),
        ("hostile.json", hostile.as_bytes()),
    ]);
    page.wait_until_idle();
    page.show("Run it");
    page.wait_for_text("fine.json: It computes its allgather on 5 ranks, in every order of execution.");
    page.wait_for_text("stands.json: It stands still");
    page.wait_for_text("hostile.json: MSCCL++ does not run it");
    page.wait_for_text("there is no operation \"<img src=x onerror=alert(1)>\"");
    assert!(page.rows("Faults of stands.json") > 0);
    assert_eq!(page.rows("What runs a schedule"), 3);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_dump_of_a_machine_is_drawn_with_its_rings_with_shared_data() {
    let names = ["topology/nccl/mi355x_1x8_topo.xml", "topology/nccl/mi355x_1x8_graph.xml"];
    let files = names.map(real::file);
    let page = Page::with_files(&[("topo.xml", &files[0]), ("graph.xml", &files[1])]);
    page.wait_for_text("all_gather over topo in 14.353 µs");
    page.choose("Overlay", "dumped rings");
    page.fill("Channel", "3");
    page.wait_until_idle();
    page.show("Machine");
    assert_eq!((page.rows("GPUs and their ports"), page.rows("Rates of links")), (8, 12));
    // Rings, trees, and the best schedule here.
    assert_eq!(page.rows("Dumped rings and trees"), 3);
    page.show("Run it");
    page.wait_for_text("graph.xml: Nothing is wrong with 28 channels of rings");
    page.wait_for_text("Rings for the machine, as a graph file of NCCL");
    assert_eq!(page.rows("Channels of graph.xml"), 2);
    let rings = String::from_utf8(page.download(|| page.save_from_menu("Save NCCL graph file"))).unwrap();
    assert!(rings.contains("<graph id=\"0\" pattern=\"4\""), "{rings}");
    page.show("Machine");
    page.fill("One link of gfx950, GB/s", "153.6");
    page.wait_until_idle();
    page.wait_for_text("all_gather over topo in 7.");
    assert!(page.text_in("region", "Rates of links").contains("chosen here"));
    page.fill("Nodes like this, joined by a switch", "2");
    page.wait_until_idle();
    page.unfold();
    page.wait_for_text("16 nodes");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_link_carries_the_report() {
    let page = ring();
    share(&page);
    let other = Page::open_at(&fragment(&page, "Full"));
    other.wait_for_text("Opened from a link: not verified.");
    other.wait_for_text("80.125 µs: proven optimal");
    assert_eq!(other.rows("Every link"), 10);
    other.assert_clean();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_workbench_fits_a_narrow_window_and_is_readable() {
    assert_fits_a_phone(&ring());
}
