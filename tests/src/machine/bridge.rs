//! The way between a machine, which has a network of its own, and servers here: sockets that are files. `bridge` of
//! `tests/machine/programs` is the other end.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Carries bytes as long as it lives.
#[derive(Debug)]
pub(super) struct Bridge {
    folder: PathBuf,
    /// The arguments of the other end.
    arguments: Vec<String>,
    tasks: JoinSet<()>,
}

impl Bridge {
    /// Makes a folder for its sockets.
    pub(super) fn new(name: &str) -> Result<Self> {
        // Not in target/: the path of a socket has at most 108 bytes.
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { folder, arguments: Vec::new(), tasks: JoinSet::new() })
    }

    /// Lets the machine find a server of this port of 127.0.0.1 at the same port of its own.
    pub(super) fn inwards(&mut self, port: u16) -> Result<()> {
        let path = self.folder.join(port.to_string());
        let listener = UnixListener::bind(&path).with_context(|| format!("cannot listen at {}", path.display()))?;
        let accept = async move || Ok(listener.accept().await?.0);
        self.tasks.spawn(carry(accept, move || TcpStream::connect(loopback(port))));
        self.arguments.push(format!("tcp:{port}=unix:{}", path.display()));
        Ok(())
    }

    /// Lets a port of 127.0.0.1 here lead to this one of the machine. Returns it.
    pub(super) async fn outwards(&mut self, port: u16) -> Result<u16> {
        let path = self.folder.join("outwards").with_extension(port.to_string());
        self.arguments.push(format!("unix:{}=tcp:{port}", path.display()));
        let listener = TcpListener::bind(loopback(0)).await?;
        let own = listener.local_addr()?.port();
        let accept = async move || Ok(listener.accept().await?.0);
        self.tasks.spawn(carry(accept, move || UnixStream::connect(path.clone())));
        Ok(own)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Gives every client a connection to the other side. Where there is none, its own ends.
async fn carry<C, S, F, A>(accept: A, connect: impl Fn() -> F)
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
    A: AsyncFn() -> io::Result<C>,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = accept() => {
                let Ok(mut client) = accepted else { continue };
                let server = connect();
                connections.spawn(async move {
                    if let Ok(mut server) = server.await {
                        // A broken connection is the business of its two ends.
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
