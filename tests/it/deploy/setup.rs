//! The folder `deploy/`, kubectl, and what the manifests say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{Content, Demand, Description, Effect};
use egress::{Credentials, Egress, EgressSettings};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodTemplateSpec, Secret};
use prometheus::Registry;
use sandbox::{ConfigMaps, Digest, Metrics, Provider, ProviderSettings, Source};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tests::control_plane::{Cluster, kubectl};
use tests::vendor::loading::SANDBOX;
use tests::{folder, guests};

/// The answer of kubectl, or of a shell that ran it.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) success: bool,
    pub(crate) out: String,
    pub(crate) error: String,
}

/// A folder as the README's commands expect it: `deploy/` and the module in it. It goes away with the test.
pub(crate) struct Folder(folder::Folder);

/// The manifests' folder.
pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

/// A file of the manifests' folder.
pub(crate) fn text(name: &str) -> String {
    let path = deploy().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// The rows of the table in a section of a page, without its head, each with its cells.
pub(crate) fn rows_of(page: &str, section: &str) -> Vec<Vec<String>> {
    let page = text(page);
    let (_, below) = page.split_once(&format!("\n## {section}\n")).unwrap();
    let lines = below.lines().take_while(|it| !it.starts_with("## "));
    let rows = lines.filter(|it| it.starts_with("| ") && !it.starts_with("| ---")).skip(1);
    rows.map(|it| it.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The words between backticks.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// How many of these cells name a setting, which has to be one that is described.
pub(crate) fn settings_in<'a>(cells: impl Iterator<Item = &'a String>, description: &Description) -> usize {
    let named: Vec<String> =
        cells.filter_map(|it| it.strip_prefix("setting ")).map(|it| quoted(it).swap_remove(0)).collect();
    for name in &named {
        assert!(description.settings.iter().any(|it| it.name == *name), "there is no setting {name}");
    }
    named.len()
}

/// The README's blocks of commands that can run here, in their order: those that are marked as `sh`.
pub(crate) fn commands(readme: &str) -> Vec<String> {
    blocks(readme, "```sh\n")
}

/// The blocks that are marked as `sh` and with a further word: what is done instead, or at another time.
pub(crate) fn commands_for(readme: &str, mark: &str) -> Vec<String> {
    blocks(readme, &format!("```sh {mark}\n"))
}

fn blocks(readme: &str, begin: &str) -> Vec<String> {
    text(readme).split(begin).skip(1).map(|it| it.split("```").next().unwrap().to_owned()).collect()
}

/// The names of all manifests.
pub(crate) fn manifests() -> Vec<String> {
    let names = fs::read_dir(deploy()).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut manifests: Vec<_> = names.filter(|it| it.ends_with(".yaml")).collect();
    manifests.sort();
    manifests
}

/// The only object of a manifest.
pub(crate) fn object<K: DeserializeOwned>(name: &str) -> K {
    serde_saphyr::from_str(&text(name)).unwrap_or_else(|error| panic!("cannot parse {name}: {error}"))
}

/// The config in `cloud.yaml` for DigitalOcean.
pub(crate) fn cloud_config() -> Value {
    cloud_config_in("config.yaml")
}

/// The config in `cloud.yaml` of a manifest.
pub(crate) fn cloud_config_in(manifest: &str) -> Value {
    let texts = object::<ConfigMap>(manifest).data.unwrap();
    assert_eq!(texts.keys().collect::<Vec<_>>(), ["cloud.yaml"]);
    serde_saphyr::from_str(&texts["cloud.yaml"]).unwrap()
}

/// The description of a provider before it has reached anything, and before anything is configured.
pub(crate) async fn describe(module: &str) -> Description {
    describe_with(module, &[]).await
}

/// The same with these settings.
pub(crate) async fn describe_with(module: &str, settings: &[(&str, &str)]) -> Description {
    (*provider(module, settings).await.description()).clone()
}

/// A provider without an endpoint, with these settings.
pub(crate) async fn provider(module: &str, settings: &[(&str, &str)]) -> Provider {
    let given = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let source = Source::File { path: module.into(), sha256: Digest::parse(&guests::sha256(module)).unwrap() };
    let module = source.fetch(&NoConfigMaps).await.unwrap();
    let settings = EgressSettings {
        endpoints: Vec::new(),
        credentials: Credentials::load(Vec::new()).unwrap(),
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let egress = Egress::new(settings, egress::Metrics::register(&Registry::new()).unwrap()).unwrap();
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let given = ProviderSettings { settings: given, ..ProviderSettings::default() };
    Provider::inspect(&SANDBOX, module, given, egress, metrics).await.unwrap()
}

/// The requests that a provider without operations asks for, what each does and what it carries. Sorted.
pub(crate) fn described(description: &Description) -> Vec<String> {
    let rules = description.endpoints[0].allow.iter();
    requests(rules.map(|rule| {
        let effect = rule.own_effect().map(Effect::as_str);
        (rule.methods.clone(), rule.paths.clone(), effect, described_content(&rule.content))
    }))
}

/// The requests that the first endpoint of a config allows.
pub(crate) fn allowed(config: &Value) -> Vec<String> {
    let rules = config["endpoints"][0]["allow"].as_array().unwrap().iter();
    requests(rules.map(|it| (texts(&it["methods"]), texts(&it["paths"]), it["effect"].as_str(), written_content(it))))
}

fn requests<'a>(rules: impl Iterator<Item = (Vec<String>, Vec<String>, Option<&'a str>, String)>) -> Vec<String> {
    let mut all = Vec::new();
    for (methods, paths, effect, carried) in rules {
        for method in &methods {
            let effect = effect.unwrap_or(Effect::of_method(method).as_str());
            all.extend(paths.iter().map(|path| format!("{method} {path}: {effect} {carried}")));
        }
    }
    all.sort();
    all
}

/// The content of requests, as a description says it, in one order.
pub(crate) fn described_content(content: &Content) -> String {
    let Content { only, values, fields, body } = content;
    let set = |it: &[String]| it.iter().cloned().collect::<BTreeSet<_>>();
    let map = |it: &[(String, Vec<String>)]| -> BTreeMap<_, _> {
        it.iter().map(|(name, values)| (name.clone(), set(values))).collect()
    };
    let (values, body) = (map(values), map(body));
    // A rule that names values or members need not say that nothing else may stand.
    let is_bare = values.is_empty() && fields.is_empty() && body.is_empty();
    let only = only.as_ref().map(|it| set(it)).filter(|it| is_bare || !it.is_empty());
    format!("{only:?} {values:?} {:?} {body:?}", set(fields))
}

/// The content that a rule of a config lets stand in requests, in the same order.
pub(crate) fn written_content(rule: &Value) -> String {
    let list = |it: &Value| if it.is_null() { Vec::new() } else { texts(it) };
    let map = |it: &Value| -> Vec<_> {
        it.as_object().into_iter().flatten().map(|(name, values)| (name.clone(), list(values))).collect()
    };
    described_content(&Content {
        only: (!rule["only"].is_null()).then(|| list(&rule["only"])),
        values: map(&rule["where"]),
        fields: list(&rule["fields"]),
        body: map(&rule["body"]),
    })
}

struct NoConfigMaps;

#[async_trait]
impl ConfigMaps for NoConfigMaps {
    async fn read(&self, namespace: &str, name: &str, _: &str) -> Result<Vec<u8>, String> {
        Err(format!("the module is in a file, not in {namespace}/{name}"))
    }
}

/// A list of texts in a document.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// The template of the Deployment's Pods.
pub(crate) fn template() -> PodTemplateSpec {
    object::<Deployment>("deployment.yaml").spec.unwrap().template
}

/// The only container of a Pod.
pub(crate) fn container(template: &PodTemplateSpec) -> Container {
    let containers = &template.spec.as_ref().unwrap().containers;
    assert_eq!(containers.len(), 1);
    containers[0].clone()
}

/// The command line of a container, with the program's name.
pub(crate) fn command_line(container: &Container) -> Vec<String> {
    container.command.iter().chain(&container.args).flatten().cloned().collect()
}

/// The files that a Pod finds in the folder of its configuration, by name, once the API server has stored them.
pub(crate) fn files(config: ConfigMap, secret: Secret) -> Vec<(String, Vec<u8>)> {
    let texts = config.data.unwrap_or_default().into_iter().map(|(name, text)| (name, text.into_bytes()));
    texts.chain(secret.data.unwrap_or_default().into_iter().map(|(name, bytes)| (name, bytes.0))).collect()
}

impl Folder {
    pub(crate) fn new() -> Folder {
        let folder = folder::Folder::new();
        for name in ["bin", "deploy"] {
            fs::create_dir(folder.path(name)).unwrap();
        }
        for name in manifests() {
            fs::copy(deploy().join(&name), folder.path("deploy").join(&name)).unwrap();
        }
        fs::copy(guests::DIGITALOCEAN, folder.path("digitalocean.wasm")).unwrap();
        std::os::unix::fs::symlink(kubectl().unwrap(), folder.path("bin/kubectl")).unwrap();
        Folder(folder)
    }

    /// With a folder of `deploy/`, too.
    pub(crate) fn with(self, name: &str) -> Folder {
        let to = self.path("deploy").join(name);
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(deploy().join(name)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
        self
    }

    /// With another provider's module, under the name that its page gives it.
    pub(crate) fn module(self, path: &str, name: &str) -> Folder {
        fs::copy(path, self.path(name)).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// Has the API server judge a file strictly; the file's objects stay outside the cluster. A dry run makes no namespace for the objects
    /// that are in it, so that the namespace of volumes is there meanwhile.
    pub(crate) fn judge(&self, cluster: &Cluster, file: &str) -> Said {
        let script = format!(
            r#"namespace=/api/v1/namespaces/aerostat-volumes
            kubectl get --raw $namespace >/dev/null 2>&1 || kubectl create namespace aerostat-volumes >/dev/null
            kubectl apply --server-side --force-conflicts --dry-run=server --validate=strict -f {file}
            kubectl delete namespace aerostat-volumes --wait=false >/dev/null
            echo '{{ "apiVersion": "v1", "kind": "Namespace", "metadata": {{ "name": "aerostat-volumes" }}, "spec": {{ "finalizers": [] }} }}' |
                kubectl replace --raw $namespace/finalize -f - >/dev/null"#
        );
        self.run(cluster, &script, "")
    }

    /// Runs a script with bash, as an administrator of the cluster who typed it, line for line, and `input` where it asks.
    pub(crate) fn run(&self, cluster: &Cluster, script: &str, input: &str) -> Said {
        let mut bash = Command::new("bash")
            .args(["-euo", "pipefail", "-c", script])
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env("HOME", self.path(""))
            .env("KUBECONFIG", cluster.control_plane.admin_kubeconfig())
            .env("IMAGE", "registry.example.org/ours:1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        bash.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = bash.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { success: output.status.success(), out: text(output.stdout), error: text(output.stderr) }
    }
}
