//! `deploy/registry/`: its manifests, the commands of its README, and the binary with what they leave behind.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use tests::aerostat::{Aerostat, message};
use tests::control_plane::{Cluster, cluster};
use tests::guests;
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry, Signer};
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, Vendor};

use crate::install::hold_lease;
use crate::served::{Differences, joins};
use crate::setup::{Folder, cloud_config_in, command_line, commands, container, files, object, text};

const FOLDER: &str = "registry";

const PATIENCE: Duration = Duration::from_secs(60);

/// Where the Pod finds what the patch mounts.
const MOUNTED: &str = "/etc/aerostat-registry";

/// A cloud: its config here, the config that it takes the place of, its Secret, and its provider.
struct Cloud {
    config: &'static str,
    instead_of: &'static str,
    secret: &'static str,
    repository: &'static str,
    module: &'static str,
    provider: &'static str,
    flag: &'static str,
}

const DIGITALOCEAN: Cloud = Cloud {
    config: "registry/config.yaml",
    instead_of: "config.yaml",
    secret: "secret.yaml",
    repository: "aerostat/digitalocean",
    module: guests::DIGITALOCEAN,
    provider: "provider digitalocean",
    flag: "--cloud-provider=digitalocean",
};

const HETZNER: Cloud = Cloud {
    config: "registry/hetzner-config.yaml",
    instead_of: "hetzner/config.yaml",
    secret: "hetzner/secret.yaml",
    repository: "aerostat/hetzner",
    module: guests::HETZNER,
    provider: "provider hcloud",
    flag: "--cloud-provider=hcloud",
};

#[test]
fn only_the_module_differs_from_the_config_with_a_config_map() {
    for cloud in [DIGITALOCEAN, HETZNER] {
        let (mut here, mut there) = (cloud_config_in(cloud.config), cloud_config_in(cloud.instead_of));
        let oci = here["provider"]["module"]["oci"].clone();
        let image = oci["image"].as_str().unwrap();
        assert_eq!(image.rsplit_once(':').unwrap().0, format!("registry.example.com/{}", cloud.repository));
        assert_eq!(oci["login"]["file"], format!("{MOUNTED}/.dockerconfigjson"));
        for config in [&mut here, &mut there] {
            config["provider"]["module"] = Value::Null;
        }
        assert_eq!(here, there, "{}", cloud.config);
    }
}

#[tokio::test]
async fn every_manifest_for_a_registry_is_accepted_by_the_api_server() {
    let cluster = cluster().await;
    let folder = Folder::new().with(FOLDER);
    for name in ["config.yaml", "hetzner-config.yaml", "secret.yaml"] {
        let script = format!("kubectl apply --server-side --dry-run=server -f deploy/{FOLDER}/{name}");
        let said = folder.run(&cluster, &script, "");
        assert!(said.success && said.error.is_empty(), "{name}: {said:#?}");
        assert_eq!(said.out.lines().count(), 1, "{name}: {said:#?}");
    }
    let patched = format!(
        "kubectl patch -f deploy/deployment.yaml --local --type=json -o yaml \
             --patch-file=deploy/{FOLDER}/deployment-patch.yaml |
         kubectl apply --server-side --force-conflicts --dry-run=server -f -"
    );
    let said = folder.run(&cluster, &patched, "");
    assert!(said.success && said.error.is_empty(), "{said:#?}");
}

#[tokio::test]
async fn without_a_module_in_a_config_map_none_may_be_read() {
    let cluster = cluster().await;
    let block = commands(&format!("{FOLDER}/README.md")).pop().unwrap();
    let command = block.lines().find(|it| it.contains(" patch role ")).unwrap();
    let said = Folder::new().with(FOLDER).run(&cluster, &format!("{command} --dry-run=server -o json"), "");
    assert!(said.success && said.error.is_empty(), "{said:#?}");
    let role: Value = serde_json::from_str(&said.out).unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text("rbac.yaml")).unwrap();
    let shipped = documents.iter().find(|it| it["kind"] == "Role" && it["metadata"]["namespace"] == "kube-system");
    let mut rules = shipped.unwrap()["rules"].as_array().unwrap().clone();
    rules.retain(|it| it["resources"] != json!(["configmaps"]));
    let sorted = |rules: &[Value]| {
        let mut rules: Vec<_> = rules.iter().map(Value::to_string).collect();
        rules.sort();
        rules
    };
    assert_eq!(rules.len(), 2, "{rules:?}");
    assert_eq!(sorted(role["rules"].as_array().unwrap()), sorted(&rules));
}

#[tokio::test]
async fn the_readmes_commands_pull_a_signed_module_from_a_registry() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Password).await;
    check_pulled::<DigitalOcean>(&cluster, &registry, &DIGITALOCEAN, 1).await;
    check_pulled::<Hetzner>(&cluster, &registry, &HETZNER, 2).await;
}

