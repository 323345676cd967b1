//! Objects that the sidecars left after each step, and their requests in it: `tests/recordings/volumes.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::beside::{Asked, ManagerState};

/// All steps.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct VolumeRecording {
    /// How it was made.
    about: String,
    /// By their names.
    steps: BTreeMap<String, RecordedStep>,
}

/// One step.
#[derive(Debug, Deserialize, Serialize)]
struct RecordedStep {
    /// How often each request was made.
    requests: BTreeMap<String, usize>,
    /// The objects and disks after it.
    seen: Value,
}

impl VolumeRecording {
    /// As it was recorded.
    ///
    /// # Errors
    ///
    /// Fails if it was not.
    pub fn read() -> Result<Self> {
        let path = path();
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("{}. Next step: make compare-volumes RECORD=1", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The steps that were played with the sidecars.
    #[must_use]
    pub fn of(steps: impl IntoIterator<Item = (String, ManagerState)>) -> Self {
        let recorded =
            |(name, it): (String, ManagerState)| (name, RecordedStep { requests: it.asked.actions, seen: it.seen });
        Self {
            about:
                "external-provisioner, external-attacher and external-resizer as tests/csi-sidecars/go.mod pins them: \
                    make compare-volumes RECORD=1"
                    .to_owned(),
            steps: steps.into_iter().map(recorded).collect(),
        }
    }

    /// Puts it in the place of what was recorded before.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self) -> Result<()> {
        let path = path();
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }

    /// A step, to compare with.
    ///
    /// # Errors
    ///
    /// Fails if it was not recorded.
    pub fn step(&self, name: &str) -> Result<ManagerState> {
        let step = self.steps.get(name);
        let step =
            step.with_context(|| format!("step {name} is not recorded. Next step: make compare-volumes RECORD=1"))?;
        let requests = step.requests.iter().map(|(it, times)| (it.clone(), !it.starts_with("GET "), *times));
        Ok(ManagerState { seen: step.seen.clone(), asked: Asked::counted(requests) })
    }
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/volumes.json")
}
