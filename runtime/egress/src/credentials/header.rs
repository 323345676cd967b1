//! Credentials that are an `authorization` header. Its secrets are in files, which are read again when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use async_trait::async_trait;
use budgets::WriteLimits;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::watch;
use zeroize::Zeroizing;

use super::authenticated::Authenticated;
use super::basic::{self, LoginPart};
use super::bearer;
use super::credential::{Credential, CredentialRefusal, NotAuthorized};
use super::error::CredentialError;
use super::origins;
use super::secret::Secret;
use super::secret_file::SecretFile;
use crate::base_url::Origin;
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;

/// So often files are read again that change while they are read.
const ATTEMPTS: usize = 3;

/// A credential, as its files have it now.
pub(super) struct HeaderCredential {
    files: Arc<CredentialFiles>,
    limits: WriteLimits,
    current: Mutex<Arc<CredentialVersion>>,
    /// One reading at a time.
    readings: tokio::sync::Mutex<Readings>,
    /// Counts the changes of all credentials.
    changes: Arc<watch::Sender<u64>>,
}

/// The files with the secrets.
pub(super) enum SecretFiles {
    /// `authorization: Bearer …`.
    Bearer { file: PathBuf },
    /// `authorization: Basic …`, by RFC 7617.
    Basic { user_file: PathBuf, password_file: PathBuf },
}

impl SecretFiles {
    /// The file with the secret.
    fn secret_file(&self) -> &Path {
        match self {
            Self::Bearer { file } => file,
            Self::Basic { password_file, .. } => password_file,
        }
    }

    /// The key of the config that names a file.
    fn key_of(&self, file: &Path) -> &'static str {
        match self {
            Self::Bearer { .. } => "bearer.file",
            Self::Basic { user_file, .. } if user_file == file => "basic.userFile",
            Self::Basic { .. } => "basic.passwordFile",
        }
    }
}

struct CredentialFiles {
    credential: String,
    kind: SecretFiles,
    origins: PathBuf,
}

#[derive(Default)]
struct Readings {
    last: Option<Instant>,
    /// The fault that the last reading found, to warn of it once.
    wrong: Option<String>,
}

/// One version of a credential.
struct CredentialVersion {
    /// The value of `authorization`.
    header: Zeroizing<String>,
    secrets: Vec<Arc<Secret>>,
    /// The only origins that it may go to, if they are limited.
    origins: Option<Vec<Origin>>,
    generation: u64,
}

impl HeaderCredential {
    /// Reads the files for the first time.
    pub(super) fn load(
        credential: String,
        kind: SecretFiles,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let origins = origins::beside(kind.secret_file());
        let files = CredentialFiles { credential, kind, origins };
        let version = files.read(1)?;
        version.warn(&files.credential);
        changes.send_modify(|it| *it += 1);
        let current = Mutex::new(Arc::new(version));
        Ok(Self { files: Arc::new(files), limits, current, readings: tokio::sync::Mutex::default(), changes })
    }

    fn current(&self) -> Arc<CredentialVersion> {
        self.current.lock().clone()
    }

    async fn read_once(&self, readings: &mut Readings) {
        let (files, next) = (self.files.clone(), self.current().generation + 1);
        let read = tokio::task::spawn_blocking(move || files.read(next)).await;
        readings.last = Some(Instant::now());
        match read {
            Ok(Ok(version)) => {
                readings.wrong = None;
                self.take_over(version);
            }
            Ok(Err(error)) => {
                let source = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
                let wrong = format!("{error}{source}");
                if readings.wrong.as_ref() != Some(&wrong) {
                    tracing::warn!(credential = self.name(), "{wrong}; the old one stays in use");
                    readings.wrong = Some(wrong);
                }
            }
            Err(error) => tracing::warn!(credential = self.name(), "reading the credential failed: {error}"),
        }
    }

    fn take_over(&self, version: CredentialVersion) {
        {
            let mut current = self.current.lock();
            if current.is_same(&version) {
                return;
            }
            tracing::info!(credential = self.name(), generation = version.generation, "the credential has changed");
            version.warn(self.name());
            *current = Arc::new(version);
            // Before anybody can have sent the new secret.
            self.changes.send_modify(|it| *it += 1);
        }
    }
}

#[async_trait]
impl Credential for HeaderCredential {
    fn name(&self) -> &str {
        &self.files.credential
    }

