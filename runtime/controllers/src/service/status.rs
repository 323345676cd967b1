//! What this controller writes on a Service, and reads from it again. No client, no clock, no log.

use cloud_provider::{Ingress, IpMode, LoadBalancerStatus, ServiceCondition, ServiceConditionKind};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LoadBalancerIngress, LoadBalancerStatus as KubeStatus, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Keeps a Service until its load balancer is gone.
pub(super) const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The condition whose message is the provider's memo: a Service's authors may not write the status.
pub(super) const MEMO: &str = "aerostat.dev/memo";
/// The condition whose message is the evidence that its load balancer was as desired.
pub(super) const EVIDENCE: &str = "aerostat.dev/evidence";
/// The reason of these conditions.
const KEPT: &str = "Kept";
/// The status of the conditions that this controller sets.
const TRUE: &str = "True";

/// Whether the Service is of the type that has a load balancer, whoever provides it.
pub(super) fn is_load_balancer(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|it| it.type_.as_deref() == Some("LoadBalancer"))
}

/// Whether another controller was named for the Service than the one of this class. An empty class is a class.
pub(super) fn is_of_another(service: &Service, class: Option<&str>) -> bool {
    let named = service.spec.as_ref().and_then(|it| it.load_balancer_class.as_deref());
    named.is_some() && named != class
}

/// Whether the Service has our finalizer.
pub(super) fn is_finalized(service: &Service) -> bool {
    service.metadata.finalizers.iter().flatten().any(|it| it == FINALIZER)
}

/// What the provider asked to keep.
pub(super) fn memo(service: &Service) -> Option<&str> {
    kept_in(service, MEMO)
}

/// The evidence that its load balancer was as desired.
pub(super) fn evidence(service: &Service) -> Option<&str> {
    kept_in(service, EVIDENCE)
}

fn kept_in<'a>(service: &'a Service, condition: &str) -> Option<&'a str> {
    let conditions = service.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|it| it.type_ == condition).map(|it| it.message.as_str()).filter(|it| !it.is_empty())
}

/// Where the Service's status says that it is reached.
pub(super) fn current(service: &Service) -> Vec<Ingress> {
    let text = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
    let ingress = |shown: &LoadBalancerIngress| Ingress {
        ip: text(&shown.ip),
        hostname: text(&shown.hostname),
        ip_mode: shown.ip_mode.as_deref().and_then(IpMode::parse),
    };
    let current = service.status.as_ref().and_then(|it| it.load_balancer.as_ref()?.ingress.as_deref());
    let current = current.unwrap_or_default().iter().map(ingress);
    current.filter(|it| it.ip.is_some() || it.hostname.is_some()).collect()
}

/// The Service with our finalizer.
pub(super) fn finalized(service: &Service) -> Service {
    let mut desired = service.clone();
    if !is_finalized(service) {
        desired.metadata.finalizers.get_or_insert_default().push(FINALIZER.to_owned());
    }
    desired
}

/// The Service with what its provider asked to keep and to show until its load balancer is as desired. Where it is
/// reached stays as it is, unless the provider knows better.
pub(super) fn kept(service: &Service, status: &LoadBalancerStatus, class: Option<&str>, now: Timestamp) -> Service {
    let mut desired = service.clone();
    for (key, value) in &status.annotations {
        desired.metadata.annotations.get_or_insert_default().insert(key.clone(), value.clone());
    }
    remember(&mut desired, MEMO, status.memo.as_deref(), now);
    if let Some(condition) = &status.condition {
        let ServiceCondition { kind, reason, message } = condition;
        set(&mut desired, kind.as_str(), reason, message, now);
    }
    if !status.ingress.is_empty() {
        reach(&mut desired, &status.ingress, class);
    }
    desired
}

/// The Service, reached at its load balancer, and nowhere else.
pub(super) fn served(service: &Service, status: &LoadBalancerStatus, class: Option<&str>, now: Timestamp) -> Service {
    let mut desired = kept(service, status, class, now);
    if status.condition.is_none() {
        forget_faults(&mut desired);
    }
    reach(&mut desired, &status.ingress, class);
    desired
}

/// The Service with evidence that its load balancer was as desired.
pub(super) fn proven(mut service: Service, evidence: &str, now: Timestamp) -> Service {
    remember(&mut service, EVIDENCE, Some(evidence), now);
    service
}

