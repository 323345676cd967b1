//! The Kubernetes API server: where it is, and clients for it.

mod layer;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use http::{HeaderValue, Uri};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::warn;

pub(crate) use self::layer::Metrics;
use self::layer::RequestLayer;
use crate::flags::{ApiServerFlags, InCluster, RateLimit};

/// How long to wait for the API server at start.
const START: Duration = Duration::from_secs(10);

/// Between two attempts at start.
const PAUSE: Duration = Duration::from_secs(1);

/// How long any request may take.
const REQUEST: Duration = Duration::from_secs(30);

/// How long a connection may be silent. One that is dead ends then, whether it waits for an answer, for the next request, or
/// for a change that a watch would tell: a watch lasts less long, and says when it ends.
const SILENCE: Duration = Duration::from_secs(45);

/// Where the API server is, and with which identity it is asked.
#[derive(Clone)]
pub(crate) struct ApiServer {
    config: Config,
}

impl ApiServer {
    /// Reads the kubeconfig, or what Kubernetes tells a Pod.
    ///
    /// # Errors
    ///
    /// If neither is there, or what is there cannot be used.
    pub(crate) async fn find(api: &ApiServerFlags) -> Result<Self> {
        let mut config = match (&api.kubeconfig, &api.master, &api.in_cluster) {
            (Some(path), _, _) => from_file(path).await?,
            (None, Some(master), _) => Config::new(master_url(master)?),
            (None, None, Some(pod)) => in_cluster(pod)?,
            (None, None, None) => bail!(
                "no API server to talk to: neither --kubeconfig nor --master was given, and this is not a Pod \
                 (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set). Give --kubeconfig=FILE"
            ),
        };
        if let (Some(_), Some(master)) = (&api.kubeconfig, &api.master) {
            config.cluster_url = master_url(master)?;
        }
        // It would send POST and PATCH again and again; whoever sends a request here decides whether to repeat it.
        config.default_retry = false;
        config.connect_timeout = Some(Duration::from_secs(10));
        config.read_timeout = Some(SILENCE);
        // A request on a connection that was silent for long gets the whole time for its answer.
        config.reset_reader_on_write = true;
        let agent = concat!("aerostat/", env!("CARGO_PKG_VERSION"));
        config.headers.push((http::header::USER_AGENT, HeaderValue::from_static(agent)));
        Ok(Self { config })
    }

    /// Its address, for people and for the egress.
    pub(crate) fn url(&self) -> &Uri {
        &self.config.cluster_url
    }

    /// A client with a time-out on every request, and with `limit` if there is one.
    pub(crate) fn client(&self, limit: Option<RateLimit>, metrics: Metrics) -> Result<Client> {
        let layer = RequestLayer::new(self.url(), REQUEST, limit, metrics);
        let builder = ClientBuilder::try_from(self.config.clone())
            .with_context(|| format!("cannot make a client for the API server at {}", self.url()))?;
        Ok(builder.with_layer(&layer).build())
    }
}

/// Waits until the API server answers.
///
/// # Errors
///
/// If it does not within ten seconds, or if it does not know who asks.
pub(crate) async fn wait(client: &Client, url: &Uri) -> Result<()> {
    let deadline = Instant::now() + START;
    loop {
        let request = http::Request::get("/healthz").body(Vec::new()).expect("a constant request is well-formed");
        let cause = match timeout_at(deadline, client.request_text(request)).await {
            Ok(Ok(_)) => return Ok(()),
            // It is up, and has no more to say to us.
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => return Ok(()),
            Ok(Err(kube::Error::Api(status))) if status.code == 401 => bail!(
                "the API server at {url} does not accept our credentials (401 {}); check the user of --kubeconfig or \
                 the Pod's ServiceAccount",
                status.message
            ),
            Ok(Err(error)) => controllers::chain(&error),
            Err(_) => format!("it did not answer within {START:?}"),
        };
        if Instant::now() + PAUSE >= deadline {
            return Err(anyhow!(
                "the API server at {url} is unreachable: {cause}. Check its address in --kubeconfig or --master, and \
                 whether it is up"
            ));
        }
        warn!("the API server at {url} is unreachable: {cause}; trying again");
        sleep(PAUSE).await;
    }
}

