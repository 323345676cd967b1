//! An endpoint: a name that guests may use, and what the operator wants it to mean.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::addresses::AllowedAddresses;
use crate::base_url::{BaseUrl, Origin};
use crate::canonical::PathPattern;
use crate::catalog::CatalogPlace;
use crate::client_certificate::ClientCertificate;
use crate::content::RuleContent;
use crate::effect::Effect;
use crate::operation::{OperationPattern, OperationPlace};
use crate::proxy::Proxy;
use crate::request::Method;

/// One of the places that a provider may reach, as the operator wrote it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The name by which guests call it.
    pub name: String,
    /// Where it is.
    pub place: EndpointPlace,
    /// The name of the credential that requests carry; without it they carry none.
    pub credential: Option<String>,
    /// For what a signature of a request is, where the credential signs.
    pub signing: Option<Signing>,
    /// Where a request says what it does, if not in its method and path. Then every rule names operations.
    pub operation: Option<OperationPlace>,
    /// The parameters that each request carries in its query or form, each name exactly once and with this value: tells apart two APIs
    /// at one host, as `Version: 2016-11-15` does.
    pub parameters: Vec<(String, String)>,
    /// The rules by which requests may be sent. Nothing else may.
    pub allow: Vec<Rule>,
    /// Which addresses its host may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The certificate that is shown to its host.
    pub client_certificate: Option<ClientCertificate>,
    /// The proxy through which it is reached.
    pub proxy: Option<Proxy>,
    /// Request headers that guests may set here, beside those that they may set everywhere.
    pub headers: Vec<String>,
    /// How much and how fast.
    pub limits: EndpointLimits,
}

impl Endpoint {
    /// An endpoint at which nothing is allowed yet, without a credential, at public addresses, with the default limits.
    #[must_use]
    pub fn new(name: &str, base_url: BaseUrl) -> Self {
        Self {
            name: name.to_owned(),
            place: EndpointPlace::Written(base_url),
            credential: None,
            signing: None,
            operation: None,
            parameters: Vec::new(),
            allow: Vec::new(),
            addresses: AllowedAddresses::Public,
            ca_file: None,
            client_certificate: None,
            proxy: None,
            headers: Vec::new(),
            limits: EndpointLimits::default(),
        }
    }

    /// The parameters that every request to it carries, and that no rule has to name: its operation, and those that are
    /// fixed.
    pub(crate) fn own_names(&self) -> Vec<&str> {
        let operation = match &self.operation {
            Some(OperationPlace::Parameter(name)) => Some(name.as_str()),
            Some(OperationPlace::Header(_)) | None => None,
        };
        operation.into_iter().chain(self.parameters.iter().map(|(name, _)| name.as_str())).collect()
    }
}

/// Where an endpoint is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EndpointPlace {
    /// Where the operator has written.
    Written(BaseUrl),
    /// Where the catalogue of its credential says, at an origin that the operator has written.
    Catalog(CatalogPlace),
}

impl EndpointPlace {
    /// The base URL that the operator has written, if it is one.
    #[must_use]
    pub fn base_url(&self) -> Option<&BaseUrl> {
        match self {
            Self::Written(base_url) => Some(base_url),
            Self::Catalog(_) => None,
        }
    }

    /// The origins that it may be at.
    #[must_use]
    pub fn origins(&self) -> Vec<Origin> {
        match self {
            Self::Written(base_url) => vec![base_url.origin()],
            Self::Catalog(place) => place.origins.clone(),
        }
    }

    /// The segments that every path begins with, as far as they are known before a catalogue says it.
    pub(crate) fn path(&self) -> &[String] {
        self.base_url().map(BaseUrl::path).unwrap_or_default()
    }
}

impl fmt::Display for EndpointPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(base_url) => base_url.fmt(f),
            Self::Catalog(place) => place.fmt(f),
        }
    }
}

/// For what a signature is: it is worth nothing elsewhere.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Signing {
    /// By AWS's Signature Version 4.
    Sigv4 {
        /// The region: `eu-west-1`.
        region: RegionName,
        /// The service, as signatures name it: `ec2`, `elasticloadbalancing`.
        service: String,
    },
    /// By Alibaba Cloud's ACS3-HMAC-SHA256.
    Acs3 {
        /// The version of the product's API, which the host sends as `x-acs-version`: `2014-05-26`.
        version: AcsVersion,
    },
}

