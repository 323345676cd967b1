//! Releases for volumes alone, beside that of their cloud: what their pages type makes the volume of a claim and attaches it, with the rights of the
//! release's own ServiceAccount.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use tests::aerostat::{Aerostat, message};
use tests::clouds::aws::CLUSTER;
use tests::clouds::{gcp, openstack};
use tests::control_plane::{Cluster, cluster};
use tests::moto::{self, Call};
use tests::operator::ask;
use tests::port::free_port;
use tests::simulator::Simulator;
use tests::vendor::aws::{self, instance};
use tests::vendor::{Aws, Behaviour, GoogleCloud, OpenStack, Vendor, openstack::server};
use tests::{kubelet, wait};

use crate::chart;
use crate::command_lines::{openstack_client, role_for_volumes};
use crate::gcp::{POOL_PROVIDER, trusted};
use crate::published::{IDENTITY, Published, from_loopback, with_a_cache};
use crate::served::{arguments_of, lead, mount_of};
use crate::setup::{Folder, commands_for, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// A release for volumes, and the words of its driver.
struct ReleaseBeside {
    /// The provider, which is in all names of the release.
    provider: &'static str,
    /// The page of `deploy/` with its commands: the marks of those that install it by the chart and by one file, and the first word of what is
    /// played here.
    page: &'static str,
    marks: [&'static str; 2],
    from: &'static str,
    driver: &'static str,
    /// The driver's key for zones, and the zone of all machines.
    zone: (&'static str, &'static str),
    /// The id of the machine with this number, as the driver's node plugin says it.
    machine: fn(u64) -> String,
}

const CINDER: ReleaseBeside = ReleaseBeside {
    provider: "openstack-cinder",
    page: "openstack-cinder/README.md",
    marks: ["volumes", "file"],
    from: "",
    driver: "cinder.csi.openstack.org",
    zone: ("topology.cinder.csi.openstack.org/zone", "nova"),
    machine: server,
};

const DISKS: ReleaseBeside = ReleaseBeside {
    provider: "gcp-pd",
    page: "gcp-pd/README.md",
    marks: ["volumes", "file"],
    from: "",
    driver: "pd.csi.storage.gke.io",
    zone: ("topology.gke.io/zone", "europe-west1-b"),
    machine: |number| format!("projects/{}/zones/europe-west1-b/instances/web-{number}", gcp::PROJECT),
};

const EBS: ReleaseBeside = ReleaseBeside {
    provider: "aws-ebs",
    page: "aws/README.md",
    marks: ["volumes", "volumes-file"],
    // Its role is made once: `role_for_volumes`.
    from: "helm ",
    driver: "ebs.csi.aws.com",
    zone: ("topology.ebs.csi.aws.com/zone", "us-east-1a"),
    machine: instance,
};

impl ReleaseBeside {
    /// The name of its Deployment, its ConfigMap and its Secret.
    fn name(&self) -> String {
        format!("aerostat-{}", self.provider)
    }

    /// The name of its ServiceAccount and of its Lease.
    fn account(&self) -> String {
        format!("cloud-controller-manager-{}", self.provider)
    }

    /// The only block of its page with this mark.
    fn block(&self, mark: &str) -> String {
        let blocks = commands_for(self.page, mark);
        let [block] = &blocks[..] else { panic!("{mark}: {blocks:#?}") };
        block[block.find(self.from).unwrap_or(0)..].to_owned()
    }

    /// A way to the API server with a token of its ServiceAccount.
    fn kubeconfig(&self, cluster: &Cluster, folder: &Folder) -> PathBuf {
        let token = run(folder, cluster, &format!("kubectl -n kube-system create token {}", self.account()));
        let text = fs::read_to_string(&cluster.kubeconfig).unwrap();
        let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
        kubeconfig["users"][0]["user"] = json!({ "token": token.trim() });
        let path = folder.path("own.kubeconfig");
        fs::write(&path, kubeconfig.to_string()).unwrap();
        path
    }

    /// Plays both ways in which the page installs it: by the chart and by one file. Each time a claim gets a volume, which comes to a machine.
    async fn play<V: Vendor>(&self, cloud: &Simulator<V::Cloud>, words: &str, to_cloud: fn(&Folder, &str, &mut Value)) {
        let (cluster, published) = (cluster().await, Published::new().await);
        let words = format!("REGISTRY=registry.example.com/aerostat\n{words}");
        let class = json!({
            "metadata": { "name": "beside" }, "provisioner": self.driver, "volumeBindingMode": "WaitForFirstConsumer",
        });
        made::<StorageClass>(&Api::all(cluster.admin.clone()), class).await;
        let [by_chart, by_file] = self.marks;
        for (machine, mark) in [(1, by_chart), (2, by_file)] {
            let folder = published.folder().with(self.page.split('/').next().unwrap());
            openstack_client(&folder);
            run(&folder, &cluster, &self.adoption());
            published.type_in(&cluster, &folder, &words, &self.block(mark));
            mount_of(&self.name(), &cluster, &folder).await;
            // The kubelet mounts it beside the config.
            for token in ["aws-token", "google-token"] {
                fs::write(folder.path(token), IDENTITY).unwrap();
            }
            lead::<V>(&folder, cloud, to_cloud);
            let (kubeconfig, port) = (self.kubeconfig(&cluster, &folder), free_port());
            let arguments = arguments_of(&self.name(), &cluster, &kubeconfig, &folder, port).await;
            let mut process = Aerostat::start(with_a_cache(&folder, arguments)).unwrap();
            let mut started = BTreeSet::new();
            while started.len() < 3 {
                let said = process.wait_for("started volume-", PATIENCE).await.unwrap();
                started.insert(message(&said).to_owned());
            }
            V::add_machine(cloud.account(), machine, &format!("web-{machine}"));
            self.serves(&cluster, machine).await;
            // It is ready with the rights of its roles alone, and holds a Lease of its own.
            let is_ready = async || Some(ask(port, Method::GET, "/readyz", None).await).filter(|it| it.code == 200);
            wait::until("the binary is ready", is_ready).await;
            let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
            let held = leases.get(&self.account()).await.unwrap().spec.unwrap().holder_identity;
            assert!(held.is_some_and(|it| !it.is_empty()));
            assert!(process.stop().await.unwrap().success());
            match mark == by_chart {
                true => _ = run(&folder, &cluster, &format!("helm -n kube-system uninstall {}", self.name())),
                false => self.leave(&cluster, &folder),
            }
        }
    }

    /// Gives the namespace of the intents to the release, where another test has left it: Helm takes over nothing else.
    fn adoption(&self) -> String {
        format!(
            "if kubectl get namespace aerostat-volumes >/dev/null 2>&1; then
               kubectl label namespace aerostat-volumes --overwrite app.kubernetes.io/managed-by=Helm
               kubectl annotate namespace aerostat-volumes --overwrite \\
                 meta.helm.sh/release-name={} meta.helm.sh/release-namespace=kube-system
             fi",
            self.name()
        )
    }

    /// Deletes what a reset of the cluster leaves: all of the file but for the namespace of the intents, and the Secret.
    fn leave(&self, cluster: &Cluster, folder: &Folder) {
        let file = fs::read_to_string(folder.path(&format!("install-{}.yaml", self.provider))).unwrap();
        let rest: Vec<_> = chart::objects(&file).into_iter().filter(|it| it["kind"] != "Namespace").collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": rest });
        fs::write(folder.path("rest.json"), list.to_string()).unwrap();
        let script = format!(
            "kubectl delete -f rest.json --wait=false
             kubectl -n kube-system delete secret {} --ignore-not-found",
            self.name()
        );
        run(folder, cluster, &script);
    }

    /// A claim for a pod at this machine gets its volume, and the volume comes there. kube-controller-manager and the scheduler are the test's.
    async fn serves(&self, cluster: &Cluster, machine: u64) {
        let (node, admin, (key, zone)) = (format!("web-{machine}"), cluster.admin.clone(), self.zone);
        kubelet::join(&admin, &node).await.unwrap();
        let labels = Patch::Merge(json!({ "metadata": { "labels": { key: zone } } }));
        Api::<Node>::all(admin.clone()).patch(&node, &PatchParams::default(), &labels).await.unwrap();
        let drivers = json!([{ "name": self.driver, "nodeID": (self.machine)(machine), "topologyKeys": [key] }]);
        let plugin = json!({ "metadata": { "name": node }, "spec": { "drivers": drivers } });
        made::<CSINode>(&Api::all(admin.clone()), plugin).await;
        let claim = json!({
            "metadata": { "name": format!("data-{machine}"), "annotations": {
                "volume.kubernetes.io/storage-provisioner": self.driver, "volume.kubernetes.io/selected-node": node,
            } },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "beside",
                "resources": { "requests": { "storage": "1Gi" } },
            },
        });
        let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(admin.clone());
        let volume = format!("pvc-{}", made(&claims, claim).await.uid().unwrap());
        let volumes: Api<PersistentVolume> = Api::all(admin.clone());
        let found = wait::until("the claim's volume", async || volumes.get(&volume).await.ok()).await;
        assert_eq!(found.spec.unwrap().csi.unwrap().driver, self.driver);
        let attachments: Api<VolumeAttachment> = Api::all(admin);
        let source = json!({ "persistentVolumeName": volume });
        let spec = json!({ "attacher": self.driver, "nodeName": node, "source": source });
        made(&attachments, json!({ "metadata": { "name": volume }, "spec": spec })).await;
        wait::until("the volume is at the machine", async || {
            attachments.get(&volume).await.ok()?.status.filter(|it| it.attached)
        })
        .await;
    }
}

async fn made<K>(api: &Api<K>, object: Value) -> K
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &from_value(object).unwrap()).await.unwrap()
}

