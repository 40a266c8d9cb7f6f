//! Archives that are opened: `cargo test --test common archives`

#![allow(clippy::unwrap_used)]

use std::io::Cursor;

use collectune::{
    archive::tar,
    intake::{
        Outcome,
        unpack::{UnpackedFile, is_archive, unpack},
    },
    tuning::simulate::Simulation,
    worker::executor::Executor,
};
use proptest::prelude::*;

use crate::support::{
    archives::{archive, gzipped, tarred},
    samples,
    worker::load,
};

fn opened(name: &str, bytes: &[u8]) -> Vec<UnpackedFile> {
    unpack(Box::new(bytes), name).unwrap_or_else(|error| panic!("{name} {error}"))
}

fn refused(name: &str, bytes: &[u8]) -> String {
    unpack(Box::new(bytes), name).unwrap_err().to_string()
}

fn names(files: &[UnpackedFile]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn a_name_tells_what_is_unpacked() {
    for name in ["a.zip", "A.ZIP", "logs.tar", "logs.tar.gz", "logs.tgz", "/home/me/logs.TGZ"] {
        assert!(is_archive(name), "{name}");
    }
    for name in ["a.xlsx", "sweep.csv.gz", "zip", "tar", "a.zip.csv", "a.gz", ""] {
        assert!(!is_archive(name), "{name}");
    }
}

#[test]
fn the_files_of_an_archive_are_read_as_if_they_had_been_given() {
    let sweep = Simulation::example().to_csv();
    let links = "a,b,bandwidth_gbps\n0,1,50\n1,0,50\n";
    let log = samples::log();
    let files = [("day/run.log", log.as_str()), ("day/sweep.csv", sweep.as_str()), ("links.csv", links)];
    let given: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let loose = load(&mut Executor::default(), &given);
    for (name, bytes) in
        [("all.zip", archive(&files)), ("all.tar", tarred(&files)), ("all.tar.gz", gzipped(&tarred(&files)))]
    {
        let packed = load(&mut Executor::default(), &[(name, &bytes)]);
        assert_eq!((&packed.groups, &packed.winners), (&loose.groups, &loose.winners));
        for given in &loose.files {
            let of_archive = packed.files.iter().find(|file| file.name == format!("{name}/{}", given.name)).unwrap();
            assert_eq!((of_archive.size_bytes, &of_archive.outcome), (given.size_bytes, &given.outcome));
            assert!(!matches!(given.outcome, Outcome::Refused(_)), "{given:?}");
        }
        assert_eq!((packed.files.len(), packed.documents), (3, loose.documents.clone()));
    }
}

#[test]
fn hidden_files_and_folders_are_left_out_and_the_others_named() {
    let inner = archive(&[("x.csv", "1")]);
    let entries = [
        ("./logs/a.csv", &b"1"[..]),
        ("logs/.DS_Store", b"2"),
        (".git/config", b"3"),
        ("__MACOSX/logs/._a.csv", b"4"),
        ("logs/again.zip", &inner),
        ("logs/again.tgz", b"5"),
    ];
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_directory("logs/", zip::write::SimpleFileOptions::default()).unwrap();
    for (name, bytes) in entries {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, bytes).unwrap();
    }
    for bytes in [zip.finish().unwrap().into_inner(), tarred(&entries)] {
        let files = opened("x.zip", &bytes);
        assert_eq!(names(&files), ["x.zip/logs/a.csv", "x.zip/logs/again.tgz", "x.zip/logs/again.zip"]);
        assert_eq!((files[0].bytes.as_slice(), files[0].refused.as_deref()), (&b"1"[..], None));
        assert_eq!(files[2].bytes, inner);
        for inner in &files[1..] {
            assert!(inner.refused.as_ref().unwrap().contains("an archive within an archive, which stays closed"));
        }
    }
}

#[test]
fn names_that_point_outside_are_refused() {
    for name in ["../a.csv", "/etc/a.csv", "a/../../b.csv", "a\\..\\b.csv", "C:\\x.csv", "\\\\host\\a.csv"] {
        let why = refused("mine.zip", &archive(&[("b.csv", "1"), (name, "1")]));
        assert!(why.contains("points outside of the archive"), "{name}: {why}");
        // The crate that writes refuses such names, so the name is written over.
        let mut bytes = tarred(&[("b.csv", "1")]);
        bytes[..100].fill(0);
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        let sum: u32 = (0..512).map(|at| if (148..156).contains(&at) { 32 } else { u32::from(bytes[at]) }).sum();
        bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let why = refused("mine.tar", &bytes);
        assert!(why.contains("points outside of the archive"), "{name}: {why}");
    }
}