/// The Service as its present controller left it: without our memo.
pub(super) fn forgotten(service: &Service) -> Service {
    let mut desired = service.clone();
    forget(&mut desired, MEMO);
    forget(&mut desired, EVIDENCE);
    desired
}

/// The Service without a load balancer, as far as we have written that it has one, and without these finalizers of an earlier
/// controller. Where another controller than the one of this class was named, that may be the earlier one: its finalizers stay.
pub(super) fn released(service: &Service, earlier: &[String], class: Option<&str>) -> Service {
    let mut desired = service.clone();
    let earlier: &[String] = if is_of_another(service, class) { &[] } else { earlier };
    if let Some(finalizers) = &mut desired.metadata.finalizers {
        finalizers.retain(|it| it != FINALIZER && !earlier.contains(it));
    }
    if let Some(status) = &mut desired.status {
        status.load_balancer = status.load_balancer.as_ref().map(|_| KubeStatus::default());
    }
    forget(&mut desired, MEMO);
    forget(&mut desired, EVIDENCE);
    forget_faults(&mut desired);
    desired
}

/// The API server takes addresses for load balancers alone: what has become something else by now has none. Those of a
/// Service with another class are another controller's.
fn reach(service: &mut Service, ingress: &[Ingress], class: Option<&str>) {
    if !is_load_balancer(service) || is_of_another(service, class) {
        return;
    }
    let ingress = Some(ingress.iter().map(self::ingress).collect()).filter(|it: &Vec<_>| !it.is_empty());
    // Nothing and no list are the same to the API server.
    let status = service.status.as_ref().and_then(|it| it.load_balancer.as_ref()?.ingress.as_ref());
    if status != ingress.as_ref() {
        service.status.get_or_insert_default().load_balancer = Some(KubeStatus { ingress });
    }
}

/// As the API server will show it: it fills in how traffic comes from an address.
fn ingress(ingress: &Ingress) -> LoadBalancerIngress {
    let mode = ingress.ip_mode.or(ingress.ip.as_ref().map(|_| IpMode::Vip));
    LoadBalancerIngress {
        ip: ingress.ip.clone(),
        hostname: ingress.hostname.clone(),
        ip_mode: mode.map(|it| it.as_str().to_owned()),
        ports: None,
    }
}

fn remember(service: &mut Service, type_: &str, message: Option<&str>, now: Timestamp) {
    match message {
        Some(message) => set(service, type_, KEPT, message, now),
        None => forget(service, type_),
    }
}

/// Takes off what providers say against the Service.
fn forget_faults(service: &mut Service) {
    ServiceConditionKind::ALL.into_iter().for_each(|it| forget(service, it.as_str()));
}

/// Makes a condition `True`. What is so already stays as it is, with its time.
fn set(service: &mut Service, type_: &str, reason: &str, message: &str, now: Timestamp) {
    let conditions = service.status.get_or_insert_default().conditions.get_or_insert_default();
    match conditions.iter_mut().find(|it| it.type_ == type_) {
        Some(condition) => {
            if condition.status != TRUE {
                condition.last_transition_time = Time(now);
            }
            TRUE.clone_into(&mut condition.status);
            reason.clone_into(&mut condition.reason);
            message.clone_into(&mut condition.message);
        }
        None => conditions.push(Condition {
            type_: type_.to_owned(),
            status: TRUE.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: Time(now),
            observed_generation: None,
        }),
    }
}

