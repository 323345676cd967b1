//! Requests of the host itself for tokens: through the same dialer and address filter as a guest's, at an endpoint of the
//! credential's own, which no guest can name.

use std::sync::Arc;

use crate::budget::EndpointBudget;
use crate::destination::Destination;
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::policy::{self, OwnRequest, Permitted};

use super::authenticated::Authenticated;
use super::transport::{Connect, Transport};

/// The way to where a credential's tokens come from.
pub(super) struct TokenClient {
    endpoint: Arc<Endpoint>,
    budget: Arc<EndpointBudget>,
    transport: Box<dyn Transport>,
}

impl TokenClient {
    /// `endpoint` is the credential's own: its rules say what may be asked for.
    pub(super) fn new(endpoint: Endpoint, outside: &dyn Connect) -> Result<Self, EgressError> {
        let destination = Destination::from(&endpoint);
        Self::to(destination, endpoint, outside)
    }

    /// The same, to a service that gives keys to machines and pods, where no endpoint of a provider can be.
    pub(super) fn to_key_service(endpoint: Endpoint, outside: &dyn Connect) -> Result<Self, EgressError> {
        let destination = Destination { is_key_source: true, ..Destination::from(&endpoint) };
        Self::to(destination, endpoint, outside)
    }

    fn to(destination: Destination, endpoint: Endpoint, outside: &dyn Connect) -> Result<Self, EgressError> {
        let (endpoint, budget) = (Arc::new(endpoint.clone()), Arc::new(EndpointBudget::new(&endpoint.limits)));
        let transport = outside.connect(destination, endpoint.clone(), budget.clone())?;
        Ok(Self { endpoint, budget, transport })
    }

    /// Sends one request once. Its answer, which holds a token, is for the credential alone.
    pub(super) async fn send(&self, request: OwnRequest) -> Result<CompleteAnswer, AnswerFailure> {
        self.send_as(request, |it| Ok(Authenticated::new(it, 0, Vec::new()))).await
    }

    /// The same, with what proves who asks. The error of `authenticate` is a sentence without its full stop.
    pub(super) async fn send_as(
        &self,
        request: OwnRequest,
        authenticate: impl FnOnce(Permitted) -> Result<Authenticated, String> + Send,
    ) -> Result<CompleteAnswer, AnswerFailure> {
        let permitted = policy::permit_own(&self.endpoint, request).map_err(AnswerFailure::Denied)?;
        let _turn = self.budget.turn().await.map_err(AnswerFailure::Paused)?;
        let authenticated = authenticate(permitted).map_err(AnswerFailure::Unreachable)?;
        self.transport.send(authenticated).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::time::{Duration, Instant, SystemTime};

    use async_trait::async_trait;
    use bytes::Bytes;
    use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
    use parking_lot::Mutex;
    use prometheus::Registry;
    use zeroize::Zeroizing;

    use super::super::credential::{Credential, CredentialRefusal, NotAuthorized};
    use super::super::secret::Secret;
    use super::super::{CredentialSettings, Credentials};
    use super::*;
    use crate::address::KnownNetworks;
    use crate::audit::CallId;
    use crate::base_url::BaseUrl;
    use crate::canonical::PathPattern;
    use crate::egress::Egress;
    use crate::endpoint::Rule;
    use crate::metrics::Metrics;
    use crate::policy::Mode;
    use crate::request::{GuestResponse, Method, SendError};
    use crate::settings::EgressSettings;
    use crate::testing::{self, TestServer};
    use budgets::WriteLimits;

    /// A token that is fetched with a client's secret.
    struct Fetched {
        endpoint: Endpoint,
        client: Mutex<Option<Arc<TokenClient>>>,
        generation: AtomicU64,
    }

    impl Fetched {
        fn new(url: &str) -> Arc<Self> {
            let allow = vec![Rule::new([Method::Post], [PathPattern::parse("/oauth/token").unwrap()])];
            let endpoint = Endpoint { allow, ..Endpoint::new("token", BaseUrl::parse(url).unwrap()) };
            Arc::new(Self { endpoint, client: Mutex::default(), generation: AtomicU64::new(0) })
        }

        async fn fetch(&self, path: &str) -> Result<CompleteAnswer, AnswerFailure> {
            let client = self.client.lock().clone().expect("it is connected");
            let body = Bytes::from_static(b"grant_type=client_credentials&client_secret=s3cret");
            let path = vec!["oauth".to_owned(), path.to_owned()];
            client
                .send(OwnRequest {
                    method: Method::Post,
                    path,
                    is_folder: false,
                    query: String::new(),
                    headers: HeaderMap::new(),
                    body,
                })
                .await
        }

        fn token(&self) -> Secret {
            Secret::new(Zeroizing::new(format!("fetched-{}", self.generation())))
        }
    }

    #[async_trait]
    impl Credential for Fetched {
        fn name(&self) -> &str {
            "fetched"
        }

        fn write_limits(&self) -> WriteLimits {
            WriteLimits::default()
        }

        fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
            *self.client.lock() = Some(Arc::new(TokenClient::new(self.endpoint.clone(), outside)?));
            Ok(())
        }

        fn check(&self, _: &Endpoint) -> Result<(), EgressError> {
            Ok(())
        }

        fn generation(&self) -> u64 {
            self.generation.load(SeqCst)
        }

        fn secrets(&self) -> Vec<Arc<Secret>> {
            vec![Arc::new(self.token())]
        }

        async fn authorize(&self, permitted: Permitted, _: SystemTime) -> Result<Authenticated, NotAuthorized> {
            let generation = self.generation();
            if generation == 0 {
                return Err(NotAuthorized::Fetching(Duration::from_secs(1)));
            }
            let value = HeaderValue::from_str(&format!("Bearer fetched-{generation}")).unwrap();
            Ok(Authenticated::new(permitted, generation, self.secrets()).with_header(AUTHORIZATION, value))
        }

        fn refusal(&self, answer: &CompleteAnswer) -> Option<CredentialRefusal> {
            (answer.status == http::StatusCode::FORBIDDEN).then(CredentialRefusal::default)
        }

        async fn renew(&self, used: u64, _: Instant, _: &CredentialRefusal) -> bool {
            self.keep().await;
            self.generation() != used
        }

        async fn keep(&self) {
            if self.fetch("token").await.is_ok_and(|it| it.status.is_success()) {
                self.generation.fetch_add(1, SeqCst);
            }
        }
    }

