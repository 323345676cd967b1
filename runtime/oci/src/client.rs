//! Asks a registry: with the login if it wants one, and for blobs also where it sends us. Every answer has a limit.

use bytes::Bytes;
use egress::{Fetch, FetchAnswer, FetchRequest, FetchSettings, Origin, Secrets, Transfer};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use http::{Method, StatusCode};
use sha256::Digest;
use url::Url;

use crate::challenge::{self, Challenge};
use crate::descriptor::Blob;
use crate::error::{PullError, foreign};
use crate::login::{self, Login};
use crate::manifest;
use crate::remote::Remote;
use crate::settings::OutsideWorld;
use crate::token::{self, RepositoryScope, TokenPlace};

/// How often a registry may send us elsewhere for one blob.
const REDIRECTS: usize = 3;
/// The most bytes of an answer that need not be read.
const SHORT: usize = 64 << 10;

/// A registry, for one pull or one push.
pub(crate) struct RegistryClient {
    remote: Remote,
    scope: RepositoryScope,
    fetch: Fetch,
    login: Login,
    /// The header that the registry itself is shown.
    authorization: Option<HeaderValue>,
    has_logged_in: bool,
    /// The secrets that no answer may repeat: the login, and the token that it was given for it.
    secrets: Secrets,
}

/// A request to the registry itself.
#[derive(Clone)]
pub(crate) struct RegistryRequest {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The most bytes of a successful answer.
    pub(crate) limit: usize,
    pub(crate) transfer: Transfer,
    /// Its answer is held against a digest: what stands there was chosen by the module's vendor, and may be any word.
    pub(crate) is_pinned: bool,
}

impl RegistryClient {
    /// Reads the login, and asks nobody yet.
    pub(crate) async fn new(remote: Remote, outside: &OutsideWorld, scope: RepositoryScope) -> Result<Self, PullError> {
        let login = login::read(&remote).await?;
        let named = remote.token_services.iter().map(|it| it.0.clone());
        let fetch = Fetch::new(FetchSettings {
            name: remote.written.registry().to_owned(),
            written: [remote.image.origin().clone()].into_iter().chain(named).collect(),
            addresses: remote.addresses.clone(),
            ca_file: remote.ca_file.clone(),
            proxy: remote.proxy.clone(),
            networks: outside.networks.clone(),
            resolver: outside.resolver.clone(),
            route: outside.route,
            limits: outside.limits.clone(),
        })
        .map_err(|error| PullError::Refused(remote.written.sentence(chain(&error))))?;
        let secrets = login.secrets();
        let mut client = Self { remote, scope, fetch, login, authorization: None, has_logged_in: false, secrets };
        if let Login::RegistryToken(token) = &client.login {
            client.authorization = Some(client.secret(&format!("Bearer {}", **token))?);
        }
        Ok(client)
    }

    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// The bytes of a manifest with this digest; `None` if the registry has none.
    pub(crate) async fn manifest(&mut self, digest: Digest) -> Result<Option<Vec<u8>>, PullError> {
        let what = format!("manifest sha256:{digest}");
        let path = format!("manifests/sha256:{digest}");
        let Some(bytes) = self.get(&path, manifest::ACCEPTED, manifest::LIMIT).await? else { return Ok(None) };
        self.check_digest(&what, &bytes, digest)?;
        Ok(Some(bytes))
    }

    /// As [`RegistryClient::manifest`], of what the operator has named.
    pub(crate) async fn pinned(&mut self, digest: Digest) -> Result<Vec<u8>, PullError> {
        let found = self.manifest(digest).await?;
        found.ok_or_else(|| {
            self.refused(&format!(
                "has no such manifest in {}; {} has to be the manifest's, as registries print it, and not that of the \
                 module in it",
                self.remote.image.repository(),
                self.remote.written.digest()
            ))
        })
    }

    /// The bytes of whatever manifest has this tag now; `None` if none has.
    pub(crate) async fn tagged(&mut self, tag: &str) -> Result<Option<Vec<u8>>, PullError> {
        self.get(&format!("manifests/{tag}"), manifest::ACCEPTED, manifest::LIMIT).await
    }

    /// The index of what refers to a manifest; `None` if the registry knows no such question.
    pub(crate) async fn referrers(&mut self, digest: Digest) -> Result<Option<Vec<u8>>, PullError> {
        self.get(&format!("referrers/sha256:{digest}"), manifest::ACCEPTED, manifest::LIMIT).await
    }

