//! The client of the simulator's three routes.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use crate::error::{ConformanceError, Result};
use crate::protocol::{Asked, CHANGE, Changed, ForeignChange, Orders, REQUESTS, WORLD, World};

/// The largest answer, in bytes.
const LARGEST: usize = 16 << 20;
/// How long one may take.
const LONGEST: Duration = Duration::from_secs(20);

/// A simulator on loopback.
#[derive(Clone, Debug)]
pub(crate) struct Admin {
    address: SocketAddr,
}

impl Admin {
    /// Reads `http://127.0.0.1:8080`. A simulator elsewhere would be an open door, and is refused.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let refuse = |because: &str| ConformanceError::Url { url: url.to_owned(), because: because.to_owned() };
        let rest = url.strip_prefix("http://").ok_or_else(|| refuse("it does not begin with http://"))?;
        let address = rest.trim_end_matches('/').parse::<SocketAddr>();
        let address = address.map_err(|_| refuse("after http:// there is no address with a port"))?;
        if !address.ip().is_loopback() {
            return Err(refuse("a simulator's routes are served on loopback alone"));
        }
        Ok(Self { address })
    }

    /// `http://127.0.0.1:8080`.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that exists.
    pub(crate) async fn world(&self) -> Result<World> {
        let (_, body) = self.send(Method::GET, WORLD, None::<&()>).await?;
        read(WORLD, &body)
    }

    /// The requests since the last look.
    pub(crate) async fn asked(&self) -> Result<Asked> {
        let (_, body) = self.send(Method::GET, REQUESTS, None::<&()>).await?;
        read(REQUESTS, &body)
    }

    /// Gives orders in the place of earlier ones.
    pub(crate) async fn order(&self, orders: Orders) -> Result<()> {
        self.send(Method::POST, REQUESTS, Some(&orders)).await.map(drop)
    }

    /// Changes something; `None` if this cloud cannot.
    pub(crate) async fn change(&self, change: &ForeignChange) -> Result<Option<Changed>> {
        let (status, body) = self.send(Method::POST, CHANGE, Some(change)).await?;
        if status == StatusCode::NOT_IMPLEMENTED { Ok(None) } else { read(CHANGE, &body).map(Some) }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&impl Serialize>) -> Result<(StatusCode, Bytes)> {
        let route = format!("{method} {path}");
        let failed = |error: &dyn std::fmt::Display| ConformanceError::route(&route, error);
        let body = body.map(|it| serde_json::to_vec(it).expect("texts and numbers become JSON")).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.address.to_string())
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .expect("the request has no odd characters");
        let exchange = async {
            let stream = TcpStream::connect(self.address).await.map_err(|it| failed(&it))?;
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|it| failed(&it))?;
            // It ends with this.
            let mut tasks = JoinSet::new();
            tasks.spawn(connection);
            let answer = sender.send_request(request).await.map_err(|it| failed(&it))?;
            let status = answer.status();
            let body = http_body_util::Limited::new(answer.into_body(), LARGEST).collect().await;
            let body = body.map_err(|it| failed(&it))?.to_bytes();
            Ok::<_, ConformanceError>((status, body))
        };
        let (status, body) = match timeout(LONGEST, exchange).await {
            Ok(answer) => answer?,
            Err(_) => return Err(failed(&format!("no answer within {LONGEST:?}"))),
        };
        if status.is_success() || status == StatusCode::NOT_IMPLEMENTED {
            return Ok((status, body));
        }
        let text: String = String::from_utf8_lossy(&body).chars().take(200).collect();
        Err(failed(&format!("answered with {status}: {}", text.escape_default())))
    }
}

fn read<T: DeserializeOwned>(route: &str, body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| ConformanceError::route(route, format!("another answer: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulator_is_on_loopback_and_speaks_plain_http() {
        assert_eq!(Admin::new("http://127.0.0.1:8080/").unwrap().base_url(), "http://127.0.0.1:8080");
        assert_eq!(Admin::new("http://[::1]:8080").unwrap().base_url(), "http://[::1]:8080");
        for (url, because) in [
            ("https://127.0.0.1:8080", "does not begin with http://"),
            ("127.0.0.1:8080", "does not begin with http://"),
            ("http://127.0.0.1", "no address with a port"),
            ("http://api.example.com", "no address with a port"),
            ("http://192.0.2.1:8080", "on loopback alone"),
        ] {
            let error = Admin::new(url).unwrap_err().to_string();
            assert!(error.contains(because) && error.contains("write the URL"), "{error}");
        }
    }
}
