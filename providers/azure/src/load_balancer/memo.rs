//! The memo: on which load balancer a Service is, and operations that go on.

use aerostat_sdk::{Error, LoadBalancer, LoadBalancerStatus, Result};

/// The first word of memos.
const VERSION: &str = "v1";
/// The word for a Private Link service.
const LINK: &str = "+link";
/// The most operations that are kept: a memo has at most 1 KiB.
const MOST: usize = 6;

/// The knowledge that the next call needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct AzureMemo {
    /// The load balancer's name.
    pub(crate) balancer: String,
    /// Operations of writes that were begun and did not end yet.
    pub(crate) operations: Vec<String>,
    /// Whether it has, or had, a Private Link service.
    pub(crate) has_link: bool,
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
            [VERSION, name, balancer, operations @ ..] if *name == service.name => Ok(Self {
                balancer: (*balancer).to_owned(),
                operations: operations.iter().filter(|it| **it != LINK).map(|it| (*it).to_owned()).collect(),
                has_link: operations.contains(&LINK),
                is_new: false,
            }),
            _ => {
                Err(Error::invalid(format_args!("the memo {text:?} was not written for this Service by this provider")))
            }
        }
    }

    /// As text.
    pub(crate) fn text(&self, service: &str) -> String {
        let mut text = format!("{VERSION} {service} {}", self.balancer);
        if self.has_link {
            text.push(' ');
            text.push_str(LINK);
        }
        for it in self.operations.iter().take(MOST) {
            text.push(' ');
            text.push_str(it);
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
