//! `aerostat module` as people call it, against real registries.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha256::Digest;
use tests::aerostat::binary;
use tests::capture::{Capture, Step};
use tests::folder::Folder;
use tests::registry::{Access, Answers, Artifact, REPOSITORY, RealRegistry, Signer, TokenService};
use tests::{component, guests};

use crate::recorded;
use crate::setup::{artifact, says};

/// The password of all logins here. No command may print it.
const PASSWORD: &str = "correct-horse";

/// The output of a command, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
    pub(crate) errors: String,
}

/// Runs `aerostat module` with these arguments.
pub(crate) async fn run(arguments: &[&str]) -> Ran {
    run_with(&[&["module"], arguments].concat(), &[]).await
}

/// As [`run`], of any command, with these variables in its environment.
pub(crate) async fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = tokio::process::Command::new(binary().unwrap());
    command.envs(variables.iter().copied());
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let ended = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ran = Ran { code: ended.status.code(), text: text(ended.stdout), errors: text(ended.stderr) };
    assert!(!format!("{ran:?}").contains(PASSWORD), "{ran:?}");
    ran
}

/// Runs a command that must work, and returns what it printed.
pub(crate) async fn good(arguments: &[&str]) -> String {
    let ran = run(arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.text
}

/// As [`good`], of JSON.
pub(crate) async fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(&[arguments, &["--output=json"]].concat()).await).unwrap()
}

/// Runs a command that must fail with these words.
pub(crate) async fn refused(arguments: &[&str], parts: &[&str]) {
    let ran = run(arguments).await;
    assert_eq!((ran.code, ran.text.as_str()), (Some(1), ""), "{ran:?}");
    says(&ran.errors, parts);
}

/// A flag with a path.
pub(crate) fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// A file with a login for a registry.
pub(crate) fn login(folder: &Folder, address: &str, password: &str) -> String {
    let login = json!({ "auths": { address: { "username": "alice", "password": password } } });
    flag("login", &folder.write("login.json", login.to_string()))
}

/// Pushes, looks, signs, verifies and pulls.
async fn round_trip(registry: &RealRegistry, folder: &Folder, flags: &[&str]) {
    let reference = format!("{}/{REPOSITORY}:1.0.0", registry.address());
    let with =
        |arguments: &[&str]| -> Vec<String> { arguments.iter().chain(flags).map(|it| (*it).to_owned()).collect() };
    let push = with(&["push", guests::ACME, &reference]);
    let pushed = json_of(&strs(&push)).await;
    let digest = pushed["manifest"].as_str().unwrap().to_owned();
    assert_eq!(json_of(&strs(&push)).await, pushed, "the same bytes have the same digest");
    let hex = digest.strip_prefix("sha256:").unwrap();

    let shown = good(&strs(&with(&["inspect", &reference]))).await;
    says(&shown, &[&digest, "provider    acme 1.0.0, contract 0.1.0: instances, load-balancers; ids acme://"]);
    says(&shown, &["endpoint    api (https://api.acme.example/v1): machines and balancers", "signatures  none"]);
    says(&shown, &["GET, PUT, DELETE /balancers/*", "application/wasm"]);

    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let key = flag("key", &folder.write("acme.pub", signer.public_key()));
    let verify = with(&["verify", &reference, &key]);
    refused(&strs(&verify), &["not verified: nobody has signed", &digest, "cosign sign --key"]).await;
    let referrer = signer.referrer(hex);
    registry.push(&referrer, None).await;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [referrer.entry()],
    });
    registry.put_manifest(&format!("sha256-{hex}"), index.to_string().as_bytes()).await;
    let line = good(&strs(&verify)).await;
    says(&line, &[&format!("verified: {digest} is signed by "), "acme.pub (bundle)"]);
    says(&good(&strs(&with(&["inspect", &reference, &key]))).await, &["bundle, says key a hint; verified: by"]);

    let out = folder.path("pulled.wasm");
    let pull = with(&["pull", &reference, &key, &flag("out", &out)]);
    says(&good(&strs(&pull)).await, &["pulled.wasm: ", " KiB, sha256 ", &format!("{digest} is signed by")]);
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(guests::ACME).unwrap());
    refused(&strs(&pull), &["pulled.wasm is there already", "--force"]).await;
    std::fs::write(&out, "changed").unwrap();
    let pulled = json_of(&strs(&[pull, vec!["--force".to_owned(), format!("--digest={digest}")]].concat())).await;
    assert_eq!(pulled["sha256"], guests::sha256(&out));
    assert_eq!(pulled["manifest"], digest);
}

