//! The cost of a signature of AWS for a request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cloud_provider::Demand;
use egress::{
    AllowedAddresses, BaseUrl, CallId, CredentialKind, CredentialSettings, Credentials, Effect, Egress, EgressSettings,
    Endpoint, GuestRequest, KeySource, Method, Mode, OperationPattern, OperationPlace, PathPattern, RegionName, Rule,
    Signing, Sigv4Settings, Sts, WriteLimits,
};
use tests::capture::{Capture, Step};
use tests::folder::Folder;

use crate::table::Table;

/// Requests of each kind.
const REQUESTS: usize = 2000;
/// Values in a request's filter: as many as one asks about.
const VALUES: usize = 200;
const REGION: &str = "eu-central-1";
const KEYS: &str =
    "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n";

/// Sends the same requests with a token and with a signature, in turns, to a server on loopback.
pub(crate) async fn measure() -> Result<()> {
    let server = Capture::http(|_| Step::ok("<ok/>")).await;
    let folder = Folder::new();
    let egress = egress(&server.url(), &folder)?;
    let (mut tokens, mut signatures) = (Vec::new(), Vec::new());
    for _ in 0..REQUESTS {
        tokens.push(time(&egress, "token").await?);
        signatures.push(time(&egress, "signature").await?);
    }
    tokens.sort();
    signatures.sort();
    let at = |times: &[Duration], place: usize| times.get(place).copied().unwrap_or_default();
    let row = |place: usize| {
        let (token, signature) = (at(&tokens, place), at(&signatures, place));
        let micros = |it: Duration| format!("{} µs", it.as_micros());
        [micros(token), micros(signature), micros(signature.saturating_sub(token))]
    };
    let title = format!("a request with {VALUES} values through the egress to loopback, {REQUESTS} of each");
    let mut table = Table::new(&title, &["with a token", "signed", "signature"]);
    table.row("p50", &row(REQUESTS / 2));
    table.row("p99", &row(REQUESTS * 99 / 100));
    table.print()
}

/// One request, and what became of it.
async fn time(egress: &Egress, endpoint: &str) -> Result<Duration> {
    let form = [("Action", "DescribeInstances"), ("Filter.1.Name", "instance-id")];
    let mut form: Vec<_> = form.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    form.extend((1..=VALUES).map(|nth| (format!("Filter.1.Value.{nth}"), format!("i-{nth:017x}"))));
    let request = GuestRequest {
        endpoint: endpoint.to_owned(),
        method: Method::Post,
        path: Vec::new(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Some(egress::Body::Form(form)),
    };
    let call = CallId { provider: "bench".into(), function: "get", id: 1 };
    let start = Instant::now();
    let answer = egress.open(call, Mode::Read).send(request).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    ensure!(answer.status == 200, "answered with {}", answer.status);
    Ok(start.elapsed())
}

fn egress(url: &str, folder: &Folder) -> Result<Egress> {
    let region = || RegionName::parse(REGION).map_err(anyhow::Error::msg);
    let signed = Sigv4Settings {
        region: region()?,
        keys: KeySource::SharedFile { file: folder.write("credentials", KEYS), profile: "default".to_owned() },
        assume_role: None,
        sts: Sts { base_url: None, addresses: AllowedAddresses::Public, ca_file: None, proxy: None },
    };
    let token = CredentialKind::Bearer { file: folder.write("token", "0123456789abcdef") };
    let credential =
        |name: &str, kind| CredentialSettings { name: name.to_owned(), kind, limits: WriteLimits::default() };
    let kinds = [("token", token), ("signature", CredentialKind::Sigv4(Box::new(signed)))];
    let credentials = Credentials::load(kinds.map(|(name, kind)| credential(name, kind)).into())?;
    let endpoint = |name: &str| -> Result<Endpoint> {
        let operation = OperationPattern::parse("Describe*").map_err(anyhow::Error::msg)?;
        let path = PathPattern::parse("/").map_err(anyhow::Error::msg)?;
        let rule =
            Rule { operations: vec![operation], effect: Some(Effect::Read), ..Rule::new([Method::Post], [path]) };
        let mut endpoint = Endpoint {
            credential: Some(name.to_owned()),
            signing: if name == "signature" {
                Some(Signing::Sigv4 { region: region()?, service: "ec2".to_owned() })
            } else {
                None
            },
            operation: Some(OperationPlace::Parameter("Action".to_owned())),
            allow: vec![rule],
            ..Endpoint::new(name, BaseUrl::parse(url).map_err(anyhow::Error::msg)?)
        };
        endpoint.limits.reuse = Duration::ZERO;
        endpoint.limits.requests_per_second = 1e6;
        Ok(endpoint)
    };
    let settings = EgressSettings {
        endpoints: vec![endpoint("token")?, endpoint("signature")?],
        credentials,
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    Egress::new(settings, egress::Metrics::register(&prometheus::Registry::new())?).context("the egress")
}