    fn egress(server: &TestServer, credential: &Arc<Fetched>) -> Egress {
        let endpoint = Endpoint { credential: Some("fetched".to_owned()), ..testing::endpoint(&server.url) };
        let settings = EgressSettings {
            endpoints: vec![endpoint],
            credentials: Credentials::of(vec![credential.clone()]),
            fence: Arc::new(|| true),
            demands: Arc::new(|_| cloud_provider::Demand::default()),
            reports: Arc::new(|_| ()),
            route: |it| it,
        };
        Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap_or_else(|it| panic!("{it}"))
    }

    async fn read(egress: &Egress, endpoint: &str) -> Result<GuestResponse, SendError> {
        let call = CallId { provider: "test".into(), function: "list", id: 1 };
        let mut request = testing::request(Method::Get, &["v2"]);
        endpoint.clone_into(&mut request.endpoint);
        egress.open(call, Mode::Read).send(request).await
    }

    #[tokio::test]
    async fn a_token_is_fetched_before_requests_carry_it() {
        let (cloud, tokens) = (TestServer::start("200 OK").await, TestServer::start("200 OK").await);
        let credential = Fetched::new(&tokens.url);
        let egress = egress(&cloud, &credential);
        let later = Err(SendError::RetryAfter(Duration::from_secs(1)));
        assert_eq!(read(&egress, "api").await, later, "it is being fetched");
        assert!(cloud.requests().is_empty());
        credential.keep().await;
        assert!(read(&egress, "api").await.is_ok());
        assert!(cloud.requests()[0].contains("authorization: Bearer fetched-1\r\n"));
        let asked = tokens.requests();
        assert!(asked[0].starts_with("POST /oauth/token HTTP/1.1\r\n") && asked[0].ends_with("client_secret=s3cret"));
        assert!(!asked[0].contains("authorization"), "{asked:?}");
    }

    #[tokio::test]
    async fn the_kind_says_what_a_refusal_is() {
        let (cloud, tokens) = (TestServer::start("403 Forbidden").await, TestServer::start("200 OK").await);
        let credential = Fetched::new(&tokens.url);
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        assert_eq!(read(&egress, "api").await.map(|it| it.status), Ok(403));
        let sent: Vec<_> = cloud.requests().iter().map(|it| it.contains("Bearer fetched-2")).collect();
        assert_eq!(sent, [false, true], "a read is sent once more with the renewed token");
    }

    #[tokio::test]
    async fn adv_117_no_guest_can_name_where_tokens_come_from() {
        let (cloud, tokens) = (TestServer::start("200 OK").await, TestServer::start("200 OK").await);
        let credential = Fetched::new(&tokens.url);
        let egress = egress(&cloud, &credential);
        for name in ["token", "fetched", tokens.url.as_str()] {
            match read(&egress, name).await {
                Err(SendError::Denied(text)) => assert!(text.starts_with("E-EGRESS-ENDPOINT"), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(egress.endpoints().count(), 1);
        assert!(tokens.requests().is_empty());
    }

    #[tokio::test]
    async fn adv_117_token_requests_keep_their_rules_and_addresses() {
        let (cloud, tokens) = (TestServer::start("200 OK").await, TestServer::start("200 OK").await);
        let credential = Fetched::new(&tokens.url);
        let _egress = egress(&cloud, &credential);
        match credential.fetch("introspect").await {
            Err(AnswerFailure::Denied(denied)) => assert_eq!(denied.code.as_str(), "E-EGRESS-PATH"),
            other => panic!("{other:?}"),
        }
        let metadata = Fetched::new("https://169.254.169.254");
        let egress = self::egress(&cloud, &metadata);
        egress.set_networks(KnownNetworks::default());
        match metadata.fetch("token").await {
            Err(AnswerFailure::Denied(denied)) => assert_eq!(denied.code.as_str(), "E-EGRESS-IP"),
            other => panic!("{other:?}"),
        }
        assert!(tokens.requests().is_empty());
        assert!(Credentials::load(Vec::<CredentialSettings>::new()).is_ok());
    }
}
