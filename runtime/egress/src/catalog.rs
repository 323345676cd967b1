//! A catalogue of services, as OpenStack's Keystone gives it with each token: where an endpoint is that the operator names by
//! the type of its service. Pure.
//!
//! A catalogue is a cloud's word, so that it chooses among the origins that the operator has written, and nothing else.

use std::collections::BTreeSet;
use std::fmt;

use crate::base_url::{BaseUrl, Origin};
use crate::canonical::shown;

/// The most names that a sentence lists.
const LISTED: usize = 8;

/// The place of an endpoint that the catalogue of its credential names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CatalogPlace {
    /// The type of the service: `compute`, `load-balancer`.
    pub service: String,
    /// The interface: `public`, `internal`, `admin`.
    pub interface: String,
    /// The region; without it the catalogue has to have one alone.
    pub region: Option<String>,
    /// The path that stands in the place of the version and of what follows it in the catalogue's URL; without it, that URL
    /// as it is.
    pub path: Option<CatalogPath>,
    /// The only origins that the endpoint may be at.
    pub origins: Vec<Origin>,
}

/// A path below the root of a service: `/v2.1`, or `/` for the root itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CatalogPath(Vec<String>);

impl CatalogPath {
    /// Reads `/v2.1`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = text.starts_with('/').then(|| BaseUrl::parse(&format!("https://any{text}")));
        match url {
            Some(Ok(url)) => Ok(Self(url.path().to_vec())),
            Some(Err(_)) | None => Err(format!("{text:?} is no path; write it as in /v2.1, or / for the root")),
        }
    }
}

impl fmt::Display for CatalogPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.join("/"))
    }
}

impl fmt::Display for CatalogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, interface, region, path, .. } = self;
        let region = region.as_deref().unwrap_or("the only region");
        write!(f, "{service} ({interface}, {region}) in the catalogue")?;
        match path {
            Some(path) => write!(f, ", {path}"),
            None => Ok(()),
        }
    }
}

/// The services that a token is good for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Catalog {
    pub(crate) entries: Vec<CatalogEntry>,
}

/// One URL of a service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CatalogEntry {
    pub(crate) service: String,
    pub(crate) interface: String,
    pub(crate) region: String,
    pub(crate) url: String,
}

/// Why a catalogue does not lead to an endpoint: two sentences without their full stops.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CatalogFault {
    pub(crate) cause: String,
    pub(crate) next: String,
}

impl Catalog {
    /// Where the endpoint is that `place` describes.
    pub(crate) fn find(&self, place: &CatalogPlace) -> Result<BaseUrl, CatalogFault> {
        let CatalogPlace { service, interface, region, path, origins } = place;
        let of_service = self.entries.iter().filter(|it| it.service == *service);
        let of_interface: Vec<_> = of_service.clone().filter(|it| it.interface == *interface).collect();
        if of_interface.is_empty() {
            let has_service = of_service.clone().next().is_some();
            let (what, there) = match has_service {
                true => (
                    format!("has no interface {} of the service {}", shown(interface), shown(service)),
                    names(of_service.map(|it| &*it.interface)),
                ),
                false => (
                    format!("has no service of the type {}", shown(service)),
                    names(self.entries.iter().map(|it| &*it.service)),
                ),
            };
            let key = if has_service { "catalog.interface" } else { "catalog.type" };
            return Err(CatalogFault {
                cause: format!("the catalogue {what} (there are: {there})"),
                next: format!("correct `{key}`, or have the service put into the catalogue of this project"),
            });
        }
        let in_region: Vec<_> =
            of_interface.iter().filter(|it| region.as_ref().is_none_or(|region| it.region == *region)).collect();
        let there = names(of_interface.iter().map(|it| &*it.region));
        let (entry, others) = match (in_region.split_first(), region) {
            (Some(found), _) => found,
            (None, region) => {
                let region = shown(region.as_deref().unwrap_or_default());
                return Err(CatalogFault {
                    cause: format!(
                        "the catalogue has no service {} in the region {region} (there are: {there})",
                        shown(service)
                    ),
                    next: "correct `catalog.region`; letter case counts".to_owned(),
                });
            }
        };
        if others.iter().any(|it| it.url != entry.url) {
            let service = shown(service);
            return Err(CatalogFault {
                cause: format!("the catalogue has several URLs for the service {service} (regions: {there})"),
                next: "name one of its regions in `catalog.region`, or have the others taken out of the catalogue"
                    .to_owned(),
            });
        }
        let fault = |because: String| CatalogFault {
            cause: format!("the catalogue gives the service {} a URL that cannot be used: {because}", shown(service)),
            next: "have the URL corrected in the catalogue".to_owned(),
        };
        let url = BaseUrl::parse_any(&entry.url).map_err(fault)?;
        if !origins.contains(&url.origin()) {
            return Err(CatalogFault {
                cause: format!(
                    "the catalogue says that the service {} is at {}, which `origins` does not name",
                    shown(service),
                    url.origin()
                ),
                next: "if that is right, add it to `origins`; if not, have it corrected in the catalogue".to_owned(),
            });
        }
        let Some(CatalogPath(own)) = path else { return Ok(url) };
        let root = url.path().iter().take_while(|it| !is_version(it));
        let path = root.chain(own).cloned().collect();
        Ok(url.with_path(path))
    }
}

/// Whether a segment of a path is a version: `v2`, `v2.1`.
fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v').unwrap_or_default();
    number.starts_with(|it: char| it.is_ascii_digit()) && number.bytes().all(|it| it.is_ascii_digit() || it == b'.')
}

