//! A connection through a proxy: CONNECT, and from then on bytes (RFC 9110, 9.3.6).

use std::io;

use bytes::Bytes;
use http::header::{HOST, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::Authority;
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::head::{HEAD_BYTES, HEADERS, USER_AGENT_VALUE};
use crate::cause::ProxyRefusal;

/// Asks the proxy at the other end of `io` for a connection to `target`, a host with its port. No text of the proxy's own is in an error.
pub(super) async fn open<T>(io: T, target: &Authority, login: Option<HeaderValue>) -> io::Result<TokioIo<Upgraded>>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let has_login = login.is_some();
    let mut client = http1::Builder::new();
    let client = client.max_headers(HEADERS).max_buf_size(HEAD_BYTES).handshake(TokioIo::new(io));
    let (mut sender, connection) = client.await.map_err(io::Error::other)?;
    let connection = connection.with_upgrades();
    let exchange = async {
        let answer = sender.send_request(request(target, login)).await.map_err(io::Error::other)?;
        match refusal(answer.status(), target, has_login) {
            Some(refusal) => Err(io::Error::other(ProxyRefusal(refusal))),
            None => hyper::upgrade::on(answer).await.map_err(io::Error::other),
        }
    };
    tokio::pin!(connection, exchange);
    let upgraded = tokio::select! {
        biased;
        upgraded = &mut exchange => upgraded,
        ended = &mut connection => match ended {
            Ok(()) => exchange.await,
            Err(error) => Err(io::Error::other(error)),
        },
    };
    upgraded.map(TokioIo::new)
}

fn request(target: &Authority, login: Option<HeaderValue>) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = Uri::from(target.clone());
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(target.as_str()).expect("an authority is a header"));
    headers.insert(USER_AGENT, USER_AGENT_VALUE);
    if let Some(login) = login {
        headers.insert(PROXY_AUTHORIZATION, login);
    }
    request
}

/// The sentence about an answer that opens nothing: the cause and the next step.
fn refusal(status: StatusCode, target: &Authority, has_login: bool) -> Option<String> {
    match status {
        it if it.is_success() => None,
        // Some say 401 where the login is wrong.
        StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::UNAUTHORIZED if has_login => {
            let status = status.as_u16();
            Some(format!("the proxy refuses the login ({status}): correct the files of `proxy.login`"))
        }
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            Some("the proxy asks for a login (407): name its files as `proxy.login`".to_owned())
        }
        StatusCode::FORBIDDEN => Some(format!(
            "the proxy does not let anybody connect to {target} (403): allow it in the proxy's own configuration"
        )),
        status if status.is_server_error() => Some(format!("the proxy could not connect to {target} ({status})")),
        status => Some(format!("the proxy opened no connection to {target}: it answered {}", status.as_u16())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxys_refusal_names_the_next_step() {
        let target = Authority::from_static("api.example.com:443");
        let says = |status, has_login| refusal(StatusCode::from_u16(status).unwrap(), &target, has_login);
        assert_eq!(says(200, false), None);
        for (status, has_login, part) in [
            (407, false, "name its files as `proxy.login`"),
            (407, true, "refuses the login (407): correct the files of `proxy.login`"),
            (401, true, "refuses the login (401)"),
            (403, false, "api.example.com:443 (403): allow it in the proxy's own configuration"),
            (502, false, "could not connect to api.example.com:443 (502"),
            (302, false, "it answered 302"),
        ] {
            let text = says(status, has_login).unwrap();
            assert!(text.contains(part), "{status}: {text}");
        }
    }
}
