//! `deploy/persistent-volumes/`: its manifests, and the commands of its README.

use std::collections::BTreeMap;
use std::fs;

use aerostat::RunSettings;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, DeleteParams};
use tests::control_plane::cluster;
use tests::guests;
use tests::port::free_port;
use tests::vendor::{Behaviour, Hetzner, Vendor as _};

use crate::pages::{leave, type_in};
use crate::served::{Differences, joins, mount};
use crate::setup::{Folder, command_line, commands, container};

const FOLDER: &str = "persistent-volumes";
const TOKEN: &str = "token-of-the-project";

#[tokio::test]
async fn every_manifest_for_volumes_is_accepted_by_the_api_server() {
    let cluster = cluster().await;
    let folder = Folder::new().with(FOLDER);
    for name in ["rbac.yaml", "webhook.yaml"] {
        // Where a person writes who signed the certificate stands no base64.
        let script = format!(
            "sed -i 's/CA-BUNDLE/Q0E=/' deploy/{FOLDER}/{name}
             kubectl apply --server-side --dry-run=server -f deploy/{FOLDER}/{name}"
        );
        let said = folder.run(&cluster, &script, "");
        assert!(said.success, "{name}: {said:#?}");
        assert_eq!(said.error, "", "{name}: nothing to warn of");
        assert_eq!(said.out.lines().count(), 2, "{said:#?}");
    }
    let patch = format!(
        "kubectl patch -f deploy/deployment.yaml --local --type=json -o yaml \
             --patch-file=deploy/{FOLDER}/deployment-patch.yaml |
         kubectl apply --server-side --force-conflicts --dry-run=server -f -"
    );
    let said = folder.run(&cluster, &patch, "");
    assert!(said.success && said.error.is_empty(), "{said:#?}");
}

#[tokio::test]
async fn the_readmes_commands_serve_and_register_the_webhook() {
    let cluster = cluster().await;
    let folder = Folder::new().with(FOLDER).with("hetzner").module(guests::HETZNER, "hetzner.wasm");
    // The page of a cloud whose provider knows where volumes are comes first.
    type_in(&cluster, &folder, &commands("hetzner/README.md").concat(), &format!("{TOKEN}\n"));
    let blocks = commands(&format!("{FOLDER}/README.md"));
    assert_eq!(blocks.len(), 3, "{blocks:#?}");
    let said = folder.run(&cluster, &format!("DRIVER=csi.example.com\n{}", blocks.concat()), "");
    assert!(said.success, "{said:#?}");

    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let secret = secrets.get("aerostat-webhook").await.unwrap();
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
    let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let template = deployments.get("aerostat").await.unwrap().spec.unwrap().template;
    let container = container(&template);
    let webhooks = RunSettings::parse(command_line(&container)).unwrap().webhooks.expect("the flags serve it");
    let mounted = container.volume_mounts.unwrap().into_iter().find(|it| it.name == "webhook").unwrap().mount_path;
    for ((file, _), key) in [(webhooks.certificate, "tls.crt"), (webhooks.key, "tls.key")] {
        assert_eq!(file, std::path::Path::new(&mounted).join(key));
        assert!(secret.data.as_ref().unwrap().contains_key(key));
    }
    let volumes = template.spec.unwrap().volumes.unwrap();
    let volume = volumes.iter().find(|it| it.name == "webhook").unwrap();
    assert_eq!(volume.secret.as_ref().unwrap().secret_name, secret.metadata.name);

    // The Service leads to the port, and the configuration to the Service.
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let service = services.get("aerostat-webhook").await.unwrap().spec.unwrap();
    let labels: BTreeMap<_, _> = template.metadata.unwrap().labels.unwrap();
    assert!(service.selector.unwrap().iter().all(|(key, value)| labels.get(key) == Some(value)));
    let port = &service.ports.unwrap()[0];
    assert_eq!(port.target_port, Some(IntOrString::Int(webhooks.address.port().into())));
    assert!(container.ports.unwrap().iter().any(|it| it.container_port == i32::from(webhooks.address.port())));
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(cluster.admin.clone());
    let configuration = configurations.get("cloud-pvl-admission.k8s.io").await.unwrap();
    let [webhook] = &configuration.webhooks.unwrap()[..] else { panic!("there is one") };
    let called = webhook.client_config.service.as_ref().unwrap();
    assert_eq!(
        (called.name.as_str(), called.path.as_deref(), called.port),
        ("aerostat-webhook", Some("/admit"), Some(port.port))
    );
    let bundle = webhook.client_config.ca_bundle.as_ref().unwrap();
    assert_eq!(bundle.0, fs::read(folder.path("webhook-ca.crt")).unwrap());
    assert!(webhook.match_conditions.as_ref().unwrap()[0].expression.contains("'csi.example.com'"));
    let verified =
        "openssl verify -CAfile webhook-ca.crt -verify_hostname aerostat-webhook.kube-system.svc webhook.crt";
    let said = folder.run(&cluster, verified, "");
    assert!(said.success, "{said:#?}");

    mount(&cluster, &folder).await;
    for (name, bytes) in secret.data.unwrap() {
        fs::write(folder.path(&name), bytes.0).unwrap();
    }
    let cloud = Hetzner::start(Behaviour::default()).await.unwrap();
    cloud.set_token(TOKEN);
    let arguments = |folder: &Folder, arguments: Vec<String>| {
        let here = folder.path("").display().to_string();
        let mounted = arguments.into_iter().map(|it| it.replace("/etc/aerostat-webhook/", &here));
        mounted.chain([format!("--webhook-secure-port={}", free_port())]).collect()
    };
    joins::<Hetzner>(&cluster, &folder, &cloud, Differences { arguments, ..Differences::default() }).await;

    // What a reset of the cluster leaves.
    secrets.delete("aerostat-webhook", &DeleteParams::default()).await.unwrap();
    leave(&cluster).await;
}