/// The output of a script, which has to succeed.
fn run(folder: &Folder, cluster: &Cluster, script: &str) -> String {
    let said = folder.run(cluster, script, "");
    assert!(said.success, "{script}: {said:#?}");
    said.out
}

/// Cases: manifests
#[tokio::test]
async fn cinders_release_serves_claims_as_its_page_installs_it() {
    let cloud = OpenStack::start(Behaviour::default()).await.unwrap();
    let words = format!(
        "KEYSTONE=https://keystone.cloud.test:5000 CINDER=https://cinder.cloud.test NOVA=https://nova.cloud.test
         NEUTRON=https://neutron.cloud.test REGION={}\n{}",
        openstack::REGION,
        CINDER.block("credential")
    );
    CINDER
        .play::<OpenStack>(&cloud, &words, |folder, url, config| {
            from_loopback(folder, config);
            let tls = config["endpoints"][0]["tls"].clone();
            for endpoint in config["endpoints"].as_array_mut().unwrap() {
                endpoint.as_object_mut().unwrap().remove("baseUrl");
                assert!(endpoint["origins"][0].as_str().unwrap().ends_with(".cloud.test"), "{endpoint}");
                endpoint["origins"] = json!([url]);
            }
            let keystone = &mut config["credentials"][0]["keystone"];
            (keystone["baseUrl"], keystone["tls"]) = (json!(format!("{url}/identity/v3")), tls);
        })
        .await;
    cloud.assert_valid();
}

