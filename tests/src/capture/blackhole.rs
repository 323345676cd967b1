//! An address that swallows connections.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// A port on loopback where a SYN gets no answer: its queue is full, and no connection is accepted.
pub struct Blackhole {
    listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Blackhole {
    /// Opens one.
    ///
    /// # Panics
    ///
    /// Panics if the queue does not fill up.
    pub async fn open() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port on loopback");
        let listener = socket.listen(0).expect("a bound socket listens");
        let address = listener.local_addr().expect("the listener is bound");
        let mut waiting = Vec::new();
        while let Ok(stream) = timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
            waiting.push(stream.expect("loopback refuses nothing here"));
            assert!(waiting.len() < 100, "the queue does not fill up");
        }
        Self { listener, _waiting: waiting }
    }

    /// Where it is.
    ///
    /// # Panics
    ///
    /// Never: the listener is bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("the listener is bound")
    }
}
