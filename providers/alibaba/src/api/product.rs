//! One of Alibaba Cloud's products: an API with one path, whose requests say in a header what they do.

use aerostat_sdk::Error;
use aerostat_sdk::backend::{Creation, Found, gave_up};
use aerostat_sdk::http::{self, Attempt, Request, Response};
use serde_json::Value;

use super::errors::{self, AcsRefusal, AskedAction};
use super::fields::{borrowed, counted, list, tag_list, text};

/// The most pairs that the host sends in a query.
const QUERY_PAIRS: usize = 64;
/// The code of an answer to what was only tried: all rights are there.
const TRIED: &str = "DryRunOperation";
/// The most bytes of a query, encoded, that are certain to be within the host's 8 KiB.
const QUERY_BYTES: usize = 8 << 10;

/// One of the products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AcsProduct {
    /// The name of the endpoint, and the beginning of its actions in policies of RAM.
    pub(crate) endpoint: &'static str,
    /// Whether changes carry their parameters in the form, however short they are.
    has_forms: bool,
}

/// Machines.
pub(crate) const ECS: AcsProduct = AcsProduct { endpoint: "ecs", has_forms: false };
/// Classic Load Balancers.
pub(crate) const SLB: AcsProduct = AcsProduct { endpoint: "slb", has_forms: false };
/// Network Load Balancers.
pub(crate) const NLB: AcsProduct = AcsProduct { endpoint: "nlb", has_forms: true };
/// Networks.
pub(crate) const VPC: AcsProduct = AcsProduct { endpoint: "vpc", has_forms: false };

impl AcsProduct {
    /// The header with the action. All others of its kind are the host's.
    pub(crate) const ACTION: &'static str = "x-acs-action";
    /// The parameter that each request carries.
    pub(crate) const REGION: &'static str = "RegionId";

    /// The action of RAM for an action of the API.
    pub(crate) fn ram_action(self, action: &str) -> String {
        format!("{}:{action}", self.endpoint)
    }

