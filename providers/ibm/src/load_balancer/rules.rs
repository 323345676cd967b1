//! The rules of a security group, as far as one call writes them.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Change, Result};

use crate::api::security_groups::VpcSecurityGroup;

/// Rules that one call writes: it may make a hundred requests.
const RULES_OF_ONE_CALL: usize = 50;

/// A rule that a group lacks.
pub(super) struct LackingRule {
    /// The request that first takes another rule away which has its name: the cloud refuses a second one of a name.
    pub(super) instead_of: Option<Request>,
    /// The request that adds it.
    pub(super) add: Request,
}

impl LackingRule {
    /// One whose name no other rule has.
    pub(super) fn new(add: Request) -> Self {
        Self { instead_of: None, add }
    }
}

/// Sends the requests that add the rules a group lacks, then those that take others away, so that nobody is shut out meanwhile. Where a rule is
/// refused, because there are as many as a group takes, the others make room for it. `None` if there is nothing to send.
///
/// # Errors
///
/// Whatever the cloud answered.
pub(super) fn write(
    group: &VpcSecurityGroup,
    lacking: impl Iterator<Item = LackingRule>,
    extra: impl Iterator<Item = Request>,
) -> Result<Option<Change<String>>> {
    let (mut count, mut refused) = (0, None);
    for LackingRule { instead_of, add } in lacking {
        if count >= RULES_OF_ONE_CALL {
            break;
        }
        if let Some(removal) = instead_of {
            match removal.change_or_gone()? {
                Change::Done(()) => count += 1,
                Change::Busy(why) => return Ok(Some(Change::Busy(why))),
            }
        }
        match add.change() {
            Ok(Change::Done(_)) => count += 1,
            Ok(Change::Busy(why)) => return Ok(Some(Change::Busy(why))),
            Err(refusal) if refusal.is_refusal() => {
                refused = Some(refusal);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    for write in extra.take(RULES_OF_ONE_CALL.saturating_sub(count)) {
        // One that is gone already is as good as deleted.
        match write.change_or_gone() {
            Ok(Change::Done(())) => count += 1,
            Ok(Change::Busy(why)) => return Ok(Some(Change::Busy(why))),
            Err(error) => return Err(refused.unwrap_or(error)),
        }
    }
    match refused {
        Some(refusal) if count == 0 => Err(refusal),
        _ => Ok((count > 0).then(|| Change::Done(format!("{count} rules of security group {} change", group.name)))),
    }
}
