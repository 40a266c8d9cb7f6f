//! Where a job runs, as far as its logs do not say it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::tuning::platform::{Gpu, Version};

/// Where a job runs, as far as its logs do not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlace {
    /// The GPU's architecture or name, which decides the paths of listed calls.
    pub gpu: Option<Gpu>,
    /// The version of the library; `None`: as the logs say.
    pub version: Option<Version>,
    /// Variables of the job's environment, which hold before those that the logs show.
    pub environment: Vec<JobVariable>,
}

/// A variable of a job's environment: `RCCL_DDA_ENABLE=0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobVariable {
    /// Letters, digits and underscores.
    pub name: String,
    /// The value, as the job sees it.
    pub value: String,
}

impl fmt::Display for JobVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl FromStr for JobVariable {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (name, value) = text
            .split_once('=')
            .filter(|(name, _)| is_name(name))
            .ok_or("it must be NAME=VALUE, like RCCL_DDA_ENABLE=0")?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}
