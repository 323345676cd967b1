//! What becomes of a Service: nothing, its load balancer, or the end of it. No client, no clock, no log.

use cloud_provider::LoadBalancer;
use k8s_openapi::api::core::v1::Service;

use crate::service::desired::{Cluster, Invalid, desired, unclaimed, unwanted};
use crate::service::status::{is_finalized, is_load_balancer, is_of_another, memo};

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
pub(super) fn plan(service: &Service, may_exist: bool, cluster: &Cluster) -> Result<Plan, Invalid> {
    if is_wanted(service, cluster) && !is_deleted(service) {
        return desired(service, cluster).map(Plan::Ensure);
    }
    let may_exist = may_exist || memo(service).is_some();
    let is_another_controllers = is_load_balancer(service) && !is_deleted(service);
    Ok(match may_exist {
        true if is_another_controllers => Plan::Forget,
        false if !needs_cleanup(service) => Plan::Ignore,
        // The addresses in its status are the other controller's: they prove nothing.
        _ if is_of_another(service, cluster.class.as_deref()) => {
            Plan::Delete(unclaimed(unwanted(service, cluster), cluster))
        }
        _ => Plan::Delete(unwanted(service, cluster)),
    })
}

/// Whether a Service wants a load balancer, and no other controller was named for it. An empty class is a class.
pub(super) fn is_wanted(service: &Service, cluster: &Cluster) -> bool {
    is_load_balancer(service) && !is_of_another(service, cluster.class.as_deref())
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
    use crate::service::testing::{cluster, service, with_load_balancer};

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
    fn case_106_what_is_looked_after() {
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
        let cluster = Cluster { class: Some("example.com/ours".to_owned()), ..cluster() };
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
    fn what_is_deleted_has_its_memo_and_no_nodes() {
        let mut change = with_load_balancer();
        change["spec"] = json!({ "type": "ClusterIP" });
        let Ok(Plan::Delete(unwanted)) = plan(&service(change), false, &cluster()) else { panic!("it is deleted") };
        assert_eq!(
            (unwanted.memo.as_deref(), unwanted.current_ingress.len(), unwanted.nodes.len()),
            (Some("lb-1"), 1, 0)
        );
    }
}
