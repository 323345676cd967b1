//! Keys of the account, sessions of its roles, and what they may not do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::simulator::Recorded;

use super::acs3::AcsClaims;
use super::errors::{Refused, refused};

/// The key of a user of RAM that is good from the start.
pub const KEY_ID: &str = "LTAI5tSimulatedKeyId0001";
/// Its secret.
pub const KEY_SECRET: &str = "secret-of-the-simulated-key-01";
/// The role that a token of a service account, and the machine, take.
pub const ROLE: &str = "acs:ram::1234567890123456:role/aerostat";
/// The identity provider of the cluster that the role trusts.
pub const PROVIDER: &str = "acs:ram::1234567890123456:oidc-provider/cluster";
/// The token of a service account for which there is a session.
pub const OIDC_TOKEN: &str = "token-of-the-service-account-aerostat";

/// How far the time of a request may be from the cloud's.
const WINDOW: Duration = Duration::from_secs(15 * 60);

/// A key: of a user, or of a session.
#[derive(Clone, Debug)]
pub struct AccessKey {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// The token of the session, which each request has to bring.
    pub session: Option<String>,
    /// When the session ends.
    pub ends: Option<SystemTime>,
}

impl AccessKey {
    /// As STS and a machine's metadata service show it.
    #[must_use]
    pub fn shown(&self) -> Value {
        json!({
            "AccessKeyId": self.id, "AccessKeySecret": self.secret, "SecurityToken": self.session,
            "Expiration": self.ends.map(stamp),
        })
    }
}

/// A time as answers write it.
pub(super) fn stamp(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// All keys, and what was seen of them.
#[derive(Debug)]
pub struct Ram(Mutex<RamState>);

#[derive(Debug)]
struct RamState {
    keys: BTreeMap<String, AccessKey>,
    nonces: BTreeSet<String>,
    denied: BTreeSet<String>,
    /// How far the cloud's clock is ahead of the machine's.
    ahead: Duration,
    /// How long a new session is good.
    lifetime: Duration,
    sessions: u64,
}

impl Default for Ram {
    fn default() -> Ram {
        let own = AccessKey { id: KEY_ID.to_owned(), secret: KEY_SECRET.to_owned(), session: None, ends: None };
        Ram(Mutex::new(RamState {
            keys: [(own.id.clone(), own)].into(),
            nonces: BTreeSet::new(),
            denied: BTreeSet::new(),
            ahead: Duration::ZERO,
            lifetime: Duration::from_secs(3_600),
            sessions: 0,
        }))
    }
}

impl Ram {
    fn lock(&self) -> MutexGuard<'_, RamState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a key be good from now on.
    pub fn add(&self, key: AccessKey) {
        self.lock().keys.insert(key.id.clone(), key);
    }

    /// Takes a key away: what it signs from now on is refused.
    pub fn remove(&self, id: &str) {
        self.lock().keys.remove(id);
    }

    /// Takes a right away from everybody: `ecs:DescribeInstances`.
    pub fn deny(&self, action: &str) {
        self.lock().denied.insert(action.to_owned());
    }

    /// Gives it back.
    pub fn allow(&self, action: &str) {
        self.lock().denied.remove(action);
    }

    /// Whether nobody has the right to an action, as `/ecs/DescribeInstances` names it.
    pub(super) fn denies(&self, path: &str) -> bool {
        let action = path.trim_start_matches('/').replacen('/', ":", 1);
        self.lock().denied.contains(&action)
    }

    /// Puts the cloud's clock so far ahead of the machine's.
    pub fn set_clock_ahead(&self, ahead: Duration) {
        self.lock().ahead = ahead;
    }

    /// Lets sessions that begin from now on be good for so long.
    pub fn set_lifetime(&self, lifetime: Duration) {
        self.lock().lifetime = lifetime;
    }

    /// Ends all sessions.
    pub fn end_sessions(&self) {
        let mut state = self.lock();
        let now = SystemTime::now() + state.ahead;
        state.keys.values_mut().filter(|it| it.session.is_some()).for_each(|it| it.ends = Some(now));
    }

    /// The cloud's time.
    pub(super) fn now(&self) -> SystemTime {
        SystemTime::now() + self.lock().ahead
    }

    /// A new session.
    #[must_use]
    pub fn begin_session(&self) -> AccessKey {
        let mut state = self.lock();
        state.sessions += 1;
        let number = state.sessions;
        let key = AccessKey {
            id: format!("STS.SimulatedSession{number:04}"),
            secret: format!("secret-of-the-simulated-session-{number}"),
            session: Some(format!("CAIS+session/{number}=")),
            ends: Some(SystemTime::now() + state.ahead + state.lifetime),
        };
        state.keys.insert(key.id.clone(), key.clone());
        key
    }

    /// Judges the signature of a request.
    ///
    /// # Errors
    ///
    /// The refusal, in the words of the APIs.
    pub(super) fn judge(&self, request: &Recorded) -> Result<(), Refused> {
        let claims = AcsClaims::read(request).map_err(|why| {
            refused(400, "IncompleteSignature", &format!("The request signature is not right: {why}."))
        })?;
        let mut state = self.lock();
        let now = SystemTime::now() + state.ahead;
        let apart = now.duration_since(claims.date).unwrap_or_else(|it| it.duration());
        if apart > WINDOW {
            let message = "Specified time stamp or date value is expired.";
            return Err(refused(400, "InvalidTimeStamp.Expired", message));
        }
        let Some(key) = state.keys.get(claims.key) else {
            return Err(refused(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found."));
        };
        if !claims.is_signed_with(&key.secret) {
            let message = "The request signature does not conform to Aliyun standards.";
            return Err(refused(400, "SignatureDoesNotMatch", message));
        }
        if key.session.as_deref() != claims.session {
            return Err(refused(400, "InvalidSecurityToken.Malformed", "Specified SecurityToken is malformed."));
        }
        if key.ends.is_some_and(|it| it <= now) {
            return Err(refused(400, "InvalidSecurityToken.Expired", "Specified SecurityToken is expired."));
        }
        if !state.nonces.insert(claims.nonce.to_owned()) {
            let message = "Specified signature nonce was used already.";
            return Err(refused(400, "SignatureNonceUsed", message));
        }
        Ok(())
    }
}
