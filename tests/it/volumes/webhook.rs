//! Volumes that are created through an API server that asks the webhook.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::control_plane::Cluster;
use tests::rig::{nodes, written};
use tests::script::{Error, Failure, Place, Script};
use tests::{kubelet, wait};

use crate::certificates::Authority;
use crate::setup::{DRIVER, NO_CONTROLLER, Webhook, asked, cluster, scripted};
use crate::volumes::{
    PROVISIONED_BY, REGION, ZONE, affinity, all, create, labelled, labels, node_affinity, placed, volume,
};

/// A webhook that the API server calls, without a controller beside it.
async fn registered(cluster: &Cluster, script: &Script) -> (Webhook, tests::operator::Process) {
    let webhook = Webhook::new(scripted(cluster, script).flags(&[NO_CONTROLLER]));
    let process = webhook.started().await;
    webhook.register(cluster, DRIVER, &webhook.authority).await;
    (webhook, process)
}

/// The status and the words with which the API server refuses to create a volume.
async fn refused(cluster: &Cluster, name: &str) -> (u16, String) {
    match create(cluster, &volume(name, DRIVER)).await {
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn case_222_224_to_226_volumes_are_labelled_at_creation() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let mut place = Place::zone("r1", "z2");
    place.zones.push("z1".to_owned());
    place.labels.push(("rack".to_owned(), "7".to_owned()));
    script.set_volume("pv-1", place);
    let (_webhook, process) = registered(&cluster, &script).await;

    let pv = create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    assert_eq!(labels(&pv), json!({ ZONE: "z1__z2", REGION: "r1", "rack": "7" }));
    let place: &[(&str, &[&str])] = &[("rack", &["7"]), (REGION, &["r1"]), (ZONE, &["z1", "z2"])];
    assert_eq!(node_affinity(&pv), affinity(&[place]));
    assert_eq!(asked(&script, "pv-1"), 1);

    // Terms that are there get the requirements, and labels that are there the cloud's values.
    script.set_volume("pv-2", Place::zone("r1", "z1"));
    let mut bound = labelled("pv-2", DRIVER, json!({ ZONE: "z9", "a/b~c": "1" }));
    bound["spec"]["nodeAffinity"] = affinity(&[&[("disk", &["ssd"])], &[("rack", &["7", "8"])]]);
    let pv = create(&cluster, &bound).await.unwrap_err();
    assert!(matches!(&pv, kube::Error::Api(status) if status.code == 422), "no label has a ~: {pv}");
    bound["metadata"]["labels"] = json!({ ZONE: "z9", "a/b": "1" });
    let pv = create(&cluster, &bound).await.unwrap();
    assert_eq!(labels(&pv), json!({ ZONE: "z1", REGION: "r1", "a/b": "1" }));
    let terms = affinity(&[
        &[("disk", &["ssd"]), (REGION, &["r1"]), (ZONE, &["z1"])],
        &[("rack", &["7", "8"]), (REGION, &["r1"]), (ZONE, &["z1"])],
    ]);
    assert_eq!(node_affinity(&pv), terms);

    // A key that is in a term already leaves all of them.
    script.set_volume("pv-3", Place::zone("r1", "z1"));
    let mut own = volume("pv-3", DRIVER);
    own["spec"]["nodeAffinity"] = affinity(&[&[("disk", &["ssd"])], &[(ZONE, &["z3"])]]);
    let pv = create(&cluster, &own).await.unwrap();
    assert_eq!(
        (labels(&pv), node_affinity(&pv)),
        (json!({ ZONE: "z1", REGION: "r1" }), own["spec"]["nodeAffinity"].clone())
    );

    // A provisioner's labels are trusted.
    let mut provisioned = labelled("pv-4", DRIVER, json!({ ZONE: "z5__z6", REGION: "r1" }));
    provisioned["metadata"]["annotations"] = json!({ PROVISIONED_BY: DRIVER });
    let pv = create(&cluster, &provisioned).await.unwrap();
    assert_eq!(node_affinity(&pv), affinity(&[&[(REGION, &["r1"]), (ZONE, &["z5", "z6"])]]));
    assert_eq!(asked(&script, "pv-4"), 0);
    process.stop().await;
    for name in ["pv-1", "pv-2", "pv-3", "pv-4"] {
        assert_eq!(written(&cluster, name).await, [""; 0], "the webhook writes nothing itself");
    }
}

#[tokio::test]
async fn case_228_other_volumes_are_created_as_they_are() {
    let cluster = cluster().await;
    let script = Script::start().await;
    script.set_volume("silent", Place::default());
    let (_webhook, process) = registered(&cluster, &script).await;
    for (name, driver, asks) in [("silent", DRIVER, 1), ("gone", DRIVER, 1), ("foreign", "disk.other.example", 0)] {
        let pv = create(&cluster, &volume(name, driver)).await.unwrap();
        assert_eq!((labels(&pv), node_affinity(&pv)), (json!(null), json!(null)), "{name}");
        assert_eq!(asked(&script, name), asks, "{name}");
    }
    process.stop().await;
}

#[tokio::test]
async fn a_volume_is_not_created_while_the_cloud_fails() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let failure = Some(Failure::always(Error::Unavailable("down".to_owned())));
    script.set_volume("pv-1", Place { failure, ..Place::default() });
    let (_webhook, process) = registered(&cluster, &script).await;
    let (code, message) = refused(&cluster, "pv-1").await;
    let denied = "admission webhook \"cloud-pvl-admission.k8s.io\" denied the request: error querying volume pv-1: ";
    assert!(code == 403 && message.starts_with(denied), "{code} {message}");
    assert!(all(&cluster).get_opt("pv-1").await.unwrap().is_none());
    script.set_volume("pv-1", Place::zone("r1", "z1"));
    assert_eq!(labels(&create(&cluster, &volume("pv-1", DRIVER)).await.unwrap())[ZONE], json!("z1"));
    // Labels that nobody can read.
    let mut provisioned = labelled("pv-2", DRIVER, json!({ ZONE: "z1____z2", REGION: "r1" }));
    provisioned["metadata"]["annotations"] = json!({ PROVISIONED_BY: DRIVER });
    let refusal = create(&cluster, &provisioned).await.unwrap_err().to_string();
    assert!(refusal.contains("cannot label volume pv-2: its label topology.kubernetes.io/zone is"), "{refusal}");
    process.stop().await;
}

