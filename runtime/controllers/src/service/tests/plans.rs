//! How often one reconciliation plans, from a new Service to one that is served.

use http_body_util::BodyExt as _;
use serde_json::{from_slice, from_value, to_value};

use super::*;
use crate::service::plan::PLANS;
use crate::service::status;
use crate::service::testing::merge;

/// An API server with one Service that takes every patch.
fn store(stored: Arc<Mutex<Value>>) -> Client {
    let server = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let stored = stored.clone();
        async move {
            let patch = request.into_body().collect().await?.to_bytes();
            let mut service = stored.lock();
            merge(&mut service, from_slice(&patch).expect("a merge patch"));
            let version = service["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse::<u64>().ok());
            service["metadata"]["resourceVersion"] = json!(version.map(|it| (it + 1).to_string()));
            let body = kube::client::Body::from(service.to_string().into_bytes());
            Ok::<_, kube::Error>(http::Response::new(body))
        }
    });
    Client::new(server, "default")
}

/// A cloud that has what is asked for at once.
fn quick() -> Arc<ScriptedCloud> {
    let cloud = ScriptedCloud::default();
    cloud.ensure.answers(|_| {
        let ingress = vec![cloud_provider::Ingress { ip: Some("192.0.2.1".to_owned()), ..Default::default() }];
        let annotations = vec![(ID.to_owned(), "lb-1".to_owned())];
        let status = LoadBalancerStatus { ingress, memo: Some("lb-1".to_owned()), annotations, condition: None };
        Reply { answer: Ok(Progress::Ready(status)), events: Vec::new(), wrote: true }
    });
    cloud.delete.answers(|_| Reply::from(Ok(Deletion::Done)));
    Arc::new(cloud)
}

#[tokio::test]
async fn a_reconciliation_plans_twice_at_most() {
    let service = service(json!({}));
    let stored = Arc::new(Mutex::new(to_value(&service).unwrap()));
    let (_versions, seen) = watch::channel(0);
    let (syncer, mut events) = syncer(store(stored.clone()), quick(), seen, [service]);
    let before = PLANS.get();
    assert_eq!(syncer.reconcile("default/s1").await.unwrap(), NextSync::Done);
    assert_eq!(PLANS.get() - before, 2, "for the Service, and for what the provider has written on it");
    let served: Service = from_value(stored.lock().clone()).unwrap();
    assert!(status::is_finalized(&served));
    assert_eq!((status::memo(&served), status::current(&served).len()), (Some("lb-1"), 1));
    assert_eq!(served.metadata.annotations.as_ref().and_then(|it| it.get(ID)).map(String::as_str), Some("lb-1"));
    let recorded: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).map(|it| it.reason).collect();
    assert_eq!(recorded, ["EnsuringLoadBalancer", "UnAvailableLoadBalancer", "EnsuredLoadBalancer"]);

    assert_eq!(syncer.reconcile("default/s1").await.unwrap(), NextSync::Done);
    assert_eq!(PLANS.get() - before, 3, "it is as desired");
}

#[tokio::test]
async fn a_deletion_plans_twice_at_most() {
    let mut deleted = with_load_balancer();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let service = service(deleted);
    let stored = Arc::new(Mutex::new(to_value(&service).unwrap()));
    let (_versions, seen) = watch::channel(0);
    let (syncer, mut events) = syncer(store(stored.clone()), quick(), seen, [service]);
    let before = PLANS.get();
    assert_eq!(syncer.reconcile("default/s1").await.unwrap(), NextSync::Done);
    assert_eq!(PLANS.get() - before, 2, "for the Service, and for what is written on it");
    let released: Service = from_value(stored.lock().clone()).unwrap();
    assert!(!status::is_finalized(&released) && status::memo(&released).is_none());
    let recorded: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).map(|it| it.reason).collect();
    assert_eq!(recorded, ["DeletingLoadBalancer", "DeletedLoadBalancer"]);
}
