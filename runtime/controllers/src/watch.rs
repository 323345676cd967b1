//! Watching one kind of object for ever.

use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::Hash;
use std::pin::pin;

use futures::{Stream, StreamExt};
use kube::api::Api;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use tracing::{info, warn};

use crate::lean::{Lean, Read};
use crate::object;

/// Hands every event of a watch to `apply`. It never ends.
///
/// `kind` and `api_server` are what the log calls the objects and the API server.
pub(crate) async fn follow<K>(
    api: Api<Lean<K>>,
    kind: &str,
    api_server: &str,
    mut apply: impl FnMut(Event<K>) + Send,
) -> Infallible
where
    K: Read<DynamicType: Clone + Debug + Default + Eq + Hash>,
{
    let streaming = watcher::Config::default().streaming_lists();
    pump(watch(api.clone(), streaming), kind, api_server, &mut apply, is_refusal).await;
    info!(api_server, "the API server does not stream lists; {kind} are listed and then watched");
    loop {
        pump(watch(api.clone(), watcher::Config::default()), kind, api_server, &mut apply, |_| false).await;
    }
}

/// Follows a watch until it ends, or until `ends` says so of an error.
async fn pump<K>(
    events: impl Stream<Item = Result<Event<Lean<K>>, watcher::Error>> + Send,
    kind: &str,
    api_server: &str,
    apply: &mut impl FnMut(Event<K>),
    ends: fn(&watcher::Error) -> bool,
) {
    let mut events = pin!(events.default_backoff());
    let mut warned = false;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                // `Init` only says that a request is about to be made.
                if !matches!(event, Event::Init) && std::mem::take(&mut warned) {
                    info!(api_server, "{kind} are watched again");
                }
                apply(whole(event));
            }
            Err(error) if ends(&error) => return,
            Err(error) => {
                warned = true;
                let cause = cause(error);
                warn!(api_server, "cannot watch {kind}: {cause}; what is known of them may be old; trying again");
            }
        }
    }
}

/// The event of the object that was read.
fn whole<K>(event: Event<Lean<K>>) -> Event<K> {
    match event {
        Event::Apply(Lean(object)) => Event::Apply(object),
        Event::Delete(Lean(object)) => Event::Delete(object),
        Event::Init => Event::Init,
        Event::InitApply(Lean(object)) => Event::InitApply(object),
        Event::InitDone => Event::InitDone,
    }
}

/// Whether the API server calls a watch that begins with a list invalid: it is older than such watches.
fn is_refusal(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if matches!(status.code, 400 | 422))
}

/// Why a watch ended, in the API server's words where it has some.
fn cause(error: watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => object::Error::from(error).to_string(),
        watcher::Error::WatchError(status) => status.message,
        error @ watcher::Error::NoResourceVersion => error.to_string(),
    }
}
