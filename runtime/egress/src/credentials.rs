//! What proves to a cloud who asks. The host attaches it after the policy has decided; no guest ever sees it.

mod bearer;
mod decoded;
mod error;
mod secret;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use self::bearer::{Bearer, Token};
pub use self::error::CredentialError;
use crate::endpoint::Endpoint;
use crate::error::GateError;
use crate::policy::Permitted;
use crate::writes::WriteLimits;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// A credential as the operator wrote it: a reference, never the secret itself.
#[derive(Clone, Debug)]
pub struct CredentialSettings {
    /// What endpoints call it.
    pub name: String,
    /// What it is.
    pub kind: CredentialKind,
    /// What may be written with it in any case.
    pub limits: WriteLimits,
}

/// The kinds of credentials.
#[derive(Clone, Debug)]
pub enum CredentialKind {
    /// `authorization: Bearer …`.
    Bearer {
        /// The file with the token. A file `<file>.origins` beside it, when present, lists the only origins that the
        /// token is sent to, one in a line.
        file: PathBuf,
    },
}

/// The credentials of all endpoints. Cloning shares them.
#[derive(Clone, Default)]
pub struct Credentials {
    all: Arc<[Bearer]>,
    approval: Arc<Mutex<Option<u64>>>,
}

impl Credentials {
    /// Reads every file for the first time.
    ///
    /// # Errors
    ///
    /// If one cannot be read, holds no usable token, or if two credentials have one name.
    pub fn load(settings: Vec<CredentialSettings>) -> Result<Self, CredentialError> {
        let mut all: Vec<Bearer> = Vec::with_capacity(settings.len());
        for CredentialSettings { name, kind, limits } in settings {
            if all.iter().any(|it| it.name() == name) {
                return Err(CredentialError::Twice { credential: name });
            }
            let CredentialKind::Bearer { file } = kind;
            all.push(Bearer::load(name, file, limits)?);
        }
        Ok(Self { all: all.into(), approval: Arc::default() })
    }

