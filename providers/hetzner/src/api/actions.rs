//! Actions: what the cloud does after it has answered.

use aerostat_sdk::http::Response;
use aerostat_sdk::{Result, SortedSet};
use serde::Deserialize;
use serde_json::Value;

use super::{API, PAGES};

/// The most actions that one request asks about.
const AT_ONCE: usize = 25;

/// One action.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Action {
    pub(crate) id: u64,
    pub(crate) command: String,
    pub(crate) status: ActionStatus,
    /// When it ended, as RFC 3339.
    #[serde(default)]
    pub(crate) finished: Option<String>,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    resources: Vec<Value>,
}

/// How far an action is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ActionStatus {
    Running,
    Success,
    Error,
}

impl Action {
    /// Whether it makes a load balancer.
    pub(crate) fn is_creation(&self) -> bool {
        self.command == "create_load_balancer"
    }

    pub(crate) fn is_running(&self) -> bool {
        self.status == ActionStatus::Running
    }

    /// The servers to which it attaches a volume, or from which it detaches one.
    pub(crate) fn moves(&self) -> impl Iterator<Item = u64> {
        let is_move = matches!(self.command.as_str(), "attach_volume" | "detach_volume");
        self.of_kind("server").filter(move |_| is_move)
    }

    /// The ids of the resources of one kind that it is about.
    fn of_kind(&self, kind: &str) -> impl Iterator<Item = u64> {
        self.resources.iter().filter(move |it| it["type"] == kind).filter_map(|it| it["id"].as_u64())
    }

    /// For a person: what was done, and why it failed.
    pub(crate) fn failure(&self) -> String {
        let part = |name: &str| self.error[name].as_str().unwrap_or_default();
        let why =
            if self.error.is_null() { String::new() } else { format!(": {} ({})", part("message"), part("code")) };
        format!("action {} ({}) has failed{why}", self.id, self.command)
    }
}

/// The action that an answer has begun.
pub(crate) fn begun(response: &Response) -> Result<Action> {
    response.json_in("action")
}

/// These actions as they are now, in as few requests as will do.
pub(crate) fn all(ids: &[u64]) -> Result<Vec<Action>> {
    let mut all = Vec::new();
    for ids in ids.chunks(AT_ONCE) {
        let request = ids.iter().fold(API.get(["actions"]), |it, id| it.query("id", id));
        all.extend(request.send()?.json_in::<Vec<Action>>("actions")?);
    }
    Ok(all)
}

/// Actions of a load balancer that run or have failed, the newest first: the first page says enough.
pub(crate) fn of_load_balancer(id: u64) -> Result<Vec<Action>> {
    let request = API.get(["load_balancers", &id.to_string(), "actions"]);
    request.queries(&[("status", "running"), ("status", "error"), ("sort", "id:desc")]).send()?.json_in("actions")
}

/// The newest actions on a volume, the last one first: the first page has all that may run. `None` if the API knows no such volume.
pub(crate) fn of_volume(id: u64) -> Result<Option<Vec<Action>>> {
    API.get(["volumes", &id.to_string(), "actions"]).query("sort", "id:desc").find_in("actions")
}

/// The load balancers of the project of which an action runs.
pub(crate) fn busy_load_balancers() -> Result<SortedSet<u64>> {
    let request = API.get(["load_balancers", "actions"]).query("status", "running");
    let running: Vec<Action> = PAGES.all(&request, "actions")?;
    Ok(running.iter().flat_map(|it| it.of_kind("load_balancer")).collect())
}
