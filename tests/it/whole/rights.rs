//! A right that one controller lacks stops that one, and it starts when the right comes.

use tests::operator::{admin_token, event, says};
use tests::vendor::{Aws, Behaviour, Hetzner, Vendor};

use crate::setup::{CloudRig, service};

const VOLUMES: &str = "persistentvolume-label-controller";

#[tokio::test]
async fn hetzners_volumes_alone_wait_for_their_right() {
    volumes_alone_wait_for_their_right::<Hetzner>().await;
}

#[tokio::test]
async fn volumes_of_aws_alone_wait_for_their_right() {
    volumes_alone_wait_for_their_right::<Aws>().await;
}

async fn volumes_alone_wait_for_their_right<V: Vendor>() {
    let rig = CloudRig::<V>::before_its_page(Behaviour::default()).await;
    let mut process = rig.setup.start();
    let line = process.says(&format!("{VOLUMES} does not run")).await;
    assert_eq!(line["level"], "WARN");
    let role = "the ClusterRole of system:serviceaccount:kube-system:cloud-controller-manager needs rules: [{apiGroups: [\"\"], \
                resources: [persistentvolumes], verbs: [list, watch, patch]}]";
    says(line["message"].as_str().unwrap(), &[role]);
    rig.workers(2).await;
    rig.create(&service("web", &[80], &[])).await;
    rig.served("web").await;

    let told = event(&rig.cluster, "cloud-controller-manager", &[VOLUMES, "does not run", role]).await;
    assert_eq!(told.reason.as_deref(), Some("PermissionsMissing"));
    assert_eq!((told.type_.as_deref(), told.involved_object.kind.as_deref()), (Some("Warning"), Some("Lease")));
    assert_eq!(process.get("/readyz", None).await.body, "ok", "the replica works");
    let page = process.get("/readyz?verbose", None).await.body;
    says(&page, &[&format!("[-]{VOLUMES} stopped: a permission is missing"), "[+]service-lb-controller ok"]);
    let token = admin_token(&rig.cluster).await;
    let waits = |rights: u32| format!("aerostat_controller_missing_permissions{{controller=\"{VOLUMES}\"}} {rights}\n");
    says(&process.get("/metrics", Some(&token)).await.body, &[&waits(3)]);

    rig.cluster.follow(V::PAGE).await;
    process.says(&format!("started {VOLUMES}")).await;
    assert!(process.checks().await.iter().any(|it| it == VOLUMES));
    let page = process.get("/readyz?verbose", None).await.body;
    assert!(!page.contains("stopped"), "{page}");
    says(&process.get("/metrics", Some(&token)).await.body, &[&waits(0)]);
    process.stop().await;
}
