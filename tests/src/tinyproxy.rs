//! A real HTTP proxy on loopback: tinyproxy, out of `target/proxy`.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::port::free_port;
use crate::wait;

/// A proxy that runs until it is dropped or ended.
pub struct Tinyproxy {
    address: SocketAddr,
    folder: PathBuf,
    process: Child,
}

impl Tinyproxy {
    /// Runs a proxy for which these names are 127.0.0.1. `config` is added to its configuration: `BasicAuth user word`.
    ///
    /// # Panics
    ///
    /// Panics if `make proxy` has not been made, or it does not listen in time.
    pub async fn start(names: &[&str], config: &str) -> Self {
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/proxy/usr");
        let program = installed.join("bin/tinyproxy");
        assert!(program.is_file(), "{} is missing: run `make proxy`", program.display());
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp").join(format!("proxy-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&folder).expect("a folder under target/");
        let port = free_port();
        let file = |name: &str, text: String| {
            fs::write(folder.join(name), text).expect("a file under target/");
            folder.join(name)
        };
        let hosts = file("hosts", names.iter().map(|it| format!("127.0.0.1 {it}\n")).collect());
        let log = folder.join("log");
        let config = file(
            "tinyproxy.conf",
            format!(
                "Port {port}\nListen 127.0.0.1\nMaxClients 50\nLogLevel Info\nLogFile \"{}\"\n{config}\n",
                log.display()
            ),
        );
        let wrapper = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
            .map(|it| installed.join("lib").join(it).join("libnss_wrapper.so"));
        let wrapper = wrapper.into_iter().find(|it| it.is_file()).expect("make proxy unpacks it");
        let process = Command::new(program)
            .arg("-d")
            .arg("-c")
            .arg(config)
            .env("LD_PRELOAD", wrapper)
            .env("NSS_WRAPPER_HOSTS", hosts)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("tinyproxy starts");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        wait::until("tinyproxy listens", async || TcpStream::connect(address).await.ok()).await;
        Self { address, folder, process }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The targets that it was asked for, as `api.example.com:443`, in their order.
    ///
    /// # Panics
    ///
    /// Panics if it has no log.
    #[must_use]
    pub fn targets(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.join("log")).expect("its log");
        let targets = log.lines().filter_map(|it| it.split_once("): CONNECT ")?.1.split(' ').next());
        targets.map(str::to_owned).collect()
    }

    /// Ends it at once, with all connections through it.
    ///
    /// # Panics
    ///
    /// Panics if it does not end.
    pub async fn kill(&mut self) {
        self.process.kill().await.expect("a process of ours ends");
    }
}

impl Drop for Tinyproxy {
    fn drop(&mut self) {
        // What stays is under target/.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