/// Some of these names, each once.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let all: BTreeSet<_> = all.collect();
    let more = all.len().saturating_sub(LISTED);
    let mut listed: Vec<_> = all.into_iter().take(LISTED).map(shown).collect();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(entries: &[(&str, &str, &str, &str)]) -> Catalog {
        let entry = |&(service, interface, region, url): &(&str, &str, &str, &str)| {
            let [service, interface, region, url] = [service, interface, region, url].map(str::to_owned);
            CatalogEntry { service, interface, region, url }
        };
        Catalog { entries: entries.iter().map(entry).collect() }
    }

    fn place(service: &str, path: Option<&str>, origins: &[&str]) -> CatalogPlace {
        CatalogPlace {
            service: service.to_owned(),
            interface: "public".to_owned(),
            region: Some("RegionOne".to_owned()),
            path: path.map(|it| CatalogPath::parse(it).unwrap()),
            origins: origins.iter().map(|it| Origin::parse(it).unwrap()).collect(),
        }
    }

    /// The base URL, or the cause, with the catalogue's one URL for `network`.
    fn found(url: &str, path: Option<&str>, origins: &[&str]) -> Result<String, String> {
        let catalog = catalog(&[("network", "public", "RegionOne", url)]);
        catalog.find(&place("network", path, origins)).map(|it| it.to_string()).map_err(|it| it.cause)
    }

    #[test]
    fn the_path_replaces_the_version_of_the_catalogue() {
        for (url, path, expected) in [
            ("https://a.example:9696", Some("/v2.0"), "https://a.example:9696/v2.0"),
            ("https://a.example:9696/", Some("/v2.0"), "https://a.example:9696/v2.0"),
            ("https://a.example:9696/v2.0", Some("/v2.0"), "https://a.example:9696/v2.0"),
            ("https://a.example:9696/net/v2.1/0123abc/", Some("/v2.1"), "https://a.example:9696/net/v2.1"),
            ("https://a.example:9696/net/v2/x/v3", Some("/"), "https://a.example:9696/net"),
            ("https://a.example:9696/volumes/vendor", Some("/v2"), "https://a.example:9696/volumes/vendor/v2"),
            ("https://a.example:9696/net/v2.1/0123abc", None, "https://a.example:9696/net/v2.1/0123abc"),
        ] {
            assert_eq!(found(url, path, &["https://a.example:9696"]).as_deref(), Ok(expected), "{url} {path:?}");
        }
        for wrong in ["", "v2.1", "//x", "/../x", "/a%2fb", "/a?b", "/a#b"] {
            assert!(CatalogPath::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_catalogue_leads_to_written_origins_alone() {
        let origins = ["https://a.example", "https://b.example:8443", "https://127.0.0.1:9696"];
        for url in ["https://A.example./v2", "https://b.example:8443", "https://127.0.0.1:9696"] {
            assert!(found(url, None, &origins).is_ok(), "{url}");
        }
        for url in [
            "https://c.example",
            "https://a.example:8443",
            "http://a.example",
            "https://a.example.c.example",
            "https://169.254.169.254",
            "http://169.254.169.254/latest",
            "http://127.0.0.1:9696",
            "https://127.0.0.2:9696",
            "https://[::1]:9696",
        ] {
            let cause = found(url, None, &origins).unwrap_err();
            assert!(cause.contains("which `origins` does not name"), "{cause}");
        }
        for url in [
            "https://a.example@c.example",
            "https://a.example/x?y",
            "https://a.example/../x",
            "https://2130706433",
            "file:///etc/passwd",
            "a.example",
            "",
        ] {
            let cause = found(url, None, &origins).unwrap_err();
            assert!(cause.contains("a URL that cannot be used"), "{cause}");
        }
    }

    #[test]
    fn bad_a_catalogue_without_the_service_says_so() {
        let catalog = catalog(&[
            ("compute", "public", "RegionOne", "https://a.example"),
            ("network", "public", "RegionOne", "https://a.example"),
            ("network", "public", "RegionTwo", "https://b.example"),
            ("network", "internal", "RegionOne", "https://c.example"),
        ]);
        let network = || place("network", None, &["https://a.example"]);
        let cause = |place: CatalogPlace| catalog.find(&place).unwrap_err();
        let missing = cause(place("load-balancer", None, &["https://a.example"]));
        expect_test::expect![[
            r#"the catalogue has no service of the type "load-balancer" (there are: "compute", "network")"#
        ]]
        .assert_eq(&missing.cause);
        assert!(missing.next.contains("`catalog.type`"));
        let region = cause(CatalogPlace { region: Some("regionone".to_owned()), ..network() });
        expect_test::expect![[
            r#"the catalogue has no service "network" in the region "regionone" (there are: "RegionOne", "RegionTwo")"#
        ]]
        .assert_eq(&region.cause);
        let interface = cause(CatalogPlace { interface: "admin".to_owned(), ..network() });
        expect_test::expect![[
            r#"the catalogue has no interface "admin" of the service "network" (there are: "internal", "public")"#
        ]]
        .assert_eq(&interface.cause);
        let several = cause(CatalogPlace { region: None, ..network() });
        assert!(several.cause.contains("several URLs") && several.next.contains("`catalog.region`"));
        let one = CatalogPlace {
            region: None,
            interface: "internal".to_owned(),
            ..place("network", None, &["https://c.example"])
        };
        assert!(catalog.find(&one).is_ok(), "there is one region alone");
        assert_eq!(Catalog::default().find(&network()).unwrap_err().cause.split("there are").nth(1), Some(": none)"));
    }
}
