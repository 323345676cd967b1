//! What becomes of a Service: nothing, its load balancer, or the end of it. No client, no clock, no log.

use cloud_provider::LoadBalancer;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::service::desired::{Invalid, ServedCluster, compared_fields, desired, unclaimed, unwanted};
use crate::service::status::{FINALIZER, current, is_finalized, is_load_balancer, is_of_another, memo};

/// What is to be done about a Service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Plan {
    /// Nothing: it wants no load balancer, and has none of ours.
    Ignore,
    /// Its load balancer has to go.
    Delete(LoadBalancer),
    /// Another controller was named for it while it lived: the memo goes. The load balancer stays in the cloud, and
    /// finalizer and status are the other controller's, as upstream leaves them.
    Forget,
    /// It wants this load balancer. Which nodes take traffic is not said here.
    Ensure(LoadBalancer),
}

/// What is to be done about a Service, if one of our calls `may` have given it a load balancer in this process's life.
pub(super) fn plan(service: &Service, may_exist: bool, cluster: &ServedCluster) -> Result<Plan, Invalid> {
    #[cfg(test)]
    PLANS.set(PLANS.get() + 1);
    if wants(service, cluster) {
        return desired(service, cluster).map(Plan::Ensure);
    }
    let may_exist = may_exist || memo(service).is_some();
    Ok(match may_exist {
        true if is_anothers(service, cluster) => Plan::Forget,
        false if !needs_cleanup(service) => Plan::Ignore,
        // The addresses in its status are the other controller's: they prove nothing.
        _ if is_of_another(service, cluster.class.as_deref()) => {
            Plan::Delete(unclaimed(unwanted(service, cluster), cluster))
        }
        _ => Plan::Delete(unwanted(service, cluster)),
    })
}

/// Whether a Service wants a load balancer, and no other controller was named for it. An empty class is a class.
pub(super) fn is_wanted(service: &Service, cluster: &ServedCluster) -> bool {
    is_load_balancer(service) && !is_of_another(service, cluster.class.as_deref())
}

/// Whether a Service wants a load balancer, and lives.
pub(super) fn wants(service: &Service, cluster: &ServedCluster) -> bool {
    is_wanted(service, cluster) && !is_deleted(service)
}

/// Whether another controller was named for a Service that lives: whatever of ours it has is forgotten.
pub(super) fn is_anothers(service: &Service, cluster: &ServedCluster) -> bool {
    is_load_balancer(service) && is_of_another(service, cluster.class.as_deref()) && !is_deleted(service)
}

/// Plans for the versions of one Service, and again only for one that says something else than the last.
pub(super) struct Planner<'a> {
    cluster: &'a ServedCluster,
    /// The part of a Service that says what it wants, and its plan.
    last: Option<(Service, Result<Plan, Invalid>)>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(cluster: &'a ServedCluster) -> Self {
        Self { cluster, last: None }
    }

    /// As [`plan`].
    pub(super) fn plan(&mut self, service: &Service, may_exist: bool) -> Result<Plan, Invalid> {
        if !wants(service, self.cluster) {
            return plan(service, may_exist, self.cluster);
        }
        if let Some((said, known)) = &self.last
            && says_the_same(said, service)
        {
            // Our own writes are the only difference.
            return known.clone().map(|known| match known {
                Plan::Ensure(known) => Plan::Ensure(LoadBalancer {
                    memo: memo(service).map(str::to_owned),
                    current_ingress: current(service),
                    ..known
                }),
                other => other,
            });
        }
        let planned = plan(service, may_exist, self.cluster);
        self.last = Some((said_by(service), planned.clone()));
        planned
    }

    /// The load balancer that a Service desires, without our own writes; `None` if it desires nothing.
    pub(super) fn desired(&mut self, service: &Service) -> Option<LoadBalancer> {
        if !wants(service, self.cluster) {
            return None;
        }
        match self.plan(service, true) {
            Ok(Plan::Ensure(desired)) => Some(compared_fields(desired)),
            Ok(Plan::Ignore | Plan::Delete(_) | Plan::Forget) | Err(_) => None,
        }
    }
}