    /// A blob, of which no more is read than it may have.
    pub(crate) async fn blob(&mut self, blob: Blob, transfer: &Transfer) -> Result<Vec<u8>, PullError> {
        let what = format!("blob sha256:{}", blob.digest);
        let bytes = self.follow(blob, transfer).await?;
        let bytes = bytes.ok_or_else(|| self.refused(&format!("has no {what}, which its manifest names")))?;
        if bytes.len() != blob.size {
            let because = format!("sent {} bytes as {what}, which has {}", bytes.len(), blob.size);
            return Err(PullError::Unavailable(self.sentence(&because)));
        }
        self.check_digest(&what, &bytes, blob.digest)?;
        Ok(bytes)
    }

    fn check_digest(&self, what: &str, bytes: &[u8], wanted: Digest) -> Result<(), PullError> {
        let found = Digest::of(bytes);
        if found == wanted {
            return Ok(());
        }
        let looks = if bytes.trim_ascii_start().starts_with(b"<") { " that look like a page for people" } else { "" };
        Err(self.refused(&format!(
            "sent other bytes{looks} as {what}: they have sha256 {found}; find out who replaced them, or what stands between"
        )))
    }

    /// GET below the repository; `None` for 404.
    async fn get(&mut self, path: &str, accept: &'static str, limit: usize) -> Result<Option<Vec<u8>>, PullError> {
        let answer = self.own(RegistryRequest { limit, ..self.question(Method::GET, path, accept) }).await?;
        match answer.status {
            StatusCode::OK => Ok(Some(answer.body)),
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_redirection() => {
                Err(self.refused(&format!("answers {status} for {path}; only for blobs may it send us elsewhere")))
            }
            status => Err(self.failed(status, &format!("answers {status} for {path}"))),
        }
    }

    /// GET of a blob, at the registry or where it sends us; `None` for 404 of the registry.
    async fn follow(&mut self, blob: Blob, transfer: &Transfer) -> Result<Option<Vec<u8>>, PullError> {
        let path = format!("blobs/sha256:{}", blob.digest);
        let ask = self.question(Method::GET, &path, "*/*");
        let ask = RegistryRequest { limit: blob.size, transfer: transfer.clone(), is_pinned: true, ..ask };
        let own = self.remote.image.origin().clone();
        let mut place = TokenPlace { origin: own.clone(), target: ask.target.clone() };
        let mut redirects = 0;
        loop {
            let ask = RegistryRequest { target: place.target.clone(), ..ask.clone() };
            // Nobody but the registry is shown what is meant for it.
            let answer = match place.origin == own {
                true => self.own(ask).await?,
                false => self.send(place.origin.clone(), ask, self.secrets.clone()).await?,
            };
            match answer.status {
                StatusCode::OK => return Ok(Some(answer.body)),
                StatusCode::NOT_FOUND if place.origin == own => return Ok(None),
                status if status.is_redirection() && redirects < REDIRECTS => {
                    redirects += 1;
                    place = self.elsewhere(&place, &answer.headers)?;
                }
                status if status.is_redirection() => {
                    return Err(self.refused(&format!("sends us elsewhere more than {REDIRECTS} times for one blob")));
                }
                status => {
                    let from = if place.origin == own { String::new() } else { format!(" from {}", place.origin) };
                    return Err(self.failed(status, &format!("answers {status}{from} for {path}")));
                }
            }
        }
    }

