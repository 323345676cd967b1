//! Keys that requests are signed with.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zeroize::Zeroizing;

use super::super::secret::Secret;
use super::super::shown::Shown;

/// A key, its secret, and the session that they belong to, if there is one.
pub(crate) struct SigningKeys {
    id: String,
    secret: Zeroizing<String>,
    session: Option<Zeroizing<String>>,
    /// By the cloud's clock; `None` if they have no end, or nobody has said when it is.
    expires: Option<SystemTime>,
    /// Two keys of one owner are of one account.
    owner: String,
    secrets: Vec<Arc<Secret>>,
}

/// The part of the time for which keys are good that is used.
const USED: f64 = 0.8;
/// The shortest pause before a source that gives the same keys again is asked again.
const SHORTEST: Duration = Duration::from_secs(60);

impl SigningKeys {
    /// Checks what somebody has given. The error continues a sentence that says where it stands, and does not hold it.
    pub(crate) fn new(
        id: &str,
        secret: &str,
        session: Option<&str>,
        expires: Option<SystemTime>,
        owner: &str,
    ) -> Result<Self, String> {
        if id.is_empty() || id.len() > 128 || !id.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.".contains(&it)) {
            return Err("has an access key id that is none: letters and digits, as in AKIAIOSFODNN7EXAMPLE".to_owned());
        }
        let is_visible = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_graphic());
        if !is_visible(secret) {
            return Err("has a secret access key that is empty, or not visible ASCII".to_owned());
        }
        if !session.is_none_or(is_visible) {
            return Err("has a session token that is empty, or not visible ASCII".to_owned());
        }
        let (secret, session) = (Zeroizing::new(secret.to_owned()), session.map(|it| Zeroizing::new(it.to_owned())));
        let secrets = std::iter::once(&secret).chain(&session).map(|it| Arc::new(Secret::new(it.clone()))).collect();
        Ok(Self { id: id.to_owned(), secret, session, expires, owner: owner.to_owned(), secrets })
    }

    /// The key's id, which is no secret.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The key's secret.
    pub(crate) fn secret(&self) -> &Zeroizing<String> {
        &self.secret
    }

    /// The token of their session.
    pub(crate) fn session(&self) -> Option<&Zeroizing<String>> {
        self.session.as_ref()
    }

    /// When they end, if somebody has said so.
    pub(crate) fn expires(&self) -> Option<SystemTime> {
        self.expires
    }

    /// The secrets that no answer may hold.
    pub(crate) fn secrets(&self) -> &[Arc<Secret>] {
        &self.secrets
    }

    /// They are used to ask for others.
    pub(crate) fn show(&self, shown: &Shown) {
        std::iter::once(&self.secret).chain(&self.session).for_each(|it| shown.add(it));
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.secret == other.secret && self.session == other.session
    }

    /// Whether both are certainly of one account.
    pub(crate) fn has_owner_of(&self, other: &Self) -> bool {
        self.owner == other.owner
    }

    /// When they ended, if they have by now.
    pub(crate) fn ended(&self, now: SystemTime) -> Option<SystemTime> {
        self.expires.filter(|it| *it <= now)
    }

    /// When new ones are due, for keys that came at `now`; `None` if nobody knows of an end.
    pub(crate) fn due(&self, now: SystemTime) -> Option<SystemTime> {
        let left = self.expires?.duration_since(now).unwrap_or_default();
        Some(now + left.mul_f64(USED).max(SHORTEST.min(left)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_renewed_when_a_fifth_of_their_time_is_left() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let due = |left: u64| {
            let keys = SigningKeys::new("AKID", "secret", Some("session"), Some(now + Duration::from_secs(left)), "a")
                .unwrap();
            keys.due(now).unwrap().duration_since(now).unwrap().as_secs()
        };
        assert_eq!((due(3600), due(900), due(70), due(30), due(0)), (2880, 720, 60, 30, 0));
        let keys = SigningKeys::new("AKID", "secret", None, None, "a").unwrap();
        assert!(keys.due(now).is_none() && keys.ended(now).is_none());
    }

    #[test]
    fn keys_that_cannot_be_keys_are_refused() {
        for (id, secret, session) in [
            ("", "secret", None),
            ("AK ID", "secret", None),
            ("AKID/20150830", "secret", None),
            ("AKID", "", None),
            ("AKID", "se cret", None),
            ("AKID", "secret", Some("")),
            ("AKID", "secret", Some("a\nb")),
        ] {
            assert!(SigningKeys::new(id, secret, session, None, "a").is_err(), "{id:?} {secret:?} {session:?}");
        }
    }
}
