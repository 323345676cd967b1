//! Whether the API server allows what the controllers need: asked before the Lease is sought, so that a process that could
//! do nothing does not keep another one from working. A controller that lacks a right waits for it by itself.

mod rules;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use self::rules::advice;
pub use self::rules::{NeededRights, RoleRule, rules};
use crate::flags::ControllerName;

/// How long the answers to all questions may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The first pause between two rounds of questions, and the longest: the first doubles.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The rights of this process. Clones share what is known of them.
#[derive(Clone)]
pub(crate) struct Permissions {
    client: Client,
    /// Whether the process can do something with what is allowed, or cannot ask about it.
    settled: Arc<AtomicBool>,
}

/// The consequence where the API server does not say what it allows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unanswered {
    /// Nothing is waited for: each request will tell.
    GoOn,
    /// It is asked again.
    AskAgain,
}

impl Permissions {
    /// Nothing has been asked yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, settled: Arc::default() }
    }

    /// Whether the process has what it cannot work without, as far as can be known: the check `permissions` of `/readyz`.
    pub(crate) fn settled(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let settled = self.settled.clone();
        move || settled.load(Ordering::Relaxed)
    }

    /// Waits until the API server allows what all controllers need, and all that one of them needs. What is missing is said
    /// once, and to `tell`, if an event may be written. Returns the controllers that lack something, with what each lacks.
    ///
    /// Where the API server does not say what it allows, nothing is waited for: each request will tell.
    pub(crate) async fn wait(&self, rules: &NeededRights, tell: impl Fn(&str)) -> Vec<(ControllerName, Vec<RoleRule>)> {
        let say = |missing: &[RoleRule], advice: &str| {
            let message = format!(
                "the API server does not allow what the controllers need, and they wait for it, without the Lease: {advice}. It \
                 is asked again by itself"
            );
            warn!("{message}");
            if !missing.iter().any(|it| it.resource == "events") {
                tell(&message);
            }
        };
        let are_enough = |refused: &[RoleRule]| rules.are_enough_without(refused);
        let (refused, was_told) = self.ask(&rules.work(), are_enough, Unanswered::GoOn, say).await;
        if was_told {
            info!("the API server allows by now what the controllers need");
        }
        self.settled.store(true, Ordering::Relaxed);
        if let Ok(missing) = self.missing(&rules.metrics).await
            && !missing.is_empty()
        {
            warn!("nobody can read /metrics: {}", advice(&missing, &self.name().await));
        }
        rules.waiting(&refused)
    }

    /// Waits until the API server allows what one controller lacks. What is missing goes to `say` once, with what a person
    /// does about it.
    pub(crate) async fn wait_for(&self, lacking: &[RoleRule], say: impl Fn(&[RoleRule], &str)) {
        self.ask(lacking, <[RoleRule]>::is_empty, Unanswered::AskAgain, say).await;
    }

    /// Asks again and again until what is refused of some rules is little enough. Returns that, and whether anything was said.
    async fn ask(
        &self,
        rules: &[RoleRule],
        is_little: impl Fn(&[RoleRule]) -> bool,
        unanswered: Unanswered,
        say: impl Fn(&[RoleRule], &str),
    ) -> (Vec<RoleRule>, bool) {
        let (mut pause, mut before, mut told) = (PAUSE, Vec::new(), Vec::new());
        loop {
            match (self.missing(rules).await, unanswered) {
                (Ok(missing), _) if is_little(&missing) => return (missing, !told.is_empty()),
                (Ok(missing), _) => {
                    // An API server that has only just started refuses everybody: only what it says twice is told.
                    if missing == before && missing != told {
                        say(&missing, &advice(&missing, &self.name().await));
                        told.clone_from(&missing);
                    }
                    before = missing;
                }
                (Err(cause), Unanswered::GoOn) => {
                    warn!("cannot ask the API server what it allows: {cause}; going on without knowing");
                    return (Vec::new(), false);
                }
                (Err(cause), Unanswered::AskAgain) => debug!("cannot ask the API server what it allows: {cause}"),
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Those of the rules that are not allowed, each with the verbs that are not.
    async fn missing(&self, rules: &[RoleRule]) -> Result<Vec<RoleRule>, String> {
        let of_rule = async |rule: &RoleRule| {
            let allowed = try_join_all(rule.verbs.iter().map(|verb| self.allows(rule, verb))).await?;
            let verbs = rule.verbs.iter().zip(allowed).filter(|(_, allowed)| !allowed).map(|(verb, _)| *verb);
            Ok::<_, kube::Error>(RoleRule { verbs: verbs.collect(), ..rule.clone() })
        };
        let asked = try_join_all(rules.iter().map(of_rule));
        match timeout(LIMIT, asked).await {
            Ok(Ok(rules)) => Ok(rules.into_iter().filter(|it| !it.verbs.is_empty()).collect()),
            Ok(Err(error)) => Err(controllers::chain(&error)),
            Err(_) => Err(format!("it did not answer within {LIMIT:?}")),
        }
    }

    async fn allows(&self, rule: &RoleRule, verb: &str) -> kube::Result<bool> {
        let (resource, subresource) = rule.resource.split_once('/').unwrap_or((rule.resource, ""));
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(rule.group.to_owned()),
                    resource: Some(resource.to_owned()),
                    subresource: Some(subresource.to_owned()),
                    namespace: rule.namespace.clone(),
                    name: rule.name.clone(),
                    verb: Some(verb.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let answer = Api::all(self.client.clone()).create(&PostParams::default(), &review).await?;
        Ok(answer.status.is_some_and(|it| it.allowed))
    }

    /// The name of this process at the API server.
    async fn name(&self) -> String {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let (parameters, review) = (PostParams::default(), SelfSubjectReview::default());
        let asked = timeout(LIMIT, reviews.create(&parameters, &review)).await;
        let user = asked.ok().and_then(Result::ok).and_then(|it| it.status?.user_info?.username);
        user.unwrap_or_else(|| "aerostat's identity".to_owned())
    }
}