    fn write_limits(&self) -> WriteLimits {
        self.limits
    }

    fn check(&self, endpoint: &Endpoint) -> Result<(), EgressError> {
        let current = self.current();
        if let Some(origin) = endpoint.place.origins().into_iter().find(|it| !current.may_go_to(it)) {
            return Err(EgressError::Origin {
                endpoint: endpoint.name.clone(),
                credential: self.name().to_owned(),
                origin: origin.to_string(),
                file: self.files.origins.clone(),
            });
        }
        match endpoint.signing {
            None => Ok(()),
            Some(_) => Err(EgressError::Signing {
                endpoint: endpoint.name.clone(),
                because: format!("the credential {} signs nothing; remove `signing`", self.name()),
            }),
        }
    }

    fn generation(&self) -> u64 {
        self.current().generation
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        self.current().secrets.clone()
    }

    async fn authorize(&self, permitted: Permitted, _: SystemTime) -> Result<Authenticated, NotAuthorized> {
        let version = self.current();
        if let Some(origin) = permitted.origin().filter(|it| !version.may_go_to(it)) {
            return Err(NotAuthorized::Refused(format!(
                "the credential {} may no longer be sent to {}: {} does not list it",
                self.name(),
                origin,
                self.files.origins.display()
            )));
        }
        let value =
            HeaderValue::from_str(&version.header).expect("secrets are checked to be printable when they are read");
        let authenticated = Authenticated::new(permitted, version.generation, version.secrets.clone());
        Ok(authenticated.with_header(AUTHORIZATION, value))
    }

    fn refusal(&self, answer: &CompleteAnswer) -> Option<CredentialRefusal> {
        (answer.status == StatusCode::UNAUTHORIZED).then(CredentialRefusal::default)
    }

    async fn renew(&self, used: u64, refused: Instant, _: &CredentialRefusal) -> bool {
        let mut readings = self.readings.lock().await;
        if self.generation() == used && readings.last.is_none_or(|it| it < refused) {
            self.read_once(&mut readings).await;
        }
        self.generation() != used
    }

    async fn keep(&self) {
        self.read_once(&mut *self.readings.lock().await).await;
    }
}

impl CredentialVersion {
    fn may_go_to(&self, origin: &Origin) -> bool {
        self.origins.as_ref().is_none_or(|it| it.contains(origin))
    }

    /// Says to an operator what is not protected.
    fn warn(&self, credential: &str) {
        for weakness in self.secrets.iter().filter_map(|it| it.weakness()) {
            tracing::warn!(credential, "the secret of credential {credential} {weakness}");
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.header == other.header && self.origins == other.origins
    }
}

impl CredentialFiles {
    /// Reads all files, twice: they may be replaced one after the other, and parts of two versions are none.
    fn read(&self, generation: u64) -> Result<CredentialVersion, CredentialError> {
        let mut version = self.read_parts(generation)?;
        for _ in 0..ATTEMPTS {
            let again = self.read_parts(generation)?;
            if again.is_same(&version) {
                return Ok(version);
            }
            version = again;
        }
        Err(self.file(self.kind.secret_file()).changes())
    }

    fn read_parts(&self, generation: u64) -> Result<CredentialVersion, CredentialError> {
        let (header, secrets) = match &self.kind {
            SecretFiles::Bearer { file } => {
                bearer::read(&self.read_line(file)?).map_err(|because| self.file(file).unusable(because))?
            }
            SecretFiles::Basic { user_file, password_file } => {
                let (user, password) = (self.read_line(user_file)?, self.read_line(password_file)?);
                basic::read(&user, &password).map_err(|(part, because)| match part {
                    LoginPart::User => self.file(user_file).unusable(because),
                    LoginPart::Password => self.file(password_file).unusable(because),
                })?
            }
        };
        let secrets = secrets.into_iter().map(Arc::new).collect();
        Ok(CredentialVersion { header, secrets, origins: self.file(self.kind.secret_file()).origins()?, generation })
    }

    /// The bytes of a file without the end of its line.
    fn read_line(&self, file: &Path) -> Result<Zeroizing<Vec<u8>>, CredentialError> {
        self.file(file).read_line("; put nothing but the secret there")
    }

    fn file<'a>(&'a self, file: &'a Path) -> SecretFile<'a> {
        SecretFile { credential: &self.credential, file, key: self.kind.key_of(file) }
    }
}
