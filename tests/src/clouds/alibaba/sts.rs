//! The Security Token Service: sessions of a role.

use serde_json::json;

use crate::simulator::{Answer, Recorded};

use super::errors::{Refused, refused};
use super::pairs::AcsPairs;
use super::ram::{OIDC_TOKEN, PROVIDER, ROLE, Ram};

/// The path of requests for a session with a token of a service account, which are not signed.
pub(super) const WITH_OIDC: &str = "/sts/AssumeRoleWithOIDC";

/// Answers a request for a session.
pub(super) fn answer(ram: &Ram, request: &Recorded) -> Result<Answer, Refused> {
    let pairs = AcsPairs::of(request);
    let (role, session) = (pairs.needed("RoleArn")?, pairs.needed("RoleSessionName")?);
    pairs.number("DurationSeconds", (900, 43_200), 3_600)?;
    if role != ROLE {
        return Err(refused(404, "EntityNotExist.Role", "The role does not exist."));
    }
    match pairs.action() {
        "AssumeRole" => {}
        "AssumeRoleWithOIDC" => {
            if pairs.needed("OIDCProviderArn")? != PROVIDER {
                return Err(refused(404, "EntityNotExist.OIDCProvider", "The OIDC Provider does not exist."));
            }
            if pairs.needed("OIDCToken")? != OIDC_TOKEN {
                return Err(refused(400, "AuthenticationFail.OIDCToken.Invalid", "The OIDC Token is not valid."));
            }
        }
        other => return Err(refused(404, "InvalidAction.NotFound", &format!("There is no action {other}."))),
    }
    Ok(Answer::ok(&json!({
        "RequestId": "", "Credentials": ram.begin_session().shown(),
        "AssumedRoleUser": { "Arn": format!("{}/{session}", role.replace(":role/", ":assumed-role/")), "AssumedRoleId": "3" },
    })))
}
