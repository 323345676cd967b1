//! `aerostat module`, `aerostat bundle` and `aerostat provider`: what people do with modules before and beside a cluster. No cluster is
//! asked anything.
//!
//! ```text
//! Inspect ─► place ─► Repository, file ─► sandbox ─► ■ Inspected ─► text or JSON
//! Verify, Pull ─► place ─► Repository ─► ■ signatures ─► file
//! Push ─► file ─► Repository
//! Save, Push ─► Repository ─► ■ Layout ─► file, and back
//! Check, Describe ─► file ─► sandbox ─► ■ the description beside the config, pages ─► text or JSON
//! Diff ─► place ─► sandbox ─► ■ claims::changes ─► text or JSON
//! Call ─► file ─► sandbox ─► egress, watched ─► the cloud ─► JSON
//! Record ─► Call ─► ■ Conversation ─► file;  Replay ─► file ─► ■ Replayer in the cloud's place ─► differences
//! Build ─► cargo ─► file
//! New ─► ■ ProviderPlan ─► ■ files, from templates/ ─► folder
//! Conformance ─► file ─► sandbox ─► a simulator on loopback ─► ■ Report ─► text, JSON or JUnit's XML
//! ```

mod answer;
mod bundle;
mod compared;
mod conformance;
mod described;
mod diff;
mod examined;
mod file;
mod inspect;
mod inspected;
mod place;
mod progress;
mod provider;
mod pull;
mod push;
mod scaffold;
mod signed;
mod verify;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::timeout;

pub use self::answer::CommandAnswer;
use crate::flags::{BundleCommand, ModuleCommand, ProviderCommand};

/// How long a command may take. Each single request has shorter limits.
const LONGEST: Duration = Duration::from_secs(600);

/// Does what was asked for with a module.
pub(crate) async fn module(command: ModuleCommand, compiler: Option<&Path>) -> Result<CommandAnswer> {
    in_time(async {
        match command {
            ModuleCommand::Inspect(it) => inspect::run(it, compiler).await,
            ModuleCommand::Verify(it) => verify::run(it).await,
            ModuleCommand::Pull(it) => pull::run(it).await,
            ModuleCommand::Push(it) => push::run(it).await,
            ModuleCommand::Diff(it) => diff::run(it, compiler).await,
        }
    })
    .await
}

/// Does what was asked for with a file of artifacts.
pub(crate) async fn bundle(command: BundleCommand) -> Result<CommandAnswer> {
    in_time(async {
        match command {
            BundleCommand::Save(it) => bundle::save(it).await,
            BundleCommand::Push(it) => bundle::push(it).await,
        }
    })
    .await
}

/// Does what was asked for with a provider. Nothing but a simulator is asked, and by `call` and `record` the endpoints of its config.
pub(crate) async fn provider(command: ProviderCommand, compiler: Option<&Path>) -> Result<CommandAnswer> {
    match command {
        ProviderCommand::Conformance(it) => conformance::run(it, compiler).await,
        ProviderCommand::Build(it) => provider::build::run(it).await,
        ProviderCommand::Check(it) => in_time(provider::check::run(it, compiler)).await,
        ProviderCommand::Describe(it) => in_time(provider::describe::run(it, compiler)).await,
        ProviderCommand::Call(it) => in_time(provider::call::run(it, compiler)).await,
        ProviderCommand::Record(it) => in_time(provider::call::record::run(it, compiler)).await,
        ProviderCommand::Replay(it) => in_time(provider::call::replay::run(it, compiler)).await,
        ProviderCommand::New(it) => scaffold::run(*it),
    }
}

async fn in_time(work: impl Future<Output = Result<CommandAnswer>>) -> Result<CommandAnswer> {
    match timeout(LONGEST, work).await {
        Ok(answer) => answer,
        Err(_) => bail!("this was not done within {LONGEST:?}; look at the way to the registry, and try again"),
    }
}
