//! Answers that the API server refuses: the work goes on, and the Service can be deleted.

use std::time::Duration;

use controllers::service::Options;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration,
};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::wait;

use crate::cloud::{Act, Answer, Cloud, at_address, building, ready};
use crate::controller::{
    Controller, FINALIZER, addressed, addresses, called, create, delete, finalizers, gone, join, join_all, memo, node,
    one, resize, serve_s1, service, service_when, services, settled, told, writes,
};

/// The address that the admission policy of these tests refuses.
const REFUSED: &str = "192.0.2.66";
const FAILED: &str = "Warning SyncLoadBalancerFailed: Error syncing load balancer: ";

/// An admission policy that refuses one address in the status of Services.
struct Policy<'a>(&'a Cluster);

impl Policy<'_> {
    const NAME: &'static str = "no-such-address.example.com";

    /// Puts the policy in force, and waits until it is.
    async fn enforce(cluster: &Cluster) -> Policy<'_> {
        let policies = Api::<ValidatingAdmissionPolicy>::all(cluster.admin.clone());
        let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(cluster.admin.clone());
        let rule = json!({
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["services/status"],
        });
        let expression = format!(
            "!has(object.status.loadBalancer.ingress) || \
             !object.status.loadBalancer.ingress.exists(it, has(it.ip) && it.ip == '{REFUSED}')"
        );
        let version = "admissionregistration.k8s.io/v1";
        let policy = json!({
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": Self::NAME },
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": { "resourceRules": [rule] },
                "validations": [{ "expression": expression, "message": "this address is not ours" }],
            },
        });
        let binding = json!({
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": Self::NAME },
            "spec": { "policyName": Self::NAME, "validationActions": ["Deny"] },
        });
        // A test that failed may have left them.
        let params = PatchParams::apply("tests").force();
        policies.patch(Self::NAME, &params, &Patch::Apply(policy)).await.expect("the policy is written");
        bindings.patch(Self::NAME, &params, &Patch::Apply(binding)).await.expect("its binding is written");
        create(cluster, &service("probe")).await;
        refuses(cluster).await;
        Policy(cluster)
    }

    /// Takes the policy away.
    async fn repeal(self) {
        let params = DeleteParams::default();
        let policies = Api::<ValidatingAdmissionPolicy>::all(self.0.admin.clone());
        let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(self.0.admin.clone());
        bindings.delete(Self::NAME, &params).await.expect("it is deleted");
        policies.delete(Self::NAME, &params).await.expect("it is deleted");
    }
}

/// Lets a webhook that does not answer judge the status of Services that has the refused address: the API server then
/// fails, as if it could not do its work.
async fn let_a_webhook_fail(cluster: &Cluster) -> Api<ValidatingWebhookConfiguration> {
    let webhooks = Api::<ValidatingWebhookConfiguration>::all(cluster.admin.clone());
    let webhook = json!({
        "name": Policy::NAME,
        "clientConfig": { "url": "https://127.0.0.1:1/" },
        "rules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["services/status"],
        }],
        "matchConditions": [{
            "name": "address",
            "expression": format!(
                "has(object.status.loadBalancer.ingress) && \
                 object.status.loadBalancer.ingress.exists(it, has(it.ip) && it.ip == '{REFUSED}')"
            ),
        }],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": Policy::NAME },
        "webhooks": [webhook],
    });
    let params = PatchParams::apply("tests").force();
    webhooks.patch(Policy::NAME, &params, &Patch::Apply(configuration)).await.expect("the webhook is written");
    create(cluster, &service("probe")).await;
    refuses(cluster).await;
    webhooks
}

/// Waits until the API server does not take the refused address.
async fn refuses(cluster: &Cluster) {
    let set = Patch::Merge(json!({ "status": { "loadBalancer": { "ingress": [{ "ip": REFUSED }] } } }));
    let services = services(cluster);
    wait::until("the address is refused", async || {
        services.patch_status("probe", &PatchParams::default(), &set).await.err()
    })
    .await;
}

/// One worker, which does not try again for a long time.
fn patient() -> Options {
    Options { retry_base: Duration::from_secs(60), ..one() }
}

/// Cases: refused-status
#[tokio::test]
async fn a_mapped_address_is_refused_and_its_memo_is_kept() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [ready("::ffff:192.0.2.1", "lb-1")]);
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    let told = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let failed = told.iter().find(|it| it.starts_with(FAILED)).expect("it was told");
    assert!(failed.contains("Service default/s1") && failed.contains("\"::ffff:192.0.2.1\""), "{failed}");
    let refused = service_when(&cluster, "s1", |it| memo(it) == Some("lb-1")).await;
    assert!(addresses(&refused).is_empty());
    settled(&cluster).await;
    let sent = writes(&cluster, "s1").await;
    assert!(sent.iter().all(|it| it.response.code == 200), "nothing is sent that is refused: {sent:#?}");
    assert_eq!(cloud.about("s1").len(), 1, "it waits for a change");

    resize(&cluster, "s1", "2").await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(cloud.about("s1")[1].desired.memo.as_deref(), Some("lb-1"));
}

