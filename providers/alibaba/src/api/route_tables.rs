//! Route tables of the VPC, and their entries.

use aerostat_sdk::Result;
use serde_json::Value;

use super::errors::AcsRefusal;
use super::fields::{borrowed, items, text};
use super::product::{VPC, by_tokens};

/// Entries in one request to change them: the most that the API takes.
pub(crate) const BATCH: usize = 50;
/// Entries of a page.
pub(crate) const PAGE: u32 = 500;
/// The kind of next hops that nodes are.
pub(crate) const INSTANCE: &str = "Instance";

/// An entry of a route table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct VpcRoute {
    pub(crate) id: String,
    pub(crate) destination: String,
    pub(crate) description: String,
    pub(crate) status: String,
    /// Its only next hop: the kind, and the id.
    pub(crate) next_hop: Option<(String, String)>,
}

/// An entry that is to be made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct NewRoute<'a> {
    pub(crate) destination: &'a str,
    pub(crate) instance: &'a str,
    pub(crate) description: &'a str,
}

/// The answer of the cloud to one entry of a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum EntryAnswer {
    Taken,
    Refused {
        code: String,
        message: String,
    },
    /// Not named among the refused ones, which are more than those that are named.
    Unclear {
        /// Whether some entries of the request were taken: this one, or others.
        is_any_taken: bool,
    },
}

impl EntryAnswer {
    /// Whether the table carries out a change now.
    pub(crate) fn is_any_taken(&self) -> bool {
        matches!(self, Self::Taken | Self::Unclear { is_any_taken: true })
    }
}

impl VpcRoute {
    fn from_fields(shown: &Value) -> Self {
        let hop = match items(shown, "NextHops", "NextHop") {
            [hop] => Some((text(hop, "NextHopType"), text(hop, "NextHopId"))),
            _ => None,
        };
        Self {
            id: text(shown, "RouteEntryId"),
            destination: text(shown, "DestinationCidrBlock"),
            description: text(shown, "Description"),
            status: text(shown, "Status"),
            next_hop: hop,
        }
    }

    /// The instance to which it leads.
    pub(crate) fn instance(&self) -> Option<&str> {
        self.next_hop.as_ref().filter(|(kind, id)| kind == INSTANCE && !id.is_empty()).map(|(_, id)| id.as_str())
    }

    /// Whether a change of it is under way.
    pub(crate) fn is_changing(&self) -> bool {
        self.status != "Available"
    }
}

/// The ids of the VPC's route tables for its own subnets.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn tables(region: &str, vpc: &str) -> Result<Vec<String>> {
    let shown = VPC.call("DescribeRouteTableList", region, &[("VpcId", vpc), ("PageSize", "50")])?;
    let tables = items(&shown, "RouterTableList", "RouterTableListType");
    Ok(tables.iter().map(|it| text(it, "RouteTableId")).filter(|it| !it.is_empty()).collect())
}

/// A page of the entries that somebody has made, at most `size`, from `cursor` on.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn page(
    region: &str,
    table: &str,
    cursor: Option<&str>,
    size: u32,
) -> Result<(Vec<VpcRoute>, Option<String>)> {
    let size = size.to_string();
    let mut pairs = vec![("RouteTableId", table), ("RouteEntryType", "Custom"), ("MaxResult", &*size)];
    pairs.extend(cursor.map(|it| ("NextToken", it)));
    let shown = VPC.call("DescribeRouteEntryList", region, &pairs)?;
    let routes = items(&shown, "RouteEntrys", "RouteEntry").iter().map(VpcRoute::from_fields).collect();
    Ok((routes, Some(text(&shown, "NextToken")).filter(|it| !it.is_empty())))
}

/// All entries that somebody has made.
///
/// # Errors
///
/// As [`page`].
pub(crate) fn all(region: &str, table: &str) -> Result<Vec<VpcRoute>> {
    let mut all = Vec::new();
    by_tokens(&mut |cursor| {
        let (routes, next) = page(region, table, cursor, PAGE)?;
        all.extend(routes);
        Ok(next)
    })?;
    Ok(all)
}

/// Makes entries, at most [`BATCH`]. The answers come in their order.
pub(crate) fn create(region: &str, table: &str, routes: &[NewRoute<'_>]) -> Result<Vec<EntryAnswer>, AcsRefusal> {
    let mut fields = Vec::new();
    for (route, number) in routes.iter().zip(1_usize..) {
        let NewRoute { destination, instance, description } = route;
        let of_route = [
            ("RouteTableId", table),
            ("DstCidrBlock", destination),
            ("NextHop", instance),
            ("NextHopType", INSTANCE),
            ("Description", description),
        ];
        fields.extend(of_route.map(|(name, value)| (format!("RouteEntries.{number}.{name}"), value)));
    }
    let named = routes.iter().map(|it| ("", it.destination));
    send("CreateRouteEntries", region, &fields, &named.collect::<Vec<_>>())
}

/// Deletes entries by their ids, at most [`BATCH`]. Their destinations are sent, too: refusals are told by them. The answers come in their
/// order.
pub(crate) fn delete(region: &str, table: &str, routes: &[&VpcRoute]) -> Result<Vec<EntryAnswer>, AcsRefusal> {
    let mut fields = Vec::new();
    for (route, number) in routes.iter().zip(1_usize..) {
        let of_route = [("RouteTableId", table), ("RouteEntryId", &*route.id), ("DstCidrBlock", &*route.destination)];
        fields.extend(of_route.map(|(name, value)| (format!("RouteEntries.{number}.{name}"), value)));
    }
    let named = routes.iter().map(|it| (it.id.as_str(), it.destination.as_str()));
    send("DeleteRouteEntries", region, &fields, &named.collect::<Vec<_>>())
}

/// Sends a request with entries, each of which has an id, or none yet, and a destination. An instance may have several: its id tells none.
fn send(
    action: &str,
    region: &str,
    fields: &[(String, &str)],
    entries: &[(&str, &str)],
) -> Result<Vec<EntryAnswer>, AcsRefusal> {
    let shown = VPC.call(action, region, &borrowed(fields))?;
    let refused = shown["FailedRouteEntries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_named = |shown: &Value, id: &str, destination: &str| match text(shown, "RouteEntryId") {
        told if told.is_empty() || id.is_empty() => text(shown, "DstCidrBlock") == destination,
        told => told == id,
    };
    let named: Vec<Option<&Value>> =
        entries.iter().map(|(id, destination)| refused.iter().find(|it| is_named(it, id, destination))).collect();
    let counted = shown["FailedCount"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or_default();
    let failed = counted.max(refused.len());
    let is_unclear = failed > named.iter().flatten().count();
    let refusal = |shown: &Value| EntryAnswer::Refused {
        code: Some(text(shown, "FailedCode")).filter(|it| !it.is_empty()).unwrap_or_else(|| "no code".to_owned()),
        message: text(shown, "FailedMessage"),
    };
    let answer = |shown: Option<&Value>| match shown {
        Some(shown) => refusal(shown),
        // The only entry of a request needs no name.
        None if is_unclear && entries.len() == 1 => refusal(refused.first().unwrap_or(&Value::Null)),
        None if is_unclear => EntryAnswer::Unclear { is_any_taken: failed < entries.len() },
        None => EntryAnswer::Taken,
    };
    Ok(named.into_iter().map(answer).collect())
}
