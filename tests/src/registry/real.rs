//! The registries that `tests/registry/build.sh` builds, as child processes that end with the tests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::artifact::{Artifact, REPOSITORY, hex_of, provider_module};
use super::token_service::{ISSUER, SERVICE, TokenService};
use crate::control_plane::install_crypto;
use crate::folder::Folder;
use crate::loopback::{Program, free_address, tls_folder};
use crate::wait;

/// The user alice with the password `correct-horse`.
const HTPASSWD: &str = "alice:$2a$04$3hXiuoCuXP3LwLDvv/cATOVv.be4sRId2iWZF18PyZGhIG9LtlCGu\n";

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The clients that may read.
pub enum Access {
    /// Everybody.
    Anyone,
    /// Alice, with the password `correct-horse`.
    Password,
    /// Clients that have a token from this service, which is at this URL.
    Token(Arc<TokenService>, String),
    /// Everybody, and blobs are at this URL.
    Elsewhere(String),
}

/// A registry on loopback, with a certificate for 127.0.0.1.
pub struct RealRegistry {
    // First: the program ends before its folder goes.
    _program: Program,
    address: String,
    folder: Folder,
    bearer: Option<String>,
    client: reqwest::Client,
}

impl RealRegistry {
    /// The registry of the CNCF, which knows no referrers.
    pub async fn distribution(access: Access) -> Self {
        let (folder, address) = (tls_folder(), free_address());
        let mut config = json!({
            "version": "0.1",
            "log": { "level": "error", "accesslog": { "disabled": true } },
            "storage": { "inmemory": {} },
            "http": { "addr": address, "secret": "tests", "tls": {
                "certificate": folder.path("cert.pem"), "key": folder.path("key.pem"),
            } },
        });
        let mut bearer = None;
        match access {
            Access::Anyone => {}
            Access::Password => {
                let path = folder.write("htpasswd", HTPASSWD);
                config["auth"] = json!({ "htpasswd": { "realm": "tests", "path": path } });
            }
            Access::Token(service, realm) => {
                let bundle = folder.write("tokens.pem", service.certificate());
                config["auth"] = json!({ "token": {
                    "realm": realm, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": bundle,
                } });
                bearer = Some(service.token(&["pull", "push"]));
            }
            Access::Elsewhere(url) => {
                config["middleware"] = json!({ "storage": [{ "name": "redirect", "options": { "baseurl": url } }] });
            }
        }
        let config = folder.write("config.yml", config.to_string());
        let arguments = ["serve".to_owned(), config.display().to_string()];
        Self::start("distribution", &arguments, folder, address, bearer).await
    }

    /// The registry of go-containerregistry, with its referrers API and without logins.
    pub async fn referrers() -> Self {
        let (folder, address) = (tls_folder(), free_address());
        let path = |name| folder.path(name).display().to_string();
        let arguments = [address.clone(), path("cert.pem"), path("key.pem")];
        Self::start("referrers", &arguments, folder, address, None).await
    }

