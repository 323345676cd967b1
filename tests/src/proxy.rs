//! A TCP proxy before the API server: a test cuts its connections, or lets them fall silent.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A proxy on loopback. It stops when it is dropped.
pub struct Proxy {
    address: SocketAddr,
    orders: watch::Sender<Order>,
    _server: JoinSet<()>,
}

/// What becomes of the connections that are open now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    Pass,
    Cut,
    Silence,
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
    if order == Order::Silence {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

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