    /// The word for a load balancer in requests about tags.
    fn kind(self) -> &'static str {
        if self.has_forms { "loadbalancer" } else { "instance" }
    }

    /// Gives a load balancer these tags.
    pub(crate) fn tag(self, region: &str, id: &str, tags: &[(&str, &str)]) -> Result<(), AcsRefusal> {
        let tags = tag_list(tags);
        let mut pairs = vec![("ResourceType", self.kind()), ("ResourceId.1", id)];
        pairs.extend(borrowed(&tags));
        self.call("TagResources", region, &pairs).map(drop)
    }

    /// Takes tags with these keys from a load balancer.
    pub(crate) fn untag(self, region: &str, id: &str, keys: &[&str]) -> Result<(), AcsRefusal> {
        let keys = counted("TagKey", keys);
        let mut pairs = vec![("ResourceType", self.kind()), ("ResourceId.1", id)];
        pairs.extend(borrowed(&keys));
        self.call("UntagResources", region, &pairs).map(drop)
    }

    /// Sends a request for this action with these parameters beside the region, and reads the answer. Long ones go into the form, where
    /// they have room, and all changes of a product that has them there.
    pub(crate) fn call(self, action: &str, region: &str, pairs: &[(&str, &str)]) -> Result<Value, AcsRefusal> {
        let response = self.request(action, region, pairs).answer()?;
        self.read(action, &response)
    }

    /// Whether the credential may see anything by this action: who lacks the right gets an empty list from ECS, and no error. A request that is
    /// only tried tells them apart.
    ///
    /// # Errors
    ///
    /// That it may not, or that nobody says so.
    pub(super) fn may_see(self, action: &str, region: &str, pairs: &[(&str, &str)]) -> Result<(), Error> {
        match self.call(action, region, &[&[("DryRun", "true")], pairs].concat()) {
            Err(refusal) if refusal.code == TRIED => Ok(()),
            Err(refusal) => Err(refusal.error),
            Ok(_) => Err(Error::unavailable(format_args!(
                "{action} at endpoint {} shows nothing, and does not say whether the credential may see anything",
                self.endpoint
            ))),
        }
    }

    /// Sends the request that makes a load balancer, which `found` reads in the answer.
    ///
    /// # Errors
    ///
    /// That it was certainly not made.
    pub(crate) fn create(
        self,
        action: &str,
        region: &str,
        pairs: &[(&str, &str)],
        found: impl FnOnce(&Value) -> Option<Found>,
    ) -> Result<Creation, AcsRefusal> {
        let response = match self.request(action, region, pairs).attempt()? {
            Attempt::Answered(response) => response,
            Attempt::Lost(why) => return Ok(Creation::Unclear(why)),
        };
        let is_made = response.is_success();
        match self.read(action, &response) {
            Ok(made) => Ok(found(&made)
                .map_or_else(|| Creation::Unclear(format!("{action}: an answer without an id")), Creation::Begun)),
            Err(refusal) if is_made || gave_up(response.status()) => {
                Ok(Creation::Unclear(refusal.error.why().to_owned()))
            }
            Err(refusal) if refusal.is_busy() => Ok(Creation::Busy(refusal.error.why().to_owned())),
            Err(refusal) => Err(refusal),
        }
    }

    /// A page of a list with tokens, of at most `size` items, and the next token.
    pub(super) fn page(
        self,
        action: &str,
        region: &str,
        pairs: &[(&str, &str)],
        cursor: Option<&str>,
        size: u32,
    ) -> Result<(Value, Option<String>), AcsRefusal> {
        let size = size.to_string();
        let mut all = [pairs, &[("MaxResults", &*size)]].concat();
        all.extend(cursor.map(|it| ("NextToken", it)));
        let shown = self.call(action, region, &all)?;
        let next = Some(text(&shown, "NextToken")).filter(|it| !it.is_empty());
        Ok((shown, next))
    }

    /// The items of all pages of a list with tokens.
    pub(super) fn all(
        self,
        action: &str,
        region: &str,
        pairs: &[(&str, &str)],
        field: &str,
        size: u32,
    ) -> Result<Vec<Value>, AcsRefusal> {
        let mut all = Vec::new();
        by_tokens(&mut |cursor| {
            let (shown, next) = self.page(action, region, pairs, cursor, size)?;
            all.extend(list(&shown, field).iter().cloned());
            Ok(next)
        })?;
        Ok(all)
    }

    fn request(self, action: &str, region: &str, pairs: &[(&str, &str)]) -> Request {
        let all = [&[(Self::REGION, region)], pairs].concat();
        let request =
            http::post(self.endpoint, [""; 0]).header("accept", "application/json").header(Self::ACTION, action);
        let is_change = !["Describe", "Get", "List"].iter().any(|it| action.starts_with(it));
        match is_short(&all) && !(self.has_forms && is_change) {
            true => request.queries(&all),
            false => request.form(all),
        }
    }

    fn read(self, action: &str, response: &Response) -> Result<Value, AcsRefusal> {
        let asked = AskedAction { endpoint: self.endpoint, action };
        if !response.is_success() {
            return Err(errors::refusal(asked, response));
        }
        serde_json::from_slice(response.body()).map_err(|why| errors::unreadable(asked, &why))
    }
}

/// A page's request: takes the token of the page before, and answers the next one.
pub(crate) type AcsPage<'p> = dyn FnMut(Option<&str>) -> Result<Option<String>, Error> + 'p;

/// Asks for page after page: each answers the token with which the next one is asked for. A module has the loop once.
///
/// # Errors
///
/// Those of `page`, and that a page leads to itself.
pub(crate) fn by_tokens(page: &mut AcsPage<'_>) -> Result<(), Error> {
    aerostat_sdk::pages(None::<String>, |cursor| Ok((Vec::<()>::new(), page(cursor.as_deref())?.map(Some)))).map(drop)
}

/// Whether a query has room for these.
fn is_short(pairs: &[(&str, &str)]) -> bool {
    let encoded = |text: &str| -> usize {
        text.bytes().map(|it| if it.is_ascii_alphanumeric() || b"-._~".contains(&it) { 1 } else { 3 }).sum()
    };
    let bytes: usize = pairs.iter().map(|(name, value)| encoded(name) + encoded(value) + 2).sum();
    pairs.len() <= QUERY_PAIRS && bytes < QUERY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_requests_have_no_room_in_a_query() {
        let word = "a".repeat(QUERY_BYTES - 100);
        assert!(is_short(&[("a", &word)]));
        assert!(!is_short(&[("a", &word), ("b", &"\"".repeat(40))]));
        assert!(is_short(&[("a", "b"); QUERY_PAIRS]) && !is_short(&[("a", "b"); QUERY_PAIRS + 1]));
    }
}
