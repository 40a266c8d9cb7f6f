//! A plan that is written, as JSON with an operation on each line.

use super::{
    plan::Buffer,
    program::{LanePair, Program, TYPES, numbers},
};

/// The end of a channel: the rank at its other end, and which channel it is.
pub(super) type ChannelEnd = (usize, LanePair);

/// The program of a GPU.
pub(super) struct GpuProgram<'a> {
    /// Chunks of input, output and scratch.
    pub(super) chunks: [u32; 3],
    /// Ends of channels over memory and over ports, in the order of their numbers.
    pub(super) ends: [Vec<ChannelEnd>; 2],
    /// The number of semaphores, which begin with 0.
    pub(super) semaphores: usize,
    /// The thread blocks.
    pub(super) blocks: Vec<&'a Program>,
}

/// The plan of a collective by its name in plans, in place.
pub(super) fn plan(name: &str, collective: &str, gpus: &[GpuProgram<'_>]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    let name: String = name.chars().take(200).map(plain).collect();
    let gpus: Vec<String> = gpus.iter().enumerate().map(|(rank, of)| gpu(rank, of)).collect();
    format!(
        "{{\n  \"name\": \"{name}\",\n  \"collective\": \"{collective}\",\n  \"protocol\": \"Simple\",\n  \"inplace\": \
         true,\n  \"reuse_resources\": false,\n  \"num_threads_per_block\": 1024,\n  \"use_double_scratch_buffer\": \
         false,\n  \"buffer_alignment\": 16,\n  \"min_message_size\": 0,\n  \"max_message_size\": \
         18446744073709551615,\n  \"gpus\": [\n{}\n  ]\n}}\n",
        gpus.join(",\n")
    )
}

fn gpu(rank: usize, of: &GpuProgram<'_>) -> String {
    let mut remotes: [Vec<(usize, Buffer)>; 2] = Default::default();
    for block in &of.blocks {
        for (all, own) in remotes.iter_mut().zip(&block.remotes) {
            for remote in own {
                if !all.contains(remote) {
                    all.push(*remote);
                }
            }
        }
    }
    let channels = by_type(|kind, word| {
        let peers = numbers(of.ends[kind].iter().map(|(peer, _)| *peer));
        (!peers.is_empty()).then(|| format!("{{\"channel_type\": \"{word}\", \"connected_to\": [{peers}]}}"))
    });
    let remote_buffers = by_type(|kind, word| {
        let one = |(peer, buffer): &(usize, Buffer)| {
            let letter = buffer.letter();
            format!("{{\"rank\": {peer}, \"type\": \"{letter}\", \"access_channel_types\": [\"{word}\"]}}")
        };
        let all: Vec<String> = remotes[kind].iter().map(one).collect();
        Some(all.join(", ")).filter(|all| !all.is_empty())
    });
    let semaphores = vec!["{\"init_value\": 0}"; of.semaphores].join(", ");
    let blocks: Vec<String> =
        of.blocks.iter().enumerate().map(|(number, program)| block(number, program, &of.ends, &remotes)).collect();
    let [input, output, scratch] = of.chunks;
    format!(
        "    {{\"id\": {rank}, \"input_chunks\": {input}, \"output_chunks\": {output}, \"scratch_chunks\": {scratch},\n      \
         \"channels\": [{channels}],\n      \"remote_buffers\": [{remote_buffers}],\n      \"semaphores\": \
         [{semaphores}],\n      \"threadblocks\": [\n{}\n      ]}}",
        blocks.join(",\n")
    )
}

fn block(number: usize, program: &Program, ends: &[Vec<ChannelEnd>; 2], remotes: &[Vec<(usize, Buffer)>; 2]) -> String {
    let channels = by_type(|kind, word| {
        let place = |pair: &LanePair| ends[kind].iter().position(|(_, known)| known == pair);
        let ids = numbers(program.channels[kind].iter().filter_map(place));
        (!ids.is_empty()).then(|| format!("{{\"channel_type\": \"{word}\", \"channel_ids\": [{ids}]}}"))
    });
    let refs = by_type(|kind, word| {
        // Remote buffers over ports follow those over memory.
        let before = if kind == 0 { 0 } else { remotes[0].len() };
        let place = |of: &(usize, Buffer)| Some(before + remotes[kind].iter().position(|known| known == of)?);
        let ids = numbers(program.remotes[kind].iter().filter_map(place));
        (!ids.is_empty()).then(|| format!("{{\"access_channel_type\": \"{word}\", \"remote_buffer_ids\": [{ids}]}}"))
    });
    format!(
        "        {{\"id\": {number}, \"ops\": [\n          {}\n        ], \"channels\": [{channels}], \
         \"remote_buffer_refs\": [{refs}]}}",
        program.operations.join(",\n          ")
    )
}

/// What there is for memory and for ports, with commas between.
fn by_type(make: impl Fn(usize, &str) -> Option<String>) -> String {
    let made: Vec<String> = TYPES.iter().filter_map(|kind| make(*kind as usize, kind.word())).collect();
    made.join(", ")
}
