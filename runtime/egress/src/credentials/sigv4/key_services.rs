//! Keys from the services that give them to machines and pods: EC2's instance metadata (version 2), and EKS Pod Identity's agent,
//! which speaks as ECS's does.
//!
//! The forms: "Retrieve security credentials from instance metadata" in the EC2 User Guide, and "Container credential provider" in
//! the AWS SDKs and Tools Reference Guide.

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::super::shown::Shown;
use super::super::signing::{MetadataNames, NoKeys, RoleMetadata, SigningKeys, keys_of};
use super::super::transport::Connect;
use crate::error::EgressError;
use crate::key_service::KeyServiceUrl;
use crate::request::Method;

const METADATA: MetadataNames = MetadataNames {
    roles: ["latest", "meta-data", "iam", "security-credentials"],
    token: HeaderName::from_static("x-aws-ec2-metadata-token"),
    token_lifetime: HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds"),
    unreached: "from a pod outside of the host's network it takes the hop limit 2 of the instance's metadata options",
    without_role: "attach an instance profile to it, or write another source of keys",
};

/// A service that gives keys.
pub(super) struct KeyService(RoleMetadata);

impl KeyService {
    pub(super) fn new(name: &str, url: &KeyServiceUrl, outside: &dyn Connect) -> Result<Self, EgressError> {
        Ok(Self(RoleMetadata::new(name, url, outside)?))
    }

    /// The keys of the pod's role, for the token that the kubelet has given.
    pub(super) async fn of_pod(&self, token: &str) -> Result<SigningKeys, NoKeys> {
        let token = HeaderValue::from_str(token).map_err(|_| "the token is no header".to_owned())?;
        let answer = self.0.send(Method::Get, &[], false, [(AUTHORIZATION, token)]).await?;
        if !answer.status.is_success() {
            let because = format!(
                "the agent of Pod Identity answers {}; look whether the service account has an association",
                answer.status.as_u16()
            );
            return Err(NoKeys::answered(answer.status, false, because));
        }
        let keys = keys_of(answer, |keys| keys.account_id.clone());
        Ok(keys.map_err(|because| format!("the answer of the agent of Pod Identity {because}"))?)
    }

    /// The keys of the machine's role.
    pub(super) async fn of_instance(&self, shown: &Shown) -> Result<SigningKeys, NoKeys> {
        self.0.keys_of_machine(&METADATA, shown).await
    }
}
