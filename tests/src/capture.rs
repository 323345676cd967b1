//! Servers that record what reaches them, byte by byte, and can answer against all rules.

mod blackhole;
mod http2;
mod raw;
mod tls;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub use self::blackhole::Blackhole;
pub use self::raw::Bytes;
pub use self::tls::TlsServer;

/// A server on loopback. It stops when it is dropped.
pub struct Capture {
    address: SocketAddr,
    ca: Option<String>,
    seen: Arc<Mutex<Seen>>,
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<Request>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// Counted from 0 in the order of accepting.
    pub connection: usize,
    /// Head and body.
    pub bytes: Vec<u8>,
}

impl Request {
    /// Head and body as text.
    ///
    /// # Panics
    ///
    /// Panics if it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("a request in UTF-8")
    }

    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.text().lines().skip(1).take_while(|it| !it.is_empty());
        lines.filter_map(|it| it.split_once(": ")).find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, it)| it)
    }
}

/// A step of a server's answer to one request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes at once.
    Send(Vec<u8>),
    /// Sends these bytes one by one, with a pause before each.
    Drip(Vec<u8>, Duration),
    /// Sends these bytes again and again until the client has gone.
    Flood(Vec<u8>),
    /// Waits until the test says so.
    Wait(Arc<Notify>),
    /// Neither sends nor reads until the client has gone.
    Hang,
    /// Closes the connection.
    Close,
}

impl Step {
    /// An ordinary answer.
    #[must_use]
    pub fn ok(body: &str) -> Vec<Self> {
        Self::answer("200 OK", &[], body)
    }

    /// An answer with a correct length.
    #[must_use]
    pub fn answer(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<Self> {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        vec![Self::raw(&format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()))]
    }

    /// These bytes.
    #[must_use]
    pub fn raw(text: &str) -> Self {
        Self::Send(text.as_bytes().to_vec())
    }
}

type Script = Arc<dyn Fn(&Request) -> Vec<Step> + Send + Sync>;

impl Capture {
    /// Serves HTTP.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn http(script: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(script)).await
    }

    /// Serves HTTPS with a certificate for `names`, which may be addresses.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn https(names: &[&str], script: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::start(Some(tls::Identity::new(names, &[])), Arc::new(script)).await
    }

    async fn start(identity: Option<tls::Identity>, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the listener is bound");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (ca, acceptor) = identity.map(|it| (it.ca, it.acceptor)).unzip();
        let mut server = JoinSet::new();
        server.spawn(serve(listener, acceptor, script, seen.clone()));
        Self { address, ca, seen, _server: server }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:…` or `https://127.0.0.1:…`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.ca.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate authority of an HTTPS server, in PEM.
    ///
    /// # Panics
    ///
    /// Panics if it serves HTTP.
    #[must_use]
    pub fn ca(&self) -> &str {
        self.ca.as_deref().expect("an HTTPS server")
    }

    /// The requests that have arrived in full.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).connections
    }
}

async fn serve(listener: TcpListener, acceptor: Option<TlsAcceptor>, script: Script, seen: Arc<Mutex<Seen>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.connections += 1;
            seen.connections - 1
        };
        let (acceptor, script, seen) = (acceptor.clone(), script.clone(), seen.clone());
        connections.spawn(async move {
            // A client that breaks off is what some tests are about.
            let _ = match acceptor {
                None => converse(stream, number, &script, &seen).await,
                Some(acceptor) => match acceptor.accept(stream).await {
                    Ok(stream) => converse(stream, number, &script, &seen).await,
                    Err(error) => Err(error),
                },
            };
        });
    }
}

/// Answers one request after the other.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    script: &Script,
    seen: &Mutex<Seen>,
) -> std::io::Result<()> {
    let mut unread = Vec::new();
    while let Some(bytes) = read(&mut stream, &mut unread).await? {
        let request = Request { connection, bytes };
        seen.lock().unwrap_or_else(PoisonError::into_inner).requests.push(request.clone());
        for step in script(&request) {
            match step {
                Step::Send(bytes) => stream.write_all(&bytes).await?,
                Step::Drip(bytes, pause) => {
                    for byte in bytes {
                        tokio::time::sleep(pause).await;
                        stream.write_all(&[byte]).await?;
                        stream.flush().await?;
                    }
                }
                Step::Flood(bytes) => loop {
                    stream.write_all(&bytes).await?;
                },
                Step::Wait(word) => word.notified().await,
                Step::Hang => std::future::pending().await,
                Step::Close => return stream.shutdown().await,
            }
        }
        stream.flush().await?;
    }
    Ok(())
}

/// The next request: a head, and as much body as it announces. `None` if the client has gone.
async fn read(stream: &mut (impl AsyncRead + Unpin), unread: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = end(unread) {
            let rest = unread.split_off(end);
            return Ok(Some(std::mem::replace(unread, rest)));
        }
        if stream.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    }
}

fn end(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|it| it.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let end = head + length.unwrap_or(0);
    (bytes.len() >= end).then_some(end)
}
