//! A request to a service of a busy machine: a read whose answer does not come is sent again.

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use reqwest::{Client, Request};
use tokio::time::sleep;

use crate::wait;

/// How long a read is sent again: as long as the tests wait for what Octavia does.
pub(super) const PATIENCE: Duration = wait::DEADLINE.saturating_mul(8);
/// From one try to the next.
const PAUSE: Duration = Duration::from_millis(300);

/// The status and the text of an answer. A read changes nothing: as long as no answer comes, it is sent again, `patience` long. What writes is
/// sent once.
///
/// # Errors
///
/// Fails if no answer has come.
pub(super) async fn answer(
    client: &Client,
    request: &Request,
    patience: Duration,
) -> reqwest::Result<(StatusCode, String)> {
    let begun = Instant::now();
    loop {
        let copy = request.try_clone().expect("its body is a text");
        let error = match once(client, copy).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if request.method() != Method::GET || begun.elapsed() >= patience {
            return Err(error);
        }
        eprintln!("    GET {} is sent again: {error:#}", request.url().path());
        sleep(PAUSE).await;
    }
}

async fn once(client: &Client, request: Request) -> reqwest::Result<(StatusCode, String)> {
    let answer = client.execute(request).await?;
    let status = answer.status();
    answer.text().await.map(|text| (status, text))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::control_plane::install_crypto;

    /// Asks a service that ends its first two connections, the second one in the midst of its answer.
    async fn asked(method: Method, patience: Duration) -> reqwest::Result<(StatusCode, String)> {
        install_crypto();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let answers =
            ["", "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nla", "HTTP/1.1 404 NO\r\ncontent-length: 4\r\n\r\nlate"];
        let service = async {
            for answer in answers {
                let (mut connection, _) = listener.accept().await.unwrap();
                assert_ne!(connection.read(&mut [0; 1024]).await.unwrap(), 0, "a request");
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        };
        let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        let request = client.request(method, url).build().unwrap();
        tokio::select! {
            answer = answer(&client, &request, patience) => answer,
            () = async { service.await; std::future::pending().await } => unreachable!("it never ends"),
        }
    }

    #[tokio::test]
    async fn a_read_is_sent_again_until_its_answer_comes() {
        assert_eq!(asked(Method::GET, wait::DEADLINE).await.unwrap(), (StatusCode::NOT_FOUND, "late".to_owned()));
        assert!(asked(Method::GET, Duration::ZERO).await.is_err(), "its patience is over");
    }

    #[tokio::test]
    async fn a_write_is_sent_once() {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            assert!(asked(method, wait::DEADLINE).await.is_err());
        }
    }
}
