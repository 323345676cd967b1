//! A TCP proxy before the API server: a test cuts its connections, lets them fall silent, or holds requests back.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A proxy on loopback. It stops when it is dropped.
pub struct Proxy {
    address: SocketAddr,
    orders: watch::Sender<Order>,
    _server: JoinSet<()>,
}

/// The fate of the connections that are open now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    Pass,
    Cut,
    Silence,
    HoldRequests,
}

impl Proxy {
    /// Passes connections on to this port of loopback.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the listener is bound");
        let orders = watch::Sender::new(Order::Pass);
        let mut server = JoinSet::new();
        server.spawn(serve(listener, port, orders.clone()));
        Self { address, orders, _server: server }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the connections that are open now. New ones pass.
    pub fn cut(&self) {
        self.orders.send_replace(Order::Cut);
    }

    /// Lets nothing pass any more on the connections that are open now; they stay open. New ones pass.
    pub fn silence(&self) {
        self.orders.send_replace(Order::Silence);
    }

    /// Keeps back what clients send on the connections that are open now, until [`release`](Self::release), also if the
    /// client has gone by then. New ones pass.
    pub fn hold_requests(&self) {
        self.orders.send_replace(Order::HoldRequests);
    }

    /// Sends what was held. The answers to it are lost.
    pub fn release(&self) {
        self.orders.send_replace(Order::Pass);
    }
}

async fn serve(listener: TcpListener, port: u16, orders: watch::Sender<Order>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        // An order is about the connections that were open before it.
        connections.spawn(pass(client, port, orders.subscribe()));
    }
}

async fn pass(mut client: TcpStream, port: u16, mut orders: watch::Receiver<Order>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let order = tokio::select! {
        // Whoever closes first, both are closed.
        _ = copy_bidirectional(&mut client, &mut server) => return,
        _ = orders.changed() => *orders.borrow_and_update(),
    };
    match order {
        Order::Pass | Order::Cut => {}
        Order::Silence => std::future::pending().await,
        Order::HoldRequests => {
            let held = hold(&mut client, &mut server, &mut orders).await;
            if *orders.borrow() == Order::Pass && server.write_all(&held).await.is_ok() {
                // Whoever closes the connection breaks off what was asked on it.
                let mut nowhere = sink();
                tokio::select! {
                    _ = copy(&mut server, &mut nowhere) => {}
                    _ = orders.changed() => {}
                }
            }
        }
    }
}

/// Keeps what the client sends until the next order. What the server still says passes.
async fn hold(client: &mut TcpStream, server: &mut TcpStream, orders: &mut watch::Receiver<Order>) -> Vec<u8> {
    let mut held = Vec::new();
    let ((mut requests, mut to_client), (mut answers, _)) = (client.split(), server.split());
    let receive = async {
        while requests.read_buf(&mut held).await.is_ok_and(|it| it > 0) {}
        std::future::pending::<()>().await;
    };
    let answer = async {
        let _ = copy(&mut answers, &mut to_client).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = receive => {}
        () = answer => {}
        // Without a proxy nobody releases anything.
        _ = orders.changed() => {}
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait;

    /// A server that sends back what it gets.
    async fn echo() -> (u16, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                connections.spawn(async move {
                    let (mut read, mut write) = stream.split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        (port, server)
    }

    async fn answers(stream: &mut TcpStream) -> std::io::Result<u8> {
        stream.write_all(b"x").await?;
        stream.read_u8().await
    }

    /// A server that counts the bytes that it gets, and sends each back.
    async fn counting() -> (u16, watch::Receiver<usize>, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (count, counted) = watch::channel(0);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut stream = listener.accept().await.unwrap().0;
            while let Ok(byte) = stream.read_u8().await {
                count.send_modify(|it| *it += 1);
                let _ = stream.write_all(&[byte]).await;
            }
        });
        (port, counted, server)
    }

    #[tokio::test]
    async fn a_held_request_arrives_when_its_client_has_gone() {
        let (port, mut counted, _server) = counting().await;
        let proxy = Proxy::before(port).await;
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(answers(&mut stream).await.unwrap(), b'x');
        proxy.hold_requests();
        let answer = tokio::time::timeout(std::time::Duration::from_millis(100), answers(&mut stream)).await;
        assert!(answer.is_err(), "{answer:?}");
        drop(stream);
        assert_eq!(*counted.borrow(), 1);
        proxy.release();
        counted.wait_for(|it| *it == 2).await.unwrap();
    }

    #[tokio::test]
    async fn orders_are_about_the_connections_that_are_open() {
        let (port, _server) = echo().await;
        let proxy = Proxy::before(port).await;
        let mut first = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(answers(&mut first).await.unwrap(), b'x');
        proxy.silence();
        let mut second = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(answers(&mut second).await.unwrap(), b'x');
        let silent =
            wait::within(std::time::Duration::from_millis(100), async || answers(&mut second).await.err()).await;
        assert!(silent.is_none(), "a new connection passes");
        let answer = tokio::time::timeout(std::time::Duration::from_millis(100), answers(&mut first)).await;
        assert!(answer.is_err(), "{answer:?}");
        proxy.cut();
        wait::until("the second connection is closed", async || answers(&mut second).await.err()).await;
    }
}
