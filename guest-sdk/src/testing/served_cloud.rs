//! A cloud in memory over plain HTTP on loopback, for `aerostat provider conformance`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;

use super::fake_cloud::{FakeCloud, reply};
use super::protocol::{CHANGE, ForeignChange, Orders, REQUESTS, WORLD};
use super::simulated_cloud::SimulatedCloud;
use crate::Method;
use crate::bindings::host::aerostat::cloud::http::{Body, Request, Response};

/// The largest request, in bytes.
const LARGEST: u64 = 1 << 20;
/// How long a connection may stay silent.
const SILENCE: Duration = Duration::from_secs(10);
/// The name of the endpoint in requests that come over the network, where no name is written.
const ENDPOINT: &str = "api";

/// A cloud that is served. It ends with the process.
#[derive(Debug)]
pub struct ServedCloud {
    address: SocketAddr,
    server: JoinHandle<()>,
}

/// Serves a cloud on this port of loopback, or on a free one with 0: its own API under [`FakeCloud::BASE_PATH`], and beside it the
/// three routes by which `aerostat provider conformance` orders what goes wrong.
///
/// # Errors
///
/// If the port is taken.
pub fn serve<C: FakeCloud + Send + 'static>(cloud: C, port: u16) -> io::Result<ServedCloud> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let address = listener.local_addr()?;
    let cloud = Arc::new(Mutex::new(SimulatedCloud::new(cloud)));
    let server = thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let cloud = Arc::clone(&cloud);
            // A connection that ends early is the provider's to see, and nobody else's.
            thread::spawn(move || drop(exchange(&stream, &cloud)));
        }
    });
    Ok(ServedCloud { address, server })
}

impl ServedCloud {
    /// `http://127.0.0.1:` and the port.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until the process is ended.
    pub fn wait(self) {
        drop(self.server.join());
    }
}

/// Reads one request, and answers it. Each has a connection of its own.
fn exchange<C: FakeCloud>(mut stream: &TcpStream, cloud: &Mutex<SimulatedCloud<C>>) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let (method, target, body) = read(&mut BufReader::new(stream.take(LARGEST)))?;
    let mut cloud = cloud.lock().unwrap_or_else(PoisonError::into_inner);
    // Lost: the connection ends without an answer.
    let Some(Response { status, headers, body }) = answer(&mut cloud, &method, &target, body) else { return Ok(()) };
    drop(cloud);
    let mut text = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !body.is_empty() {
        text.push_str("content-type: application/json\r\n");
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes())?;
    if method != "HEAD" {
        stream.write_all(&body)?;
    }
    stream.flush()
}

fn answer<C: FakeCloud>(cloud: &mut SimulatedCloud<C>, method: &str, target: &str, body: Vec<u8>) -> Option<Response> {
    let done = |text: serde_json::Result<String>| {
        Some(text.map_or_else(|error| reply(400, json!({ "error": error.to_string() })), |it| reply(200, it)))
    };
    match (method, target) {
        ("GET", WORLD) => done(serde_json::to_string(&cloud.world())),
        ("GET", REQUESTS) => done(serde_json::to_string(&cloud.asked())),
        ("POST", REQUESTS) => done(serde_json::from_slice::<Orders>(&body).map(|orders| {
            cloud.order(orders);
            "{}".to_owned()
        })),
        ("POST", CHANGE) => match serde_json::from_slice::<ForeignChange>(&body) {
            Err(error) => Some(reply(400, json!({ "error": error.to_string() }))),
            Ok(change) => match cloud.change(&change) {
                Some(changed) => done(serde_json::to_string(&changed)),
                None => Some(reply(501, json!({ "error": "this cloud cannot" }))),
            },
        },
        _ => match request(C::BASE_PATH, method, target, body) {
            Some(request) => cloud.send(&request).ok(),
            None => Some(reply(404, json!({ "error": "there is nothing under this path" }))),
        },
    }
}

/// The request as a provider has made it.
fn request(base: &str, method: &str, target: &str, body: Vec<u8>) -> Option<Request> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.strip_prefix(base)?.strip_prefix('/')?;
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (unescaped(name), unescaped(value))
    };
    Some(Request {
        endpoint: ENDPOINT.to_owned(),
        method: match method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            _ => return None,
        },
        path: path.split('/').map(unescaped).collect(),
        query: query.split('&').filter(|it| !it.is_empty()).map(pair).collect(),
        headers: Vec::new(),
        body: (!body.is_empty()).then_some(Body::Bytes(body)),
    })
}

/// Reads method, target and body.
fn read(stream: &mut impl BufRead) -> io::Result<(String, String, Vec<u8>)> {
    let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let mut next = || {
        let mut line = String::new();
        match stream.read_line(&mut line)? {
            0 => Err(cut()),
            _ => Ok(line.trim_end().to_owned()),
        }
    };
    let first = next()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().ok_or_else(cut)?, words.next().ok_or_else(cut)?);
    let mut length = 0;
    loop {
        let line = next()?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        }
    }
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body)?;
    if u64::try_from(body.len()).is_ok_and(|it| it < length) { Err(cut()) } else { Ok((method, target, body)) }
}

/// Text without its escapes: `a%20b`.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let escaped = after.first_chunk::<2>().and_then(|it| u8::from_str_radix(str::from_utf8(it).ok()?, 16).ok());
        match (byte, escaped) {
            (b'%', Some(escaped)) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_as_the_provider_made_it() {
        let sent = request("/v1", "POST", "/v1/balancers/a%20b%2Fc?tag=x%3Dy&all", b"{}".to_vec()).unwrap();
        assert_eq!((sent.method, &*sent.path), (Method::Post, &["balancers".to_owned(), "a b/c".to_owned()][..]));
        assert_eq!(sent.query, [("tag".to_owned(), "x=y".to_owned()), ("all".to_owned(), String::new())]);
        assert_eq!(sent.body, Some(Body::Bytes(b"{}".to_vec())));
        assert!(request("/v1", "GET", "/v2/balancers", Vec::new()).is_none());
        assert!(request("/v1", "BREW", "/v1/balancers", Vec::new()).is_none());
    }

    #[test]
    fn a_request_is_read_to_its_end() {
        let text = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}rest";
        let (method, target, body) = read(&mut text.as_bytes()).unwrap();
        assert_eq!((&*method, &*target, &*body), ("POST", "/a", &b"{}"[..]));
        for cut in ["", "POST", "POST /a HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}"] {
            assert!(read(&mut cut.as_bytes()).is_err(), "{cut:?}");
        }
        assert_eq!(["%", "%4", "%zz", "%C3%A4"].map(unescaped), ["%", "%4", "%zz", "ä"]);
    }
}
