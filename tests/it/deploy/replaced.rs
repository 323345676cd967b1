//! The way in the place of a vendor's manager: the command of each page ends its Pods, and leaves it for the way back.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tests::control_plane::cluster;

use crate::setup::{Folder, commands_for};

#[tokio::test]
async fn pages_end_the_vendors_manager_and_leave_it() {
    let (cluster, folder) = (cluster().await, Folder::new());
    let daemon_sets: Api<DaemonSet> = Api::namespaced(cluster.admin.clone(), "kube-system");
    for (page, name) in [
        ("alibaba/README.md", "cloud-controller-manager"),
        ("ibm/README.md", "ibm-cloud-controller-manager"),
        ("openstack/README.md", "openstack-cloud-controller-manager"),
    ] {
        let theirs = json!({
            "metadata": { "name": name },
            "spec": {
                "selector": { "matchLabels": { "k8s-app": name } },
                "template": {
                    "metadata": { "labels": { "k8s-app": name } },
                    "spec": {
                        "nodeSelector": { "node-role.kubernetes.io/control-plane": "" },
                        "containers": [{ "name": name, "image": "registry.example.org/theirs:1" }],
                    },
                },
            },
        });
        daemon_sets.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
        let [ends] = &commands_for(page, "replace")[..] else { panic!("{page}: one command ends theirs") };
        let said = folder.run(&cluster, ends, "");
        assert!(said.success, "{page}: {said:#?}");
        let pods = daemon_sets.get(name).await.unwrap().spec.unwrap().template.spec.unwrap();
        let selector = pods.node_selector.unwrap();
        assert_eq!(selector.get("aerostat.dev/none").map(String::as_str), Some(""), "no node has it: {selector:?}");
        daemon_sets.delete(name, &DeleteParams::default()).await.unwrap();
    }
}