    /// Looks at the files every ten seconds. What cannot be read then is one warning, and the old token stays.
    ///
    /// Never returns.
    pub async fn watch(self) {
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for bearer in self.all.iter() {
                bearer.look().await;
            }
        }
    }

    /// Whether `endpoint` may use the credential that it names.
    pub(crate) fn check(&self, credential: &str, endpoint: &Endpoint) -> Result<(), GateError> {
        let Some(bearer) = self.named(credential) else {
            return Err(GateError::Credential { endpoint: endpoint.name.clone(), credential: credential.to_owned() });
        };
        let origin = endpoint.base_url.origin();
        if bearer.current().may_go_to(&origin) {
            return Ok(());
        }
        Err(GateError::Origin {
            endpoint: endpoint.name.clone(),
            credential: credential.to_owned(),
            origin: origin.to_string(),
            file: bearer.origins_file(),
        })
    }

    /// What may be written with a credential in any case.
    pub(crate) fn write_limits(&self, credential: &str) -> WriteLimits {
        self.named(credential).map(Bearer::write_limits).unwrap_or_default()
    }

    /// Which version of its credential a request would carry now.
    pub(crate) fn generation(&self, permitted: &Permitted) -> u64 {
        let credential = permitted.endpoint().credential.as_deref();
        credential.and_then(|it| self.named(it)).map_or(0, |it| it.current().generation())
    }

    /// Another number whenever one of them has changed.
    pub(crate) fn version(&self) -> u64 {
        self.all.iter().map(|it| it.current().generation()).sum()
    }

    /// Says that the account behind this version is the right one. From then on writes need an approved version.
    pub(crate) fn approve(&self, version: u64) {
        *self.approval() = Some(version);
    }

    /// Whether writes may leave under the present version.
    ///
    /// The error is a sentence without its full stop.
    pub(crate) fn check_approval(&self) -> Result<(), String> {
        let approved = *self.approval();
        match approved {
            Some(approved) if approved != self.version() => {
                Err("a credential has changed, and nothing is written before its account has been looked at".to_owned())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn approval(&self) -> MutexGuard<'_, Option<u64>> {
        // Nothing panics while it is held.
        self.approval.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches the credential of a request's endpoint, if it has one.
    ///
    /// The error is a sentence without its full stop: the request cannot be sent.
    pub(crate) fn authenticate(&self, permitted: Permitted) -> Result<Authenticated, String> {
        let secrets = self.secrets();
        let Some(name) = &permitted.endpoint().credential else {
            return Ok(Authenticated { permitted, used: None, secrets });
        };
        let bearer = self.named(name).ok_or_else(|| format!("there is no credential {name}"))?;
        let token = bearer.current();
        if !token.may_go_to(&permitted.origin()) {
            return Err(format!(
                "the credential {name} may no longer be sent to {}: {} does not list it",
                permitted.origin(),
                bearer.origins_file().display()
            ));
        }
        let used = Used { credential: name.clone(), token };
        Ok(Authenticated { permitted, used: Some(used), secrets })
    }

    /// Looks at the file of a credential that the cloud has refused, unless somebody has done so since `refused`.
    ///
    /// Answers whether there is a newer token than the one that was used.
    pub(crate) async fn refresh(&self, used: &Used, refused: Instant) -> bool {
        match self.named(&used.credential) {
            Some(bearer) => bearer.refresh(&used.token, refused).await,
            None => false,
        }
    }

    /// All of them, as they are now.
    pub(crate) fn secrets(&self) -> Secrets {
        Secrets(self.all.iter().map(Bearer::current).collect())
    }

    fn named(&self, name: &str) -> Option<&Bearer> {
        self.all.iter().find(|it| it.name() == name)
    }
}

/// A permitted request with the credential of its endpoint. Only [`Credentials::authenticate`] makes one.
pub(crate) struct Authenticated {
    permitted: Permitted,
    used: Option<Used>,
    secrets: Secrets,
}

/// The credential that a request carries.
#[derive(Clone)]
pub(crate) struct Used {
    credential: String,
    token: Arc<Token>,
}

impl Authenticated {
    /// The credential, to ask about it after the answer.
    pub(crate) fn used(&self) -> Option<Used> {
        self.used.clone()
    }

    /// Which version of the credential it carries. Connections are not shared between versions.
    pub(crate) fn generation(&self) -> u64 {
        self.used.as_ref().map_or(0, |it| it.token.generation())
    }

    /// What its answer must not hold.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = self.secrets.clone();
        if let Some(used) = &self.used
            && !secrets.0.iter().any(|it| Arc::ptr_eq(it, &used.token))
        {
            secrets.0.push(used.token.clone());
        }
        secrets
    }

    pub(crate) fn permitted(&self) -> &Permitted {
        &self.permitted
    }

    /// The parts of the request, with the credential in the headers.
    pub(crate) fn into_headers_and_body(self) -> (HeaderMap, Bytes) {
        let (mut headers, body) = self.permitted.into_headers_and_body();
        if let Some(used) = self.used {
            let mut value: HeaderValue = used.token.header();
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        (headers, body)
    }
}

/// All secrets, whichever a request carries: what one endpoint was sent may be shown by another.
#[derive(Clone)]
pub(crate) struct Secrets(Vec<Arc<Token>>);

impl Secrets {
    /// Whether `text` holds one of them, in one of the forms in which services echo what they were sent.
    pub(crate) fn are_in(&self, text: &[u8]) -> bool {
        self.0.iter().any(|it| it.is_in(text))
    }

    /// Whether an answer has one of them in its head: in the name or the value of a header.
    pub(crate) fn are_in_head(&self, headers: &HeaderMap) -> bool {
        let has = |token: &Token| {
            headers.iter().any(|(name, value)| token.is_in(value.as_bytes()) || token.is_in_name(name.as_str()))
        };
        self.0.iter().any(|it| has(it))
    }
}
