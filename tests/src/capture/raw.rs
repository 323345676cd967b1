//! A server that sends bytes instead of answers, and knows which clients have closed their connections.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, copy, sink, split};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::tls::TlsServer;

/// The bytes with which HTTP/2 clients begin.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
/// The length of an HTTP/2 frame's head, and the type of frames that begin a request.
const FRAME_HEAD: usize = 9;
const HEADERS: u8 = 1;

/// The bytes that such a server sends on each connection.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    /// At once.
    pub greeting: Vec<u8>,
    /// When a request has begun.
    pub answer: Vec<u8>,
    /// Then, again and again, until the client has gone. Empty: nothing.
    pub flood: Vec<u8>,
    /// Whether it reads nothing more once a request has begun. It must flood, or it would not see that the
    /// client has closed the connection.
    pub deaf: bool,
}

impl TlsServer {
    /// Speaks HTTP/2 until the first request, and then sends these bytes.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn http2(bytes: Bytes) -> TlsServer {
        start(&[b"h2"], true, bytes).await
    }

    /// Speaks HTTP/1.1 until the first request, and then sends these bytes.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn http1(bytes: Bytes) -> TlsServer {
        start(&[], false, bytes).await
    }
}

async fn start(protocols: &[&[u8]], is_http2: bool, bytes: Bytes) -> TlsServer {
    TlsServer::start(protocols, move |stream| {
        let bytes = bytes.clone();
        async move {
            // That the client breaks off is what this server waits for.
            let _ = converse(stream, is_http2, bytes).await;
        }
    })
    .await
}

/// Returns when the client has closed the connection.
async fn converse(stream: TlsStream<TcpStream>, is_http2: bool, bytes: Bytes) -> io::Result<()> {
    let (mut reader, mut writer) = split(stream);
    writer.write_all(&bytes.greeting).await?;
    writer.flush().await?;
    if is_http2 {
        http2_request(&mut reader).await?
    } else {
        http1_request(&mut reader).await?
    }
    let write = async {
        writer.write_all(&bytes.answer).await?;
        writer.flush().await?;
        while !bytes.flood.is_empty() {
            writer.write_all(&bytes.flood).await?;
        }
        std::future::pending().await
    };
    let read = async {
        if bytes.deaf {
            return std::future::pending().await;
        }
        copy(&mut reader, &mut sink()).await
    };
    tokio::select! {
        written = write => written,
        ended = read => ended.map(|_| ()),
    }
}

async fn http1_request(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        seen.push(reader.read_u8().await?);
    }
    Ok(())
}

async fn http2_request(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    reader.read_exact(&mut [0; PREFACE]).await?;
    loop {
        let mut head = [0; FRAME_HEAD];
        reader.read_exact(&mut head).await?;
        let [high, middle, low, kind, ..] = head;
        let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        reader.read_exact(&mut vec![0; length]).await?;
        if kind == HEADERS {
            return Ok(());
        }
    }
}
