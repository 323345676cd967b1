//! Who may read the metrics: bearer tokens by TokenReview, rights by SubjectAccessReview.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

/// How long an answer of the API server counts.
const FRESH: Duration = Duration::from_secs(10);

/// How many answers are kept. Callers choose the keys, so there is a limit.
const KEPT: usize = 1024;

/// How long the API server may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Asks the API server who callers are and what they may do, and remembers its answers for ten seconds.
pub(crate) struct Reviewer {
    tokens: Api<TokenReview>,
    accesses: Api<SubjectAccessReview>,
    // By digest: tokens of others are not kept.
    users: Mutex<Answers<[u8; 32], Option<User>>>,
    rights: Mutex<Answers<(User, String, String), bool>>,
}

/// A caller, as the API server knows it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct User {
    pub(super) name: String,
    uid: Option<String>,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Answers of the last ten seconds.
struct Answers<K, V>(HashMap<K, (Instant, V)>);

impl Reviewer {
    /// `client` is aerostat's own; it needs the right to create both kinds of review.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            tokens: Api::all(client.clone()),
            accesses: Api::all(client),
            users: Mutex::new(Answers::new()),
            rights: Mutex::new(Answers::new()),
        }
    }

    /// Whose token this is; `None` if it is nobody's.
    pub(super) async fn user(&self, token: &str) -> Result<Option<User>, String> {
        let key: [u8; 32] = Sha256::digest(token).into();
        if let Some(user) = lock(&self.users).get(&key, Instant::now()) {
            return Ok(user);
        }
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let review = within(self.tokens.create(&PostParams::default(), &review)).await?;
        let status = review.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true)).map(User::from);
        lock(&self.users).put(key, user.clone(), Instant::now());
        Ok(user)
    }

    /// Whether `user` may do `verb` (an HTTP method in lower case) to `path`.
    pub(super) async fn allows(&self, user: &User, verb: &str, path: &str) -> Result<bool, String> {
        let key = (user.clone(), verb.to_owned(), path.to_owned());
        if let Some(allowed) = lock(&self.rights).get(&key, Instant::now()) {
            return Ok(allowed);
        }
        let review = SubjectAccessReview { spec: question(user, verb, path), ..SubjectAccessReview::default() };
        let review = within(self.accesses.create(&PostParams::default(), &review)).await?;
        let allowed = review.status.is_some_and(|it| it.allowed);
        lock(&self.rights).put(key, allowed, Instant::now());
        Ok(allowed)
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

async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match timeout(LIMIT, request).await {
        Ok(answer) => answer.map_err(|error| controllers::chain(&error)),
        Err(_) => Err(format!("the API server did not answer within {LIMIT:?}")),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Eq + Hash, V: Clone> Answers<K, V> {
    fn new() -> Self {
        Self(HashMap::new())
    }

    fn get(&self, key: &K, now: Instant) -> Option<V> {
        self.0.get(key).filter(|(at, _)| now.saturating_duration_since(*at) < FRESH).map(|(_, value)| value.clone())
    }

    /// Keeps an answer, if there is room beside the fresh ones.
    fn put(&mut self, key: K, value: V, now: Instant) {
        if self.0.len() >= KEPT {
            self.0.retain(|_, (at, _)| now.saturating_duration_since(*at) < FRESH);
        }
        if self.0.len() < KEPT {
            self.0.insert(key, (now, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_for_ten_seconds() {
        let begin = Instant::now();
        let mut answers = Answers::new();
        answers.put("a", 1, begin);
        assert_eq!(answers.get(&"a", begin + Duration::from_secs(9)), Some(1));
        assert_eq!(answers.get(&"a", begin + Duration::from_secs(10)), None);
        assert_eq!(answers.get(&"b", begin), None);
    }

    #[test]
    fn callers_cannot_fill_the_memory() {
        let begin = Instant::now();
        let mut answers = Answers::new();
        for key in 0..2 * KEPT {
            answers.put(key, (), begin);
        }
        assert_eq!(answers.0.len(), KEPT);
        answers.put(usize::MAX, (), begin + FRESH);
        assert_eq!(answers.0.len(), 1, "old answers make room");
    }
}
