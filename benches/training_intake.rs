//! How fast samples of training steps are taken in, natively: `cargo bench --bench training_intake`

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use collectune::{
    intake::{self, FileContent},
    progress::Silent,
    training_time::{bundle::bring_together, catalogue::Catalogue, health::health},
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[allow(dead_code, reason = "tests take the other parts")]
#[path = "../tests/support/real.rs"]
mod real;

fn intake(c: &mut Criterion) {
    if !cfg!(shared_data) {
        println!("Nothing is timed: this needs ../shared/data");
        return;
    }
    let files = real::files(&["ett/Perlmutter", "ett/Vista"]);
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let read = || {
        let mut parts = Vec::new();
        for (name, bytes) in &files {
            match intake::open(&bytes[..], name, bytes.len() as u64, 0, None, &mut Silent) {
                (_, FileContent::Training(file)) => parts.push(*file),
                (report, _) => panic!("{report:?}"),
            }
        }
        parts
    };
    let mut group = c.benchmark_group("training_intake");
    group.sample_size(20).throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("parse_both_clusters_140138_rows", |b| b.iter(|| black_box(read())));
    group.bench_function("parse_and_bring_together_both_clusters", |b| {
        b.iter(|| black_box(bring_together(read(), &Vec::new())));
    });
    let bundle = bring_together(read(), &Vec::new());
    group.bench_function("health_of_both_clusters", |b| {
        b.iter(|| bundle.clusters.iter().map(|cluster| health(cluster, &bundle.catalogue).flags.len()).sum::<usize>());
    });
    group.bench_function("built_in_catalogue", |b| b.iter(|| black_box(Catalogue::built_in())));
    group.finish();
}

criterion_group!(benches, intake);
criterion_main!(benches);
