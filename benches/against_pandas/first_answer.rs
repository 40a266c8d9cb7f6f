//! Reads a sweep and finds its measured winners, as the page does when a file is dropped: what `compare.py` times
//! beside pandas.
//!
//! `first_answer FILE` prints `rows workloads`.

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    use collectune::{
        intake::{
            Outcome,
            files::{FileSource, FileToLoad},
        },
        progress::Silent,
        tuning::{aggregate::Target, sets::SetChoice},
        worker::{
            executor::Executor,
            protocol::{Request, Response},
        },
    };
    let path = std::env::args().nth(1).expect("a file");
    let content = std::fs::File::open(&path).expect("a file that can be opened");
    let size_bytes = content.metadata().expect("a file with a size").len();
    let request = Request::Load {
        files: vec![FileToLoad { id: 0, name: path, mapping: None }],
        target: Target::Time,
        set: SetChoice::Largest,
    };
    let source = FileSource { content: Box::new(content), size_bytes };
    match Executor::default().execute(request, vec![source], &mut Silent) {
        Ok(Response::Loaded(loaded)) => match &loaded.files[0].outcome {
            Outcome::Loaded { rows, .. } => println!("{rows} {}", loaded.winners.len()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[cfg(target_arch = "wasm32")]
fn main() {}
