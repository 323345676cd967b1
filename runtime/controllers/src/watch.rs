//! Watching one kind of object for ever, without ever going back in time.
//!
//! ```text
//! a list of everything ► changes since then ► … ► changes since the newest of them ► … (forgotten?) ► a list
//! ```
//!
//! kube's own watcher passes on a list of any version, and streams lists only where it is told that the API server can, which
//! differs between the versions and settings of Kubernetes that are served here. This one finds that out, and discards a list or
//! a change that is older than what was seen.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::runtime::watcher::Event;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use crate::error::BackOff;
use crate::object;
use crate::trimmed::{Read, Trimmed};
use crate::version::NewestVersion;
use crate::worker::random;

/// How long a watch lasts, unless a test says otherwise: then the API server ends it, and it is asked for again.
///
/// A watch that is silent for an eighth longer has lost its connection, and nothing may have said so. client-go sees that
/// after 45 s too.
pub(crate) const LASTS: Duration = Duration::from_secs(40);
/// How long a watch may last that begins with a list: all objects have to come in that time.
const LIST: Duration = Duration::from_secs(290);
/// How many objects a list has at most where it is not streamed.
const PAGE: u32 = 500;
/// The pauses after failures.
const BACK_OFF: BackOff = BackOff { first: Duration::from_millis(800), longest: Duration::from_secs(30) };
/// A watch that ends sooner, without a word, has failed.
const SHORTEST: Duration = Duration::from_secs(1);
/// The annotation of the bookmark that ends a streamed list.
const LIST_ENDS: &str = "k8s.io/initial-events-end";

/// Hands every event of a watch to `apply`. It never ends.
///
/// `kind` and `api_server` are what the log calls the objects and the API server. Each watch lasts as long as `lasts`, in
/// whole seconds.
pub(crate) async fn follow<K: Read>(
    api: Api<Trimmed<K>>,
    kind: &str,
    api_server: &str,
    lasts: Duration,
    apply: impl FnMut(Event<K>) + Send,
) -> Infallible {
    let seen = NewestVersion::default();
    let watch = Watch { api, kind, api_server, lasts, apply, seen, is_listed: false, streams: true, warned: false };
    watch.run().await
}

struct Watch<'a, K, F> {
    api: Api<Trimmed<K>>,
    kind: &'a str,
    api_server: &'a str,
    lasts: Duration,
    apply: F,
    seen: NewestVersion,
    /// Whether all objects are known as they were at the newest version. Then only changes are asked for.
    is_listed: bool,
    /// Whether the API server streams lists, as far as is known.
    streams: bool,
    /// Whether the last thing in the log is a warning.
    warned: bool,
}

/// Why a watch did not end as it should.
#[derive(Debug)]
enum Problem {
    /// The API server has forgotten what changed since the newest version.
    Forgotten,
    /// It does not stream lists: it is older than such watches.
    DoesNotStream,
    /// Its list is of this version, and a newer one was seen.
    Older { list: String, seen: String },
    /// A request failed, or an answer broke off.
    Failed(String),
}

