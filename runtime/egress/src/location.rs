//! Which endpoint, path and query an absolute URL stands for: clouds answer with URLs of what comes next. Pure, and allows
//! nothing: the policy decides about the request that is made of it.

use percent_encoding::percent_decode_str;

use crate::base_url::{BaseUrl, Origin};
use crate::canonical;
use crate::endpoint::Endpoint;
use crate::request::RequestLocation;

/// The longest URL that is read.
const URL_BYTES: usize = 16 << 10;

/// Where `url` leads, if it is below the base URL of an endpoint; below the longest, if there are several.
pub(crate) fn resolve<'a>(
    endpoints: impl Iterator<Item = (&'a Endpoint, BaseUrl)>,
    url: &str,
) -> Option<RequestLocation> {
    if url.len() > URL_BYTES || url.contains(['#', '\\']) || url.chars().any(|it| it.is_control() || it == ' ') {
        return None;
    }
    let (place, query) = url.split_once('?').map_or((url, None), |(place, query)| (place, Some(query)));
    let start = place.find("://")? + 3;
    let (origin, path) = place.split_at(place[start..].find('/').map_or(place.len(), |it| start + it));
    // It has to be an endpoint's: none is insecure that the operator has not called so.
    let origin = Origin::parse_insecure(origin).ok()?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let path = path.strip_prefix('/').map_or_else(Vec::new, |it| it.split('/').collect());
    let path = path.into_iter().map(segment).collect::<Option<Vec<_>>>()?;
    let query = query.filter(|it| !it.is_empty()).map_or_else(Vec::new, |it| it.split('&').collect());
    let query = query.into_iter().map(pair).collect::<Option<Vec<_>>>()?;
    let below = endpoints.filter(|(_, base)| base.origin() == origin && path.starts_with(base.path()));
    // Of several that are as long, the operator's first.
    let (endpoint, base) = below.reduce(|best, it| if it.1.path().len() > best.1.path().len() { it } else { best })?;
    let path = path[base.path().len()..].to_vec();
    Some(RequestLocation { endpoint: endpoint.name.clone(), path, query })
}

/// A segment as a guest writes it: what could not be asked for has no place.
fn segment(text: &str) -> Option<String> {
    let segment = percent_decode_str(text).decode_utf8().ok()?.into_owned();
    canonical::segment(&segment).ok()?;
    Some(segment)
}

fn pair(text: &str) -> Option<(String, String)> {
    let decode = |it: &str| percent_decode_str(&it.replace('+', " ")).decode_utf8().ok().map(|it| it.into_owned());
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Some((decode(name)?, decode(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints() -> [Endpoint; 3] {
        [
            ("all", "https://api.example.com"),
            ("compute", "https://api.example.com/compute/v1"),
            ("other", "https://api.example.com:8443"),
        ]
        .map(|(name, url)| Endpoint::new(name, BaseUrl::parse(url).unwrap()))
    }

    /// The endpoint, the segments and the pairs, each joined.
    fn resolved(url: &str) -> Option<String> {
        let endpoints = endpoints();
        let RequestLocation { endpoint, path, query } =
            resolve(endpoints.iter().filter_map(|it| Some((it, it.place.base_url()?.clone()))), url)?;
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Some(format!("{endpoint} {} {}", path.join("|"), query.join("|")))
    }

    #[test]
    fn a_url_becomes_the_endpoint_path_and_query() {
        for (url, expected) in [
            ("https://api.example.com/v2/droplets?page=2&per_page=200", "all v2|droplets page=2|per_page=200"),
            ("https://API.example.com.:443/v2", "all v2 "),
            ("https://api.example.com", "all  "),
            ("https://api.example.com/", "all  "),
            ("https://api.example.com/compute/v1/projects/p/zones/", "compute projects|p|zones "),
            ("https://api.example.com/compute/v1", "compute  "),
            ("https://api.example.com/compute/v10", "all compute|v10 "),
            ("https://api.example.com:8443/x?$skiptoken=a%2Bb%3D&q=a+b&flag", "other x $skiptoken=a+b=|q=a b|flag="),
            ("https://api.example.com/a%20b/%252e", "all a b|%2e "),
        ] {
            assert_eq!(resolved(url).as_deref(), Some(expected), "{url}");
        }
    }

    #[test]
    fn adv_116_a_url_that_belongs_to_no_endpoint_is_absent() {
        for url in [
            "",
            "/v2",
            "//api.example.com/v2",
            "http://api.example.com/v2",
            "https://api.example.com.evil.test/v2",
            "https://api.example.com@evil.test/v2",
            "https://user@api.example.com/v2",
            "https://evil.test/https://api.example.com/v2",
            "https://api.example.com:444/v2",
            "https://169.254.169.254/latest",
            "https://api.example.com/v2/../admin",
            "https://api.example.com/v2/%2e%2e/admin",
            "https://api.example.com/v2//x",
            "https://api.example.com/a%2fb",
            "https://api.example.com/a\\b",
            "https://api.example.com/%ff",
            "https://api.example.com/v2#x",
            "https://api.example.com/v 2",
            "https://api.example.com/v2\n",
            "https://api.example.com/%0a",
            &format!("https://api.example.com/{}", "a".repeat(URL_BYTES)),
        ] {
            assert_eq!(resolved(url), None, "{url:?}");
        }
    }
}