pub(crate) fn strs(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn commands_at_a_registry_with_referrers() {
    let (registry, folder) = (RealRegistry::referrers().await, Folder::new());
    round_trip(&registry, &folder, &[&flag("ca", &registry.ca_file())]).await;
}

#[tokio::test]
async fn commands_at_distribution_with_a_password() {
    let (registry, folder) = (RealRegistry::distribution(Access::Password).await, Folder::new());
    let login = login(&folder, registry.address(), PASSWORD);
    round_trip(&registry, &folder, &[&flag("ca", &registry.ca_file()), &login]).await;
}

#[tokio::test]
async fn commands_at_distribution_with_a_token_service() {
    let tokens = Arc::new(TokenService::new());
    let service = tokens.clone().serve(&["authorization: Basic YWxpY2U6Y29ycmVjdC1ob3JzZQ=="]).await;
    let registry = RealRegistry::distribution(Access::Token(tokens, format!("{}/token", service.url()))).await;
    let folder = Folder::new();
    let both = format!("{}\n{}", std::fs::read_to_string(registry.ca_file()).unwrap(), service.ca());
    let ca = flag("ca", &folder.write("both.pem", both));
    let login = login(&folder, registry.address(), PASSWORD);
    let named = format!("--token-service={}", service.address());
    round_trip(&registry, &folder, &[&ca, &login, &named]).await;
    let asked: Vec<_> = service.requests().iter().map(|it| it.text().contains("%3Apull%2Cpush")).collect();
    assert_eq!(asked.iter().filter(|it| **it).count(), 2, "only a push asks for more than to pull: {asked:?}");

    let before = service.connections();
    let reference = format!("{}/{REPOSITORY}:1.0.0", registry.address());
    refused(&["inspect", &reference, &ca, &login], &["name 127.0.0.1:", "in --token-service; nothing was sent"]).await;
    assert_eq!(service.connections(), before);
}

#[tokio::test]
async fn cosigns_own_signatures_are_verified_by_command() {
    let (registry, folder) = (recorded::registry().await, Folder::new());
    let ca = flag("ca", &folder.write("ca.pem", registry.ca()));
    let reference =
        |repository: &str| format!("{}/acme/{repository}@sha256:{}", registry.address(), recorded::digest());
    for key in ["p256", "p384", "rsa"] {
        for form in ["bundle", "tag"] {
            let repository = format!("{key}-{form}");
            let (key, name) =
                (flag("key", &recorded::recorded(&format!("{key}.pub"))), format!("localhost:5000/acme/{repository}"));
            let line = good(&["verify", &reference(&repository), &key, "--signed-as", &name, &ca]).await;
            says(&line, &["verified: sha256:", &format!(".pub ({form})")]);
        }
    }
    let key = flag("key", &recorded::recorded("p256.pub"));
    let attested = reference("attested");
    refused(&["verify", &attested, &key, &ca], &["only attests https://example.com/scan"]).await;
    let tagged = ["verify", &reference("p256-tag"), &key, &ca].map(str::to_owned);
    refused(&strs(&tagged), &["is a signature of localhost:5000/acme/p256-tag", "as --signed-as"]).await;
    let other = ["verify", &reference("rsa-bundle"), &key, &ca, "--output=json"].map(str::to_owned);
    let ran = run(&strs(&other)).await;
    let verified: Value = serde_json::from_str(&ran.text).unwrap();
    assert_eq!((ran.code, &verified["signer"]), (Some(1), &Value::Null));
    says(verified["reasons"][0].as_str().unwrap(), &["is by another key than --key"]);
}

#[tokio::test]
async fn inspect_says_what_a_config_lacks() {
    let folder = Folder::new();
    let config = |endpoints: Value, settings: Value| {
        json!({
            "apiVersion": "aerostat.dev/v1alpha1",
            "kind": "CloudConfig",
            "provider": {
                "module": { "file": { "path": "/acme.wasm", "sha256": guests::sha256(guests::ACME) } },
                "settings": settings,
            },
            "endpoints": endpoints,
        })
        .to_string()
    };
    let inspect = async |config: String| {
        let path = flag("cloud-config", &folder.write("cloud.yaml", config));
        json_of(&["inspect", guests::ACME, &path]).await["missing"].clone()
    };
    let rule = |methods: Value, path: &str| json!({ "methods": methods, "paths": [path] });
    let api = |allow: Value| json!([{ "name": "api", "baseUrl": "https://api.acme.example/v1", "allow": allow }]);
    let all = json!([rule(json!(["GET"]), "/machines/**"), rule(json!(["GET", "PUT", "DELETE"]), "/balancers/*")]);
    assert_eq!(inspect(config(api(all), json!({}))).await, json!([]));
    let some = json!([rule(json!(["GET"]), "/**")]);
    let missing = inspect(config(api(some), json!({ "zone": "z" }))).await;
    says(
        missing[0].as_str().unwrap(),
        &["endpoint api", "add this to its allow: - { methods: [DELETE, PUT], paths: ['/balancers/*'] }"],
    );
    says(missing[1].as_str().unwrap(), &["provider.settings has zone, which the module does not know"]);
    let missing = inspect(config(json!([]), json!({}))).await;
    says(missing[0].as_str().unwrap(), &["endpoint api is not in endpoints", "baseUrl https://api.acme.example/v1"]);
}

#[tokio::test]
async fn a_module_whose_describe_spins_is_ended() {
    let folder = Folder::new();
    let spins = folder.write("spins.wasm", component::provider("", "(loop (br 0)) (i32.const 64)"));
    let spins = spins.display().to_string();
    refused(&["inspect", &spins], &["spins.wasm does not start: describe", "CPU time"]).await;
    let traps = folder.write("traps.wasm", component::provider("", "unreachable"));
    refused(&["inspect", &traps.display().to_string()], &["traps.wasm does not start: describe"]).await;
}

#[tokio::test]
async fn a_slow_pull_says_how_far_it_is() {
    let folder = Folder::new();
    let path = format!("blobs/sha256:{}", Digest::of(crate::setup::MODULE));
    let head = Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n");
    let slow = vec![head, Step::Drip(crate::setup::MODULE.to_vec(), Duration::from_millis(800))];
    let registry: Capture = Answers::of(&artifact()).set(&path, slow).serve().await;
    let ca = flag("ca", &folder.write("ca.pem", registry.ca()));
    let reference = format!("{}/{REPOSITORY}@sha256:{}", registry.address(), artifact().digest());
    let ran = run(&["pull", &reference, &ca, &flag("out", &folder.path("a.wasm"))]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = format!("pulling {reference}: 1 of 1 KiB\n");
    // The answer takes 6.4 s, and longer than ten on a machine that stands still meanwhile.
    let others = ran.errors.replace(&line, "");
    assert!(!ran.errors.is_empty() && others.is_empty(), "a line after each five seconds: {:?}", ran.errors);
    says(&ran.text, &["was not verified: no --key was given"]);
}

#[tokio::test]
async fn bash_completes_commands_and_flags() {
    let aerostat = binary().unwrap();
    let script = r#"source <("$0" completions bash)
        COMP_WORDS=(aerostat module inspect --cl) COMP_CWORD=3
        "$(complete -p aerostat | sed 's/.*-F \([^ ]*\).*/\1/')" aerostat --cl inspect
        echo "${COMPREPLY[@]}""#;
    let ended = tokio::process::Command::new("bash").args(["-c", script]).arg(&aerostat).output().await.unwrap();
    assert_eq!(String::from_utf8(ended.stdout).unwrap().trim(), "--cloud-config", "{:?}", ended.stderr);
}

#[tokio::test]
async fn a_pushed_artifact_is_what_aerostat_loads() {
    let (registry, folder) = (RealRegistry::distribution(Access::Anyone).await, Folder::new());
    let file = folder.write("minimal.wasm", component::only_provider());
    let reference = format!("{}/{REPOSITORY}", registry.address());
    let ca = flag("ca", &registry.ca_file());
    let pushed = json_of(&["push", &file.display().to_string(), &reference, &ca]).await;
    let digest = pushed["manifest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let pulled = crate::setup::Setup::in_real(&registry, digest).pulled().await;
    assert_eq!(pulled.bytes, component::only_provider());
    assert_ne!(Artifact::new(&pulled.bytes).digest(), digest, "its config says what it imports");
}

#[tokio::test]
async fn no_proxy_of_the_environment_is_asked() {
    let folder = Folder::new();
    let module = Artifact::new(&component::only_provider());
    let registry = Answers::of(&module).serve().await;
    let proxy = Capture::http(|_| Step::answer("502 Bad Gateway", &[], "")).await;
    let ca = flag("ca", &folder.write("ca.pem", registry.ca()));
    let reference = format!("{}/{REPOSITORY}@sha256:{}", registry.address(), module.digest());
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let url = proxy.url();
    let ran = run_with(&["module", "inspect", &reference, &ca], &names.map(|it| (it, url.as_str()))).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(registry.connections() > 0);
    assert_eq!(proxy.connections(), 0);
}
