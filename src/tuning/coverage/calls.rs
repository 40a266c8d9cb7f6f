//! The calls of a job: from its log, or as the user typed them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    collective::{Collective, Scale},
    tuning::{
        data_type::DataType,
        job::{CollectiveCall, JobLog, LibraryDecision},
        reach::ListedCall,
    },
};

/// Calls as users know them: batch × hidden size × bytes of the data type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedCalls {
    /// The collective of the calls.
    pub collective: Collective,
    /// Batch sizes (or tokens), each a call of its own.
    pub batches: Vec<u64>,
    /// The hidden size of the model, in elements.
    pub hidden: u64,
    /// Bytes of the data type.
    pub type_bytes: u32,
    /// Calls of each per step: layers × calls of a layer.
    pub calls: u32,
}

impl TypedCalls {
    /// The same calls in the form of a log. Sizes that overflow are left out.
    pub fn job(&self) -> JobLog {
        let mut job = JobLog::default();
        for batch in &self.batches {
            if let Some(size_bytes) = self.size_bytes(*batch) {
                let call = CollectiveCall { collective: self.collective, size_bytes, ranks: None, is_per_rank: false };
                *job.calls.entry(call).or_default() += u64::from(self.calls);
                job.data_types.entry((self.collective, size_bytes)).or_default().extend(self.data_type());
            }
        }
        job
    }

    /// The same calls as a list, on communicators of this scale.
    pub fn listed(&self, scale: Scale) -> Vec<ListedCall> {
        // What decides paths is whether a type is one of floating-point numbers of 2 or 4 bytes.
        let data_type = match self.type_bytes {
            2 => "bf16",
            4 => "fp32",
            _ => "int8",
        };
        let data_type = DataType::parse(data_type);
        let sizes = self.batches.iter().filter_map(|batch| self.size_bytes(*batch));
        let listed = |size_bytes| ListedCall {
            collective: self.collective,
            size_bytes,
            scale,
            calls: self.calls.into(),
            data_type,
            is_sum: None,
            place: None,
        };
        sizes.map(listed).collect()
    }

    /// A type of nccl-tests with as many bytes (`ncclDataType_t`): bfloat16, float or double.
    fn data_type(&self) -> Option<u32> {
        match self.type_bytes {
            2 => Some(9),
            4 => Some(7),
            8 => Some(8),
            _ => None,
        }
    }

    fn size_bytes(&self, batch: u64) -> Option<u64> {
        let size_bytes = batch.checked_mul(self.hidden)?.checked_mul(self.type_bytes.into())?;
        Some(size_bytes).filter(|size| *size > 0)
    }

    /// How many batch sizes [`job`](Self::job) leaves out.
    pub fn left_out(&self) -> u64 {
        self.batches.iter().filter(|batch| self.size_bytes(**batch).is_none()).count() as u64
    }
}

/// The calls of a log with their counts, and how many are left out: their bytes are those of one rank, and the log does
/// not say how many ranks there are. A log without calls may have the library's decisions, which are one for each call.
pub fn of(job: &JobLog) -> (BTreeMap<CollectiveCall, u64>, u64) {
    let mut calls = BTreeMap::new();
    let mut left_out = 0;
    let mut add = |call: CollectiveCall, count: u64| match call.is_per_rank {
        true => left_out += count,
        false => *calls.entry(call).or_default() += count,
    };
    job.calls.iter().for_each(|(call, count)| add(*call, *count));
    if job.calls.is_empty() {
        for (decision, count) in &job.decisions {
            let LibraryDecision { collective, size_bytes, is_per_rank, .. } = *decision;
            add(CollectiveCall { collective, size_bytes, ranks: None, is_per_rank }, *count);
        }
    }
    (calls, left_out)
}
