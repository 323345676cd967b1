//! Readers of the metrics and of the provider's page: bearer tokens by TokenReview, rights by SubjectAccessReview.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use token_bucket::TokenBucket;
use tokio::time::{Instant, timeout};
use tracing::debug;

use crate::flags::RateLimit;

/// How long an answer of the API server counts.
const FRESH: Duration = Duration::from_secs(10);

/// How many answers are kept. Callers choose the keys, so there is a limit.
const KEPT: usize = 1024;

/// The largest user that is kept, in bytes: groups and further words of a user are those of whoever issues tokens. Of a larger
/// one the API server is asked each time.
const USER: usize = 4096;

/// How long the API server may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How long a token that the API server has known counts as one that it may be asked about at any time.
const MET: Duration = Duration::from_secs(3600);

/// How often the API server is asked on behalf of unknown callers: whoever reaches the port could otherwise make it a
/// load on the API server, with a new token or path each time.
const UNKNOWN_CALLERS: RateLimit = RateLimit { per_second: 5.0, burst: 100 };

/// The verbs that scrapers use. All other pairs of a verb and a path are the caller's invention.
const VERBS: [&str; 2] = ["get", "head"];
const PATHS: [&str; 3] = ["/metrics", "/metrics/slis", "/provider"];

/// Asks the API server who callers are and what they may do, and remembers its answers for ten seconds.
///
/// The reviewer of callers. Its questions on behalf of unknown callers have a limit.
pub(crate) struct Reviewer {
    tokens: Api<TokenReview>,
    accesses: Api<SubjectAccessReview>,
    // By digest: tokens of others are not kept.
    users: Mutex<ReviewCache<[u8; 32], Option<User>>>,
    rights: Mutex<ReviewCache<(User, String, String), bool>>,
    /// Tokens that were somebody's in the last hour: scrapes go on while unknown callers use up their limit.
    met: Mutex<ReviewCache<[u8; 32], ()>>,
    unknown_callers: Mutex<TokenBucket>,
}

/// Why the API server's word is not there.
#[derive(Debug)]
pub(super) enum ReviewError {
    /// Unknown callers have asked too much. They may come back after this time.
    TooMany(Duration),
    /// It did not answer, with the cause.
    Failed(String),
}

/// A caller, as the API server knows it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct User {
    pub(super) name: String,
    uid: Option<String>,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Answers of the last moments.
struct ReviewCache<K, V> {
    /// How long an answer counts.
    fresh: Duration,
    answers: HashMap<K, (Instant, V)>,
}

impl Reviewer {
    /// `client` is aerostat's own; it needs the right to create both kinds of review.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            tokens: Api::all(client.clone()),
            accesses: Api::all(client),
            users: Mutex::new(ReviewCache::new(FRESH)),
            rights: Mutex::new(ReviewCache::new(FRESH)),
            met: Mutex::new(ReviewCache::new(MET)),
            unknown_callers: Mutex::new(UNKNOWN_CALLERS.bucket()),
        }
    }

    /// The user to whom this token belongs; `None` if there is none.
    pub(super) async fn user(&self, token: &str) -> Result<Option<User>, ReviewError> {
        let key: [u8; 32] = Sha256::digest(token).into();
        if let Some(user) = self.users.lock().get(&key, Instant::now()) {
            return Ok(user);
        }
        if self.met.lock().get(&key, Instant::now()).is_none() {
            self.admit_unknown_caller()?;
        }
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let review = within(self.tokens.create(&PostParams::default(), &review)).await?;
        let status = review.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true)).map(User::from);
        if user.as_ref().is_none_or(|it| it.bytes() <= USER) {
            self.users.lock().put(key, user.clone(), Instant::now());
        }
        if user.is_some() {
            self.met.lock().put(key, (), Instant::now());
        }
        Ok(user)
    }

    /// Whether `user` may do `verb` (an HTTP method in lower case) to `path`.
    pub(super) async fn allows(&self, user: &User, verb: &str, path: &str) -> Result<bool, ReviewError> {
        let key = (user.clone(), verb.to_owned(), path.to_owned());
        if let Some(allowed) = self.rights.lock().get(&key, Instant::now()) {
            return Ok(allowed);
        }
        let scrapes = VERBS.contains(&verb) && PATHS.contains(&path);
        // Whoever shows no token is an unknown caller whatever the request is: no answer is kept while the API server
        // fails.
        if !scrapes || *user == User::anonymous() {
            self.admit_unknown_caller()?;
        }
        let review = SubjectAccessReview { spec: question(user, verb, path), ..SubjectAccessReview::default() };
        let review = within(self.accesses.create(&PostParams::default(), &review)).await?;
        let allowed = review.status.is_some_and(|it| it.allowed);
        // What callers invent may be long, and is not kept.
        if scrapes && user.bytes() <= USER {
            self.rights.lock().put(key, allowed, Instant::now());
        }
        Ok(allowed)
    }

    /// Counts a question on behalf of somebody who is not known.
    fn admit_unknown_caller(&self) -> Result<(), ReviewError> {
        self.unknown_callers.lock().try_take(Instant::now()).map_err(|after| {
            debug!("the API server was asked too often on behalf of unknown callers; they may come back in {after:?}");
            ReviewError::TooMany(after)
        })
    }
}

