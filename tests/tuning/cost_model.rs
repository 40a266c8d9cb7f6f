//! The cost model of NCCL against the cells and choices that another port of its source computes, and against tables
//! that the library printed.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use collectune::{
    collective::{Algorithm, Collective, Protocol, Scale},
    cost_model::{Cell, CostModel, Graph, Graphs, Machine, Path, Processor, Release},
};

use crate::support::real;

type Row = BTreeMap<String, String>;

fn rows(file: &str) -> Vec<Row> {
    let text = real::text(&format!("cost_model/{file}"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn model(row: &Row, version: &str, gpu: &str) -> CostModel {
    let [nodes, gpus] = ["nodes", "gpus_per_node"].map(|column| row[column].parse::<u32>().unwrap());
    let scale = Scale { nodes, ranks: nodes * gpus };
    let release = Release::of(version.parse().unwrap()).unwrap();
    CostModel::of_machine(Machine::of_name(gpu).unwrap(), scale, release, Processor::Intel).unwrap()
}

/// The cell of a row, and whether its figures are within a share and a number of the row's.
fn agrees(model: &CostModel, row: &Row, share: f64, difference: f64) -> bool {
    let collective = row["collective"].parse().unwrap();
    let cell = model.cell(collective, row["algorithm"].parse().unwrap(), row["protocol"].parse().unwrap());
    let near = |value: f64, expected: f64| (value - expected).abs() <= share * expected + difference;
    cell.is_some_and(|Cell { latency_us, algbw_gbps, .. }| {
        near(latency_us, number(row, "latency_us"))
            && near(algbw_gbps, row.get("bandwidth_gbs").unwrap().parse().unwrap())
    })
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn all_cells_of_nine_releases_are_those_of_another_port() {
    let rows = rows("cells.csv");
    let wrong: Vec<&Row> =
        rows.iter().filter(|row| !agrees(&model(row, &row["version"], &row["gpu"]), row, 1e-4, 1e-4)).collect();
    assert_eq!((rows.len(), wrong.len()), (2033, 0), "{wrong:#?}");
    // And there is no cell that the other has not.
    let mut tables: BTreeMap<Vec<&str>, (usize, &Row)> = BTreeMap::new();
    for row in &rows {
        let key = ["version", "gpu", "nodes", "gpus_per_node", "collective"].map(|column| row[column].as_str());
        tables.entry(key.to_vec()).or_insert((0, row)).0 += 1;
    }
    for (cells, row) in tables.into_values() {
        let found = model(row, &row["version"], &row["gpu"]).cells(row["collective"].parse().unwrap());
        assert_eq!(found.len(), cells, "{row:?}: {found:?}");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn choices_are_those_of_another_port_at_every_power_of_two() {
    let mut sizes = 0;
    for row in rows("choices.csv") {
        let model = model(&row, &row["version"], &row["gpu"]);
        let collective: Collective = row["collective"].parse().unwrap();
        let chosen: (Algorithm, Protocol) = (row["algorithm"].parse().unwrap(), row["protocol"].parse().unwrap());
        let [from, to] = ["from_bytes", "to_bytes"].map(|column| row[column].parse::<u64>().unwrap());
        for size in std::iter::successors(Some(from), |size| Some(2 * size)).take_while(|size| *size <= to) {
            let choice = model.choice(collective, size).unwrap();
            assert_eq!((choice.cell.algorithm, choice.cell.protocol), chosen, "{size} {row:?}");
            for (end, time) in [(from, "time_us_at_from"), (to, "time_us_at_to")] {
                let expected = number(&row, time);
                assert!(size != end || (choice.time_us - expected).abs() <= 1e-3 * expected, "{size} {row:?}");
            }
            sizes += 1;
        }
    }
    assert_eq!(sizes, 12_600);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn tables_in_logs_of_h100_nodes_are_computed() {
    let rows = rows("h100_2.27.5_logs.csv");
    let wrong: Vec<&Row> = rows.iter().filter(|row| !agrees(&model(row, "2.27.5", "H100"), row, 0.0, 0.0501)).collect();
    assert_eq!((rows.len(), wrong.len()), (114, 0), "{wrong:#?}");
}

/// Two nodes of one GPU each over sockets: the graphs that explain the log of 2.29.7.
fn sockets() -> CostModel {
    let ring = Graph {
        channels: 2,
        intra_gbps: 1.2,
        inter_gbps: 1.2,
        intra: Path::Pix,
        inter: Path::Phb,
        is_plain_tree: false,
        is_same_channels: true,
    };
    let tree = Graph { intra_gbps: 2.4, inter_gbps: 2.4, is_plain_tree: true, ..ring };
    let release = Release::of("2.29.7".parse().unwrap()).unwrap();
    let scale = Scale { nodes: 2, ranks: 2 };
    CostModel::new(release, 120, scale, Graphs { ring, tree, nvls: None }, Processor::Intel).unwrap()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn decisions_in_a_log_come_out_with_their_channels() {
    let model = sockets();
    let mut decisions = 0;
    for line in real::text("cost_model/nccl_2.29.7_tuning.log").lines() {
        let Some((_, said)) = line.split_once("NCCL INFO ") else { continue };
        let Some((call, ran)) = said.split_once(" Bytes -> Algo ") else { continue };
        let (collective, size) = call.split_once(": ").unwrap();
        let words: Vec<&str> = ran.split_whitespace().collect();
        let channels: u32 = ran.split("..").nth(2).unwrap().trim_end_matches('}').parse().unwrap();
        let choice = model.choice(collective.parse().unwrap(), size.parse().unwrap()).unwrap();
        let expected = (words[0].parse().unwrap(), words[2].parse().unwrap(), channels + 1);
        assert_eq!((choice.cell.algorithm, choice.cell.protocol, choice.channels), expected, "{line}");
        decisions += 1;
    }
    assert_eq!(decisions, 18);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_table_in_a_log_of_sockets_is_computed() {
    let model = sockets();
    let cell = |collective, algorithm, protocol| {
        let cell = model.cell(collective, algorithm, protocol)?;
        Some([cell.latency_us, cell.algbw_gbps].map(|value| (value * 10.0).round() / 10.0))
    };
    use {
        Algorithm::{Pat, Ring, Tree},
        Collective::{AllGather, AllReduce, Broadcast},
        Protocol::{Ll, Ll128, Simple},
    };
    assert_eq!(cell(AllReduce, Tree, Ll), Some([16.8, 0.5]));
    assert_eq!(cell(AllReduce, Tree, Simple), Some([36.4, 1.9]));
    assert_eq!(cell(AllReduce, Ring, Ll), Some([16.6, 1.2]));
    assert_eq!(cell(AllReduce, Ring, Simple), Some([36.4, 2.4]));
    assert_eq!(cell(AllGather, Ring, Simple), Some([22.4, 4.8]));
    assert_eq!(cell(AllGather, Pat, Simple), Some([17.6, 3.6]));
    assert_eq!(cell(Broadcast, Ring, Ll), Some([9.3, 1.2]));
    // Sockets are reached through the host bridge: LL128 is off.
    assert_eq!(cell(AllReduce, Ring, Ll128), None);
}