/// Cases: manifests
#[tokio::test]
async fn the_release_for_disks_serves_claims_as_its_page_says() {
    let cloud = GoogleCloud::start(Behaviour::default()).await.unwrap();
    cloud.accounts().trust(IDENTITY, POOL_PROVIDER);
    let words = format!("PROJECT={} POOL_PROVIDER={POOL_PROVIDER}", gcp::PROJECT);
    DISKS
        .play::<GoogleCloud>(&cloud, &words, |folder, url, config| {
            from_loopback(folder, config);
            trusted(folder, url, config);
            let file = folder.path("google-federation.json");
            let mut federation: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            federation["token_url"] = json!(format!("{url}/v1/token"));
            fs::write(&file, federation.to_string()).unwrap();
        })
        .await;
    cloud.assert_valid();
}

/// Cases: manifests
#[tokio::test]
async fn the_release_for_ebs_serves_claims_as_its_page_says() {
    let cloud = Aws::start(Behaviour::default()).await.unwrap();
    let (vpc, region) = (aws::settings(&cloud)["vpc"].clone(), moto::REGION);
    let words = format!("REGION={region} VPC={} CLUSTER_ID={CLUSTER}", vpc.as_str().unwrap());
    let role = role_for_volumes(&cluster().await, &cloud, &words).await;
    // moto knows neither resources of EC2 nor conditions: the policy of the page allows its actions for all.
    let mut policy: Value = serde_json::from_str(&text("aws/volumes-policy.json")).unwrap();
    for statement in policy["Statement"].as_array_mut().unwrap() {
        statement["Resource"] = json!("*");
        statement.as_object_mut().unwrap().remove("Condition");
    }
    let name = json!("aerostat-aws-ebs");
    let policy = json!({ "RoleName": name, "PolicyName": name, "PolicyDocument": policy.to_string() });
    cloud.moto().done([Call::new("iam", "put_role_policy", policy)]).await;
    cloud.moto().order("token", &json!({ "token": IDENTITY, "role": role }));
    EBS.play::<Aws>(&cloud, &format!("{words} EBS_ROLE_ARN={role}"), |folder, url, config| {
        from_loopback(folder, config);
        let tls = config["endpoints"][0]["tls"].clone();
        config["credentials"][0]["sigv4"]["sts"] = json!({ "baseUrl": url, "tls": tls, "addresses": ["127.0.0.0/8"] });
    })
    .await;
}