/// Cases: refused-status
#[tokio::test]
async fn a_service_with_a_refused_address_can_be_deleted() {
    for address in ["::ffff:192.0.2.1", "127.0.0.1", "::"] {
        let cluster = cluster().await;
        let cloud = Cloud::new();
        cloud.ensures("s1", ready(address, "lb-1"));
        let _controller = Controller::start(&cluster, &cloud, one());
        create(&cluster, &service("s1")).await;
        told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
        delete(&cluster, "s1").await;
        gone(&cluster, "s1").await;
        let last = cloud.about("s1").pop().expect("calls");
        assert_eq!((last.act, last.desired.memo.as_deref()), (Act::Delete, Some("lb-1")), "{address}");
    }
}

/// Cases: refused-status
#[tokio::test]
async fn a_status_that_a_policy_refuses_does_not_stop_the_deletion() {
    let cluster = cluster().await;
    let policy = Policy::enforce(&cluster).await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready(REFUSED, "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, patient());
    create(&cluster, &service("s1")).await;
    let told = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let failed = format!("{FAILED}failed to update load balancer status: ");
    assert!(told.iter().any(|it| it.starts_with(&failed) && it.contains("this address is not ours")), "{told:#?}");
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    let last = cloud.about("s1").pop().expect("calls");
    assert_eq!((last.act, last.desired.memo.as_deref()), (Act::Delete, Some("lb-1")));
    policy.repeal().await;
}

/// Cases: refused-status
#[tokio::test]
async fn a_webhook_that_fails_for_one_address_stops_nothing_else() {
    let cluster = cluster().await;
    let webhooks = let_a_webhook_fail(&cluster).await;
    let cloud = Cloud::new();
    for name in ["s1", "s2"] {
        cloud.ensures_next(name, [ready(REFUSED, &format!("lb of {name}"))]);
        cloud.ensures(name, ready("192.0.2.2", &format!("lb of {name}")));
    }
    let _controller = Controller::start(&cluster, &cloud, one());
    for name in ["s1", "s2"] {
        create(&cluster, &service(name)).await;
        told(&cluster, name, "SyncLoadBalancerFailed", 1).await;
    }
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    let last = cloud.about("s1").pop().expect("calls");
    assert_eq!((last.act, last.desired.memo.as_deref()), (Act::Delete, Some("lb of s1")));
    assert_eq!(cloud.about("s2").len(), 1, "what may be written later is not asked for again");
    resize(&cluster, "s2", "2").await;
    addressed(&cluster, "s2", "192.0.2.2").await;
    webhooks.delete(Policy::NAME, &DeleteParams::default()).await.expect("it is deleted");
}

/// Cases: refused-status
#[tokio::test]
async fn another_desired_value_is_worked_on_after_a_refused_status() {
    let cluster = cluster().await;
    let policy = Policy::enforce(&cluster).await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [ready(REFUSED, "lb-1")]);
    cloud.ensures("s1", ready("192.0.2.2", "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, patient());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    resize(&cluster, "s1", "2").await;
    let served = addressed(&cluster, "s1", "192.0.2.2").await;
    assert_eq!((memo(&served), finalizers(&served)), (Some("lb-1"), &[FINALIZER.to_owned()][..]));
    assert_eq!(cloud.about("s1")[1].desired.memo.as_deref(), Some("lb-1"), "it was kept before the call");
    policy.repeal().await;
}

/// Cases: refused-status
#[tokio::test]
async fn nodes_are_followed_while_the_status_is_refused() {
    let cluster = cluster().await;
    let policy = Policy::enforce(&cluster).await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready(REFUSED, "lb-1"));
    join_all(&cluster, 1).await;
    let _controller = Controller::start(&cluster, &cloud, patient());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    join(&cluster, &node(2)).await;
    called(&cloud, "s1", 2).await;
    assert_eq!(cloud.about("s1")[1].nodes(), ["n1", "n2"]);
    policy.repeal().await;
}

#[tokio::test]
async fn a_refused_status_is_written_once_the_policy_is_gone() {
    let cluster = cluster().await;
    let policy = Policy::enforce(&cluster).await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready(REFUSED, "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    policy.repeal().await;
    addressed(&cluster, "s1", REFUSED).await;
    let ensured = told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
    assert!(ensured.iter().any(|it| it.ends_with("Ensured load balancer")), "{ensured:#?}");
}

#[tokio::test]
async fn a_wrong_address_beside_pending_holds_nothing_up() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let Answer::Pending(mut step) = building("lb-1", Duration::from_secs(1)) else { panic!("it is pending") };
    step.status.ingress = at_address("::ffff:192.0.2.1").ingress;
    cloud.ensures_next("s1", [Answer::Pending(step)]);
    let _controller = serve_s1(&cluster, &cloud).await;
    let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let failed: Vec<_> = events.iter().filter(|it| it.starts_with(FAILED)).collect();
    assert!(matches!(*failed, [one] if one.contains("is an IPv4 address that is written as IPv6")), "{failed:#?}");
}