#[test]
fn links_and_long_names_of_tar_archives() {
    let long = format!("{}/sweep.csv", "a folder with a long name, as campaigns have them".repeat(6));
    let mut writer = ::tar::Builder::new(Vec::new());
    let mut add = |kind, name: &str, content: &str| {
        let mut head = ::tar::Header::new_gnu();
        head.set_entry_type(kind);
        head.set_size(content.len() as u64);
        writer.append_data(&mut head, name, content.as_bytes()).unwrap();
    };
    add(::tar::EntryType::Directory, "day", "");
    add(::tar::EntryType::Regular, &long, "1");
    add(::tar::EntryType::Continuous, "contiguous.csv", "2");
    add(::tar::EntryType::Symlink, "latest.csv", "");
    add(::tar::EntryType::Fifo, "pipe", "");
    let mut head = ::tar::Header::new_ustar();
    head.set_size(1);
    head.set_path(format!("{}/ustar.csv", "p".repeat(120))).unwrap();
    head.set_cksum();
    writer.append(&head, &b"3"[..]).unwrap();
    writer.append_pax_extensions([("mtime", b"1.5".as_slice()), ("path", "größe/µs\n.csv".as_bytes())]).unwrap();
    let mut head = ::tar::Header::new_ustar();
    head.set_size(1);
    head.set_path("short.csv").unwrap();
    head.set_cksum();
    writer.append(&head, &b"4"[..]).unwrap();
    let files = opened("x.tar", &writer.into_inner().unwrap());
    let prefixed = format!("{}/ustar.csv", "p".repeat(120));
    let expected = [&long, "contiguous.csv", "größe/µs\n.csv", "latest.csv", "pipe", &prefixed];
    assert_eq!(names(&files), expected.map(|name| format!("x.tar/{name}")));
    let contents: Vec<(&[u8], Option<&str>)> =
        files.iter().map(|file| (&file.bytes[..], file.refused.as_deref())).collect();
    let no_file = (&b""[..], Some("is a link or a device, and no file"));
    assert_eq!(contents, [(&b"1"[..], None), (b"2", None), (b"4", None), no_file, no_file, (b"3", None)]);
}

#[test]
fn damaged_and_other_files_are_refused_with_a_reason() {
    let files = [("a.csv", "1,2,3\n".repeat(1000)), ("b.csv", "4,5,6\n".repeat(1000))];
    let (zip, tar) = (archive(&files), tarred(&files));
    let mut changed = tar.clone();
    changed[5] ^= 1;
    let mut swapped = tar.clone();
    swapped[512 + 6144 + 5] ^= 1;
    let workbook = archive(&[("xl/worksheets/sheet1.xml", "<worksheet/>")]);
    for (name, bytes, why) in [
        ("a.zip", &zip[..zip.len() / 2], "is a zip archive that breaks off"),
        ("a.tar", &tar[..3000], "is a tar archive that breaks off"),
        ("a.tar", &tar[..700], "is a tar archive that breaks off"),
        ("a.tar", &tar[..300], "is a tar archive that breaks off"),
        ("a.tar", &changed, "the checksum of the head at byte 0 is wrong"),
        ("a.tar", &swapped, "the checksum of the head at byte 6656 is wrong"),
        ("a.tgz", &gzipped(&tar)[..100], "the gzip file breaks off"),
        ("a.tar", &b"size,busbw\n".repeat(100), "is no tar archive, or a damaged one"),
        ("a.tar", b"", "is an archive without files"),
        ("a.zip", &archive(&[(".hidden", "1")]), "is an archive without files"),
        ("a.zip", &workbook, "is an Excel workbook; give it a name that ends in .xlsx"),
    ] {
        let said = refused(name, bytes);
        assert!(said.contains(why), "{name}: {said}");
    }
    // What only lacks the blocks that end it is complete, and what is packed otherwise than it is called is read.
    assert_eq!(opened("a.tar", &tar[..tar.len() - 1024]).len(), 2);
    assert_eq!(opened("a.tar", &gzipped(&tar)), opened("a.tar", &tar));
    assert_eq!(opened("a.tar", &zip), opened("a.tar", &tar));
}

/// Names of one to three parts, some longer than a head has place for.
fn entry_names() -> impl Strategy<Value = String> {
    let part = "[a-zA-Zµ0-9_ -]{1,70}";
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

proptest! {
    #[test]
    fn tar_archives_are_read_as_they_were_written(
        entries in prop::collection::vec((entry_names(), prop::collection::vec(any::<u8>(), 0..1500)), 0..6),
    ) {
        let archive = tarred(&entries);
        let read = tar::entries(&archive).unwrap();
        let read: Vec<(String, Vec<u8>)> =
            read.into_iter().map(|(name, content)| (name, content.unwrap().to_vec())).collect();
        prop_assert_eq!(read, entries);
    }

    #[test]
    fn no_damage_of_a_tar_archive_panics(
        changes in prop::collection::vec((0_usize..5000, any::<u8>()), 0..40),
        end in 0_usize..6000,
        mends in any::<bool>(),
    ) {
        let mut bytes = tarred(&[("a".repeat(150), vec![b'1'; 700]), ("b.csv".to_owned(), vec![b'2'; 20])]);
        let length = bytes.len();
        changes.iter().for_each(|(at, byte)| bytes[at % length] = *byte);
        if mends {
            // As with a right checksum, so that what else a head says is read.
            for head in bytes.chunks_exact_mut(512) {
                let sum: u32 = (0..512).map(|at| if (148..156).contains(&at) { 32 } else { u32::from(head[at]) }).sum();
                head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
        }
        bytes.truncate(end);
        if let Ok(files) = unpack(Box::new(&bytes[..]), "a.tar") {
            prop_assert!(files.iter().map(|file| file.bytes.len()).sum::<usize>() <= bytes.len());
        }
    }
}
