//! Subnets (`DescribeSubnets`).

use super::{FILTER_VALUES, pages};
use crate::api::{AwsRefusal, EC2, Element, RequestForm};

/// A subnet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Subnet {
    pub(crate) id: String,
    /// The name of its availability zone.
    pub(crate) zone: String,
    /// Its IPv4 network.
    pub(crate) ipv4: Option<String>,
    /// Its IPv6 networks.
    pub(crate) ipv6: Vec<String>,
    /// Key and value.
    pub(crate) tags: Vec<(String, String)>,
}

impl Subnet {
    /// The value of a tag.
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
    }
}

/// The subnets of a VPC.
pub(crate) fn of_vpc(vpc: &str) -> Result<Vec<Subnet>, AwsRefusal> {
    all(&EC2.action("DescribeSubnets").filter("vpc-id", [vpc]))
}

/// The subnets with these ids, at most 200. Of an id that is unknown there is none.
pub(crate) fn by_ids<I: ToString>(ids: impl IntoIterator<Item = I>) -> Result<Vec<Subnet>, AwsRefusal> {
    let ids = ids.into_iter().take(FILTER_VALUES);
    all(&EC2.action("DescribeSubnets").filter("subnet-id", ids))
}

/// All pages of a list.
fn all(form: &RequestForm) -> Result<Vec<Subnet>, AwsRefusal> {
    let mut found = Vec::new();
    pages(form, &["subnetSet", "item"], &mut |it| found.push(read(&it)))?;
    Ok(found)
}

fn read(it: &Element) -> Subnet {
    let text = |name| it.text(&[name]).map(str::to_owned);
    let is_associated = |it: &&Element| it.text(&["ipv6CidrBlockState", "state"]).is_none_or(|it| it == "associated");
    let ipv6 = it.items("ipv6CidrBlockAssociationSet").filter(is_associated);
    Subnet {
        id: text("subnetId").unwrap_or_default(),
        zone: text("availabilityZone").unwrap_or_default(),
        ipv4: text("cidrBlock"),
        ipv6: ipv6.filter_map(|it| it.text(&["ipv6CidrBlock"])).map(str::to_owned).collect(),
        tags: it.tags(),
    }
}