impl<K: Read, F: FnMut(Event<K>) + Send> Watch<'_, K, F> {
    async fn run(mut self) -> Infallible {
        let mut failures = 0_u32;
        loop {
            let (begin, was_listed, before) = (Instant::now(), self.is_listed, self.seen.clone());
            let end = if self.is_listed || self.streams { self.stream().await } else { self.list().await };
            if self.seen != before {
                failures = 0;
            }
            let goes_on = match &end {
                Ok(()) => self.is_listed != was_listed || begin.elapsed() >= SHORTEST,
                Err(Problem::Forgotten | Problem::DoesNotStream) => failures == 0,
                Err(Problem::Older { .. } | Problem::Failed(_)) => false,
            };
            let pause = if goes_on { Duration::ZERO } else { BACK_OFF.after(failures).mul_f64(1.0 + random()) };
            failures = failures.saturating_add(u32::from(end.is_err() || !goes_on));
            if let Err(problem) = end {
                self.deal_with(problem);
            }
            sleep(pause).await;
        }
    }

    fn deal_with(&mut self, problem: Problem) {
        let Self { kind, api_server, .. } = *self;
        let cause = match problem {
            Problem::Forgotten => {
                self.is_listed = false;
                info!(api_server, "the API server has forgotten what changed last; {kind} are listed again");
                return;
            }
            Problem::DoesNotStream => {
                self.streams = false;
                info!(api_server, "the API server does not stream lists; {kind} are listed and then watched");
                return;
            }
            Problem::Older { list, seen } => format!(
                "the API server's list is of version {list}, and version {seen} was seen: the list is not believed. If \
                 the cluster was restored from a backup, restart this process"
            ),
            Problem::Failed(cause) => cause,
        };
        self.warned = true;
        warn!(api_server, "cannot watch {kind}: {cause}; what is known of them may be old; trying again");
    }

    /// Watches what changes, or if that is needed, reads a list of everything as a watch streams it.
    async fn stream(&mut self) -> Result<(), Problem> {
        let lists = !self.is_listed;
        let params = WatchParams {
            timeout: u32::try_from(if lists { LIST } else { self.lasts }.as_secs()).ok(),
            bookmarks: true,
            send_initial_events: lists,
            ..WatchParams::default()
        };
        // Without a version the list is as new as the request: the API server waits until its cache is.
        let version = if lists { "" } else { self.seen.newest().unwrap_or_default() }.to_owned();
        let events = object::answer(self.api.watch(&params, &version)).await;
        let mut events = pin!(events.map_err(|error| problem(error, lists))?);
        if lists {
            (self.apply)(Event::Init);
        }
        // What is deleted while the list is streamed.
        let mut deleted = HashMap::new();
        let silence = self.lasts + self.lasts / 8;
        loop {
            let event = match timeout(silence, events.next()).await {
                Ok(Some(Ok(event))) => event,
                // One object that cannot be read must not keep the others away.
                Ok(Some(Err(error))) if is_unreadable(&error) => {
                    let Self { kind, api_server, .. } = *self;
                    warn!(api_server, "one of the {kind} cannot be read, and is left out: {error}");
                    continue;
                }
                Ok(Some(Err(error))) => return Err(Problem::Failed(object::Error::from(error).to_string())),
                Ok(None) | Err(_) if lists => return Err(Problem::Failed("the list broke off".to_owned())),
                Ok(None) => return Ok(()),
                Err(_) => {
                    debug!(kind = self.kind, "the watch has been silent for {silence:?}; asking for it again");
                    return Ok(());
                }
            };
            if std::mem::take(&mut self.warned) {
                info!(api_server = self.api_server, "{} are watched again", self.kind);
            }
            if !lists {
                self.change(event)?;
                continue;
            }
            self.listed(event, &mut deleted)?;
            if self.is_listed {
                // This watch would go on for longer than the connection may be silent.
                return Ok(());
            }
        }
    }

    /// A change since the newest version that was seen.
    fn change(&mut self, event: WatchEvent<Trimmed<K>>) -> Result<(), Problem> {
        let event = match event {
            WatchEvent::Added(Trimmed(object)) | WatchEvent::Modified(Trimmed(object)) => Event::Apply(object),
            WatchEvent::Deleted(Trimmed(object)) => Event::Delete(object),
            WatchEvent::Bookmark(bookmark) => {
                self.seen.change(&bookmark.metadata.resource_version);
                return Ok(());
            }
            WatchEvent::Error(status) => return Err(refused(&status)),
        };
        if let Event::Apply(object) | Event::Delete(object) = &event {
            let version = object.meta().resource_version.as_deref().unwrap_or_default();
            if !self.seen.change(version) {
                let name = object.meta().name.as_deref().unwrap_or_default();
                debug!(kind = self.kind, name, version, "an old change is not believed");
                return Ok(());
            }
        }
        (self.apply)(event);
        Ok(())
    }

    /// A part of a streamed list.
    fn listed(&mut self, event: WatchEvent<Trimmed<K>>, deleted: &mut HashMap<Name, K>) -> Result<(), Problem> {
        match event {
            WatchEvent::Added(Trimmed(object)) | WatchEvent::Modified(Trimmed(object)) => {
                deleted.remove(&name(&object));
                (self.apply)(Event::InitApply(object));
            }
            WatchEvent::Deleted(Trimmed(object)) => drop(deleted.insert(name(&object), object)),
            WatchEvent::Bookmark(bookmark) if bookmark.metadata.annotations.contains_key(LIST_ENDS) => {
                self.is_complete(&bookmark.metadata.resource_version)?;
                deleted.drain().for_each(|(_, object)| (self.apply)(Event::Delete(object)));
            }
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => return Err(refused(&status)),
        }
        Ok(())
    }

    /// Lists everything, page by page, where lists are not streamed. Without a version that is a consistent read.
    async fn list(&mut self) -> Result<(), Problem> {
        (self.apply)(Event::Init);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = object::answer(self.api.list(&params)).await.map_err(|error| problem(error, false))?;
            page.items.into_iter().for_each(|Trimmed(object)| (self.apply)(Event::InitApply(object)));
            match page.metadata.continue_.filter(|it| !it.is_empty()) {
                Some(next) => params = params.continue_token(&next),
                None => return self.is_complete(&page.metadata.resource_version.unwrap_or_default()),
            }
        }
    }

    /// Believes a list, unless it is older than what was seen: what was handed on of it counts only now.
    fn is_complete(&mut self, version: &str) -> Result<(), Problem> {
        if version.is_empty() {
            return Err(Problem::Failed("the API server's list has no version".to_owned()));
        }
        let older = |seen: &str| Problem::Older { list: version.to_owned(), seen: seen.to_owned() };
        self.seen.list(version).map_err(older)?;
        self.is_listed = true;
        (self.apply)(Event::InitDone);
        Ok(())
    }
}

/// Namespace and name of an object.
type Name = (Option<String>, Option<String>);

fn name<K: Read>(object: &K) -> Name {
    (object.meta().namespace.clone(), object.meta().name.clone())
}

/// The problem of a request that was not answered as it should be.
fn problem(error: object::Error, streams_list: bool) -> Problem {
    match error {
        object::Error::Refused(status) if status.code == 410 => Problem::Forgotten,
        object::Error::Refused(status) if streams_list && matches!(status.code, 400 | 422) => Problem::DoesNotStream,
        error => Problem::Failed(error.to_string()),
    }
}

/// Whether a line of a watch is neither an event nor an error of the API server. What is no event kube reads as an error
/// without a code.
fn is_unreadable(error: &kube::Error) -> bool {
    matches!(error, kube::Error::SerdeError(_)) || matches!(error, kube::Error::Api(status) if status.code == 0)
}

/// The problem of a watch that ends with this error.
fn refused(status: &Status) -> Problem {
    if status.code == 410 { Problem::Forgotten } else { Problem::Failed(status.message.clone()) }
}

#[cfg(test)]
mod tests;
