//! The machine of a node: an instance, or a pod of Fargate.

use std::net::Ipv4Addr;

use aerostat_sdk::{Error, Result};

/// The beginning of provider ids. Nodes keep theirs for as long as they exist: it must not change.
pub(crate) const PREFIX: &str = "aws://";
/// The beginning of provider ids without it: the bare id of an instance is read too.
pub(crate) const BARE: &str = "";

/// The beginning of an instance's id.
const INSTANCE: &str = "i-";
/// The beginning of the id of a node of Fargate.
const FARGATE: &str = "fargate-";

/// The machine of a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum AwsMachine<'a> {
    /// An instance of EC2, by its id.
    Instance(&'a str),
    /// A pod of Fargate, which is its own node, by the whole of its id: `fargate-ip-10-0-0-9.ec2.internal` or `fargate-10.0.0.9`.
    Fargate(&'a str),
}

impl<'a> AwsMachine<'a> {
    /// Reads a provider id: `aws:///<zone>/i-0abc`, `aws:////i-0abc`, `i-0abc`, `aws:///<zone>/<anything>/fargate-10.0.0.9`. What
    /// comes last decides.
    ///
    /// # Errors
    ///
    /// `invalid`, if it is of another cloud, or nothing that AWS has.
    pub(crate) fn parse(provider_id: &'a str) -> Result<Self> {
        let rest = match provider_id.strip_prefix(PREFIX) {
            // Between "//" and "/" would be a host, and AWS's have none.
            Some(path) => path.strip_prefix('/'),
            None => Some(provider_id).filter(|it| !it.contains('/')),
        };
        let id = rest.and_then(|it| it.rsplit('/').next()).unwrap_or_default();
        Self::of_id(id).ok_or_else(|| {
            Error::invalid(format_args!(
                "provider id {provider_id:?} is not {PREFIX}/, a zone, and the id of an instance such as i-0123456789abcdef0"
            ))
        })
    }

    /// The machine whose id a node name without provider id says: an instance by its resource-based name (`i-0abc.ec2.internal`), or a
    /// pod of Fargate. `None` for a name made of an address.
    pub(crate) fn of_name(name: &'a str) -> Option<Self> {
        match Self::of_id(name)? {
            Self::Instance(name) => Some(Self::Instance(name.split('.').next().unwrap_or(name))),
            fargate @ Self::Fargate(_) => Some(fargate),
        }
    }

    fn of_id(id: &'a str) -> Option<Self> {
        let is_word = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_graphic());
        if id.strip_prefix(INSTANCE).is_some_and(is_word) {
            return Some(Self::Instance(id));
        }
        id.strip_prefix(FARGATE).filter(|it| is_word(it)).map(|_| Self::Fargate(id))
    }

    /// Its own id.
    pub(crate) fn id(&self) -> &'a str {
        match self {
            Self::Instance(id) | Self::Fargate(id) => id,
        }
    }
}

/// The provider id of the machine with this id, as the vendor's controller writes it.
pub(crate) fn provider_id(zone: &str, id: &str) -> String {
    format!("{PREFIX}/{zone}/{id}")
}

/// The address in the id of a node of Fargate: `fargate-10.0.0.9` or `fargate-ip-10-0-0-9.ec2.internal`.
///
/// # Errors
///
/// `invalid`, if there is none.
pub(crate) fn fargate_address(id: &str) -> Result<Ipv4Addr> {
    let name = id.strip_prefix(FARGATE).unwrap_or(id);
    let address = match name.strip_prefix("ip-") {
        Some(dashed) => dashed.split('.').next().unwrap_or_default().replace('-', "."),
        None => name.to_owned(),
    };
    address.parse().map_err(|_| Error::invalid(format_args!("{id:?} names no address of a pod of Fargate")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_names_one_machine() {
        for text in ["aws:///us-east-1a/i-1", "aws:////i-1", "i-1", "aws:///i-1", "aws:///us-east-1a/x/i-1"] {
            assert_eq!(AwsMachine::parse(text), Ok(AwsMachine::Instance("i-1")), "{text}");
        }
        for text in ["aws:///z/fargate-10.0.0.9", "aws:///z/1abc-2def/fargate-10.0.0.9"] {
            assert_eq!(AwsMachine::parse(text), Ok(AwsMachine::Fargate("fargate-10.0.0.9")), "{text}");
        }
    }

    #[test]
    fn a_provider_id_that_is_not_of_aws_is_invalid() {
        for text in
            ["gce://p/z/i-1", "", "aws://", "aws:///", "aws://z/i-1", "aws:///z/i-", "aws:///z/x", "z/i-1", "i-a b"]
        {
            assert!(
                matches!(AwsMachine::parse(text), Err(Error::Invalid(why)) if why.contains(&format!("{text:?}"))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_name_may_say_the_id() {
        assert_eq!(AwsMachine::of_name("i-0abc.us-east-1.compute.internal"), Some(AwsMachine::Instance("i-0abc")));
        assert_eq!(AwsMachine::of_name("i-0abc"), Some(AwsMachine::Instance("i-0abc")));
        assert_eq!(AwsMachine::of_name("ip-10-0-0-1.ec2.internal"), None);
    }

    #[test]
    fn a_node_of_fargate_names_its_address() {
        for id in ["fargate-10.0.0.9", "fargate-ip-10-0-0-9.ec2.internal", "fargate-ip-10-0-0-9"] {
            assert_eq!(fargate_address(id), Ok(Ipv4Addr::new(10, 0, 0, 9)), "{id}");
        }
        assert!(fargate_address("fargate-ip-10-0-0.ec2.internal").is_err());
    }
}
