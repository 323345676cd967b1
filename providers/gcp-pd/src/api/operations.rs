//! Operations: writes that go on after their answer. A list of them says what runs at a disk or an instance, and how the last one of ours has
//! ended, also where the process that began it is gone: each of ours has a request id that begins with what it is about.

use aerostat_sdk::json::revision;
use aerostat_sdk::{Error, Result, pages, time};
use gcp_api::fields::{items, text, word};
use gcp_api::{API, PAGE, operation_error, request_id};
use serde_json::{Value, json};

use super::places::{ZonalKind, ZonalPlace};

/// The beginning of a request's id that says what it is about.
const OWN: usize = 20;

/// An operation at a disk or an instance.
#[derive(Clone, Debug)]
pub(crate) struct ZonalOperation {
    name: String,
    /// `insert`, `attachDisk`, `resize` and others.
    verb: String,
    is_own: bool,
    /// When it began, as Compute Engine writes it.
    since: String,
    is_over: bool,
    /// With what it has ended, and when, in seconds since 1970.
    failed: Option<(Value, u64)>,
}

/// The operations at a disk or an instance that one request may have to do with.
#[derive(Clone, Debug, Default)]
pub(crate) struct ZonalOperations {
    /// The subject of our operations, a hash in 16 hexadecimal digits; empty where nothing was read.
    about: String,
    all: Vec<ZonalOperation>,
}

impl ZonalOperations {
    /// Those at `target`. `about` is what ours are about: other requests have other ones. At an instance, only those that attach and detach
    /// disks count.
    ///
    /// # Errors
    ///
    /// The error that the API answered.
    pub(crate) fn read(target: &ZonalPlace, about: &Value) -> Result<Self> {
        let about = revision(about);
        let own = request_id(&about, &about);
        let all = pages(None, |token: &Option<String>| {
            let request = API
                .get(["zones", &target.zone, "operations"])
                // An expression, for the beginning of links differs.
                .query("filter", format_args!("targetLink eq \".*/{}\"", target.path().join("/")))
                .query("maxResults", PAGE)
                .query(
                    "fields",
                    "nextPageToken,items(name,operationType,clientOperationId,status,insertTime,endTime,error)",
                );
            let page: Value = token.iter().fold(request, |it, token| it.query("pageToken", token)).send()?.json()?;
            let found = items(&page, "items").iter().map(|it| ZonalOperation::from_fields(it, &own));
            let found =
                found.filter(|it| target.kind == ZonalKind::Disk || matches!(&*it.verb, "attachDisk" | "detachDisk"));
            Ok((found.collect(), word(&page, "nextPageToken").map(Some)))
        })?;
        Ok(Self { about, all })
    }

    /// Whether they were read.
    pub(crate) fn are_read(&self) -> bool {
        !self.about.is_empty()
    }

    /// Whether one is at work, also one that somebody else has begun: at an instance it does not say for which disk.
    pub(crate) fn are_running(&self) -> bool {
        self.all.iter().any(|it| !it.is_over)
    }

    /// The last one of ours. Times of one form are in the order of their letters.
    fn last(&self) -> Option<&ZonalOperation> {
        self.all.iter().filter(|it| it.is_own).max_by(|one, other| one.since.cmp(&other.since))
    }

    /// The last one of ours, if it did one of these and has failed.
    pub(crate) fn failure(&self, verbs: &[&str]) -> Option<OperationFailure> {
        let last = self.last().filter(|it| verbs.contains(&&*it.verb))?;
        let (error, at) = last.failed.as_ref()?;
        Some(OperationFailure { code: text(error, "code"), error: operation_error(&last.name, error), at: *at })
    }

    /// The id of the next request of ours. It is the same until an operation of ours is seen after the last, so that a request whose answer was
    /// lost is not carried out twice.
    pub(crate) fn next_id(&self, verb: &str) -> String {
        let last = self.last().map(|it| it.name.as_str());
        request_id(&self.about, &revision(&json!({ "verb": verb, "last": last })))
    }
}

/// An operation that has failed.
#[derive(Clone, Debug)]
pub(crate) struct OperationFailure {
    /// `ZONE_RESOURCE_POOL_EXHAUSTED` and others.
    pub(crate) code: String,
    pub(crate) error: Error,
    /// When, in seconds since 1970.
    pub(crate) at: u64,
}

impl ZonalOperation {
    fn from_fields(shown: &Value, own: &str) -> Self {
        let is_over = shown["status"] == "DONE";
        let failed = items(&shown["error"], "errors").first().filter(|_| is_over);
        Self {
            name: text(shown, "name"),
            verb: text(shown, "operationType"),
            is_own: text(shown, "clientOperationId").get(..OWN) == own.get(..OWN),
            since: text(shown, "insertTime"),
            is_over,
            failed: failed.map(|it| (it.clone(), time::seconds(&text(shown, "endTime")).unwrap_or_default())),
        }
    }
}
