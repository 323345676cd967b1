//! Network Load Balancers.

use aerostat_sdk::{Deletion, Error, Progress, Result};

use super::Call;

/// Takes one step towards the desired state.
pub(super) fn ensure(_: &Call<'_>) -> Result<Progress> {
    Err(Error::unavailable("Network Load Balancers are not in yet"))
}

/// Takes one step towards its absence.
pub(super) fn delete(_: &Call<'_>) -> Result<Deletion> {
    Err(Error::unavailable("Network Load Balancers are not in yet"))
}

/// The name in the ARN of a Network Load Balancer:
/// `arn:<partition>:elasticloadbalancing:<region>:<account>:loadbalancer/net/<name>/<id>`.
pub(super) fn name_in(arn: &str) -> Option<&str> {
    let resource = arn.strip_prefix("arn:")?.split(':').nth(4)?;
    let (name, id) = resource.strip_prefix("loadbalancer/net/")?.split_once('/')?;
    (!name.is_empty() && !id.is_empty()).then_some(name)
}
