//! A hostile guest under the rules of the config for Alibaba Cloud as it is shipped, with a key that signs, before a simulated account: it asks
//! for what the rules name and for nothing else, at the product that has it, and speaks as nobody but the host.

use egress::{
    Acs3Keys, Acs3Settings, AcsVersion, AllowedAddresses, BaseUrl, CredentialKind, CredentialSettings, Credentials,
    Endpoint, EndpointLimits, OperationPlace, RegionName, Signing, Sts, WriteLimits,
};
use serde_json::Value;
use tests::clouds::alibaba::{KEY_ID, KEY_SECRET, OTHER_ACCOUNT, Options, REGION, Simulator};
use tests::simulator::Authorization;
use tests::vendor::manifest;
use tokio::task::JoinSet;

use crate::setup::{Folder, Lab, Outcome, Request, Setup, get};

const CONFIG: &str = include_str!("../../../deploy/alibaba/config.yaml");
/// The endpoints of the config.
const PRODUCTS: [&str; 4] = ["ecs", "slb", "nlb", "vpc"];

struct AlibabaLab {
    lab: Lab,
    cloud: Simulator,
    _tasks: JoinSet<()>,
    _folder: Folder,
}

/// An endpoint of the config, at the simulated account.
fn endpoint(written: &Value, cloud: &Simulator) -> Endpoint {
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let parameters = written["parameters"].as_object().unwrap().iter();
    Endpoint {
        credential: Some("alibaba".to_owned()),
        allow: manifest::rules(written),
        ca_file: Some(cloud.ca_file()),
        parameters: parameters.map(|(name, value)| (name.clone(), text(value))).collect(),
        operation: Some(OperationPlace::Header(text(&written["operation"]["header"]))),
        signing: Some(Signing::Acs3 { version: AcsVersion::parse(&text(&written["signing"]["version"])).unwrap() }),
        limits: EndpointLimits { requests_per_second: 10_000.0, ..EndpointLimits::default() },
        ..Endpoint::new(&text(&written["name"]), BaseUrl::parse(&cloud.base_url()).unwrap())
    }
}

impl AlibabaLab {
    async fn new() -> Self {
        let (folder, cloud) = (Folder::new(), Simulator::start(Options::instant()).await.unwrap());
        let (id_file, secret_file) = (folder.write("id", KEY_ID), folder.write("secret", KEY_SECRET));
        let sts = Sts { base_url: None, addresses: AllowedAddresses::Public, ca_file: None, proxy: None };
        let settings = Acs3Settings {
            region: RegionName::parse(REGION).unwrap(),
            keys: Acs3Keys::Files { id_file, secret_file, token_file: None, expiration_file: None },
            assume_role: None,
            sts,
        };
        let credential = CredentialSettings {
            name: "alibaba".to_owned(),
            kind: CredentialKind::Acs3(Box::new(settings)),
            limits: WriteLimits::default(),
        };
        let config = manifest::cloud_config(CONFIG);
        let mut setup = Setup::new(config["endpoints"].as_array().unwrap().iter().map(|it| endpoint(it, &cloud)));
        setup.credentials = Credentials::load(vec![credential]).unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(setup.credentials.clone().watch());
        Self { lab: setup.load().await, cloud, _tasks: tasks, _folder: folder }
    }

    /// Asserts that none of the requests reaches the cloud, in calls that read and in calls that write, that each is refused with this code,
    /// and that what the rules name is answered, with the host's signature.
    async fn refuses(&self, requests: impl IntoIterator<Item = Request>, code: &str) {
        for request in requests {
            let outcomes = [self.lab.send(&request).await, self.lab.ensure(&request).await];
            let Request { endpoint, path, query, headers, body, .. } = &request;
            let is_refused = |it: &Outcome| matches!(it, Outcome::Denied(text) if text.starts_with(code));
            assert!(
                outcomes.iter().all(is_refused),
                "{endpoint} {path:?} {query:?} {headers:?} {body:?}: {outcomes:?}"
            );
        }
        assert!(self.cloud.requests().is_empty(), "{:?}", self.cloud.requests());
        let own = asking("slb", "DescribeLoadBalancers");
        let answer = self.lab.send(&own).await;
        assert!(matches!(answer, Outcome::Answered { status: 200, .. }), "{answer:?}");
        let sent = self.cloud.requests().pop().unwrap();
        let signed = |it: &str| it.starts_with(&format!("ACS3-HMAC-SHA256 Credential={KEY_ID},"));
        assert!(matches!(&sent.authorization, Authorization::Judged(it) if signed(it)), "{sent}");
        self.cloud.assert_valid();
    }
}

/// A request for an action at a product, in the region of the config.
fn asking(product: &str, action: &str) -> Request {
    Request { method: "POST", ..get(&[]) }.to(product).header("x-acs-action", action).query("RegionId", REGION)
}

fn with(request: &Request, pairs: &[(&str, &str)]) -> Request {
    pairs.iter().fold(request.clone(), |it, (name, value)| it.query(name, value))
}

#[tokio::test]
async fn actions_of_another_product_of_alibaba_are_refused() {
    let world = AlibabaLab::new().await;
    let requests = PRODUCTS.into_iter().flat_map(|product| {
        let of_others = [
            ("ecs", "DescribeInstances"),
            ("slb", "DeleteVServerGroup"),
            ("nlb", "CreateListener"),
            ("vpc", "DeleteRouteEntries"),
        ];
        let of_others = of_others.into_iter().filter(move |it| it.0 != product).map(|it| it.1);
        let of_nobody = ["RunInstances", "DeleteInstances", "AssumeRole", "GetCallerIdentity", "DeleteVpc", ""];
        of_others.chain(of_nobody).map(move |action| asking(product, action))
    });
    world.refuses(requests, "E-EGRESS-OPERATION").await;
}