/// All that a Service which wants a load balancer says of it.
fn said_by(service: &Service) -> Service {
    let ObjectMeta { uid, annotations, finalizers, .. } = service.metadata.clone();
    let metadata = ObjectMeta { uid, annotations, finalizers, ..ObjectMeta::default() };
    Service { metadata, spec: service.spec.clone(), status: None }
}

/// The finalizers of others.
fn finalizers(service: &Service) -> impl Iterator<Item = &String> {
    service.metadata.finalizers.iter().flatten().filter(|it| *it != FINALIZER)
}

fn says_the_same(one: &Service, other: &Service) -> bool {
    let (metadata, others) = (&one.metadata, &other.metadata);
    let same_finalizers = finalizers(one).eq(finalizers(other));
    metadata.uid == others.uid
        && metadata.annotations == others.annotations
        && same_finalizers
        && one.spec == other.spec
}

#[cfg(test)]
thread_local! {
    /// How often this thread has planned.
    pub(super) static PLANS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Whether a Service has our finalizer, and should not have it any more.
fn needs_cleanup(service: &Service) -> bool {
    is_finalized(service) && (is_deleted(service) || !is_load_balancer(service))
}

fn is_deleted(service: &Service) -> bool {
    service.metadata.deletion_timestamp.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::service::testing::{SIZE, cluster, service, with_load_balancer};

    #[derive(Debug, PartialEq)]
    enum Kind {
        Ignore,
        Delete,
        Forget,
        Ensure,
    }

    fn kind(service: &Service, may_exist: bool) -> Kind {
        match plan(service, may_exist, &cluster()).unwrap() {
            Plan::Ignore => Kind::Ignore,
            Plan::Delete(_) => Kind::Delete,
            Plan::Forget => Kind::Forget,
            Plan::Ensure(_) => Kind::Ensure,
        }
    }

    fn check(change: Value, expected: Kind) {
        assert_eq!(kind(&service(change.clone()), false), expected, "{change}");
    }

    fn finalized(mut change: Value) -> Value {
        change["metadata"]["finalizers"] = json!(["service.kubernetes.io/load-balancer-cleanup"]);
        change
    }

    #[test]
    fn case_106_a_service_is_ensured_deleted_or_ignored() {
        check(json!({ "spec": { "type": "ClusterIP" } }), Kind::Ignore);
        check(json!({}), Kind::Ensure);
        check(finalized(json!({ "spec": { "type": "ClusterIP" } })), Kind::Delete);
        check(json!({ "spec": { "loadBalancerClass": "example.com/other" } }), Kind::Ignore);
        check(json!({ "spec": { "loadBalancerClass": "" } }), Kind::Ignore);
    }

    #[test]
    fn case_108_a_service_that_wants_no_load_balancer_any_more() {
        check(finalized(json!({ "spec": { "type": "NodePort" } })), Kind::Delete);
        let status = service(json!({ "spec": { "type": "ClusterIP" } }));
        assert_eq!(kind(&status, true), Kind::Delete, "somebody has taken the finalizer off");
        assert_eq!(kind(&status, false), Kind::Ignore);
    }

    #[test]
    fn case_137_a_class_is_ours_only_to_release_our_finalizer() {
        let class = json!({ "spec": { "loadBalancerClass": "example.com/other" } });
        check(finalized(class.clone()), Kind::Ignore);
        let mut deleted = finalized(class);
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        deleted["status"]["loadBalancer"]["ingress"] = json!([{ "ip": "198.51.100.7" }]);
        let Ok(Plan::Delete(unwanted)) = plan(&service(deleted), false, &cluster()) else { panic!("it is deleted") };
        assert!(unwanted.current_ingress.is_empty(), "another controller's addresses prove nothing");
    }

    #[test]
    fn a_service_of_our_class_is_ours() {
        let cluster = ServedCluster { class: Some("example.com/ours".to_owned()), ..cluster() };
        let planned = |class: Value| plan(&service(json!({ "spec": { "loadBalancerClass": class } })), false, &cluster);
        assert!(matches!(planned(json!("example.com/ours")), Ok(Plan::Ensure(_))));
        assert!(matches!(planned(Value::Null), Ok(Plan::Ensure(_))), "the cloud's is the default");
        assert_eq!(planned(json!("example.com/other")), Ok(Plan::Ignore));
        assert_eq!(planned(json!("")), Ok(Plan::Ignore));
    }

    #[test]
    fn a_class_that_comes_later_ends_our_work() {
        let class = json!({ "spec": { "loadBalancerClass": "example.com/other" } });
        assert_eq!(kind(&service(class.clone()), true), Kind::Forget, "somebody has taken the memo off");
        let mut remembered = with_load_balancer();
        remembered["spec"] = class["spec"].clone();
        check(remembered.clone(), Kind::Forget);
        remembered["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        check(remembered, Kind::Delete);
    }

    #[test]
    fn a_class_hands_over_only_what_wants_a_load_balancer() {
        let neither = json!({ "spec": { "type": "ClusterIP", "loadBalancerClass": "example.com/other" } });
        assert_eq!(kind(&service(neither), true), Kind::Delete, "the other controller takes nothing over");
    }

    #[test]
    fn a_service_that_is_deleted_loses_its_load_balancer() {
        let deleted = || json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        check(finalized(deleted()), Kind::Delete);
        check(deleted(), Kind::Ignore);
        assert_eq!(kind(&service(deleted()), true), Kind::Delete, "nothing keeps it any more, and it may have one");
    }

    #[test]
    fn a_memo_without_a_finalizer_still_means_a_load_balancer() {
        let mut change = with_load_balancer();
        change["metadata"] = json!({});
        change["spec"] = json!({ "type": "ClusterIP" });
        check(change, Kind::Delete);
    }

    #[test]
    fn an_unwanted_load_balancer_has_its_memo_and_no_nodes() {
        let mut change = with_load_balancer();
        change["spec"] = json!({ "type": "ClusterIP" });
        let Ok(Plan::Delete(unwanted)) = plan(&service(change), false, &cluster()) else { panic!("it is deleted") };
        assert_eq!(
            (unwanted.memo.as_deref(), unwanted.current_ingress.len(), unwanted.nodes.len()),
            (Some("lb-1"), 1, 0)
        );
    }

    #[test]
    fn a_planner_plans_again_only_for_what_a_service_says() {
        let (cluster, before) = (cluster(), PLANS.get());
        let mut planner = Planner::new(&cluster);
        let mut check = |change: Value, plans: usize| {
            let service = service(change.clone());
            let planned = planner.plan(&service, true);
            assert_eq!((PLANS.get() - before, &planned), (plans, &plan(&service, true, &cluster)), "{change}");
            PLANS.set(PLANS.get() - 1);
        };
        check(json!({}), 1);
        check(with_load_balancer(), 1);
        check(json!({ "metadata": { "resourceVersion": "8", "labels": { "a": "b" } } }), 1);
        let annotated = json!({ "metadata": { "annotations": { SIZE: "2" } } });
        check(annotated.clone(), 2);
        check(annotated, 2);
        check(json!({ "spec": { "loadBalancerIP": "192.0.2.50" } }), 3);
        check(json!({ "spec": { "ports": [{ "port": -1 }] } }), 4);
        check(json!({ "spec": { "ports": [{ "port": -1 }] } }), 4);
        check(json!({ "metadata": { "uid": "another" } }), 5);
        check(json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }), 6);
    }
}
