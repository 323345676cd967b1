//! The mark of ownership in fifty characters, for clouds whose tags end there.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::{Cluster, Error, Mark, NoMark, Result};

/// The beginning of a short mark.
const BEGINNING: &str = "aerostat-";
/// The digits of five bits each: letters of one case, so that clouds without upper case keep them.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// How many digits stand for the cluster: 70 bits of the SHA-256 of its UID.
const CLUSTER: usize = 14;
/// How many digits stand for the Service: the 128 bits of its UID.
const SERVICE: usize = 26;

/// A [`Mark`] in 50 characters, of lower-case letters, digits and `-` alone: `aerostat-`, 14 that stand for the cluster, `-`, and 26
/// that hold the Service's UID.
///
/// The Service's UID can be read back. The cluster's cannot: a cluster is recognised by [`Self::is_of`], and two clusters
/// have the same 14 characters by chance once in 10²¹.
///
/// ```
/// use aerostat_sdk::{Cluster, Mark, ShortMark};
///
/// let cluster = Cluster::of("prod", "c1a5e000-1111-2222-3333-444455556666");
/// let service = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// let mark = Mark { cluster: cluster.uid.clone(), service: service.to_owned() }.short()?;
/// let tag = mark.to_string();
/// assert_eq!(tag.len(), 50);
///
/// let read: ShortMark = tag.parse().unwrap();
/// assert_eq!(read.service(), service);
/// assert!(read.is_of(&cluster) && !read.is_of(&Cluster::of("prod", "another")));
/// # Ok::<_, aerostat_sdk::Error>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ShortMark {
    cluster: String,
    service: u128,
}

impl Mark {
    /// The same in 50 characters. Which of the two a cloud's marks are is decided once: one is not the other.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a Service whose UID is no UUID. Kubernetes gives no others.
    pub fn short(&self) -> Result<ShortMark> {
        let service = uuid(&self.service).ok_or_else(|| {
            Error::invalid(format_args!("the Service's UID {:?} is no UUID, and fits into no mark", self.service))
        })?;
        Ok(ShortMark { cluster: digest(&self.cluster), service })
    }
}

impl ShortMark {
    /// The UID of the Service.
    #[must_use]
    pub fn service(&self) -> String {
        let hex = format!("{:032x}", self.service);
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// Whether it is a mark of this cluster.
    #[must_use]
    pub fn is_of(&self, cluster: &Cluster) -> bool {
        self.cluster == digest(&cluster.uid)
    }
}

impl fmt::Display for ShortMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGINNING}{}-{}", self.cluster, digits(self.service, SERVICE))
    }
}

impl FromStr for ShortMark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let parts = text.strip_prefix(BEGINNING).and_then(|it| it.split_once('-'));
        let (cluster, service) = parts.ok_or(NoMark)?;
        let is_digit = |it: u8| DIGITS.contains(&it);
        if cluster.len() != CLUSTER || service.len() != SERVICE || !cluster.bytes().chain(service.bytes()).all(is_digit)
        {
            return Err(NoMark);
        }
        let service = number(service).ok_or(NoMark)?;
        Ok(Self { cluster: cluster.to_owned(), service })
    }
}

/// The digits that stand for a cluster.
fn digest(uid: &str) -> String {
    let digest = Sha256::digest(uid.as_bytes());
    let first = digest.iter().take(16).fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
    digits(first >> (128 - 5 * CLUSTER), CLUSTER)
}

/// The last `count` digits of a number.
fn digits(number: u128, count: usize) -> String {
    let digit = |place: usize| char::from(DIGITS[usize::try_from((number >> (5 * place)) & 31).unwrap_or_default()]);
    (0..count).rev().map(digit).collect()
}

/// The number that digits are; `None` if it has more than 128 bits.
fn number(digits: &str) -> Option<u128> {
    digits.bytes().try_fold(0_u128, |sum, byte| {
        let digit = DIGITS.iter().position(|it| *it == byte)?;
        sum.checked_mul(32)?.checked_add(u128::try_from(digit).ok()?)
    })
}

/// The bits of a UUID in its usual form, in lower case.
fn uuid(text: &str) -> Option<u128> {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    let is_lower = text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f' | b'-'));
    (lengths == [8, 4, 4, 4, 12] && is_lower).then(|| u128::from_str_radix(&text.replace('-', ""), 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(cluster: &str, service: &str) -> Result<ShortMark> {
        Mark { cluster: cluster.to_owned(), service: service.to_owned() }.short()
    }

    #[test]
    fn a_short_mark_has_fifty_characters_and_comes_back() {
        for service in ["ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000"] {
            let mark = mark("c-uid", service).unwrap();
            assert_eq!(mark.to_string().len(), 50);
            assert_eq!(mark.service(), service);
            assert_eq!(mark.to_string().parse(), Ok(mark));
        }
    }

    #[test]
    fn marks_of_two_clusters_differ() {
        let service = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
        let (one, two) = (mark("one", service).unwrap(), mark("two", service).unwrap());
        assert_ne!(one, two);
        assert!(one.is_of(&Cluster::of("", "one")) && !one.is_of(&Cluster::of("", "two")));
    }

    #[test]
    fn a_text_that_is_no_short_mark_gives_none() {
        let good = mark("one", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11").unwrap().to_string();
        let (short, upper) = (&good[..49], good.to_uppercase());
        // More than 128 bits.
        let large = format!("{}-{}", &good[..23], "7".repeat(26));
        let zero = good.replace('a', "0");
        for text in ["", "aerostat-", "aerostat:c:s", short, &upper, &large, &zero, &format!("{good}a")] {
            assert_eq!(text.parse::<ShortMark>(), Err(NoMark), "{text:?}");
        }
        assert!(mark("one", "uid").is_err() && mark("one", &"0".repeat(36)).is_err());
    }
}