/// Installs from the registry by the README's commands, and starts the binary with what the Pod would find: first where somebody
/// else leads, then so that the node of this machine joins.
async fn check_pulled<V: Vendor>(cluster: &Cluster, registry: &RealRegistry, cloud: &Cloud, machine: u64) {
    hold_lease(cluster).await;
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let artifact = Artifact::new(&fs::read(cloud.module).unwrap());
    registry.push(&artifact, Some("0.1.0")).await;
    let signature = signer.referrer(&artifact.digest());
    registry.push(&signature, None).await;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [signature.entry()],
    });
    registry.put_manifest(&format!("sha256-{}", artifact.digest()), index.to_string().as_bytes()).await;

    let folder = Folder::new().with("hetzner").with(FOLDER);
    fs::write(folder.path("release.pub"), signer.public_key()).unwrap();
    fs::copy(registry.ca_file(), folder.path("ca.pem")).unwrap();
    let blocks = commands(&format!("{FOLDER}/README.md"));
    assert_eq!(blocks.len(), 3, "{blocks:#?}");
    // What the page says of a private authority, and of the other cloud.
    let blocks = blocks.concat().replace("--from-file=release.pub", "--from-file=release.pub --from-file=ca.pem");
    let blocks = blocks.replace("-f deploy/registry/config.yaml", &format!("-f deploy/{}", cloud.config));
    let script = format!(
        "REGISTRY={} DIGEST=sha256:{}
         sed -i 's/--cloud-provider=digitalocean/{}/' deploy/deployment.yaml
         kubectl apply --server-side --force-conflicts -f deploy/{} -f deploy/rbac.yaml -f deploy/deployment.yaml
         sed -i 's/# tls:/tls:/' deploy/{}
         {blocks}",
        registry.address(),
        artifact.digest(),
        cloud.flag,
        cloud.secret,
        cloud.config,
    );
    let said = folder.run(cluster, &script, "alice\ncorrect-horse\n");
    assert!(said.success, "{said:#?}");

    let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let template = deployments.get("aerostat").await.unwrap().spec.unwrap().template;
    let container = container(&template);
    let mounts = container.volume_mounts.clone().unwrap();
    let mount = |path: &str| mounts.iter().find(|it| it.mount_path == path).unwrap();
    let volumes = template.spec.unwrap().volumes.unwrap();
    let volume = |path: &str| volumes.iter().find(|it| it.name == mount(path).name).unwrap().clone();
    let sources = volume(MOUNTED).projected.unwrap().sources.unwrap();
    let (secret, config_map) = (sources[0].secret.clone().unwrap(), sources[1].config_map.clone().unwrap());
    assert_eq!(mount(MOUNTED).read_only, Some(true));
    assert_eq!(volume("/var/cache/aerostat").empty_dir.unwrap().size_limit.unwrap().0, "64Mi");

    // What the kubelet would mount.
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let mounted = files(config_maps.get(&config_map.name).await.unwrap(), secrets.get(&secret.name).await.unwrap());
    let names: Vec<_> = mounted.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["ca.pem", "release.pub", ".dockerconfigjson"]);
    let own = files(config_maps.get("aerostat").await.unwrap(), secrets.get("aerostat").await.unwrap());
    for (name, bytes) in mounted.into_iter().chain(own) {
        let here = folder.path("").display().to_string();
        let text = String::from_utf8(bytes).unwrap().replace(MOUNTED, &here).replace("/etc/aerostat", &here);
        fs::write(folder.path(&name), text.replace(cloud.repository, REPOSITORY)).unwrap();
    }

    let arguments: Vec<_> = command_line(&container)
        .into_iter()
        .skip(2)
        .map(|it| it.replace("/var/cache", &folder.path("cache").display().to_string()))
        .chain([
            format!("--cloud-config={}", folder.path("cloud.yaml").display()),
            format!("--kubeconfig={}", cluster.kubeconfig.display()),
            "--secure-port=0".to_owned(),
        ])
        .collect();
    let mut process = Aerostat::start(arguments).unwrap();
    let pulled = process.wait_for("comes from the registry and is signed by", PATIENCE).await.unwrap();
    assert!(message(&pulled).contains("release.pub (bundle)"), "{pulled:?}");
    process.wait_for(cloud.provider, PATIENCE).await.unwrap();
    process.wait_for("standing by: somebody holds lease", PATIENCE).await.unwrap();
    assert!(process.stop().await.unwrap().success());
    assert!(folder.path("cache/aerostat").join(artifact.digest()).is_file(), "the folder keeps the manifest");

    let server = V::start(Behaviour::default()).await.unwrap();
    // The Secret of the page before is not filled in here.
    server.set_token("REPLACE-WITH-YOUR-TOKEN");
    let arguments = |folder: &Folder, arguments: Vec<String>| {
        let cache = folder.path("cache").display().to_string();
        arguments.into_iter().map(|it| it.replace("/var/cache", &cache)).collect()
    };
    joins::<V>(cluster, &folder, &server, Differences { machine, arguments, ..Differences::default() }).await;

    // All tests share the Role.
    let said = folder.run(cluster, "kubectl apply --server-side --force-conflicts -f deploy/rbac.yaml", "");
    assert!(said.success, "{said:#?}");
    let gone = DeleteParams::default();
    config_maps.delete(&config_map.name, &gone).await.unwrap();
    deployments.delete("aerostat", &gone).await.unwrap();
}

#[test]
fn the_login_for_a_registry_is_a_place_to_fill_in() {
    let secret = object::<Secret>("registry/secret.yaml");
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/dockerconfigjson"));
    let texts = secret.string_data.unwrap();
    assert_eq!(texts.keys().collect::<Vec<_>>(), [".dockerconfigjson"]);
    let login: Value = serde_json::from_str(&texts[".dockerconfigjson"]).unwrap();
    assert_eq!(login, json!({ "auths": { "registry.example.com": { "auth": "REPLACE-WITH-YOUR-LOGIN" } } }));
}
