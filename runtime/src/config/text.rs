//! Values that the file writes as text.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::time::Duration;

use controllers::LONGEST_WINDOW;
use egress::{
    AcsVersion, AllowedAddresses, AzureCloud, BaseUrl, CatalogPath, Effect, EntraTenant, EntraWord, IbmProfileWord,
    KeyServiceUrl, Method, OperationPattern, Origin, PathPattern, ProxyUrl, RamArn, RegionName, Requirement, RoleArn,
};
use ipnet::IpNet;
use oci::{Image, TokenService};
use sandbox::Digest;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value that is read from a scalar. What is wrong with it is told with its place in the file.
pub(super) struct ScalarText<T>(pub(super) T);

pub(super) trait FromText: Sized {
    /// Errors are sentences that say what to write instead.
    fn from_text(text: &str) -> Result<Self, String>;
}

impl<'de, T: FromText> Deserialize<'de> for ScalarText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::from_text(&text).map(Self).map_err(D::Error::custom)
    }
}

impl FromText for Duration {
    fn from_text(text: &str) -> Result<Self, String> {
        match go_duration::parse(text).map_err(|it| it.to_string())? {
            Self::ZERO => Err("the duration must be longer than nothing".to_owned()),
            duration => Ok(duration),
        }
    }
}

/// A time over which something is counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct LimitWindow(pub(super) Duration);

impl FromText for LimitWindow {
    fn from_text(text: &str) -> Result<Self, String> {
        match Duration::from_text(text)? {
            it if it > LONGEST_WINDOW => Err(format!("\"{text}\" is longer than {LONGEST_WINDOW:?}; write 1h or less")),
            it => Ok(Self(it)),
        }
    }
}

/// A URL whose scheme is judged beside it, where `insecure` may stand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct InsecureUrl(pub(super) BaseUrl);

impl FromText for InsecureUrl {
    fn from_text(text: &str) -> Result<Self, String> {
        BaseUrl::parse_insecure(text).map(Self)
    }
}

impl FromText for CatalogPath {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// An origin as text, or `{ url: http://…, insecure: true }`.
pub(super) struct WrittenOrigin(pub(super) Origin);

impl<'de> Deserialize<'de> for WrittenOrigin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Marked {
            url: String,
            #[serde(default)]
            insecure: bool,
        }
        struct TextOrMarked;
        impl<'de> Visitor<'de> for TextOrMarked {
            type Value = WrittenOrigin;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an origin such as https://nova.example.com:8774, or { url: …, insecure: true }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<WrittenOrigin, E> {
                Origin::parse(text).map(WrittenOrigin).map_err(|because| {
                    let insecure = text.starts_with("http://");
                    let more = if insecure {
                        ", or { url: http://…, insecure: true } for what is not encrypted"
                    } else {
                        ""
                    };
                    E::custom(format!("{because}{more}"))
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenOrigin, A::Error> {
                let Marked { url, insecure } = Marked::deserialize(MapAccessDeserializer::new(map))?;
                let origin = if insecure { Origin::parse_insecure(&url) } else { Origin::parse(&url) };
                origin.map(WrittenOrigin).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(TextOrMarked)
    }
}

/// A number of bytes: `64Mi`, `1Gi`, `512Ki`, `4096`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ByteSize(pub(super) usize);

impl FromText for ByteSize {
    fn from_text(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is not a size; write a number of bytes, or one with Ki, Mi or Gi, as in 64Mi");
        let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit {
            "" => 0,
            "Ki" => 10,
            "Mi" => 20,
            "Gi" => 30,
            _ => return Err(wrong()),
        };
        let number: usize = number.parse().map_err(|_| wrong())?;
        number.checked_mul(1 << shift).filter(|it| *it > 0).map(Self).ok_or_else(wrong)
    }
}

/// A ConfigMap by its namespace and its name: `kube-system/ingress-uid`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ConfigMapName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl FromText for ConfigMapName {
    fn from_text(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!(
                "\"{text}\" is no ConfigMap; write its namespace and its name, as in kube-system/ingress-uid"
            )),
        }
    }
}

impl Display for ConfigMapName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A number of things, at least one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PositiveNumber(pub(super) usize);

impl FromText for PositiveNumber {
    fn from_text(text: &str) -> Result<Self, String> {
        let count = text.parse().ok().filter(|it| (1..=1000).contains(it));
        count.map(Self).ok_or_else(|| format!("\"{text}\" is not a number from 1 to 1000"))
    }
}

/// A rate in one second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RequestRate(pub(super) f64);

