//! The emulated readers of tuner files against the C library itself: `readers.c` is compiled and reads the same files.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::process::Command;

use collectune::{
    conf::interval::Interval,
    math::Stream,
    tuning::conf::{
        Reader, Rule, read,
        words::{ALGORITHMS, COLLECTIVES, PROTOCOLS},
    },
};

/// Words right and wrong, numbers at and beyond every limit.
const WORDS: [&str; 40] = [
    "allreduce",
    "broadcast",
    "reduce",
    "tree",
    "ring",
    "ll",
    "ll128",
    "simple",
    "Allreduce",
    "alltoall",
    "RING",
    "pat",
    "nvls_tree",
    "-1",
    "0",
    "1",
    "8",
    " 16\t",
    "4096",
    "128M",
    "+7",
    " -3 ",
    "- 1",
    "",
    "#",
    "# x",
    "\0",
    "\u{b}5",
    "\u{c}6",
    "\r",
    "0x1F",
    "1e5",
    "  ",
    "4294967297",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "-18446744073709551616",
    "99999999999999999999",
    "2147483648",
];

/// A file of mostly sound lines, and of everything that can be wrong with one.
fn file(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..60 {
        if stream.below(12) == 0 {
            bytes.push(b" \t\r#"[stream.below(4)]);
        }
        let fields = [8, 8, 9, 10, 10, 11, 12, 3][stream.below(8)];
        for field in 0..fields {
            let commas = usize::from(field > 0) + usize::from(stream.below(30) == 0);
            bytes.extend(std::iter::repeat_n(b',', commas));
            let is_sound = stream.below(3) > 0;
            let word = match field {
                0 if is_sound => stream.below(3),
                3 if is_sound => 3 + stream.below(2),
                4 if is_sound => 5 + stream.below(3),
                _ => stream.below(WORDS.len()),
            };
            bytes.extend_from_slice(WORDS[word].as_bytes());
            if stream.below(60) == 0 {
                bytes.extend(std::iter::repeat_n(b' ', stream.below(300)));
            }
        }
        match stream.below(50) {
            0 => {}
            1..6 => bytes.extend_from_slice(b"\r\n"),
            _ => bytes.push(b'\n'),
        }
    }
    if stream.below(3) == 0 {
        let place = stream.below(bytes.len());
        bytes[place] = stream.next_u64() as u8;
    }
    bytes
}

fn line(rule: &Rule) -> String {
    fn place<T: PartialEq>(words: &[(&str, T)], meaning: Option<T>) -> i32 {
        meaning.map_or(-1, |meaning| words.iter().position(|(_, of)| *of == meaning).unwrap() as i32)
    }
    let Rule { min_bytes, max_bytes, channels, pipe_ops, reg_buff, .. } = rule;
    let as_in_c = |of: Interval| if of == Interval::ANY { -1 } else { of.min };
    let (nodes, ranks) = (as_in_c(rule.nodes), as_in_c(rule.ranks));
    let collective = place(&COLLECTIVES, Some(rule.collective));
    let (algorithm, protocol) = (place(&ALGORITHMS, rule.algorithm), place(&PROTOCOLS, rule.protocol));
    format!(
        "{collective} {min_bytes} {max_bytes} {algorithm} {protocol} {channels} {nodes} {ranks} {pipe_ops} {reg_buff}\n"
    )
}

#[test]
fn the_emulated_readers_read_as_the_c_library_does() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("readers");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tuning/readers.c");
    let compiled = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status();
    assert!(compiled.is_ok_and(|status| status.success()), "cc, which Rust links with, compiles {source}");
    let conf = folder.path().join("conf");
    let mut stream = Stream::new(11);
    let mut rules = 0;
    for number in 0..400 {
        let bytes = file(&mut stream);
        std::fs::write(&conf, &bytes).unwrap();
        for (index, reader) in [Reader::Example, Reader::DnTuner, Reader::Rccl].iter().enumerate() {
            let output = Command::new(&program).arg(index.to_string()).arg(&conf).output().unwrap();
            let ours: String = read(&bytes, *reader).iter().map(line).collect();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), ours, "file {number}, {reader:?}: {bytes:?}");
            rules += ours.lines().count();
        }
    }
    assert!(rules > 20_000, "{rules}");
}