/// The controller labels volumes that the webhook does not see, and neither undoes the other's work.
#[tokio::test]
async fn webhook_and_controller_go_together() {
    let cluster = cluster().await;
    let script = Script::start().await;
    for name in ["early", "late"] {
        script.set_volume(name, Place::zone("r1", "z1"));
    }
    create(&cluster, &volume("early", DRIVER)).await.unwrap();
    let webhook = Webhook::new(scripted(&cluster, &script).flags(&["--controllers=pvlabel"]));
    let mut process = webhook.started().await;
    process.says("started persistentvolume-label-controller").await;
    assert!(process.checks().await.contains(&"persistentvolume-label-controller".to_owned()));
    placed(&cluster, "early").await;
    webhook.register(&cluster, DRIVER, &webhook.authority).await;
    create(&cluster, &volume("late", DRIVER)).await.unwrap();
    script.set_volume("last", Place::zone("r1", "z1"));
    create(&cluster, &volume("last", DRIVER)).await.unwrap();
    process.stop().await;
    assert_eq!(written(&cluster, "early").await, ["patch persistentvolumes 200"]);
    assert_eq!(written(&cluster, "late").await, [""; 0]);
    assert_eq!((asked(&script, "early"), asked(&script, "late")), (1, 1));
}

/// A replica that stands by answers as well: a Service sends to all of them.
#[tokio::test]
async fn a_standby_answers_too() {
    let cluster = cluster().await;
    let lease = Lease {
        metadata: ObjectMeta { name: Some("cloud-controller-manager".to_owned()), ..ObjectMeta::default() },
        spec: Some(LeaseSpec {
            holder_identity: Some("somebody".to_owned()),
            lease_duration_seconds: Some(3600),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        }),
    };
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    leases.create(&PostParams::default(), &lease).await.unwrap();
    let script = Script::start().await;
    script.set_volume("pv-1", Place::zone("r1", "z1"));
    let (_webhook, mut process) = registered(&cluster, &script).await;
    process.says("standing by: somebody holds lease").await;
    assert_eq!(process.get("/readyz", None).await.code, 200);
    let pv = create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    assert_eq!(labels(&pv), json!({ ZONE: "z1", REGION: "r1" }));
    process.stop().await;
}

