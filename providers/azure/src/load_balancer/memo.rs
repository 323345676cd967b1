//! The memo: on which load balancer a Service is, and operations that go on.

use aerostat_sdk::{Error, LoadBalancer, LoadBalancerStatus, Result};

/// The first word of memos.
const VERSION: &str = "v1";
/// The word for a Private Link service.
const LINK: &str = "+link";
/// The word for parts on several load balancers.
const MOVING: &str = "+moving";
/// The word of the answer to a first call.
const FIRST: &str = "+first";
/// The beginning of the word for what was asked for.
const ASKED: &str = "=";
/// The most operations that are kept: a memo has at most 1 KiB.
pub(crate) const MOST: usize = 6;

/// The knowledge that the next call needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct AzureMemo {
    /// The load balancer's name.
    pub(crate) balancer: String,
    /// Operations of writes that were begun and did not end yet.
    pub(crate) operations: Vec<String>,
    /// Whether it has, or had, a Private Link service.
    pub(crate) has_link: bool,
    /// Whether parts of it may be on other load balancers, too: it leaves one.
    pub(crate) is_moving: bool,
    /// Whether it is the answer to the first call.
    pub(crate) is_first: bool,
    /// A short name for what was asked for, if everything is as desired once the operations have ended.
    pub(crate) asked: Option<String>,
    /// Whether there was none.
    pub(crate) is_new: bool,
}

impl AzureMemo {
    /// That of a Service.
    ///
    /// # Errors
    ///
    /// `invalid`, if this provider did not write it for this Service.
    pub(crate) fn of(service: &LoadBalancer) -> Result<Self> {
        let Some(text) = &service.memo else { return Ok(Self { is_new: true, ..Self::default() }) };
        let words: Vec<&str> = text.split(' ').collect();
        match &words[..] {
            [VERSION, name, balancer, words @ ..] if *name == service.name => {
                let is_operation = |it: &&&str| !it.starts_with('+') && !it.starts_with(ASKED);
                Ok(Self {
                    balancer: (*balancer).to_owned(),
                    operations: words.iter().filter(is_operation).map(|it| (*it).to_owned()).collect(),
                    has_link: words.contains(&LINK),
                    is_moving: words.contains(&MOVING),
                    is_first: words.contains(&FIRST),
                    asked: words.iter().find_map(|it| it.strip_prefix(ASKED)).map(str::to_owned),
                    is_new: false,
                })
            }
            _ => {
                Err(Error::invalid(format_args!("the memo {text:?} was not written for this Service by this provider")))
            }
        }
    }

    /// As text.
    pub(crate) fn text(&self, service: &str) -> String {
        let mut text = format!("{VERSION} {service} {}", self.balancer);
        let flags = [(LINK, self.has_link), (MOVING, self.is_moving), (FIRST, self.is_first)];
        let flags = flags.into_iter().filter(|(_, is_so)| *is_so);
        for word in flags.map(|(word, _)| word).chain(self.operations.iter().take(MOST).map(String::as_str)) {
            text.push(' ');
            text.push_str(word);
        }
        if let Some(asked) = &self.asked {
            text.push(' ');
            text.push_str(ASKED);
            text.push_str(asked);
        }
        text
    }

    /// The status of a Service with it, and the addresses that it shows.
    pub(crate) fn status(&self, service: &LoadBalancer) -> LoadBalancerStatus {
        service.status().memo(self.text(&service.name))
    }
}

/// A memo for something that a list has shown: another one for each part of a Service.
pub(crate) fn memo_of(base: &str, part: &str) -> String {
    format!("{VERSION} {base} {part}")
}