impl FromText for RequestRate {
    fn from_text(text: &str) -> Result<Self, String> {
        let rate = text.parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0);
        rate.map(Self).ok_or_else(|| format!("\"{text}\" is not a rate; write a number above 0, as in 20 or 0.5"))
    }
}

impl FromText for Digest {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|error| error.to_string())
    }
}

impl FromText for Image {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for TokenService {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for BaseUrl {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for Origin {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for Method {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for PathPattern {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for OperationPattern {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for Effect {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for Requirement {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for RegionName {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for RoleArn {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for AzureCloud {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for EntraTenant {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for EntraWord {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for IbmProfileWord {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for ProxyUrl {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FromText for KeyServiceUrl {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// The name of a service, as signatures have it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SigningService(pub(super) String);

impl FromText for SigningService {
    fn from_text(text: &str) -> Result<Self, String> {
        let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
        match !text.is_empty() && text.len() <= 64 && text.bytes().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("\"{text}\" is no service; write its name in signatures, as in ec2")),
        }
    }
}

/// The name of a role of Alibaba Cloud's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct RamRoleArn(pub(super) RamArn);

impl FromText for RamRoleArn {
    fn from_text(text: &str) -> Result<Self, String> {
        RamArn::parse_role(text).map(Self)
    }
}

/// The name of an identity provider of Alibaba Cloud's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct OidcProviderArn(pub(super) RamArn);

impl FromText for OidcProviderArn {
    fn from_text(text: &str) -> Result<Self, String> {
        RamArn::parse_provider(text).map(Self)
    }
}

impl FromText for AcsVersion {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// A text that goes out in a header.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct HeaderText(pub(super) String);

impl FromText for HeaderText {
    fn from_text(text: &str) -> Result<Self, String> {
        match !text.is_empty() && text.len() <= 2048 && text.bytes().all(|it| it.is_ascii_graphic()) {
            true => Ok(Self(text.to_owned())),
            false => Err("the text is empty, too long, or not visible ASCII".to_owned()),
        }
    }
}

/// `public`, or a list of networks.
pub(super) struct AddressList(pub(super) AllowedAddresses);

impl<'de> Deserialize<'de> for AddressList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PublicOrNetworks;
        impl<'de> Visitor<'de> for PublicOrNetworks {
            type Value = AddressList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the word public, or a list of networks such as [10.0.0.0/8]")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<AddressList, E> {
                match text {
                    "public" => Ok(AddressList(AllowedAddresses::Public)),
                    other => Err(E::custom(format!("\"{other}\" is neither public nor a list of networks"))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<AddressList, A::Error> {
                let mut networks = Vec::new();
                while let Some(ScalarText(network)) = items.next_element::<ScalarText<IpNet>>()? {
                    networks.push(network);
                }
                if networks.is_empty() {
                    return Err(A::Error::custom("the list of networks is empty; nothing could be reached"));
                }
                Ok(AddressList(AllowedAddresses::Networks(networks)))
            }
        }
        deserializer.deserialize_any(PublicOrNetworks)
    }
}

impl FromText for IpNet {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("\"{text}\" is not a network; write one as in 10.0.0.0/8 or fd00::/8"))
    }
}

/// A key whose only value is a constant.
pub(super) struct Only<C>(PhantomData<C>);

/// The one value of a key.
pub(super) trait Constant {
    const VALUE: &str;
}

impl<'de, C: Constant> Deserialize<'de> for Only<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == C::VALUE { Ok(Self(PhantomData)) } else { Err(D::Error::custom(expected(&text, C::VALUE))) }
    }
}

fn expected(found: &str, wanted: impl Display) -> String {
    format!("\"{found}\" is not known to this version; write {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_size(text: &str, bytes: Option<usize>) {
        assert_eq!(ByteSize::from_text(text).ok(), bytes.map(ByteSize), "{text}");
    }

    #[test]
    fn sizes_are_written_as_in_kubernetes() {
        check_size("64Mi", Some(64 << 20));
        check_size("1Gi", Some(1 << 30));
        check_size("512Ki", Some(512 << 10));
        check_size("4096", Some(4096));
        for wrong in ["", "0", "Mi", "64M", "64mi", "-1", "1.5Mi", "64 Mi", "99999999999Gi"] {
            check_size(wrong, None);
        }
    }

    #[test]
    fn a_zero_that_would_stop_everything_is_refused() {
        assert!(Duration::from_text("0s").is_err());
        assert!(PositiveNumber::from_text("0").is_err());
        assert!(RequestRate::from_text("0").is_err());
        assert!(RequestRate::from_text("NaN").is_err());
        assert_eq!(RequestRate::from_text("0.5"), Ok(RequestRate(0.5)));
    }
}