/// The author of a volume where no node is learns it at once.
#[tokio::test]
async fn a_place_without_nodes_is_a_warning() {
    let cluster = cluster().await;
    let mut node = kubelet::node("n1");
    node.metadata.labels = Some([(ZONE.to_owned(), "z1".to_owned()), (REGION.to_owned(), "r1".to_owned())].into());
    nodes::create(&cluster, &node).await;
    let script = Script::start().await;
    script.set_volume("there", Place::zone("r1", "z9"));
    script.set_volume("here", Place::zone("r1", "z1"));
    let webhook = Webhook::new(scripted(&cluster, &script).flags(&[NO_CONTROLLER]));
    let process = webhook.started().await;
    let warnings = async |name: &str| webhook.review(&volume(name, DRIVER)).await["warnings"].clone();
    wait::until("the node is known", async || {
        let text = warnings("there").await[0].as_str().unwrap_or_default().to_owned();
        text.contains("no node has the label topology.kubernetes.io/zone with the value z9").then_some(())
    })
    .await;
    assert_eq!(warnings("here").await, json!(null));
    process.stop().await;
}

/// The certificate is renewed while the server runs.
#[tokio::test]
async fn a_new_certificate_is_shown_without_a_restart() {
    let cluster = cluster().await;
    let script = Script::start().await;
    let (webhook, mut process) = registered(&cluster, &script).await;
    let url = format!("https://127.0.0.1:{}/admit", webhook.port);
    let authority = Authority::new();
    let (old, new) = (webhook.client(&webhook.authority), webhook.client(&authority));
    assert!(new.get(&url).send().await.is_err(), "nobody has signed it yet");
    // Half of it is no certificate.
    std::fs::write(&webhook.files.certificate, "nonsense").unwrap();
    let warning = process.says("the certificate that was read before is shown").await;
    assert!(warning["message"].as_str().unwrap().contains("--webhook-tls-cert-file"), "{warning:?}");
    assert!(old.get(&url).send().await.is_ok());
    authority.write(&webhook.files);
    wait::until("the new certificate is shown", async || new.get(&url).send().await.ok().map(drop)).await;
    // Another client: the first one goes on with the session that it has.
    assert!(webhook.client(&webhook.authority).get(&url).send().await.is_err());

    // The API server believes whom it is told to.
    webhook.register(&cluster, DRIVER, &authority).await;
    script.set_volume("pv-1", Place::zone("r1", "z1"));
    let pv = create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    assert_eq!(labels(&pv)[ZONE], json!("z1"));
    process.stop().await;
}

/// Server-side apply creates, and then changes without asking.
#[tokio::test]
async fn changes_of_a_volume_are_none_of_its_business() {
    let cluster = cluster().await;
    let script = Script::start().await;
    script.set_volume("pv-1", Place::zone("r1", "z1"));
    let (webhook, process) = registered(&cluster, &script).await;
    let volumes: Api<PersistentVolume> = all(&cluster);
    let apply = PatchParams::apply("tests").force();
    for size in ["1Gi", "2Gi"] {
        let mut pv = volume("pv-1", DRIVER);
        pv["spec"]["capacity"]["storage"] = json!(size);
        let pv = volumes.patch("pv-1", &apply, &Patch::Apply(pv)).await.unwrap();
        assert_eq!(labels(&pv), json!({ ZONE: "z1", REGION: "r1" }));
    }
    assert_eq!(asked(&script, "pv-1"), 1);
    for operation in ["UPDATE", "DELETE"] {
        let mut review = crate::setup::review(&volume("pv-1", DRIVER));
        review["request"]["operation"] = json!(operation);
        let (code, text) = webhook.post("/admit", "application/json", review.to_string()).await;
        assert!(code == 200 && text.contains(r#""allowed":true"#) && !text.contains("patch"), "{code} {text}");
    }
    assert_eq!(asked(&script, "pv-1"), 1);
    process.stop().await;
}
