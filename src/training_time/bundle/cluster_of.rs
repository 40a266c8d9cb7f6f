//! Assigns files to clusters: a cluster is one kind of GPU in one folder.

use super::super::{
    read::{
        TrainingFile,
        name::{Name, folders, is_kind, stem},
    },
    samples::Cluster,
};

/// The clusters of a bundle, added as files mention them.
#[derive(Default)]
pub(super) struct Clusters {
    pub(super) all: Vec<Cluster>,
    /// The folder of each cluster.
    folders: Vec<String>,
}

/// The folder of a cluster in a path, without what only tells kinds of samples apart.
fn folder(path: &str) -> String {
    let mut folders = folders(path);
    if folders.last().is_some_and(|last| is_kind(last)) {
        folders.pop();
    }
    folders.join("/")
}

/// The GPU that a file's folder, contents or name states.
pub(super) fn gpu(path: &str, part: &TrainingFile, name: &Name) -> Option<String> {
    match part {
        // Named after the GPU alone.
        TrainingFile::Settings(rows) => {
            let told = rows.iter().find_map(|row| row.gpu.clone());
            told.or_else(|| Some(stem(path).to_owned()).filter(|stem| !stem.contains('_')))
        }
        _ => name.gpu.clone(),
    }
}

impl Clusters {
    /// The cluster of a GPU under the folder of this path, made now if there is none.
    pub(super) fn of(&mut self, path: &str, gpu: Option<&str>) -> usize {
        let folder = folder(path);
        let is_here = |at: &usize| self.folders[*at] == folder;
        let found = match gpu {
            Some(gpu) => (0..self.all.len()).find(|at| is_here(at) && self.all[*at].gpu == gpu),
            // Without a GPU's name it belongs to the only cluster of its folder, else to the only one.
            None => {
                let mut here = (0..self.all.len()).filter(is_here);
                here.next().filter(|_| here.next().is_none()).or((self.all.len() == 1).then_some(0))
            }
        };
        found.unwrap_or_else(|| {
            self.all.push(Cluster { gpu: gpu.unwrap_or_default().to_owned(), ..Cluster::default() });
            self.folders.push(folder);
            self.all.len() - 1
        })
    }

    /// Names each by its folder, by its whole path where folders have the same name, by its GPU where it has none.
    pub(super) fn named(mut self) -> Vec<Cluster> {
        // An archive is a folder as well.
        let leaf = |folder: &String| stem(folder).to_owned();
        let leaves: Vec<String> = self.folders.iter().map(leaf).collect();
        for (at, cluster) in self.all.iter_mut().enumerate() {
            let shared = |folder: &str| leaves.iter().filter(|other| *other == folder).count() > 1;
            cluster.name = match leaves[at].as_str() {
                "" if cluster.gpu.is_empty() => "unnamed GPU".to_owned(),
                "" => cluster.gpu.clone(),
                name if shared(name) => {
                    // One folder with two GPUs is told apart by these.
                    let same = self.folders.iter().filter(|folder| **folder == self.folders[at]).count() > 1;
                    if same { format!("{} ({})", self.folders[at], cluster.gpu) } else { self.folders[at].clone() }
                }
                name => name.to_owned(),
            };
        }
        self.all
    }
}