    /// A question below the repository, without a body. No more than 64 KiB are awaited.
    pub(crate) fn question(&self, method: Method, path: &str, accept: &'static str) -> RegistryRequest {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        RegistryRequest {
            method,
            target: format!("/v2/{}/{path}", self.remote.image.repository()),
            headers,
            body: Bytes::new(),
            limit: SHORT,
            transfer: Transfer::default(),
            is_pinned: false,
        }
    }

    /// Asks the registry itself, and logs in if it wants that. Every status but those of a missing login is an answer.
    pub(crate) async fn own(&mut self, ask: RegistryRequest) -> Result<FetchAnswer, PullError> {
        loop {
            let mut ask = ask.clone();
            if let Some(authorization) = &self.authorization {
                ask.headers.insert(AUTHORIZATION, authorization.clone());
            }
            let answer = self.send(self.remote.image.origin().clone(), ask, self.secrets.clone()).await?;
            match answer.status {
                StatusCode::UNAUTHORIZED if !self.has_logged_in => {
                    self.has_logged_in = true;
                    self.log_in(&answer.headers).await?;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(self.not_allowed(answer.status)),
                _ => return Ok(answer),
            }
        }
    }

    /// An answer that holds one of `secrets` is none, but for a blob's own bytes.
    async fn send(&self, origin: Origin, ask: RegistryRequest, secrets: Secrets) -> Result<FetchAnswer, PullError> {
        let RegistryRequest { method, target, headers, body, limit, transfer, is_pinned } = ask;
        let request = FetchRequest { method, origin, target, headers, body, limit, transfer, secrets, is_pinned };
        let answer = self.fetch.send(request).await;
        answer.map_err(|error| PullError::unanswered(error, self.remote.written))
    }

    /// Where a redirect leads: to https, whose address the dialer judges.
    fn elsewhere(&self, from: &TokenPlace, headers: &HeaderMap) -> Result<TokenPlace, PullError> {
        let location = headers.get(LOCATION).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let said = foreign(location);
        let refused = |because: &str| self.refused(&format!("sends us to {said:?} for a blob, which {because}"));
        let base = Url::parse(&format!("{}{}", from.origin, from.target)).map_err(|_| refused("is no URL"))?;
        let url = base.join(location).map_err(|_| refused("is no URL"))?;
        let place = token::place(&url).map_err(|because| refused(&because))?;
        if url.scheme() != "https" && place.origin != *self.remote.image.origin() {
            return Err(refused("is not https"));
        }
        Ok(place)
    }

    /// Answers the registry's question who we are. Once in a pull.
    async fn log_in(&mut self, headers: &HeaderMap) -> Result<(), PullError> {
        let challenge = challenge::read(headers).map_err(|because| self.refused(&because))?;
        let (realm, service) = match challenge {
            Challenge::Basic => {
                let Login::Basic(pair) = &self.login else { return Err(self.not_allowed(StatusCode::UNAUTHORIZED)) };
                self.authorization = Some(self.secret(&format!("Basic {}", **pair))?);
                return Ok(());
            }
            Challenge::Bearer { realm, service } => (realm, service),
        };
        let (image, service) = (&self.remote.image, service.as_deref());
        let place = token::realm(&realm, &self.remote).map_err(|because| self.refused(&because))?;
        let mut ask = RegistryRequest {
            method: Method::GET,
            target: token::query(&place, image, self.scope, service),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            limit: token::LIMIT,
            transfer: Transfer::default(),
            is_pinned: false,
        };
        match &self.login {
            Login::Anonymous => {}
            Login::Basic(pair) => {
                ask.headers.insert(AUTHORIZATION, self.secret(&format!("Basic {}", **pair))?);
            }
            Login::IdentityToken(refresh) => {
                ask.method = Method::POST;
                ask.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                ask.body = Bytes::from(token::form(image, self.scope, service, refresh).to_string());
                ask.target.clone_from(&place.target);
            }
            Login::RegistryToken(_) => return Err(self.not_allowed(StatusCode::UNAUTHORIZED)),
        }
        // A token service may hand the login back, as RFC 6749 (section 6) has it. Of its answer, the token alone is read.
        let answer = self.send(place.origin.clone(), ask, Secrets::default()).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => {
                return Err(self.not_allowed(answer.status));
            }
            status => return Err(self.failed(status, &format!("has a token service that answers {status}"))),
        }
        let token = token::read(&answer.body).ok_or_else(|| {
            self.refused(&format!("has a token service, {}, that answers without a token", place.origin))
        })?;
        self.authorization = Some(self.secret(&format!("Bearer {}", *token))?);
        self.secrets = self.secrets.with(token);
        Ok(())
    }

    fn not_allowed(&self, status: StatusCode) -> PullError {
        let Remote { image, login, written, .. } = &self.remote;
        let (verb, repository) = (self.scope.verb(), image.repository());
        let next = match (&self.login, login) {
            (Login::Anonymous, _) => format!(
                "it wants a login: name a file with one in {}, as kubectl create secret docker-registry makes it",
                written.login()
            ),
            (_, Some(file)) => format!("correct the login in {}, or what it may {verb}", file.display()),
            (_, None) => "correct the login".to_owned(),
        };
        self.refused(&format!("does not let us {verb} {repository} ({status}); {next}"))
    }

    /// For a status that is no answer to what was asked.
    pub(crate) fn failed(&self, status: StatusCode, because: &str) -> PullError {
        let is_passing =
            status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        match is_passing {
            true => PullError::Unavailable(self.sentence(because)),
            false => self.refused(because),
        }
    }

    pub(crate) fn refused(&self, because: &str) -> PullError {
        PullError::Refused(self.sentence(because))
    }

    fn sentence(&self, because: &str) -> String {
        format!("registry {} {because}", self.remote.image.registry())
    }

    /// A header that is not shown.
    fn secret(&self, text: &str) -> Result<HeaderValue, PullError> {
        let mut value = HeaderValue::from_str(text).map_err(|_| {
            let login = self.remote.written.login();
            PullError::Refused(format!("{login} holds what no header can carry; correct it"))
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
