//! `aerostat module`: what people do with modules before and beside a cluster. No cluster is asked anything.
//!
//! ```text
//! Inspect ─► place ─► Repository, file ─► sandbox ─► ■ Inspected ─► text or JSON
//! Verify, Pull ─► place ─► Repository ─► ■ signatures ─► file
//! Push ─► file ─► Repository
//! ```

mod answer;
mod compared;
mod file;
mod inspect;
mod inspected;
mod place;
mod progress;
mod pull;
mod push;
mod signed;
mod verify;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::timeout;

pub use self::answer::Answer;
use crate::flags::ModuleCommand;

/// How long a command may take. Each single request has shorter limits.
const LONGEST: Duration = Duration::from_secs(600);

/// Does what was asked for.
pub(crate) async fn run(command: ModuleCommand, compiler: Option<&Path>) -> Result<Answer> {
    let work = async {
        match command {
            ModuleCommand::Inspect(it) => inspect::run(it, compiler).await,
            ModuleCommand::Verify(it) => verify::run(it).await,
            ModuleCommand::Pull(it) => pull::run(it).await,
            ModuleCommand::Push(it) => push::run(it).await,
        }
    };
    match timeout(LONGEST, work).await {
        Ok(answer) => answer,
        Err(_) => bail!("this was not done within {LONGEST:?}; look at the way to the registry, and try again"),
    }
}