async fn from_file(path: &Path) -> Result<Config> {
    let unusable = || format!("cannot use --kubeconfig {}", path.display());
    let mut kubeconfig = Kubeconfig::read_from(path).with_context(unusable)?;
    // Where a cluster names no proxy, kube takes one from the environment. Naming one everywhere keeps it from looking;
    // what counts is set below.
    let mut proxies = Vec::new();
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|it| Some((it.name.clone(), it.cluster.as_mut()?))) {
        let (name, cluster) = cluster;
        proxies.push((name, cluster.proxy_url.replace("http://unused.invalid".to_owned())));
    }
    let context = kubeconfig.current_context.clone().unwrap_or_default();
    let cluster = kubeconfig
        .contexts
        .iter()
        .find(|it| it.name == context)
        .and_then(|it| it.context.as_ref())
        .map(|it| it.cluster.clone());
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.with_context(unusable)?;
    let proxy = proxies.into_iter().find(|(name, _)| Some(name) == cluster.as_ref()).and_then(|(_, proxy)| proxy);
    config.proxy_url = match proxy.filter(|it| !it.is_empty()) {
        Some(proxy) => Some(proxy.parse().with_context(|| format!("{}: proxy-url is not a URL", unusable()))?),
        None => None,
    };
    Ok(config)
}

/// `--master` may leave out the scheme.
fn master_url(master: &str) -> Result<Uri> {
    let url = if master.contains("://") { master.to_owned() } else { format!("http://{master}") };
    let url: Uri = url.parse().with_context(|| format!("--master {master} is not a URL"))?;
    match (url.scheme_str(), url.host()) {
        (Some("http" | "https"), Some(_)) => Ok(url),
        _ => bail!("--master {master} is not the URL of an API server; write https://HOST:PORT"),
    }
}

/// kube's own function for this reads the environment.
fn in_cluster(pod: &InCluster) -> Result<Config> {
    let host = if pod.host.contains(':') { format!("[{}]", pod.host) } else { pod.host.clone() };
    let url = format!("https://{host}:{}", pod.port)
        .parse()
        .context("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not an address")?;
    let mut config = Config::new(url);
    let file = |name: &str| {
        let path = pod.service_account.join(name);
        match path.try_exists() {
            Ok(true) => Ok(path),
            Ok(false) | Err(_) => Err(anyhow!(
                "the Pod has no {}: set automountServiceAccountToken: true, or give --kubeconfig",
                path.display()
            )),
        }
    };
    config.root_cert_file = Some(file("ca.crt")?);
    config.auth_info.token_file = Some(file("token")?.display().to_string());
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dead_connection_ends_after_45_seconds_and_no_answer_before() {
        let api = ApiServerFlags {
            kubeconfig: None,
            master: Some("https://10.0.0.1".to_owned()),
            in_cluster: None,
            limit: None,
        };
        let config = ApiServer::find(&api).await.unwrap().config;
        assert_eq!(config.read_timeout, Some(Duration::from_secs(45)));
        assert!(config.reset_reader_on_write && REQUEST < SILENCE, "an answer has its time");
    }

    #[test]
    fn a_master_may_leave_out_its_scheme() {
        assert_eq!(master_url("10.0.0.1:8080").unwrap().to_string(), "http://10.0.0.1:8080/");
        assert_eq!(master_url("https://[::1]:6443").unwrap().to_string(), "https://[::1]:6443/");
        for master in ["ftp://host", "https://", "not a url"] {
            assert!(master_url(master).unwrap_err().to_string().starts_with(&format!("--master {master}")));
        }
    }

    #[test]
    fn a_pod_finds_its_api_server() {
        let folder = std::env::temp_dir().join(format!("aerostat-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        for file in ["ca.crt", "token"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        let pod = InCluster { host: "fd00::1".into(), port: "443".into(), service_account: folder.clone() };
        let config = in_cluster(&pod).unwrap();
        assert_eq!(config.cluster_url.to_string(), "https://[fd00::1]:443/");
        assert_eq!(config.root_cert_file, Some(folder.join("ca.crt")));
        assert_eq!(config.auth_info.token_file, Some(folder.join("token").display().to_string()));
        assert_eq!(config.proxy_url, None);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_proxy_is_taken_from_the_kubeconfig_alone() {
        for (line, proxy) in
            [("", None), ("proxy-url: http://proxy.example.com:3128", Some("http://proxy.example.com:3128/"))]
        {
            let text = format!(
                "apiVersion: v1
kind: Config
current-context: c
contexts: [{{ name: c, context: {{ cluster: k, user: u }} }}]
users: [{{ name: u, user: {{ token: t }} }}]
clusters:
  - name: k
    cluster:
      server: https://10.0.0.1
      {line}
"
            );
            let path = std::env::temp_dir().join(format!("aerostat-{}", uuid::Uuid::new_v4()));
            std::fs::write(&path, text).unwrap();
            let config = from_file(&path).await.unwrap();
            assert_eq!(config.proxy_url.map(|it| it.to_string()).as_deref(), proxy);
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_pod_without_a_service_account_gets_a_reason() {
        let pod =
            InCluster { host: "fd00::1".into(), port: "443".into(), service_account: "/nowhere/serviceaccount".into() };
        let error = in_cluster(&pod).unwrap_err().to_string();
        assert!(error.contains("/nowhere/serviceaccount/ca.crt") && error.contains("automount"), "{error}");
    }
}
