//! Answers about the load balancers of a script.

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::response::Json;
use serde_json::{Value, json};

use super::failure::{Error, Failure};
use super::load_balancer::Desired;
use super::state::{Question, Shared, lock};

pub(super) async fn ensure(
    State(shared): State<Arc<Mutex<Shared>>>,
    Path((namespace, name)): Path<(String, String)>,
    Json(desired): Json<Desired>,
) -> Json<Value> {
    let (delay, answer) = {
        let mut shared = lock(&shared);
        let service = format!("{namespace}/{name}");
        let (cluster, nodes) = (desired.cluster.clone(), desired.nodes.clone());
        let before = shared.desired.insert(service.clone(), desired.clone());
        let updates = before.is_some_and(|before| before.rest == desired.rest && before.nodes != desired.nodes);
        let it = shared.load_balancers.entry(service.clone()).or_default();
        let (delay, failure) =
            if updates { (it.update_delay, &mut it.update_failure) } else { (it.delay, &mut it.failure) };
        let answer = match failure.as_mut().and_then(Failure::next).and_then(|error| error.words()) {
            Some(error) => error,
            None => json!({ "ready": { "ingress": it.ingress } }),
        };
        shared.ask(Question::Ensure { service, cluster, nodes });
        (delay, answer)
    };
    tokio::time::sleep(delay).await;
    Json(answer)
}

pub(super) async fn delete(
    State(shared): State<Arc<Mutex<Shared>>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Json<Value> {
    let service = format!("{namespace}/{name}");
    let mut shared = lock(&shared);
    shared.desired.remove(&service);
    let failures = shared.load_balancers.get_mut(&service).map(|it| &mut it.delete_failures);
    let answer = match failures.into_iter().flatten().find_map(Failure::next) {
        // Where others delete it, there is nothing to do.
        Some(Error::NotFound | Error::Elsewhere) | None => None,
        Some(error) => error.words(),
    };
    shared.ask(Question::Delete { service });
    Json(answer.unwrap_or_else(|| json!("gone")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::script::LoadBalancer;

    fn cloud(load_balancer: LoadBalancer) -> Arc<Mutex<Shared>> {
        let load_balancers = [("default/web".to_owned(), load_balancer)].into();
        Arc::new(Mutex::new(Shared { load_balancers, ..Shared::default() }))
    }

    fn path(name: &str) -> Path<(String, String)> {
        Path(("default".to_owned(), name.to_owned()))
    }

    async fn desired(cloud: &Arc<Mutex<Shared>>, name: &str, nodes: &[&str], rest: &str) -> Value {
        let nodes = nodes.iter().map(|it| (*it).to_owned()).collect();
        let desired = Desired { cluster: "kubernetes".to_owned(), nodes, rest: rest.to_owned() };
        ensure(State(cloud.clone()), path(name), Json(desired)).await.0
    }

    fn once(text: &str) -> Failure {
        Failure { error: Error::Unavailable(text.to_owned()), count: Some(1) }
    }

    fn unavailable(text: &str) -> Value {
        json!({ "unavailable": { "text": text } })
    }

    #[tokio::test]
    async fn other_nodes_for_the_same_desired_state_are_an_update() {
        let (failure, update_failure) = (Some(once("ensure")), Some(once("update")));
        let cloud = cloud(LoadBalancer { failure, update_failure, ..LoadBalancer::default() });
        let ready = json!({ "ready": { "ingress": [{ "ip": "192.0.2.1", "hostname": null, "ipMode": null }] } });
        assert_eq!(desired(&cloud, "web", &["n1"], "80").await, unavailable("ensure"));
        assert_eq!(desired(&cloud, "web", &["n1"], "80").await, ready);
        // Another desired state, with other nodes or not, is no update.
        assert_eq!(desired(&cloud, "web", &["n1", "n2"], "81").await, ready);
        assert_eq!(desired(&cloud, "web", &["n2"], "81").await, unavailable("update"));
        assert_eq!(desired(&cloud, "web", &["n2"], "81").await, ready);
        let last = lock(&cloud).calls.last().unwrap().question.clone();
        let (service, cluster) = ("default/web".to_owned(), "kubernetes".to_owned());
        assert_eq!(last, Question::Ensure { service, cluster, nodes: vec!["n2".to_owned()] });
    }

    #[tokio::test]
    async fn a_load_balancer_that_was_never_named_is_made_and_deleted() {
        let cloud = cloud(LoadBalancer::default());
        assert_eq!(desired(&cloud, "other", &[], "80").await["ready"]["ingress"][0]["ip"], "192.0.2.1");
        assert_eq!(delete(State(cloud.clone()), path("other")).await.0, "gone");
    }

    #[tokio::test]
    async fn a_deletion_fails_in_order_until_it_is_done() {
        let retry = Failure { error: Error::RetryAfter(Duration::from_secs(2), "busy".to_owned()), count: Some(1) };
        let delete_failures = vec![once("first"), retry];
        let cloud = cloud(LoadBalancer { delete_failures, ..LoadBalancer::default() });
        let answer = async || delete(State(cloud.clone()), path("web")).await.0;
        assert_eq!(answer().await, unavailable("first"));
        assert_eq!(answer().await, json!({ "retryAfter": { "text": "busy", "milliseconds": 2000 } }));
        assert_eq!(answer().await, "gone");
    }
}
