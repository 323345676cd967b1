//! Asks a registry: with the login if it wants one, and for blobs also where it sends us. Every answer has a limit.

use egress::{Fetch, FetchAnswer, FetchRequest, FetchSettings};
use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use http::{Method, StatusCode};
use sha256::Digest;
use url::Url;

use crate::challenge::{self, Challenge};
use crate::error::{PullError, foreign};
use crate::login::Login;
use crate::manifest::{self, Blob};
use crate::settings::{Outside, Settings};
use crate::token::{self, Place};

/// How often a registry may send us elsewhere for one blob.
const REDIRECTS: usize = 3;

/// Where the operator writes about registries.
const NAME: &str = "provider.module.oci";

/// A registry, for one pull.
pub(crate) struct Client<'a> {
    settings: &'a Settings,
    fetch: Fetch,
    login: Login,
    /// What the registry itself is shown.
    authorization: Option<HeaderValue>,
    has_logged_in: bool,
}

impl<'a> Client<'a> {
    pub(crate) fn new(settings: &'a Settings, outside: &Outside, login: Login) -> Result<Self, PullError> {
        let named = settings.token_services.iter().map(|it| it.0.clone());
        let fetch = Fetch::new(FetchSettings {
            name: NAME.to_owned(),
            written: [settings.image.origin().clone()].into_iter().chain(named).collect(),
            addresses: settings.addresses.clone(),
            ca_file: settings.ca_file.clone(),
            networks: outside.networks.clone(),
            resolver: outside.resolver.clone(),
            route: outside.route,
            limits: outside.limits.clone(),
        })
        .map_err(|error| PullError::Refused(chain(&error)))?;
        let authorization = match &login {
            Login::RegistryToken(token) => Some(secret(&format!("Bearer {}", **token))?),
            Login::Anonymous | Login::Basic(_) | Login::IdentityToken(_) => None,
        };
        Ok(Self { settings, fetch, login, authorization, has_logged_in: false })
    }

    /// The bytes of a manifest with this digest; `None` if the registry has none.
    pub(crate) async fn manifest(&mut self, digest: Digest) -> Result<Option<Vec<u8>>, PullError> {
        let what = format!("manifest sha256:{digest}");
        let path = format!("manifests/sha256:{digest}");
        let Some(bytes) = self.get(&path, manifest::ACCEPTED, manifest::LIMIT, false).await? else { return Ok(None) };
        self.check_digest(&what, &bytes, digest)?;
        Ok(Some(bytes))
    }

    /// The bytes of whatever manifest has this tag now; `None` if none has.
    pub(crate) async fn tagged(&mut self, tag: &str) -> Result<Option<Vec<u8>>, PullError> {
        self.get(&format!("manifests/{tag}"), manifest::ACCEPTED, manifest::LIMIT, false).await
    }

    /// The index of what refers to a manifest; `None` if the registry knows no such question.
    pub(crate) async fn referrers(&mut self, digest: Digest) -> Result<Option<Vec<u8>>, PullError> {
        self.get(&format!("referrers/sha256:{digest}"), manifest::ACCEPTED, manifest::LIMIT, false).await
    }

