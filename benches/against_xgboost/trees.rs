//! Prints what the published preset says of every held-out kernel of a file of merged features: repeat, fold and
//! slowdown, a line each. For `compare.py`.

use collectune::{
    intake::{self, FileContent},
    overlap::{
        features::Settings,
        loaded::{NamedKernelFile, bring_together},
        models::Kind,
        validate::{FOLDS, Job, REPEATS, Scheme, predict_fold},
    },
    progress::Silent,
};

fn main() {
    let path = std::env::args().nth(1).expect("a file of merged features");
    let bytes = std::fs::read(&path).expect("a file that can be read");
    let (report, content) = intake::open(&bytes[..], &path, bytes.len() as u64, 0, None, &mut Silent);
    let FileContent::Kernels(part) = content else { panic!("{report:?}") };
    let loaded = bring_together(vec![NamedKernelFile { name: path, part: *part }]);
    for repeat in 0..REPEATS {
        for fold in 0..FOLDS {
            let job = Job { kind: Kind::TreesPublished, scheme: Scheme::Kernels(repeat), fold };
            let said =
                predict_fold(&loaded.datasets[0], &Settings::default(), job, &mut Silent).expect("kernels to fit");
            for predicted in said.predicted {
                println!("{repeat} {fold} {}", predicted.slowdown);
            }
        }
    }
}
