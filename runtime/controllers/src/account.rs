//! The cloud account of the cluster. A token of another account finds nothing that is ours, and must change nothing.

mod guarded;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, Identity, Result};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tracing::{debug, error, info};

use crate::cloud_call::{CALL, late};
use crate::events::{EventKind, Recorder};
use crate::object;

/// The annotation of the Lease that holds the account, as the provider's `identity` gave it.
pub const ANNOTATION: &str = "aerostat.dev/account";

/// How long the right account counts, unless a credential changes.
const RIGHT: Duration = Duration::from_secs(60);
/// How long another account counts before the annotation is read again.
const WRONG: Duration = Duration::from_secs(10);
/// How long an error counts, so that not everybody who waits asks for himself.
const FAILED: Duration = Duration::from_secs(1);
/// How often an event says that another account answers.
const RECORD_PAUSE: Duration = Duration::from_secs(300);

/// The cloud account of the cluster. Clones share what is known of it.
///
/// The first account that answers is remembered, as an annotation of the Lease, and any other is refused until a person
/// removes the annotation.
#[derive(Clone)]
pub struct Account {
    /// `None`: whatever answers is right.
    guard: Option<Arc<Guard>>,
}

struct Guard {
    identity: Arc<dyn Identity>,
    versions: watch::Receiver<u64>,
    store: Option<AccountStore>,
    known: Mutex<RememberedAccount>,
    /// The cluster's account, as far as it is known.
    known_account: parking_lot::RwLock<Option<Arc<str>>>,
}

/// Where the account is remembered beyond this process, and where events about it are recorded.
struct AccountStore {
    leases: Api<Lease>,
    lease: ObjectReference,
    recorder: Recorder,
}

#[derive(Default)]
struct RememberedAccount {
    /// The cluster's account.
    remembered: Option<String>,
    /// The UID of the Lease that was read last.
    lease: Option<String>,
    /// Whether the account was on that Lease, for as long as nobody has removed it.
    is_written: bool,
    last: Option<LastAnswer>,
    known_account: Option<Instant>,
}

/// The Lease's part of the memory: its UID, and the account in its annotation.
struct LeaseAccount {
    uid: Option<String>,
    account: Option<String>,
}

/// The last answer to the question for the account, and the verdict on it.
struct LastAnswer {
    at: Instant,
    version: u64,
    verdict: Result<()>,
}

/// An account, compared with the remembered one.
#[derive(Debug, Eq, PartialEq)]
enum Judgement {
    Same,
    First,
    Other,
}

impl Account {
    /// The account that `identity` returns, remembered in an annotation of `lease`, on which `recorder` also writes
    /// when another one answers. Without a Lease it is remembered as long as the process lives.
    #[must_use]
    pub fn new(identity: Arc<dyn Identity>, lease: Option<(Client, ObjectReference, Recorder)>) -> Self {
        let store = lease.map(|(client, lease, recorder)| {
            let namespace = lease.namespace.as_deref().unwrap_or_default();
            AccountStore { leases: Api::namespaced(client, namespace), lease, recorder }
        });
        Self {
            guard: Some(Arc::new(Guard {
                versions: identity.versions(),
                identity,
                store,
                known: Mutex::default(),
                known_account: parking_lot::RwLock::default(),
            })),
        }
    }

    /// An account that is never doubted.
    #[must_use]
    pub fn any() -> Self {
        Self { guard: None }
    }

