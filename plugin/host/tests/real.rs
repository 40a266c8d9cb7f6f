//! Real libraries load the plugin by their own code.
//!
//! `COLLECTUNE_NCCL` names libraries, or folders in which they lie at any depth, as `PATH` does: those of the wheels
//! `nvidia-nccl-cu12` and `nvidia-nccl-cu13`, unpacked. Run with `--ignored`.

#![allow(clippy::unwrap_used)]

mod support;

use std::{fs, path::Path};

use support::Rank;

/// The interface that a release of the library takes of a plugin with all of them.
fn expected(version: u32) -> Option<u32> {
    match version {
        ..2_21_00 => None,
        2_21_00..2_22_00 => Some(2),
        2_22_00..2_24_00 => Some(3),
        2_24_00..2_28_00 => Some(4),
        2_28_00..2_30_00 => Some(5),
        _ => Some(6),
    }
}

fn loaded(library: &Path, name: &Path) -> Vec<String> {
    let folder = support::plugin().parent().unwrap();
    let rank = Rank::new(2).with("NCCL_TUNER_PLUGIN", name).with("LD_LIBRARY_PATH", folder);
    let conf = folder.join("real_library.conf");
    fs::write(&conf, "allreduce,0,1M,ring,ll,2,-1,-1\nallgather,0,-1,ring,simple,-1,-1,-1\n").unwrap();
    let printed = rank.with("NCCL_TUNER_CONFIG_FILE", conf).run(&["real", library.to_str().unwrap()]);
    // What a library without such an interface prints is an error of the host.
    let of_host = |line: &&str| line.starts_with("version ") || line.starts_with("wrapper ");
    let lines: Vec<String> = printed.out.lines().filter(of_host).map(str::to_owned).collect();
    if printed.is_success { lines } else { vec![printed.err] }
}

#[test]
#[ignore = "needs real libraries, which COLLECTUNE_NCCL names: docs/plugin.md"]
fn every_library_takes_the_newest_version_that_it_knows() {
    for library in support::libraries() {
        // 2.27.3 opens no path, only names that it completes.
        let by_path = loaded(&library, support::plugin());
        let by_name = loaded(&library, Path::new("collectune"));
        let Some(first) = by_name.first().filter(|line| line.starts_with("version ")) else {
            assert!(by_name[0].contains("it has no ncclTunerPluginLoad"), "{}: {by_name:?}", library.display());
            println!("{}: takes nothing", library.display());
            continue;
        };
        let version: u32 = first.split(' ').nth(1).unwrap().parse().unwrap();
        let taken = expected(version).map_or("none".to_owned(), |of| format!("v{of}"));
        assert_eq!(*first, format!("version {version} takes {taken}"), "{}", library.display());
        let path_first = if version == 2_27_03 { "version 22703 takes none" } else { first };
        assert_eq!(by_path[0], path_first, "{}", library.display());
        assert!(by_name[1..].iter().all(|line| line.ends_with("same true")), "{by_name:?}");
        // From 2.26 on, wrappers of all versions that it knows are functions of their own.
        let wrappers = if version >= 2_26_00 { expected(version).unwrap() - 1 } else { 0 };
        assert!(by_name.len() as u32 > wrappers, "{by_name:?}");
        println!("{}: {}", library.display(), by_name.join(", "));
    }
}
