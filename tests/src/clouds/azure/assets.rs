//! The subscriptions that a credential reaches, and the way of a request to them.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, Authorization, Cloud, Description, Limits, Quota, Recorded, Shared};

use super::behaviour::Behaviour;
use super::identity::Identity;
use super::kind::Kind;
use super::world::World;
use super::{errors, id, published, requests};

/// All subscriptions of a tenant.
#[derive(Debug)]
pub struct Assets {
    identity: Arc<Identity>,
    world: Shared<World>,
}

impl Cloud for Assets {
    const NAME: &'static str = "Azure";
    const HOSTS: &'static [&'static str] = &["management.azure.com", "login.microsoftonline.com"];
    // Each group of requests has its own.
    const LIMITS: Limits = Limits::Bucket { size: 12_000, refill: Duration::from_millis(300) };
    // Tokens are given to who proves itself.
    const JUDGES: bool = true;

    fn description() -> Option<&'static Description> {
        Some(published::description())
    }

    /// Words of paths have no letter case.
    fn place(request: &mut Recorded) {
        request.path = id::canonical(&request.path);
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        if !request.path.starts_with("/subscriptions") {
            return None;
        }
        let authorization = match &request.authorization {
            Authorization::Judged(value) => value.as_str(),
            _ => "",
        };
        self.identity.refuse(authorization, &request.headers)
    }

    fn act(&self, request: &Recorded) -> Answer {
        if let Some(answer) = self.identity.answer(request) {
            return answer;
        }
        let mut world = self.world.now();
        requests::answer(&mut world, request).unwrap_or_else(|refused| refused.answer())
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(status)
    }

    fn empty_list(_: &Recorded) -> Answer {
        Answer::ok(&json!({ "value": [] }))
    }

    fn show_quota(_: &mut Answer, _: &Quota) {}

    fn identify(answer: &mut Answer, request: &str) {
        answer.set("x-ms-request-id", request);
    }
}

impl Assets {
    /// Subscriptions without anything in them.
    pub(super) fn new(behaviour: Behaviour, identity: Arc<Identity>) -> Assets {
        Assets { identity, world: Shared::new(World::new(behaviour)) }
    }

    /// Entra, and the tokens that it has given.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Says where the simulator is reached: links to pages and operations begin so.
    pub fn set_base(&self, base: &str) {
        self.identity.set_base(base);
        base.clone_into(&mut self.world.now().base);
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world.now())
    }

    /// Copies of all resources of a kind as they are now, with what follows from others.
    #[must_use]
    pub fn all(&self, kind: Kind) -> Vec<Value> {
        self.with(|world| world.shown(kind))
    }
}