impl User {
    /// A caller without a token.
    pub(super) fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            uid: None,
            groups: vec!["system:unauthenticated".to_owned()],
            extra: BTreeMap::new(),
        }
    }

    /// How much of the memory it takes, in about so many bytes.
    fn bytes(&self) -> usize {
        let extra = self.extra.iter().flat_map(|(key, values)| values.iter().chain([key]));
        let words = self.groups.iter().chain(extra).chain(&self.uid).chain([&self.name]);
        words.map(|it| it.len() + size_of::<String>()).sum()
    }
}

impl From<UserInfo> for User {
    fn from(user: UserInfo) -> Self {
        Self {
            name: user.username.unwrap_or_default(),
            uid: user.uid,
            groups: user.groups.unwrap_or_default(),
            extra: user.extra.unwrap_or_default(),
        }
    }
}

fn question(user: &User, verb: &str, path: &str) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        user: Some(user.name.clone()),
        uid: user.uid.clone(),
        groups: Some(user.groups.clone()),
        extra: (!user.extra.is_empty()).then(|| user.extra.clone()),
        non_resource_attributes: Some(NonResourceAttributes {
            path: Some(path.to_owned()),
            verb: Some(verb.to_owned()),
        }),
        ..SubjectAccessReviewSpec::default()
    }
}

async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, ReviewError> {
    match timeout(LIMIT, request).await {
        Ok(answer) => answer.map_err(|error| ReviewError::Failed(controllers::chain(&error))),
        Err(_) => Err(ReviewError::Failed(format!("the API server did not answer within {LIMIT:?}"))),
    }
}

impl<K: Eq + Hash, V: Clone> ReviewCache<K, V> {
    fn new(fresh: Duration) -> Self {
        Self { fresh, answers: HashMap::new() }
    }

    fn get(&self, key: &K, now: Instant) -> Option<V> {
        let (at, value) = self.answers.get(key)?;
        (now.saturating_duration_since(*at) < self.fresh).then(|| value.clone())
    }

    /// Keeps an answer, if there is room beside the fresh ones.
    fn put(&mut self, key: K, value: V, now: Instant) {
        if self.answers.len() >= KEPT {
            self.answers.retain(|_, (at, _)| now.saturating_duration_since(*at) < self.fresh);
        }
        if self.answers.len() < KEPT {
            self.answers.insert(key, (now, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    /// A reviewer whose API server says this to all questions, and how many there were.
    fn reviewer(answer: Option<&'static str>) -> (Reviewer, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, Relaxed);
            let answer = answer.map(|it| Response::new(Body::from(it.as_bytes().to_vec())));
            std::future::ready(answer.ok_or_else(|| io::Error::other("no API server")))
        });
        (Reviewer::new(Client::new(service, "default")), asked)
    }

    #[tokio::test]
    async fn adv_102_callers_without_a_token_are_limited_always() {
        let (reviewer, asked) = reviewer(None);
        let mut refused = 0;
        for _ in 0..300 {
            match reviewer.allows(&User::anonymous(), "get", "/metrics").await {
                Err(ReviewError::TooMany(_)) => refused += 1,
                Err(ReviewError::Failed(_)) => {}
                Ok(_) => panic!("the API server has not answered"),
            }
        }
        assert!(refused > 0, "the API server was asked {} times", asked.load(Relaxed));
    }

    #[tokio::test]
    async fn adv_102_paths_that_callers_invent_are_not_kept() {
        let (reviewer, asked) = reviewer(Some(r#"{ "spec": {}, "status": { "allowed": true } }"#));
        let user = User { name: "scraper".to_owned(), ..User::anonymous() };
        for path in ["/metrics", "/metrics", "/invented/1", "/invented/2"] {
            assert!(reviewer.allows(&user, "get", path).await.unwrap());
        }
        assert_eq!(asked.load(Relaxed), 3);
        assert_eq!(reviewer.rights.lock().answers.len(), 1);
    }

    #[tokio::test]
    async fn adv_168_nothing_of_a_large_user_is_kept() {
        let answer = r#"{ "spec": {}, "status": { "allowed": true } }"#;
        for (groups, kept) in [(1, 1), (1_000, 0)] {
            let (reviewer, _) = reviewer(Some(answer));
            let groups = (0..groups).map(|nth| format!("group-{nth}")).collect();
            let user = User { name: "scraper".to_owned(), groups, ..User::anonymous() };
            assert!(reviewer.allows(&user, "get", "/metrics").await.unwrap());
            assert_eq!(reviewer.rights.lock().answers.len(), kept);
        }
    }

    #[test]
    fn answers_count_for_ten_seconds() {
        let begin = Instant::now();
        let mut answers = ReviewCache::new(FRESH);
        answers.put("a", 1, begin);
        assert_eq!(answers.get(&"a", begin + Duration::from_secs(9)), Some(1));
        assert_eq!(answers.get(&"a", begin + Duration::from_secs(10)), None);
        assert_eq!(answers.get(&"b", begin), None);
    }

    #[test]
    fn callers_cannot_fill_the_memory() {
        let begin = Instant::now();
        let mut answers = ReviewCache::new(FRESH);
        for key in 0..2 * KEPT {
            answers.put(key, (), begin);
        }
        assert_eq!(answers.answers.len(), KEPT);
        answers.put(usize::MAX, (), begin + FRESH);
        assert_eq!(answers.answers.len(), 1, "old answers make room");
    }
}
