//! A job that explores by a policy.

use collectune::{
    bandit::{draws::normal, schedule::fill_block},
    collective::{Collective, Scale},
    policy::{
        arm::Arm,
        file::{Choice, Entry, Policy},
        key::BandKey,
    },
};

/// A policy that explores, and a log of its calls that names no arm: the third arm is the fastest.
pub fn explored() -> (Policy, String) {
    let scale = Scale { nodes: 2, ranks: 8 };
    let key = BandKey { collective: Collective::AllReduce, band: 5, scale, overlap: false };
    let policy = Policy {
        generation: 3,
        seed: 42,
        arms: ["auto", "tree/simple", "tree/ll128", "ring/simple"].iter().filter_map(|arm| Arm::parse(arm)).collect(),
        keys: vec![Entry {
            collective: key.collective,
            band: key.band,
            scale,
            overlap: None,
            choice: Choice::Counts(vec![2, 2, 2, 2]),
        }],
        ..Policy::default()
    };
    let mut text = "collType,nBytes,nNodes,nRanks,latency_ms,call,generation\n".to_owned();
    let mut order = [0; 8];
    for call in 0..200_u64 {
        fill_block(&[2, 2, 2, 2], 42, key.hash(), call / 8, &mut order);
        let arm = usize::from(order[(call % 8) as usize]);
        let latency = [10.5, 10.0, 9.0, 11.0][arm] + 0.3 * normal(1, 0, call);
        text += &format!("allreduce,67108864,2,8,{latency:.4},{call},3\n");
    }
    (policy, text)
}
