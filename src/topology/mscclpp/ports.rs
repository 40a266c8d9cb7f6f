//! Proxies of ports: what is put over a port ends later, in the order in which it was put, and what a thread block
//! knows of it comes with the port's own signals, or with a `flush`.

use super::plan::Plan;

/// What a proxy carried out: the thread block that put it, and the place of its operation there.
pub(super) type Post = (usize, usize);

/// The proxies of all ports. Their numbers follow those of thread blocks.
pub(super) struct Ports {
    /// The number of thread blocks.
    blocks: usize,
    /// Of each rank the number of its first proxy, and of its first port among the ends of its channels.
    first: Vec<(usize, usize)>,
    /// The rank of each proxy.
    pub(super) ranks: Vec<usize>,
    posts: Vec<Vec<Post>>,
}

impl Ports {
    /// Those of a plan with so many thread blocks, before the launch.
    pub(super) fn new(plan: &Plan, blocks: usize) -> Self {
        let (mut first, mut ranks) = (Vec::new(), Vec::new());
        for (rank, gpu) in plan.gpus.iter().enumerate() {
            first.push((blocks + ranks.len(), gpu.memory_ends));
            ranks.resize(ranks.len() + gpu.ends.len() - gpu.memory_ends, rank);
        }
        Self { blocks, first, posts: vec![Vec::new(); ranks.len()], ranks }
    }

    /// The proxy of an end of a rank's channels; `None` for a memory channel.
    pub(super) fn of(&self, rank: usize, end: usize) -> Option<usize> {
        let (number, first) = self.first[rank];
        Some(number + end.checked_sub(first)?)
    }

    /// How much a proxy carried out.
    pub(super) fn count(&self, proxy: usize) -> usize {
        self.posts[proxy - self.blocks].len()
    }

    /// Notes what a proxy carries out.
    pub(super) fn push(&mut self, proxy: usize, post: Post) {
        self.posts[proxy - self.blocks].push(post);
    }

    /// The thread block and the place of an operation that a thread block or a proxy carried out, and whether it was a
    /// proxy.
    pub(super) fn source(&self, actor: usize, operation: usize) -> (Post, bool) {
        match actor.checked_sub(self.blocks) {
            Some(proxy) => (self.posts[proxy][operation], true),
            None => ((actor, operation), false),
        }
    }
}