    /// Whether the account behind the credential is the cluster's. It is asked at most once a minute and whenever a
    /// credential has changed.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`] if it is another one: then nothing may be written or deleted. Any other error is the cloud's, or
    /// that of the API server where the account is remembered, and says nothing about the account.
    pub async fn check(&self) -> Result<()> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let mut known = guard.known.lock().await;
        let version = guard.version();
        if let Some(last) = known.last.as_ref().filter(|it| it.serves(version)) {
            return last.verdict.clone();
        }
        let verdict = guard.ask(&mut known).await;
        if verdict.is_ok() {
            guard.identity.approve(version);
        }
        known.last = Some(LastAnswer { at: Instant::now(), version, verdict: verdict.clone() });
        verdict
    }

    /// The version of credentials and provider for which the account counts: another number whenever one has changed.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.guard.as_ref().map_or(0, |it| it.version())
    }

    /// Whether the account that another version of the provider names is the cluster's, as far as it is remembered here or on
    /// the Lease.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`] with a sentence without its full stop, if it is another one. Any other error is that of the API server.
    pub async fn compare(&self, found: Option<&str>) -> Result<()> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let mut known = guard.known.lock().await;
        // The version that serves may have crashed before it could name any.
        if known.remembered.is_none()
            && let Some(store) = &guard.store
            && let Some(on_lease) = store.read().await?
        {
            known.follow_lease(on_lease, found);
        }
        match judge(known.remembered.as_deref(), found) {
            Judgement::Same | Judgement::First => Ok(()),
            Judgement::Other => Err(Error::Denied(format!(
                "it says that the credential belongs to {}, and this cluster belongs to the cloud account {:?}",
                found.map_or("no cloud account".to_owned(), |it| format!("the cloud account {it:?}")),
                known.remembered.as_deref().unwrap_or_default(),
            ))),
        }
    }

    /// Lets `swap` put another version of the provider in place, while nobody asks about the account. It answers the
    /// version for which the account counts as checked; with `None` the account is asked about again.
    pub async fn while_nobody_asks<T>(&self, swap: impl FnOnce() -> (T, Option<u64>)) -> T {
        let Some(guard) = &self.guard else { return swap().0 };
        let mut known = guard.known.lock().await;
        let (swapped, version) = swap();
        if let Some(version) = version {
            known.last = Some(LastAnswer { at: Instant::now(), version, verdict: Ok(()) });
        }
        swapped
    }

    /// The cluster's account, once it has been asked about.
    pub(crate) fn known_account(&self) -> Option<Arc<str>> {
        let known_account = self.guard.as_ref()?.known_account.read();
        known_account.clone()
    }
}

impl Guard {
    /// The version of credentials and provider.
    fn version(&self) -> u64 {
        *self.versions.borrow()
    }

    async fn ask(&self, known: &mut RememberedAccount) -> Result<()> {
        let asked = tokio::time::timeout(CALL, self.identity.identity()).await.unwrap_or_else(|_| Err(late()));
        let found = asked.map_err(|error| denied_if_invalid(error).during(&checking(known.remembered.as_deref())))?;
        if let Some(store) = &self.store {
            match store.read().await {
                Ok(Some(on_lease)) => known.follow_lease(on_lease, found.as_deref()),
                // Its holder creates it again; nothing is forgotten meanwhile.
                Ok(None) => {}
                // What is remembered is no less right because the API server does not answer.
                Err(error) if known.is(found.as_deref()) => debug!("{error}"),
                Err(error) => return Err(error),
            }
        }
        let judgement = judge(known.remembered.as_deref(), found.as_deref());
        let account = if judgement == Judgement::First { found.clone() } else { known.remembered.clone() };
        if let Some(account) = account.filter(|_| !known.is_written) {
            if let Some(store) = &self.store {
                store.write(&account, known.lease.as_deref()).await?;
            }
            info!(account, "the cluster's cloud account is remembered from now on");
            known.remembered = Some(account);
            known.is_written = true;
        }
        if judgement == Judgement::Other {
            let message = self.changed(found.as_deref(), known.remembered.as_deref().unwrap_or_default());
            if known.known_account.is_none_or(|it| it.elapsed() >= RECORD_PAUSE) {
                known.known_account = Some(Instant::now());
                self.record_other_account(&message, known.lease.clone());
            }
            return Err(Error::Denied(message));
        }
        known.known_account = None;
        *self.known_account.write() = known.remembered.as_deref().map(Arc::from);
        Ok(())
    }

    fn changed(&self, found: Option<&str>, remembered: &str) -> String {
        let next = match &self.store {
            Some(AccountStore { lease, .. }) => format!(
                "remove the annotation {ANNOTATION} from the Lease {}/{}",
                lease.namespace.as_deref().unwrap_or_default(),
                lease.name.as_deref().unwrap_or_default(),
            ),
            None => "restart".to_owned(),
        };
        let (whose, back) = match found {
            Some(found) => (format!("the credential belongs to the cloud account {found:?}"), "put that one's back"),
            None => (
                "the cloud no longer says whose the credential is".to_owned(),
                "let the credential read its account again",
            ),
        };
        format!(
            "{whose}, and this cluster belongs to {remembered:?}: nothing is written or deleted; {back} or, if the \
             cluster has moved, {next}"
        )
    }

