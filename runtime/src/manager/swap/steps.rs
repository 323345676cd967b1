//! The steps of a candidate on its way: each is a future that touches nothing that serves.

use std::sync::Arc;

use ::controllers::{Account, chain};
use cloud_provider::Error;
use sandbox::{Candidate, Digest, Module, ProbeError, Provider};
use tokio::sync::watch;

use super::comparison;
use crate::config::ModuleSource;
use crate::manager::claims::ModuleSide;
use crate::manager::fit::Fit;
use crate::manager::module::{self, Fetched, Means, Missing};

/// The outcome of a step.
pub(super) enum Done {
    Fetched(Fetched),
    Loaded(Arc<Candidate>),
    /// It has named the cluster's account.
    Probed {
        /// Under this version of credentials and provider; `None` if the version that serves has named no account.
        seen: Option<u64>,
    },
}

/// Why a step has come to nothing: sentences without their full stop.
pub(super) enum StepFailed {
    /// It may succeed later.
    Later(String),
    /// It will not.
    Refused(String),
}

/// Fetches and verifies a module. The folder of modules keeps `serving` beside it: a restart may need it again.
pub(super) async fn fetch(source: ModuleSource, means: Means, serving: Digest) -> Result<Done, StepFailed> {
    match module::attempt(&source, &means, Some(serving)).await {
        Ok(fetched) => Ok(Done::Fetched(fetched)),
        Err(Missing::Refused(error)) => Err(StepFailed::Refused(chain(error.as_ref()))),
        Err(Missing::Elsewhere(error)) => Err(StepFailed::Later(chain(error.as_ref()))),
        Err(Missing::Unavailable(because)) => Err(StepFailed::Later(because)),
    }
}

/// Compiles a module, lets it describe itself, and compares that with the config and with what serves.
pub(super) async fn load(provider: Provider, module: Module, fit: Fit) -> Result<Done, StepFailed> {
    let name = module.name().to_owned();
    let candidate = provider.load_candidate(module).await.map_err(|it| StepFailed::Refused(chain(&it)))?;
    let (old, new) = (provider.description(), candidate.description());
    let endpoints = fit.endpoints();
    let config = fit.config(&endpoints);
    let differences = || {
        let side = |description, capabilities| ModuleSide { description, capabilities, size: None };
        let (before, after) = (side(&old, provider.capabilities()), side(&new, candidate.capabilities()));
        comparison::differences(&before, &after, &config)
    };
    if let Some(objection) = comparison::objection(&old, &new, &config) {
        return Err(StepFailed::Refused(format!("{name}: {objection}{}", differences())));
    }
    fit.check(&new, &name).map_err(|it| StepFailed::Refused(format!("{}{}", chain(it.as_ref()), differences())))?;
    Ok(Done::Loaded(Arc::new(candidate)))
}

/// Lets a candidate name the account, once the cluster is known.
pub(super) async fn probe(
    candidate: Arc<Candidate>,
    mut account: watch::Receiver<Option<Account>>,
) -> Result<Done, StepFailed> {
    let known = account.wait_for(Option::is_some).await.ok().and_then(|it| it.clone());
    // Without one the process is about to end.
    let Some(account) = known else { return std::future::pending().await };
    // What the version that serves is told counts for the candidate, too. One that cannot ask, because it crashes, must keep no
    // other away: then the account is asked about again once the candidate serves.
    let seen = match account.check().await {
        Ok(()) => Some(account.version()),
        Err(Error::Denied(because)) => return Err(StepFailed::Later(because)),
        Err(_) => None,
    };
    let found = candidate.identity().await.map_err(|error| match error {
        ProbeError::Unusable(because) => StepFailed::Refused(because),
        ProbeError::Unanswered(error) => StepFailed::Later(error.to_string()),
    })?;
    account.compare(found.as_deref()).await.map_err(|error| match error {
        Error::Denied(because) => StepFailed::Refused(because),
        other => StepFailed::Later(other.to_string()),
    })?;
    Ok(Done::Probed { seen })
}
