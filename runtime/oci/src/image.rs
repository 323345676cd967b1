//! Where a module is: `host[:port]/repository[:tag]`. Nothing is filled in.

use std::fmt;

use egress::Origin;

/// The longest repository, by the specification of registries.
const REPOSITORY: usize = 255;
/// The longest tag.
const TAG: usize = 128;

/// A repository in a registry, and a tag for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    origin: Origin,
    /// Host and, unless it is 443, port.
    registry: String,
    repository: String,
    tag: Option<String>,
}

impl Image {
    /// Reads `host[:port]/repository[:tag]`; before a loopback literal `http://` may stand.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong and what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = "as in registry.example.com/acme/provider:1.2.0";
        if text.contains('@') {
            return Err(format!("image {text:?} has a digest; write it beside it, as digest"));
        }
        let (scheme, rest) = match text.split_once("://") {
            None => ("https", text),
            Some(("http", rest)) => ("http", rest),
            Some(_) => return Err(format!("image {text:?} has a scheme; leave it out, {example}")),
        };
        let (host, path) =
            rest.split_once('/').ok_or_else(|| format!("image {text:?} names no repository; write one, {example}"))?;
        if !(host.contains(['.', ':', '[']) || host == "localhost") {
            return Err(format!("image {text:?} does not begin with the host of a registry; write it too, {example}"));
        }
        let origin = Origin::parse(&format!("{scheme}://{host}"))
            .map_err(|because| format!("image {text:?}: {}", because.replace("the URL", "it")))?;
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        if !is_repository(repository) {
            return Err(format!(
                "image {text:?} has no repository as registries know them: lower-case letters, digits and single . _ - \
                 between them, in parts with slashes, {example}"
            ));
        }
        if tag.is_some_and(|it| !is_tag(it)) {
            return Err(format!("image {text:?} has no tag as registries know them, {example}"));
        }
        let registry = authority(&origin);
        Ok(Self { origin, registry, repository: repository.to_owned(), tag: tag.map(str::to_owned) })
    }

    /// Where the registry is.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The registry's host and, unless it is 443, port.
    pub(crate) fn registry(&self) -> &str {
        &self.registry
    }

    pub(crate) fn repository(&self) -> &str {
        &self.repository
    }

    pub(crate) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// `host[:port]/repository`: what the tag form of a signature names.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        self.tag.as_ref().map_or(Ok(()), |tag| write!(f, ":{tag}"))
    }
}

/// A host besides the registry that may be sent its login: `host[:port]`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TokenService(pub(crate) Origin);

impl TokenService {
    /// Reads `host[:port]`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Err(format!("{text:?} is no host of a token service; write it alone, as in auth.example.com"));
        }
        Origin::parse(&format!("https://{text}"))
            .map(Self)
            .map_err(|because| format!("{text:?} is no host of a token service: {}", because.replace("the URL", "it")))
    }
}

/// Host and, unless it is the scheme's own, port.
pub(crate) fn authority(origin: &Origin) -> String {
    let text = origin.to_string();
    text.split_once("://").map_or(text.as_str(), |(_, it)| it).to_owned()
}

/// By the specification: parts of lower-case letters and digits, joined by `.`, `_`, `__` or any number of `-`.
pub(crate) fn is_repository(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut separator = String::new();
        let mut was_plain = false;
        for char in part.chars() {
            if char.is_ascii_lowercase() || char.is_ascii_digit() {
                let is_joined =
                    matches!(separator.as_str(), "" | "." | "_" | "__") || separator.chars().all(|it| it == '-');
                if !is_joined || (!separator.is_empty() && !was_plain) {
                    return false;
                }
                separator.clear();
                was_plain = true;
            } else if matches!(char, '.' | '_' | '-') {
                separator.push(char);
            } else {
                return false;
            }
        }
        was_plain && separator.is_empty()
    };
    text.len() <= REPOSITORY && text.split('/').all(is_part)
}

pub(crate) fn is_tag(text: &str) -> bool {
    let is_word = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    text.len() <= TAG
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|it| is_word(it) || matches!(it, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(text: &str, part: &str) {
        let error = Image::parse(text).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }

    #[test]
    fn an_image_is_a_host_a_repository_and_a_tag() {
        let image = Image::parse("Registry.example.com:5000/acme/my__provider-x.y:1.2.0").unwrap();
        assert_eq!(image.origin().to_string(), "https://registry.example.com:5000");
        assert_eq!((image.registry(), image.repository()), ("registry.example.com:5000", "acme/my__provider-x.y"));
        assert_eq!(image.to_string(), "registry.example.com:5000/acme/my__provider-x.y:1.2.0");
        assert_eq!(Image::parse("localhost/a").unwrap().name(), "localhost/a");
        assert_eq!(Image::parse("registry.example.com:443/a").unwrap().registry(), "registry.example.com");
        assert_eq!(Image::parse("http://127.0.0.1:80/a").unwrap().origin().to_string(), "http://127.0.0.1");
        assert_eq!(Image::parse("[::1]:5000/a:b").unwrap().name(), "[::1]:5000/a");
    }

    #[test]
    fn nothing_is_filled_in_and_nothing_is_guessed() {
        check_refused("acme/provider:1", "the host of a registry");
        check_refused("provider", "names no repository");
        check_refused("registry.example.com", "names no repository");
        check_refused("https://registry.example.com/a", "leave it out");
        check_refused("http://registry.example.com/a", "only for loopback literals");
        check_refused("registry.example.com/a@sha256:00", "write it beside it");
        check_refused("user:password@registry.example.com/a", "write it beside it");
        for repository in
            ["", "A", "a//b", "a/", "-a", "a-", "a..b", "a___b", "a._b", "../v2", "a/%2e", "a?b", "a b", "é"]
        {
            check_refused(&format!("registry.example.com/{repository}"), "no repository");
        }
        check_refused(&format!("registry.example.com/{}", "a".repeat(256)), "no repository");
        for tag in ["", ".a", "a/b", "a:b", "a b"] {
            check_refused(&format!("registry.example.com/a:{tag}"), "no tag");
        }
        for host in ["10.1:5000", "registry_example.com", "a.example.com:0", "a.example.com:x"] {
            Image::parse(&format!("{host}/a")).expect_err(host);
        }
    }

    #[test]
    fn a_token_service_is_a_host() {
        assert_eq!(
            TokenService::parse("auth.example.com:8443").unwrap().0.to_string(),
            "https://auth.example.com:8443"
        );
        for text in ["https://auth.example.com", "auth.example.com/token", "a@b.example.com", ""] {
            TokenService::parse(text).expect_err(text);
        }
    }
}