    fn record_other_account(&self, message: &str, uid: Option<String>) {
        error!("{message}");
        if let Some(AccountStore { lease, recorder, .. }) = &self.store {
            let about = ObjectReference { uid: uid.or(lease.uid.clone()), ..lease.clone() };
            recorder.record(about, EventKind::Warning, "CloudAccountChanged", message);
        }
    }
}

impl AccountStore {
    fn name(&self) -> &str {
        self.lease.name.as_deref().unwrap_or_default()
    }

    /// `None` if there is no Lease.
    async fn read(&self) -> Result<Option<LeaseAccount>> {
        let lease = object::answer(self.leases.get_opt(self.name())).await.map_err(|error| {
            Error::Unavailable(format!(
                "cannot read the cluster's cloud account from the Lease {}: {error}",
                self.name()
            ))
        })?;
        Ok(lease.map(|Lease { metadata, .. }| LeaseAccount {
            uid: metadata.uid,
            account: metadata.annotations.and_then(|mut it| it.remove(ANNOTATION)),
        }))
    }

    /// Writes the account on the Lease with this UID, and on no other.
    async fn write(&self, account: &str, uid: Option<&str>) -> Result<()> {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { ANNOTATION: account }, "uid": uid } }));
        let (name, parameters) = (self.name(), PatchParams::default());
        match object::answer(self.leases.patch(name, &parameters, &patch)).await {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::Unavailable(format!(
                "cannot remember the cluster's cloud account on the Lease {name}: {error}"
            ))),
        }
    }
}

impl RememberedAccount {
    /// Takes note of what the Lease says now, when the cloud returns this account.
    fn follow_lease(&mut self, LeaseAccount { uid, account }: LeaseAccount, found: Option<&str>) {
        if self.lease.is_some() && self.lease != uid {
            // A Lease that was created again knows nothing, or what it was made with. This process has not forgotten.
            self.is_written = account.is_some();
            self.remembered = account.or(self.remembered.take());
        } else if !self.is(found) && (account.is_some() || self.is_written || self.remembered.is_none()) {
            // This process may be a new one, and know nothing yet; or a person has removed the annotation.
            self.is_written = account.is_some();
            self.remembered = account;
        }
        self.lease = uid;
    }

    /// Whether this is the remembered account.
    fn is(&self, found: Option<&str>) -> bool {
        self.remembered.is_some() && self.remembered.as_deref() == found
    }
}

impl LastAnswer {
    fn serves(&self, version: u64) -> bool {
        let span = match self.verdict {
            Ok(()) => RIGHT,
            Err(Error::Denied(_)) => WRONG,
            Err(_) => FAILED,
        };
        self.version == version && self.at.elapsed() < span
    }
}

/// Returns once the number is another one: a credential has changed, or a person has approved. Never, if it cannot change.
pub(crate) async fn changed(versions: &mut watch::Receiver<u64>) {
    if versions.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The check that is under way while the account is asked for, as a message names it.
fn checking(remembered: Option<&str>) -> String {
    match remembered {
        Some(account) => format!("checking that the credential still belongs to the cloud account {account:?}"),
        None => "asking which cloud account the credential belongs to".to_owned(),
    }
}

/// No object is wrong where the settings do not fit the account, so that a change of the credential is reason to try again.
fn denied_if_invalid(error: Error) -> Error {
    match error {
        Error::Invalid(text) => Error::Denied(text),
        other => other,
    }
}

/// A cloud that names no account counts as another one as soon as one account was remembered.
fn judge(remembered: Option<&str>, found: Option<&str>) -> Judgement {
    match (remembered, found) {
        (None, Some(_)) => Judgement::First,
        (remembered, found) if remembered == found => Judgement::Same,
        _ => Judgement::Other,
    }
}

#[cfg(test)]
mod tests;