/// The version of a product's API, by its day.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AcsVersion(String);

impl AcsVersion {
    /// Reads `2014-05-26`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write, if it is no day.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<jiff::civil::Date>() {
            Ok(day) if day.to_string() == text => Ok(Self(text.to_owned())),
            _ => Err(format!("{text:?} is no version of an API; write its day, as in 2014-05-26")),
        }
    }

    /// The version.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a region, as signatures have it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RegionName(String);

impl RegionName {
    /// Reads `eu-west-1`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write, if it holds anything but lower-case letters, digits and hyphens.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(is_plain) {
            return Err(format!("{text:?} is no region; write its name, as in eu-west-1"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A rule: each of the methods may be sent on each of the paths, and where the endpoint has an operation, with one of these.
///
/// Where several rules match a request by method, path and operation the most harmful effect counts, and each one's
/// `requires`. One of them has to let all stand that the request carries; what the others say of that does not count.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The methods, each named: GET does not imply HEAD.
    pub methods: Vec<Method>,
    /// Patterns for the path under the base URL.
    pub paths: Vec<PathPattern>,
    /// Patterns for the operation. Empty exactly where the endpoint has none.
    pub operations: Vec<OperationPattern>,
    /// The effect of these requests; without it, that of their method.
    pub effect: Option<Effect>,
    /// The demands on these requests.
    pub requires: Vec<Requirement>,
    /// The content that these requests may have.
    pub content: RuleContent,
}

impl Rule {
    /// A rule whose requests do what their method says.
    #[must_use]
    pub fn new(methods: impl Into<Vec<Method>>, paths: impl Into<Vec<PathPattern>>) -> Self {
        let (methods, paths) = (methods.into(), paths.into());
        let (operations, requires, content) = (Vec::new(), Vec::new(), RuleContent::default());
        Self { methods, paths, operations, effect: None, requires, content }
    }

    /// The effect of a request with this method, by this rule.
    #[must_use]
    pub fn effect_of(&self, method: Method) -> Effect {
        self.effect.unwrap_or_else(|| Effect::of(method))
    }
}

/// A demand of a rule on its requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Requirement {
    /// The header `if-match` with the version that was read: a PUT of a whole object must not undo others' changes. Or the header
    /// `if-none-match: *`, for an object that must not be there yet.
    IfMatch,
}

impl Requirement {
    /// Reads `if-match`.
    ///
    /// # Errors
    ///
    /// A sentence that says what can be required, for every other word.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "if-match" => Ok(Self::IfMatch),
            _ => Err(format!("unknown requirement {text:?}: write if-match")),
        }
    }
}

/// How much and how fast an endpoint may be used.
#[derive(Clone, Debug)]
pub struct EndpointLimits {
    /// The rate of the token bucket, whose depth is one second's worth.
    pub requests_per_second: f64,
    /// Requests in flight.
    pub concurrency: usize,
    /// The largest answer, in bytes.
    pub response_bytes: usize,
    /// From the request's start to the answer's last byte.
    pub total: Duration,
    /// For resolving the name.
    pub resolve: Duration,
    /// For the TCP connection to one address.
    pub connect: Duration,
    /// For the TLS handshake.
    pub tls: Duration,
    /// From the request's first byte, on a connection that stands, to the answer's head.
    pub first_byte: Duration,
    /// Between two pieces of the answer's body.
    pub idle: Duration,
    /// How long an answer to a GET serves further equal ones, as long as nothing is written.
    pub reuse: Duration,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self {
            requests_per_second: 20.0,
            concurrency: 8,
            response_bytes: 16 << 20,
            total: Duration::from_secs(30),
            resolve: Duration::from_secs(5),
            connect: Duration::from_secs(5),
            tls: Duration::from_secs(5),
            first_byte: Duration::from_secs(20),
            idle: Duration::from_secs(10),
            reuse: Duration::from_secs(2),
        }
    }
}