    async fn start(name: &str, arguments: &[String], folder: Folder, address: String, bearer: Option<String>) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/registries").join(name);
        assert!(program.is_file(), "there is no {}. Next step: make registries", program.display());
        let program = Program::start(&program, arguments, &[("OTEL_TRACES_EXPORTER", OsStr::new("none"))], None);
        install_crypto();
        let client = reqwest::Client::builder().danger_accept_invalid_certs(true).no_proxy().build().expect("a client");
        let registry = Self { _program: program, address, folder, bearer, client };
        let url = registry.url("");
        wait::until(&format!("{name} answers"), async || registry.client.get(&url).send().await.ok()).await;
        registry
    }

    /// Where it listens: `127.0.0.1:…`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The file with its certificate authority.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path("ca.pem")
    }

    /// The operator's `provider.module` for the manifest with this digest.
    #[must_use]
    pub fn module(&self, digest: &str) -> Value {
        provider_module(&self.address, &self.ca_file(), digest)
    }

    /// Stores a manifest and its blobs, under its digest, or under a tag.
    pub async fn push(&self, artifact: &Artifact, tag: Option<&str>) {
        for blob in artifact.blobs() {
            let digest = hex_of(&blob);
            let begun = self.send(self.client.post(self.url(&format!("{REPOSITORY}/blobs/uploads/")))).await;
            let location = begun.headers()["location"].to_str().expect("a location is text").to_owned();
            let location =
                if location.starts_with('/') { format!("https://{}{location}", self.address) } else { location };
            let separator = if location.contains('?') { '&' } else { '?' };
            let put = self.client.put(format!("{location}{separator}digest=sha256:{digest}"));
            self.send(put.header("content-type", "application/octet-stream").body(blob)).await;
        }
        self.put_manifest(tag.unwrap_or(&format!("sha256:{}", artifact.digest())), &artifact.manifest).await;
    }

    /// Stores what refers to a manifest, and lists it where it is looked for: beside what is there, as cosign does.
    pub async fn refer(&self, subject: &str, referrer: &Artifact) {
        self.push(referrer, None).await;
        let tag = self.url(&format!("{REPOSITORY}/manifests/sha256-{subject}"));
        let there = self.client.get(tag).header("accept", INDEX).send().await.expect("the registry answers");
        let mut index = match there.status().is_success() {
            true => serde_json::from_slice(&there.bytes().await.expect("a body")).expect("an index is JSON"),
            false => json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [] }),
        };
        index["manifests"].as_array_mut().expect("an index has manifests").push(referrer.entry());
        self.put_manifest(&format!("sha256-{subject}"), index.to_string().as_bytes()).await;
    }

    /// The machines, or the types of artifacts, that the index at `repository:tag` names.
    pub async fn kinds(&self, name: &str) -> Vec<String> {
        let index = self.manifest(name).await;
        let entries = index["manifests"].as_array().expect("an index has manifests");
        let kind =
            |it: &Value| it["platform"]["architecture"].as_str().or(it["artifactType"].as_str()).map(str::to_owned);
        entries.iter().filter_map(kind).collect()
    }

    /// The manifest or index at `repository:tag` or `repository@digest`.
    pub async fn manifest(&self, name: &str) -> Value {
        let (repository, reference) = name.split_once('@').or(name.split_once(':')).expect("a tag or a digest");
        let get = self.client.get(self.url(&format!("{repository}/manifests/{reference}")));
        let get = get.header("accept", format!("{INDEX}, {MANIFEST}"));
        serde_json::from_slice(&self.send(get).await.bytes().await.expect("a body")).expect("a manifest is JSON")
    }

    /// The blob with this digest, `sha256:…`.
    pub async fn blob(&self, repository: &str, digest: &str) -> Vec<u8> {
        let get = self.client.get(self.url(&format!("{repository}/blobs/{digest}")));
        self.send(get).await.bytes().await.expect("a body").to_vec()
    }

    /// Stores a manifest alone.
    pub async fn put_manifest(&self, reference: &str, manifest: &[u8]) {
        let media_type = serde_json::from_slice::<Value>(manifest).expect("a manifest is JSON");
        let media_type = media_type["mediaType"].as_str().expect("it says what it is").to_owned();
        let put = self.client.put(self.url(&format!("{REPOSITORY}/manifests/{reference}")));
        self.send(put.header("content-type", media_type).body(manifest.to_vec())).await;
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> reqwest::Response {
        let request = match &self.bearer {
            Some(token) => request.bearer_auth(token),
            None => request.basic_auth("alice", Some("correct-horse")),
        };
        let response = request.send().await.expect("the registry answers");
        let status = response.status();
        assert!(status.is_success(), "{status}: {}", response.text().await.unwrap_or_default());
        response
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}/v2/{path}", self.address)
    }
}