#[tokio::test]
async fn the_vendors_sidecars_go_and_its_snapshotter_stays() {
    let (cluster, folder) = (cluster().await, Folder::new());
    for (release, namespace, name, plugin) in [
        (&CINDER, "kube-system", "csi-cinder-controllerplugin", "cinder-csi-plugin"),
        (&DISKS, "gce-pd-csi-driver", "csi-gce-pd-controller", "gce-pd-driver"),
    ] {
        run(
            &folder,
            &cluster,
            &format!("kubectl get namespace {namespace} 2>/dev/null || kubectl create namespace {namespace}"),
        );
        let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), namespace);
        let names = ["csi-attacher", "csi-provisioner", "csi-snapshotter", "csi-resizer", plugin];
        let containers = names.map(|it| json!({ "name": it, "image": "registry.example.org/theirs:1" }));
        let theirs = json!({
            "metadata": { "name": name },
            "spec": {
                "selector": { "matchLabels": { "app": name } },
                "template": { "metadata": { "labels": { "app": name } }, "spec": { "containers": containers } },
            },
        });
        made(&deployments, theirs).await;
        run(&folder, &cluster, &release.block("replace"));
        let left = deployments.get(name).await.unwrap().spec.unwrap().template.spec.unwrap().containers;
        let left: Vec<_> = left.into_iter().map(|it| it.name).collect();
        assert_eq!(left, ["csi-snapshotter", plugin], "{name}");
    }
}

/// Names on the pages are those that the chart makes.
#[test]
fn pages_of_releases_for_volumes_name_what_the_chart_makes() {
    for release in [&CINDER, &DISKS, &EBS] {
        let deployment: Deployment = chart::only(&chart::rendered(&chart::values(release.provider)), "Deployment");
        assert_eq!(deployment.metadata.name, Some(release.name()));
        assert_eq!(deployment.spec.unwrap().template.spec.unwrap().service_account_name, Some(release.account()));
        let (page, name) = (text(release.page), release.name());
        assert!(release.block(release.marks[0]).contains(&format!("helm -n kube-system install {name} ")), "{page}");
        assert!(page.contains(&format!("`helm -n kube-system uninstall {name}`")), "{page}");
        assert!(page.contains(&format!("deployment/{name}`")), "{page}");
        assert!(page.contains(&format!("(`{}`)", release.account())), "{page}");
    }
}
