//! Profiles of Nsight Systems and rocprofv3 in SQLite. `tests/samples/profiles/make.py` wrote them, and the same steps
//! as a trace of torch.profiler.

use std::{fs, path::PathBuf};

use collectune::{
    intake::{self, FileContent, Outcome},
    progress::Silent,
    sqlite::{Database, MAGIC, Value},
    training_time::{
        read::TrainingFile,
        trace::{self, Trace, TraceError},
    },
};
use proptest::prelude::*;

fn sample(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples/profiles").join(name)).unwrap()
}

fn profile(name: &str) -> Vec<Trace> {
    trace::read_database(&sample(name)).unwrap()
}

fn assert_near(found: &Trace, expected: &Trace) {
    let figures = |trace: &Trace| {
        let parts = trace.parts;
        [trace.step_us, parts.compute_us, parts.attention_us, parts.exposed_us, parts.communication_us]
    };
    for (found, expected) in figures(found).into_iter().zip(figures(expected)) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }
    assert_eq!((found.steps, found.inputs), (expected.steps, expected.inputs));
}

#[test]
fn all_profilers_say_the_same_of_the_same_steps() {
    let expected = trace::read(std::str::from_utf8(&sample("kineto.json")).unwrap()).unwrap();
    assert!(expected.inputs.is_some() && expected.parts.exposed_us > 0.0 && expected.steps == 3);
    for name in ["nsight.sqlite", "rocpd3.db", "rocpd4.db"] {
        let found = &profile(name)[0];
        assert_near(found, &expected);
        assert_eq!(found.steps_by.as_deref(), Some("Its steps are the ranges \"iteration #\""), "{name}");
        assert_eq!(found.left_out, ["the sizes of 15 kernels of collectives, which it does not say"], "{name}");
    }
    assert_eq!(profile("rocpd4.db")[0].gpu.as_deref(), Some("AMD Instinct MI300X"));
}

#[test]
fn each_process_of_a_node_is_a_trace() {
    let both = profile("nsight.sqlite");
    assert_eq!(both.iter().map(|trace| trace.gpu.as_deref()).collect::<Vec<_>>(), [Some("NVIDIA A100-SXM4-80GB"); 2]);
    assert_ne!(both[0].parts, both[1].parts);
    let (report, content) = intake::open(&sample("nsight.sqlite")[..], "node.sqlite", 1, 0, None, &mut Silent);
    let Outcome::Known { holds, notes, .. } = report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!(holds, "6 steps of 2 ranks");
    assert_eq!(notes[0], "Its steps are the ranges \"iteration #\"");
    assert!(
        matches!(content, FileContent::Training(file) if matches!(&file.part, TrainingFile::Traces(two) if two.len() == 2))
    );
    let named: Vec<String> = trace::named("node.sqlite", both).map(|(name, _)| name).collect();
    assert_eq!(named, ["node.sqlite, rank 1 of 2", "node.sqlite, rank 2 of 2"]);
}

#[test]
fn a_process_without_marked_steps_is_named() {
    let one = profile("half.sqlite");
    assert_near(&one[0], &profile("nsight.sqlite")[0]);
    let said = one[0].left_out.last().unwrap();
    assert!(said.starts_with("1 process, which by itself is a profile in which no step is marked: put "), "{said}");
    assert_eq!(one.len(), 1);
}

/// A sample in which a text of the schema or of a row is another one of the same length.
fn with(name: &str, text: &str, other: &str) -> Result<Vec<Trace>, TraceError> {
    assert_eq!(text.len(), other.len());
    let mut bytes = sample(name);
    let mut found = 0;
    for at in 0..bytes.len() - text.len() {
        if &bytes[at..at + text.len()] == text.as_bytes() {
            bytes[at..at + text.len()].copy_from_slice(other.as_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{text}");
    trace::read_database(&bytes)
}

#[test]
fn what_can_not_be_used_is_said_with_a_remedy() {
    let kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
    let says = |read: Result<Vec<Trace>, TraceError>| read.unwrap_err().to_string();
    assert!(says(with("nsight.sqlite", "iteration ", "passing by")).contains("range_push(\"step\")"));
    assert!(says(with("nsight.sqlite", kernels, "CUPTI_ACTIVITY_KIND_MEMCPY")).contains("--trace=cuda,nvtx"));
    // Without their names, nothing says what kernels do.
    assert!(says(with("nsight.sqlite", "StringIds", "Something")).contains("without kernels"));
    assert!(says(with("rocpd3.db", "\"display_name\" TEXT", "\"another_name\" TEXT")).contains("--kernel-trace"));
    let graphs = trace::read_database(&sample("graphs.sqlite"));
    assert!(says(graphs).contains("3 launches of CUDA graphs, whose kernels it does not have"));
    assert!(says(trace::read_database(b"SQLite format 3\0")).contains("is no SQLite database"));
    let (report, _) = intake::open(&sample("rocpd3.db")[..2000], "cut.db", 2000, 0, None, &mut Silent);
    assert!(
        matches!(&report.outcome, Outcome::Refused(why) if why.contains("cut or damaged at its page")),
        "{report:?}"
    );
}

#[test]
fn rows_and_columns_of_a_database_are_all_read() {
    let bytes = sample("nsight.sqlite");
    let database = Database::open(&bytes).unwrap();
    let names: Vec<&str> = database.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["StringIds", "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "TARGET_INFO_GPU"]);
    let mut longest = 0;
    database
        .rows(database.table("stringids").unwrap(), &["id", "VALUE", "nothing"], &mut |row| {
            assert_eq!((row[0].integer().is_some(), &row[2]), (true, &Value::Null));
            longest = longest.max(row[1].text().unwrap().len());
        })
        .unwrap();
    // Longer than a page.
    assert!(longest > 800, "{longest}");
    let mut kernels = 0;
    database.rows(database.table("CUPTI_ACTIVITY_KIND_KERNEL").unwrap(), &[], &mut |_| kernels += 1).unwrap();
    assert_eq!(kernels, 2 * 3 * 45);
}

proptest! {
    /// Damaged profiles are read or refused: none panics, or is read without end.
    #[test]
    fn any_bytes_are_survived(
        name in prop::sample::select(vec!["nsight.sqlite", "rocpd3.db", "rocpd4.db"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = sample(name);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = trace::read_database(&bytes);
    }

    #[test]
    fn pages_of_any_bytes_are_survived(pages in prop::collection::vec(any::<u8>(), 500..2048)) {
        let mut bytes = [MAGIC, &[2, 0, 1, 1, 0, 64, 32, 32]].concat();
        bytes.resize(100, 0);
        bytes.extend(pages);
        let _ = trace::read_database(&bytes);
    }
}
