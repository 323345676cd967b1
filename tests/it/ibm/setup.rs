//! The provider, loaded as an operator would have it, with tokens of IAM for an API key; and the account that it serves.

use cloud_provider::Node;
use egress::{AllowedAddresses, BaseUrl, CredentialKind, Endpoint, IbmIamSettings, IbmTokens};
use tests::clouds::ibm::{API_KEY, Options, Simulator, World};
use tests::vendor::loading::{Secret, endpoint, may_read};
use tests::vendor::{Differences, IbmCloud, ProviderRig, Vendor as _, ibm};

pub(crate) use tests::vendor::{Service, joining, node, port};

/// A loaded provider, its account, and the file with the API key.
pub(crate) struct Rig {
    pub(crate) rig: ProviderRig<IbmCloud>,
    _key: Secret,
}

impl std::ops::Deref for Rig {
    type Target = ProviderRig<IbmCloud>;

    fn deref(&self) -> &ProviderRig<IbmCloud> {
        &self.rig
    }
}

impl Rig {
    /// With the machines `web-1` to `web-3`.
    pub(crate) async fn start(options: Options) -> Self {
        Self::with_settings(options, &[]).await
    }

    /// The same with other settings of the operator, or more of them.
    pub(crate) async fn with_settings(options: Options, more: &[(&'static str, &'static str)]) -> Self {
        let usual = [IbmCloud::SETTINGS, IbmCloud::FAST].concat();
        let usual = usual.into_iter().filter(|(name, _)| !more.iter().any(|(it, _)| it == name));
        Self::with_all(options, &usual.chain(more.iter().copied()).collect::<Vec<_>>(), false).await
    }

    /// With the endpoint of the resource manager, and a resource group by its name.
    pub(crate) async fn with_resource_group(name: &'static str) -> Self {
        let settings = [IbmCloud::SETTINGS, IbmCloud::FAST, &[("g2ResourceGroupName", name)]].concat();
        Self::with_all(Options::instant(), &settings, true).await
    }

    /// On classic infrastructure.
    pub(crate) async fn classic() -> Self {
        let settings = IbmCloud::SETTINGS.iter().filter(|(name, _)| !["vpcID", "g2VpcSubnetNames"].contains(name));
        let settings: Vec<_> = settings.copied().chain([("clusterDefaultProvider", "classic")]).collect();
        Self::with_all(Options::instant(), &settings, false).await
    }

    async fn with_all(options: Options, all: &[(&'static str, &'static str)], has_manager: bool) -> Self {
        let cloud = Simulator::start(options).await.unwrap();
        for account in [cloud.account(), cloud.other_account()] {
            account.with(World::build_plain);
        }
        let key = Secret::write(API_KEY);
        let settings = IbmIamSettings {
            tokens: IbmTokens::ApiKey { iam: BaseUrl::parse(&cloud.base_url()).unwrap(), file: key.path() },
            addresses: AllowedAddresses::Networks(vec!["127.0.0.0/8".parse().unwrap()]),
            ca_file: Some(cloud.ca_file()),
            proxy: None,
        };
        let manager = Endpoint {
            allow: vec![may_read(&["/resource_groups"])],
            ..endpoint("resource-manager", &format!("{}/v2", cloud.base_url()))
        };
        let settings = Differences {
            settings: all,
            more_endpoints: has_manager.then_some(manager).into_iter().collect(),
            credential: Some(CredentialKind::IbmIam(Box::new(settings))),
            ..Differences::default()
        };
        let rig = ProviderRig::over(cloud, settings).await.with_machines(3);
        Self { rig, _key: key }
    }

    pub(crate) async fn instant() -> Self {
        Self::start(Options::instant()).await
    }

    /// The requests of the provider since so many, without what each carries: `GET /instances → 200`.
    pub(crate) fn asked_since(&self, begun: usize) -> Vec<String> {
        let all = self.cloud.requests_from(begun).into_iter().filter(|it| !ibm::is_for_a_token(it));
        all.map(|sent| {
            sent.to_string()
                .replace("version=2026-06-23&generation=2", "")
                .replace("/v1", "")
                .replace("? ", " ")
                .replace("?&", "?")
        })
        .collect()
    }

    /// The writes among them.
    pub(crate) fn writes_since(&self, begun: usize) -> Vec<String> {
        self.asked_since(begun).into_iter().filter(|it| !it.starts_with("GET ")).collect()
    }
}

/// The node of this machine.
pub(crate) fn worker(number: u8) -> Node {
    IbmCloud::worker(number)
}

/// The node of a worker of IBM's Kubernetes service, with the five labels that say all.
pub(crate) fn labelled() -> Node {
    let labels = [
        ("internal-ip", "10.1.2.3"),
        ("worker-id", "kube-c1-w2"),
        ("machine-type", "b3c.4x16"),
        ("zone", "dal10"),
        ("region", "us-south"),
    ];
    let label = |(name, value): (&str, &str)| (format!("ibm-cloud.kubernetes.io/{name}"), value.to_owned());
    Node { name: "10.1.2.3".to_owned(), labels: labels.map(label).into(), ..Node::default() }
}