    /// A blob, of which no more is read than it may have.
    pub(crate) async fn blob(&mut self, blob: Blob) -> Result<Vec<u8>, PullError> {
        let what = format!("blob sha256:{}", blob.digest);
        let bytes = self.get(&format!("blobs/sha256:{}", blob.digest), "*/*", blob.size, true).await?;
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
    async fn get(
        &mut self,
        path: &str,
        accept: &'static str,
        limit: usize,
        follows: bool,
    ) -> Result<Option<Vec<u8>>, PullError> {
        let own = self.settings.image.origin().clone();
        let mut place =
            Place { origin: own.clone(), target: format!("/v2/{}/{path}", self.settings.image.repository()) };
        let mut redirects = 0;
        loop {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            // Nobody but the registry is shown what is meant for it.
            if let Some(authorization) = self.authorization.as_ref().filter(|_| place.origin == own) {
                headers.insert(AUTHORIZATION, authorization.clone());
            }
            let answer = self.ask(&place, headers, limit).await?;
            match answer.status {
                StatusCode::OK => return Ok(Some(answer.body)),
                StatusCode::NOT_FOUND if place.origin == own => return Ok(None),
                StatusCode::UNAUTHORIZED if place.origin == own && !self.has_logged_in => {
                    self.has_logged_in = true;
                    self.log_in(&answer.headers).await?;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if place.origin == own => {
                    return Err(self.not_allowed(answer.status));
                }
                status if status.is_redirection() && follows && redirects < REDIRECTS => {
                    redirects += 1;
                    place = self.elsewhere(&place, &answer.headers)?;
                }
                status if status.is_redirection() && follows => {
                    return Err(self.refused(&format!("sends us elsewhere more than {REDIRECTS} times for one blob")));
                }
                status if status.is_redirection() => {
                    return Err(
                        self.refused(&format!("answers {status} for {path}; only for blobs may it send us elsewhere"))
                    );
                }
                status => {
                    let from = if place.origin == own { String::new() } else { format!(" from {}", place.origin) };
                    return Err(self.failed(status, &format!("answers {status}{from} for {path}")));
                }
            }
        }
    }

    async fn ask(&self, place: &Place, headers: HeaderMap, limit: usize) -> Result<FetchAnswer, PullError> {
        let (origin, target) = (place.origin.clone(), place.target.clone());
        let request = FetchRequest { method: Method::GET, origin, target, headers, form: String::new(), limit };
        Ok(self.fetch.send(request).await?)
    }

    /// Where a redirect leads: to https, whose address the dialer judges.
    fn elsewhere(&self, from: &Place, headers: &HeaderMap) -> Result<Place, PullError> {
        let location = headers.get(LOCATION).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let said = foreign(location);
        let refused = |because: &str| self.refused(&format!("sends us to {said:?} for a blob, which {because}"));
        let base = Url::parse(&format!("{}{}", from.origin, from.target)).map_err(|_| refused("is no URL"))?;
        let url = base.join(location).map_err(|_| refused("is no URL"))?;
        let place = token::place(&url).map_err(|because| refused(&because))?;
        if url.scheme() != "https" && place.origin != *self.settings.image.origin() {
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
                self.authorization = Some(secret(&format!("Basic {}", **pair))?);
                return Ok(());
            }
            Challenge::Bearer { realm, service } => (realm, service),
        };
        let place = token::realm(&realm, self.settings).map_err(|because| self.refused(&because))?;
        let service = service.as_deref();
        let mut request = FetchRequest {
            method: Method::GET,
            origin: place.origin.clone(),
            target: token::query(&place, self.settings, service),
            headers: HeaderMap::new(),
            form: String::new(),
            limit: token::LIMIT,
        };
        match &self.login {
            Login::Anonymous => {}
            Login::Basic(pair) => {
                request.headers.insert(AUTHORIZATION, secret(&format!("Basic {}", **pair))?);
            }
            Login::IdentityToken(refresh) => {
                request.method = Method::POST;
                request.form = token::form(self.settings, service, refresh).to_string();
                request.target.clone_from(&place.target);
            }
            Login::RegistryToken(_) => return Err(self.not_allowed(StatusCode::UNAUTHORIZED)),
        }
        let answer = self.fetch.send(request).await?;
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
        self.authorization = Some(secret(&format!("Bearer {}", *token))?);
        Ok(())
    }

    fn not_allowed(&self, status: StatusCode) -> PullError {
        let repository = self.settings.image.repository();
        let next = match (&self.login, &self.settings.login) {
            (Login::Anonymous, _) => {
                "it wants a login: name a file with one in provider.module.oci.login, as kubectl create secret docker-registry \
                 makes it"
                    .to_owned()
            }
            (_, Some(file)) => format!("correct the login in {}, or what it may read", file.display()),
            (_, None) => "correct the login".to_owned(),
        };
        self.refused(&format!("does not let us read {repository} ({status}); {next}"))
    }

    fn failed(&self, status: StatusCode, because: &str) -> PullError {
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
        format!("registry {} {because}", self.settings.image.registry())
    }
}

/// A header that is not shown.
fn secret(text: &str) -> Result<HeaderValue, PullError> {
    let value = HeaderValue::from_str(text).map_err(|_| {
        PullError::Refused("provider.module.oci.login holds what no header can carry; correct it".to_owned())
    });
    value.map(|mut it| {
        it.set_sensitive(true);
        it
    })
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
