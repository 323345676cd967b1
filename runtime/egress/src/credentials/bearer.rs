//! A token in a file, read again when it changes.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use http::HeaderValue;
use zeroize::Zeroizing;

use super::error::CredentialError;
use super::secret::Secret;
use crate::base_url::Origin;
use crate::writes::WriteLimits;

/// The longest token or list of origins.
const FILE_BYTES: u64 = 16 << 10;

/// A bearer token, as its file has it now.
pub(super) struct Bearer {
    files: Arc<Files>,
    limits: WriteLimits,
    current: Mutex<Arc<Token>>,
    /// One look at a time.
    looks: tokio::sync::Mutex<Looks>,
}

struct Files {
    credential: String,
    token: PathBuf,
    origins: PathBuf,
}

#[derive(Default)]
struct Looks {
    last: Option<Instant>,
    /// What the last look found wrong, to warn of it once.
    wrong: Option<String>,
}

/// One version of a token.
pub(super) struct Token {
    secret: Secret,
    /// The only origins that it may go to, if they are limited.
    origins: Option<Vec<Origin>>,
    generation: u64,
}

impl Bearer {
    pub(super) fn load(credential: String, file: PathBuf, limits: WriteLimits) -> Result<Self, CredentialError> {
        let mut origins = file.clone().into_os_string();
        origins.push(".origins");
        let files = Files { credential, token: file, origins: origins.into() };
        let token = files.read(1)?;
        token.warn(&files.credential);
        let current = Mutex::new(Arc::new(token));
        Ok(Self { files: Arc::new(files), limits, current, looks: tokio::sync::Mutex::default() })
    }

    pub(super) fn write_limits(&self) -> WriteLimits {
        self.limits
    }

    pub(super) fn name(&self) -> &str {
        &self.files.credential
    }

    pub(super) fn origins_file(&self) -> PathBuf {
        self.files.origins.clone()
    }

    pub(super) fn current(&self) -> Arc<Token> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files, and takes over what is new in them.
    pub(super) async fn look(&self) {
        self.look_once(&mut *self.looks.lock().await).await;
    }

    /// Reads the files, unless somebody has done so since `refused`. Answers whether the token is another than `used`.
    pub(super) async fn refresh(&self, used: &Token, refused: Instant) -> bool {
        let mut looks = self.looks.lock().await;
        if self.current().generation == used.generation && looks.last.is_none_or(|it| it < refused) {
            self.look_once(&mut looks).await;
        }
        self.current().generation != used.generation
    }

    async fn look_once(&self, looks: &mut Looks) {
        let (files, next) = (self.files.clone(), self.current().generation + 1);
        let read = tokio::task::spawn_blocking(move || files.read(next)).await;
        looks.last = Some(Instant::now());
        match read {
            Ok(Ok(token)) => {
                looks.wrong = None;
                let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                if !current.is_same(&token) {
                    tracing::info!(
                        credential = self.name(),
                        generation = token.generation,
                        "the credential has changed"
                    );
                    token.warn(self.name());
                    *current = Arc::new(token);
                }
            }
            Ok(Err(error)) => {
                let source = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
                let wrong = format!("{error}{source}");
                if looks.wrong.as_ref() != Some(&wrong) {
                    tracing::warn!(credential = self.name(), "{wrong}; the old token stays in use");
                    looks.wrong = Some(wrong);
                }
            }
            Err(error) => tracing::warn!(credential = self.name(), "reading the credential failed: {error}"),
        }
    }
}

impl Token {
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn may_go_to(&self, origin: &Origin) -> bool {
        self.origins.as_ref().is_none_or(|it| it.contains(origin))
    }

    pub(super) fn header(&self) -> HeaderValue {
        let text = Zeroizing::new(format!("Bearer {}", self.secret.expose()));
        HeaderValue::from_str(&text).expect("a token is checked to be visible ASCII when it is read")
    }

    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.secret.is_in(text)
    }

    pub(super) fn is_in_name(&self, name: &str) -> bool {
        self.secret.is_in_name(name)
    }

    /// Tells an operator what is not protected.
    fn warn(&self, credential: &str) {
        if let Some(weakness) = self.secret.weakness() {
            tracing::warn!(credential, "the token of credential {credential} {weakness}");
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.secret == other.secret && self.origins == other.origins
    }
}

impl Files {
    fn read(&self, generation: u64) -> Result<Token, CredentialError> {
        let secret = self.read_token()?;
        Ok(Token { secret, origins: self.read_origins()?, generation })
    }

    fn read_token(&self) -> Result<Secret, CredentialError> {
        let unusable = |because| self.unusable(&self.token, because);
        let text = read(&self.token).map_err(|source| self.unreadable(&self.token, source))?;
        let text = text.ok_or_else(|| unusable("is larger than 16 KiB; put nothing but the token there".to_owned()))?;
        let token = text.strip_suffix(b"\n").unwrap_or(&text);
        let token = token.strip_suffix(b"\r").unwrap_or(token);
        if token.is_empty() {
            return Err(unusable("is empty; put the token there".to_owned()));
        }
        match token.iter().position(|it| !it.is_ascii_graphic()) {
            None => Ok(Secret::new(Zeroizing::new(token.iter().copied().map(char::from).collect()))),
            Some(index) => Err(unusable(format!(
                "holds a character at byte {index} that is not visible ASCII; put the token there, on one line, and \
                 nothing else"
            ))),
        }
    }

    fn read_origins(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        let unusable = |because| self.unusable(&self.origins, because);
        let text = match read(&self.origins) {
            Ok(text) => text.ok_or_else(|| unusable("is larger than 16 KiB; remove lines".to_owned()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.unreadable(&self.origins, source)),
        };
        let text =
            std::str::from_utf8(&text).map_err(|_| unusable("is not UTF-8; write one origin in a line".into()))?;
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let origins = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(number, line)| {
            Origin::parse(line).map_err(|because| unusable(format!("has no usable origin in line {number}: {because}")))
        });
        origins.collect::<Result<_, _>>().map(Some)
    }

    fn unusable(&self, file: &Path, because: String) -> CredentialError {
        CredentialError::Unusable { credential: self.credential.clone(), file: file.to_owned(), because }
    }

    fn unreadable(&self, file: &Path, source: io::Error) -> CredentialError {
        CredentialError::Unreadable { credential: self.credential.clone(), file: file.to_owned(), source }
    }
}

/// The bytes of a file; `None` if they are too many.
fn read(file: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    // With all its capacity from the start: a buffer that grows leaves copies of the token behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES as usize + 1));
    File::open(file)?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= FILE_BYTES).then_some(bytes))
}