#[tokio::test]
async fn actions_beside_the_header_of_alibaba_are_refused() {
    let world = AlibabaLab::new().await;
    let own = asking("slb", "DescribeLoadBalancers");
    let names = ["Action", "action", "Version", "version", "SignatureNonce", "SignatureMethod", "Timestamp"];
    let content = ("content-type", "application/x-www-form-urlencoded");
    let in_form = |name: &str| Request {
        body: Some(format!("{name}=DeleteLoadBalancer")),
        ..own.clone().header(content.0, content.1)
    };
    let requests = names.into_iter().flat_map(|it| [with(&own, &[(it, "DeleteLoadBalancer")]), in_form(it)]);
    world.refuses(requests, "E-EGRESS-OPERATION").await;
}

#[tokio::test]
async fn headers_and_keys_of_alibaba_are_the_hosts_to_set() {
    let world = AlibabaLab::new().await;
    let own = asking("slb", "DescribeLoadBalancers");
    let headers = [
        "Authorization",
        "x-acs-security-token",
        "X-Acs-Date",
        "x-acs-version",
        "x-acs-signature-nonce",
        "x-acs-content-sha256",
        "x-acs-accesskey-id",
        "x-acsproxy-ascm-context",
        "X-AcsProxy-Organization",
        "X-Aliyun-ECS-Metadata-Token",
    ];
    world
        .refuses(headers.map(|it| own.clone().header(it, OTHER_ACCOUNT.to_string().as_str())), "E-EGRESS-HEADER")
        .await;
    let world = AlibabaLab::new().await;
    let queries = ["SecurityToken", "AccessKeyId", "Signature", "x-acs-security-token"];
    world.refuses(queries.map(|it| with(&own, &[(it, "x")])), "E-EGRESS-QUERY").await;
}

#[tokio::test]
async fn paths_and_places_of_alibaba_are_one() {
    let world = AlibabaLab::new().await;
    let paths: [&[&str]; 7] = [
        &["latest", "api", "token"],
        &["latest", "meta-data", "ram", "security-credentials", "ccm"],
        &[".."],
        &["..", "latest", "user-data"],
        &["%2e%2e"],
        &["//sts.aliyuncs.com"],
        &["http://100.100.100.200/latest/meta-data"],
    ];
    let requests = PRODUCTS.into_iter().flat_map(|product| {
        paths.iter().flat_map(move |path| {
            let request = get(path).to(product).header("x-acs-action", "DescribeInstances").query("RegionId", REGION);
            ["GET", "PUT", "POST"].map(|method| Request { method, ..request.clone() })
        })
    });
    world.refuses(requests, "E-EGRESS-").await;
    let world = AlibabaLab::new().await;
    let twice = asking("ecs", "DescribeInstances").query("RegionId", "cn-beijing");
    let elsewhere = Request { query: Vec::new(), ..twice.clone() }.query("RegionId", "cn-beijing");
    world.refuses([twice, elsewhere], "E-EGRESS-OPERATION").await;
}

#[tokio::test]
async fn parameters_of_alibaba_are_those_of_the_rules() {
    let world = AlibabaLab::new().await;
    let (slb, nlb) = (("LoadBalancerId", "lb-1"), ("LoadBalancerId", "nlb-1"));
    let requests = [
        with(
            &asking("ecs", "ModifyNetworkInterfaceAttribute"),
            &[("NetworkInterfaceId", "eni-1"), ("SourceDestCheck", "true")],
        ),
        with(
            &asking("ecs", "ModifyNetworkInterfaceAttribute"),
            &[("NetworkInterfaceId", "eni-1"), ("SecurityGroupId.1", "sg-1")],
        ),
        with(
            &asking("ecs", "CreateSecurityGroup"),
            &[("SecurityGroupName", "mine"), ("SecurityGroupType", "enterprise"), ("VpcId", "vpc-1")],
        ),
        with(&asking("slb", "DeleteLoadBalancer"), &[nlb]),
        with(&asking("slb", "SetLoadBalancerTCPListenerAttribute"), &[slb, ("ListenerPort", "80"), ("Cookie", "c")]),
        with(&asking("slb", "CreateVServerGroup"), &[slb, ("VServerGroupName", "mine")]),
        with(&asking("nlb", "DeleteLoadBalancer"), &[slb]),
        with(&asking("nlb", "AttachCommonBandwidthPackageToLoadBalancer"), &[nlb, ("BandwidthPackageId", "eip-1")]),
        with(
            &asking("nlb", "AssociateAdditionalCertificatesWithListener"),
            &[("ListenerId", "rule-1"), ("AdditionalCertificateIds.1", "c")],
        ),
        with(
            &asking("nlb", "AddServersToServerGroup"),
            &[("ServerGroupId", "sgp-1"), ("Servers.1.ServerId", "192.0.2.1"), ("Servers.1.ServerType", "Ip")],
        ),
        with(&asking("vpc", "DeleteRouteEntries"), &[("RouteEntries.1.RouteTableId", "rtb-1")]),
    ];
    world.refuses(requests, "E-EGRESS-").await;
}
