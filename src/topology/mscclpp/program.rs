//! The operations of a thread block that is written, as JSON.

use super::plan::{Buffer, ChannelType, MOST_OPERATION_CHANNELS};

/// A channel: the lane that puts, and the lane whose thread block reads.
pub(super) type LanePair = (usize, usize);

/// The types of channels between two ranks, by which [`Program::channels`] are told apart.
pub(super) const TYPES: [ChannelType; 2] = [ChannelType::Memory, ChannelType::Port];

/// The operations of a thread block, and the channels and buffers that they name.
#[derive(Default)]
pub(super) struct Program {
    /// Each as JSON.
    pub(super) operations: Vec<String>,
    /// For memory and port the channels, in the order of their numbers.
    pub(super) channels: [Vec<LanePair>; 2],
    /// For memory and port the remote buffers, with their ranks, in the order of their numbers.
    pub(super) remotes: [Vec<(usize, Buffer)>; 2],
}

/// Chunks of a local buffer.
fn local(buffer: Buffer, index: u32, size: u32) -> String {
    format!("{{\"type\": \"{}\", \"index\": {index}, \"size\": {size}}}", buffer.letter())
}

impl Program {
    /// A barrier of the threads.
    pub(super) fn nop(&mut self) {
        self.operations.push("{\"name\": \"nop\"}".to_owned());
    }

    /// An operation on channels, by its word for memory and for ports, in as many as have room for them.
    pub(super) fn on_channels(&mut self, words: [&str; 2], pairs: &[LanePair], of: &dyn Fn(usize) -> ChannelType) {
        for kind in TYPES {
            let own = &self.channels[kind as usize];
            let ids = pairs.iter().filter(|(from, _)| of(*from) == kind);
            let ids = ids.filter_map(|pair| own.iter().position(|known| known == pair));
            let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
            for ids in ids.chunks(MOST_OPERATION_CHANNELS) {
                self.operations.push(format!(
                    "{{\"name\": \"{}\", \"channel_ids\": [{}], \"channel_type\": \"{}\"}}",
                    words[kind as usize],
                    ids.join(", "),
                    kind.word()
                ));
            }
        }
    }

    /// Waits until so many puts of lanes have come. Returns whether there is anything to wait for.
    pub(super) fn wait(
        &mut self,
        until: &[usize],
        waited: &mut [usize],
        lane: usize,
        of: &dyn Fn(usize) -> ChannelType,
    ) -> bool {
        let mut has_waited = false;
        loop {
            let open = (0..until.len()).filter(|from| waited[*from] < until[*from]);
            let open: Vec<LanePair> = open.map(|from| (from, lane)).collect();
            if open.is_empty() {
                return has_waited;
            }
            open.iter().for_each(|(from, _)| waited[*from] += 1);
            self.on_channels(["wait", "wait"], &open, of);
            has_waited = true;
        }
    }

    /// Acquires or releases semaphores, in as many operations as have room for them.
    pub(super) fn on_semaphores(&mut self, word: &str, ids: &[usize]) {
        for ids in ids.chunks(MOST_OPERATION_CHANNELS) {
            let ids = numbers(ids.iter().copied());
            self.operations.push(format!("{{\"name\": \"{word}\", \"semaphore_ids\": [{ids}]}}"));
        }
    }

    /// Adds places of scratch to a chunk of a buffer.
    pub(super) fn reduce(&mut self, buffer: Buffer, chunk: u32, slots: &[u32]) {
        let own = local(buffer, chunk, 1);
        // An operation has room for ten buffers.
        for (turn, slots) in slots.chunks(8).enumerate() {
            if turn > 0 {
                self.nop();
            }
            let slots: Vec<String> = slots.iter().map(|slot| local(Buffer::Scratch, *slot, 1)).collect();
            self.operations.push(format!(
                "{{\"name\": \"re\", \"src_buff\": [{own}, {}], \"dst_buff\": [{own}], \"reduce_op\": \"sum\"}}",
                slots.join(", ")
            ));
        }
    }

    /// Writes chunks into a buffer of another rank, over a channel of a type.
    pub(super) fn put(
        &mut self,
        (from, chunk, size): (Buffer, u32, u32),
        (rank, buffer, index): (usize, Buffer, u32),
        kind: ChannelType,
        channel: usize,
    ) {
        let remotes = &mut self.remotes[kind as usize];
        let id = remotes.iter().position(|known| *known == (rank, buffer)).unwrap_or_else(|| {
            remotes.push((rank, buffer));
            remotes.len() - 1
        });
        self.operations.push(format!(
            "{{\"name\": \"put\", \"src_buff\": [{}], \"dst_buff\": [{{\"buffer_id\": {id}, \"index\": {index}, \"size\": \
             {size}}}], \"channel_ids\": [{channel}], \"channel_type\": \"{}\"}}",
            local(from, chunk, size),
            kind.word()
        ));
    }
}

impl Program {
    /// Waits until what was put over a port has ended. The kernel waits for as many channels as there are destinations,
    /// of which it looks at nothing else.
    pub(super) fn flush(&mut self, channel: usize) {
        let kind = ChannelType::Port.word();
        self.operations.push(format!(
            "{{\"name\": \"flush\", \"dst_buff\": [{{\"buffer_id\": 0, \"index\": 0, \"size\": 1}}], \"channel_ids\": \
             [{channel}], \"channel_type\": \"{kind}\"}}"
        ));
    }
}

/// Numbers of a list, with commas between.
pub(super) fn numbers(all: impl Iterator<Item = usize>) -> String {
    all.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}