fn forget(service: &mut Service, type_: &str) {
    let Some(status) = &mut service.status else { return };
    let Some(conditions) = &mut status.conditions else { return };
    conditions.retain(|it| it.type_ != type_);
    if conditions.is_empty() {
        status.conditions = None;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::service::testing::{ID, service, with_load_balancer};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn ip(ip: &str, ip_mode: Option<IpMode>) -> Ingress {
        Ingress { ip: Some(ip.to_owned()), hostname: None, ip_mode }
    }

    fn status(ingress: Vec<Ingress>) -> LoadBalancerStatus {
        LoadBalancerStatus { ingress, memo: Some("lb-1".to_owned()), ..LoadBalancerStatus::default() }
    }

    fn condition(reason: &str, message: &str) -> Option<ServiceCondition> {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        Some(ServiceCondition { kind: ServiceConditionKind::Ports, reason, message })
    }

    /// The status of the Service, reached at `ingress`.
    fn status_of(service: &Service) -> Value {
        serde_json::to_value(service).unwrap()["status"].clone()
    }

    #[test]
    fn one_change_has_addresses_memo_and_annotations() {
        let status = LoadBalancerStatus {
            annotations: vec![(ID.to_owned(), "lb-1".to_owned())],
            ..status(vec![ip("192.0.2.1", None)])
        };
        let served = served(&service(json!({})), &status, None, NOW);
        let expected = json!({
            "loadBalancer": { "ingress": [{ "ip": "192.0.2.1", "ipMode": "VIP" }] },
            "conditions": [{
                "type": "aerostat.dev/memo",
                "status": "True",
                "reason": "Kept",
                "message": "lb-1",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
            }],
        });
        assert_eq!(status_of(&served), expected);
        assert_eq!(served.metadata.annotations.as_ref().unwrap()[ID], "lb-1");
        assert_eq!(memo(&served), Some("lb-1"));
        assert_eq!(current(&served), [ip("192.0.2.1", Some(IpMode::Vip))]);
    }

    #[test]
    fn a_condition_stays_until_it_is_ready_without_one() {
        let found = |service: &Service| {
            let all = service.status.as_ref().unwrap().conditions.clone().unwrap_or_default();
            all.into_iter().filter(|it| it.type_ == "LoadBalancerPortsError").collect::<Vec<_>>()
        };
        let refused = LoadBalancerStatus { condition: condition("Mixed", "TCP and UDP"), ..status(Vec::new()) };
        let failed = kept(&service(json!({})), &refused, None, NOW);
        let [set] = found(&failed).try_into().unwrap();
        let ours = (set.status.as_str(), set.reason.as_str(), set.message.as_str());
        assert_eq!(ours, ("True", "Mixed", "TCP and UDP"));
        let later = NOW + jiff::SignedDuration::from_secs(60);
        assert_eq!(kept(&failed, &refused, None, later), failed, "the same again is no change");
        assert_eq!(kept(&failed, &status(Vec::new()), None, later), failed, "while there is more to do");
        let other = LoadBalancerStatus { condition: condition("Mixed", "SCTP"), ..status(Vec::new()) };
        let [changed] = found(&served(&failed, &other, None, later)).try_into().unwrap();
        assert_eq!((changed.message.as_str(), changed.last_transition_time), ("SCTP", Time(NOW)));
        assert!(found(&served(&failed, &status(Vec::new()), None, later)).is_empty());
        assert!(found(&released(&failed, &[], None)).is_empty());
    }

    #[test]
    fn case_141_the_same_status_is_no_change() {
        let before = service(with_load_balancer());
        let is_same = |ingress| served(&before, &status(ingress), None, NOW) == before;
        assert!(is_same(vec![ip("192.0.2.1", None)]), "the API server's default");
        assert!(is_same(vec![ip("192.0.2.1", Some(IpMode::Vip))]));
        assert!(!is_same(vec![ip("192.0.2.1", Some(IpMode::Proxy))]));
        assert!(!is_same(vec![ip("192.0.2.2", None)]));
        assert!(!is_same(Vec::new()));
        assert!(!is_same(vec![ip("192.0.2.1", None), ip("192.0.2.2", None)]));
        assert!(!is_same(vec![Ingress { hostname: Some("lb.example.com".to_owned()), ..ip("192.0.2.1", None) }]));
        let mut ports = with_load_balancer();
        ports["status"]["loadBalancer"]["ingress"][0]["ports"] = json!([{ "port": 80, "protocol": "TCP" }]);
        let ports = service(ports);
        assert_ne!(served(&ports, &status(vec![ip("192.0.2.1", None)]), None, NOW), ports);
        let empty = service(json!({}));
        assert_eq!(served(&empty, &LoadBalancerStatus::default(), None, NOW), empty, "empty and empty");
        let bare = service(json!({ "status": null }));
        assert_eq!(served(&bare, &LoadBalancerStatus::default(), None, NOW), bare, "empty and nothing at all");
    }

    #[test]
    fn a_name_has_no_mode() {
        let name = Ingress { ip: None, hostname: Some("lb.example.com".to_owned()), ip_mode: None };
        let served = served(&service(json!({})), &status(vec![name.clone()]), None, NOW);
        assert_eq!(status_of(&served)["loadBalancer"], json!({ "ingress": [{ "hostname": "lb.example.com" }] }));
        assert_eq!(current(&served), [name]);
    }

    #[test]
    fn until_ready_the_ingress_stays_unless_the_provider_says_so() {
        let before = service(with_load_balancer());
        let memo_only = LoadBalancerStatus { memo: Some("lb-1 changing".to_owned()), ..LoadBalancerStatus::default() };
        let after = kept(&before, &memo_only, None, NOW);
        assert_eq!((memo(&after), current(&after)), (Some("lb-1 changing"), current(&before)));
        let moved = kept(&before, &status(vec![ip("192.0.2.2", None)]), None, NOW);
        assert_eq!(current(&moved), [ip("192.0.2.2", Some(IpMode::Vip))]);
    }

    #[test]
    fn a_former_load_balancer_gets_a_memo_and_no_address() {
        let after = served(
            &service(json!({ "spec": { "type": "ClusterIP" } })),
            &status(vec![ip("192.0.2.1", None)]),
            None,
            NOW,
        );
        assert_eq!((memo(&after), current(&after)), (Some("lb-1"), Vec::new()));
    }

    #[test]
    fn another_controllers_service_keeps_all_but_the_memo() {
        let mut change = with_load_balancer();
        change["spec"] = json!({ "loadBalancerClass": "example.com/other" });
        let before = service(change);
        let served = served(&before, &status(vec![ip("192.0.2.2", None)]), None, NOW);
        assert_eq!(current(&served), current(&before));
        let forgotten = forgotten(&before);
        assert_eq!((memo(&forgotten), current(&forgotten)), (None, current(&before)));
        assert!(is_finalized(&forgotten));
    }

    #[test]
    fn a_new_memo_replaces_the_old_one_and_nothing_else() {
        let mut change = with_load_balancer();
        let other = json!({
            "type": "example.com/other", "status": "False", "reason": "R", "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        change["status"]["conditions"].as_array_mut().unwrap().push(other.clone());
        let before = service(change);
        let memo_only = LoadBalancerStatus { memo: Some("lb-2".to_owned()), ..LoadBalancerStatus::default() };
        let conditions = status_of(&kept(&before, &memo_only, None, NOW))["conditions"].clone();
        assert_eq!((&conditions[0]["message"], &conditions[1]), (&json!("lb-2"), &other));
        assert_eq!(conditions[0]["lastTransitionTime"], "2026-01-01T00:00:00Z", "its status is what it was");
        assert_eq!(status_of(&kept(&before, &LoadBalancerStatus::default(), None, NOW))["conditions"], json!([other]));
        assert_eq!(status_of(&released(&before, &[], None))["conditions"], json!([other]));
    }

    #[test]
    fn the_finalizer_is_one_of_several() {
        let others = service(json!({ "metadata": { "finalizers": ["example.com/foo"] } }));
        let finalizers = |it: &Service| it.metadata.finalizers.clone().unwrap_or_default();
        assert_eq!(finalizers(&finalized(&others)), ["example.com/foo", FINALIZER]);
        assert_eq!(finalized(&finalized(&others)), finalized(&others));
        assert_eq!(finalizers(&released(&finalized(&others), &[], None)), ["example.com/foo"]);
        let earlier = ["example.com/foo".to_owned(), "example.com/bar".to_owned()];
        assert_eq!(finalizers(&released(&finalized(&others), &earlier, None)), [""; 0], "an earlier controller's");
    }

    #[test]
    fn finalizers_of_another_class_are_its_controllers() {
        let earlier = ["example.com/foo".to_owned()];
        let named =
            json!({ "metadata": { "finalizers": earlier }, "spec": { "loadBalancerClass": "example.com/other" } });
        let named = finalized(&service(named));
        let left = |class: Option<&str>| released(&named, &earlier, class).metadata.finalizers.unwrap_or_default();
        assert_eq!(left(None), earlier);
        assert_eq!(left(Some("example.com/ours")), earlier);
        assert_eq!(left(Some("example.com/other")), [""; 0], "it is ours by now");
    }

    #[test]
    fn a_service_that_is_released_has_nothing_of_ours() {
        let released = released(&service(with_load_balancer()), &[], None);
        assert_eq!(released.metadata.finalizers, Some(Vec::new()));
        assert_eq!(status_of(&released), json!({ "loadBalancer": {} }));
        assert_eq!((memo(&released), current(&released)), (None, Vec::new()));
    }
}
