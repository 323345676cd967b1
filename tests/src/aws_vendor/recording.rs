//! The state that AWS's manager left after each step: files in `tests/aws/vendor`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asked::is_read;
use super::story::{Part, Step};
use crate::beside::{Asked, ManagerState};

/// The state after a step, and the requests in it.
#[derive(Debug, Deserialize, Serialize)]
pub struct Recording {
    /// The requests of each action.
    pub requests: BTreeMap<String, usize>,
    /// The state.
    pub seen: Value,
}

impl Recording {
    /// The recording of a step.
    ///
    /// # Errors
    ///
    /// Fails if it was not recorded.
    pub fn read(part: &Part, step: &Step) -> Result<Self> {
        let path = path(part, step);
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("{}. Next step: make compare-aws RECORD=1", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Puts it in the place of what was recorded before.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self, part: &Part, step: &Step) -> Result<()> {
        let path = path(part, step);
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }

    /// The requests.
    #[must_use]
    pub fn asked(&self) -> Asked {
        Asked::counted(self.requests.iter().map(|(action, times)| (action.clone(), !is_read(action), *times)))
    }

    /// Both, to compare with.
    #[must_use]
    pub fn state(&self) -> ManagerState {
        ManagerState { seen: self.seen.clone(), asked: self.asked() }
    }
}

fn path(part: &Part, step: &Step) -> PathBuf {
    let name = format!("{}-{}.json", part.name, step.name);
    Path::new(env!("CARGO_MANIFEST_DIR")).join("aws/vendor").join(name)
}
