//! The provider, loaded as an operator would have it, with a key that signs each request; and the account that it serves.

use egress::{Acs3Keys, Acs3Settings, AllowedAddresses, BaseUrl, CredentialKind, RegionName, Sts};
use tests::clouds::alibaba::{KEY_ID, KEY_SECRET, Options, REGION, Simulator};
use tests::vendor::loading::Secret;
use tests::vendor::{AlibabaCloud, Differences, ProviderRig, Vendor as _};

/// A loaded provider, its account, and the files that its keys are in.
pub(crate) struct Rig {
    pub(crate) rig: ProviderRig<AlibabaCloud>,
    _files: Vec<Secret>,
}

impl std::ops::Deref for Rig {
    type Target = ProviderRig<AlibabaCloud>;

    fn deref(&self) -> &ProviderRig<AlibabaCloud> {
        &self.rig
    }
}

impl Rig {
    /// With the machines `web-1` to `web-3`.
    pub(crate) async fn start(options: Options) -> Self {
        Self::set(options, &[]).await
    }

    /// The same with these settings of the provider, in the place of usual ones.
    pub(crate) async fn set(options: Options, more: &[(&str, &str)]) -> Self {
        let (id, secret) = (Secret::write(KEY_ID), Secret::write(KEY_SECRET));
        let keys =
            Acs3Keys::Files { id_file: id.path(), secret_file: secret.path(), token_file: None, expiration_file: None };
        Self::over(Simulator::start(options).await.unwrap(), None, keys, more, vec![id, secret]).await
    }

    /// The same with keys from elsewhere, the files that they are in, and the place where sessions come from: no endpoint is there.
    pub(crate) async fn over(
        cloud: Simulator,
        sts: Option<&str>,
        keys: Acs3Keys,
        more: &[(&str, &str)],
        files: Vec<Secret>,
    ) -> Self {
        let sts = Sts {
            base_url: sts.map(|it| BaseUrl::parse(it).unwrap()),
            addresses: AllowedAddresses::Networks(vec!["127.0.0.0/8".parse().unwrap()]),
            ca_file: None,
            proxy: None,
        };
        let region = RegionName::parse(REGION).unwrap();
        let settings = Acs3Settings { region, keys, assume_role: None, sts };
        let usual = [AlibabaCloud::SETTINGS, AlibabaCloud::FAST].concat().into_iter();
        let usual = usual.filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
        let settings = Differences {
            settings: &usual.chain(more.iter().copied()).collect::<Vec<_>>(),
            credential: Some(CredentialKind::Acs3(Box::new(settings))),
            ..Differences::default()
        };
        let rig = ProviderRig::over(cloud, settings).await.with_machines(3);
        Self { rig, _files: files }
    }

    pub(crate) async fn instant() -> Self {
        Self::start(Options::instant()).await
    }

    /// The requests of the provider since so many, by product and action: `ecs/DescribeInstances → 200`.
    pub(crate) fn asked_since(&self, begun: usize) -> Vec<String> {
        let all = self.cloud.requests_from(begun).into_iter();
        all.map(|it| format!("{} → {}", it.path.trim_start_matches('/'), it.status.unwrap_or_default())).collect()
    }

    /// The writes among them.
    pub(crate) fn writes_since(&self, begun: usize) -> Vec<String> {
        let is_read = |it: &String| ["/Describe", "/Get", "/List"].iter().any(|read| it.contains(read));
        self.asked_since(begun).into_iter().filter(|it| !is_read(it)).collect()
    }
}
