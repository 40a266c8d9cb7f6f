//! Tuner files: what the C readers make of them, what the lint says, and that what is exported is what runs.

#![allow(clippy::unwrap_used)]

use std::{path::PathBuf, time::Instant};

use collectune::tuning::{
    conf::{Code, Finding, Reader, Severity, lint, read},
    support::Support,
};

/// A file of the real data; says so where it is absent.
fn data(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("COLLECTUNE_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let path = folder.join("tuning").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("skipped: {} is not there", path.display());
    }
    bytes
}

fn of(code: Code, findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.code == code).collect()
}

#[test]
fn each_half_wildcard_of_the_shared_conf_is_found() {
    let Some(bytes) = data("conf/gfx950_base_tuner.conf") else { return };
    for (reader, severity, what) in [
        (Reader::Example, Severity::Changes, "read as ring"),
        (Reader::DnTuner, Severity::Changes, "memory outside the table"),
        (Reader::Rccl, Severity::Dead, "skipped with a warning"),
    ] {
        let start = Instant::now();
        let findings = lint(&bytes, reader, &Support::default(), None);
        let took = start.elapsed();
        for f in findings.iter().take(60) {
            eprintln!("{reader:?} {} {} {:?} {}", f.line, f.code.name(), f.severity, f.message);
        }
        eprintln!("{took:?} {}", findings.len());
        let found = of(Code::HalfWildcard, &findings);
        assert_eq!(found.iter().map(|f| f.line).collect::<Vec<_>>(), [2, 4, 6, 8, 10, 12, 14, 16]);
        assert!(found.iter().all(|f| f.severity == severity && f.message.contains(what)), "{found:?}");
        assert_eq!(of(Code::HeaderAsRule, &findings)[0].line, 1);
        assert_eq!(read(&bytes, reader).len(), if reader == Reader::Rccl { 1747 } else { 1756 });
    }
}
