//! The services of OpenStack as programs on loopback, and the order in which they start.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reqwest::Client;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::sleep;

use super::group::Group;
use super::installed::Installed;
use crate::loopback::free_address;
use crate::wait;

/// How long a service may take to answer for the first time on a busy machine.
const START: Duration = Duration::from_secs(240);
/// From one try to the next.
const PAUSE: Duration = Duration::from_millis(200);
/// The most bytes of a log in a message.
const TAIL: usize = 3_000;

/// The running programs by name, and where they are.
pub(super) struct Services {
    pub(super) installed: Installed,
    running: Vec<(String, Group)>,
    /// The words between `@` in `tests/openstack/conf`, and what stands in their place.
    words: BTreeMap<&'static str, String>,
    client: Client,
    begun: Instant,
}

impl Drop for Services {
    fn drop(&mut self) {
        // All at once: each may take seconds.
        self.running.iter_mut().for_each(|(_, group)| group.end());
        self.running.clear();
    }
}

impl Services {
    /// Nothing runs yet. Keystone is at this URL.
    pub(super) fn new(keystone: &str) -> Self {
        let (installed, begun) = (Installed::take(), Instant::now());
        let words = BTreeMap::from([
            ("FOLDER", installed.run("").display().to_string().trim_end_matches('/').to_owned()),
            ("ENVIRONMENT", installed.environment().display().to_string()),
            ("KEYSTONE", keystone.to_owned()),
        ]);
        let client = Client::builder().no_proxy().timeout(wait::DEADLINE).build().expect("a client");
        Self { installed, running: Vec::new(), words, client, begun }
    }

    /// Says how far the start is.
    pub(super) fn say(&self, what: &str) {
        eprintln!("==> OpenStack: {what}, {} s", self.begun.elapsed().as_secs());
    }

    /// Puts a value into all configurations that are written from now on.
    pub(super) fn word(&mut self, name: &'static str, value: String) {
        self.words.insert(name, value);
    }

    /// The value of such a word.
    pub(super) fn value(&self, name: &str) -> &str {
        &self.words[name]
    }

    /// A program of this name.
    pub(super) fn group(&self, name: &str) -> &Group {
        let found = self.running.iter().find(|(it, _)| it == name);
        &found.unwrap_or_else(|| panic!("{name} does not run")).1
    }

    /// MariaDB, on a socket in the folder of the run.
    pub(super) async fn database(&mut self) {
        let flags = [
            "--no-defaults".to_owned(),
            format!("--basedir={}", self.installed.debian("usr").display()),
            format!("--datadir={}", self.installed.run("mariadb").display()),
            format!("--socket={}", self.installed.run("mariadb.sock").display()),
            format!("--pid-file={}", self.installed.run("mariadb.pid").display()),
            "--skip-networking".to_owned(),
            "--user=root".to_owned(),
            "--max-connections=500".to_owned(),
            // What a power failure would take is of no worth here.
            "--innodb-flush-log-at-trx-commit=0".to_owned(),
            "--innodb-log-file-size=16M".to_owned(),
        ];
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        let (program, libraries) = (self.installed.debian("usr/sbin/mariadbd"), self.installed.libraries());
        self.start("mariadb", &program, &flags, &[("LD_LIBRARY_PATH", libraries.as_os_str())]);
        let socket = self.installed.run("mariadb.sock");
        self.answers("mariadb", async || tokio::net::UnixStream::connect(&socket).await.is_ok()).await;
    }

    /// Carries out a statement: the rows that it answers, with their heads.
    pub(super) async fn sql(&self, statement: &str) -> String {
        let answer = Command::new(self.installed.debian("usr/bin/mariadb"))
            .env("LD_LIBRARY_PATH", self.installed.libraries())
            .arg("--no-defaults")
            .arg(format!("--socket={}", self.installed.run("mariadb.sock").display()))
            .args(["--user=root", "-e", statement])
            .output()
            .await
            .expect("the client of MariaDB starts");
        assert!(answer.status.success(), "{statement}: {}", String::from_utf8_lossy(&answer.stderr));
        String::from_utf8_lossy(&answer.stdout).into_owned()
    }

    /// Waits until Nova's scheduler has found the machine of nova-compute. Before, servers end in ERROR.
    pub(super) async fn has_hosts(&self) {
        let query = "SELECT host FROM nova_api.host_mappings";
        self.answers("nova-scheduler", async || self.sql(query).await.contains("machine")).await;
    }

    /// RabbitMQ, with the daemon that knows the names of its nodes.
    #[expect(
        clippy::disallowed_methods,
        reason = "scripts of RabbitMQ find the shell's programs where this process does"
    )]
    pub(super) async fn messages(&mut self) {
        let [names, messages, nodes] = crate::port::free().expect("ports of loopback are free");
        let folder = self.installed.run("rabbitmq");
        fs::create_dir_all(&folder).expect("a folder under target/");
        fs::write(folder.join("plugins"), "[].\n").expect("a file under target/");
        fs::write(folder.join("rabbitmq.conf"), "vm_memory_high_watermark.absolute = 512MB\n")
            .expect("a file under target/");
        let erlang = self.installed.debian("usr/lib/erlang/bin");
        let path = format!("{}:{}", erlang.display(), std::env::var("PATH").unwrap_or_default());
        let inside = |name: &str| folder.join(name).display().to_string();
        let environment = BTreeMap::from([
            ("HOME", inside("")),
            ("PATH", path),
            ("ERL_EPMD_PORT", names.to_string()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
            ("RABBITMQ_NODENAME", "stack@localhost".to_owned()),
            ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
            ("RABBITMQ_NODE_PORT", messages.to_string()),
            ("RABBITMQ_DIST_PORT", nodes.to_string()),
            ("RABBITMQ_MNESIA_BASE", inside("mnesia")),
            ("RABBITMQ_LOG_BASE", inside("log")),
            ("RABBITMQ_LOGS", "-".to_owned()),
            ("RABBITMQ_PID_FILE", inside("pid")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", inside("plugins")),
            ("RABBITMQ_PLUGINS_EXPAND_DIR", inside("expanded")),
            ("RABBITMQ_CONF_ENV_FILE", inside("none")),
            ("RABBITMQ_CONFIG_FILE", inside("rabbitmq")),
            (
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none".to_owned(),
            ),
        ]);
        let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, OsStr::new(value))).collect();
        let port = names.to_string();
        // Started here, it ends with the others.
        self.start("epmd", &erlang.join("epmd"), &["-port", &port, "-address", "127.0.0.1"], &environment);
        self.answers("epmd", async || TcpStream::connect(("127.0.0.1", names)).await.is_ok()).await;
        let scripts = self.installed.debian("usr/lib/rabbitmq/lib");
        let version = fs::read_dir(&scripts).expect("RabbitMQ is installed").flatten().next().expect("one version");
        self.start("rabbitmq", &version.path().join("sbin/rabbitmq-server"), &[], &environment);
        self.answers("rabbitmq", async || TcpStream::connect(("127.0.0.1", messages)).await.is_ok()).await;
        self.word("RABBIT", format!("rabbit://guest:guest@127.0.0.1:{messages}/"));
    }

    /// Starts the API of a service: one process with four threads. Its URL.
    pub(super) fn api(&mut self, name: &'static str, application: &str, environment: &[(&str, &OsStr)]) -> String {
        self.write(name);
        let address = free_address();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("openstack").display().to_string();
        let arguments = [
            ["-m", "gunicorn"],
            ["--bind", &address],
            ["--chdir", &sources],
            ["--threads", "4"],
            // Octavia looks at all of a large body before it answers.
            ["--timeout", "300"],
            ["--graceful-timeout", "1"],
        ];
        let more = ["--no-control-socket", "server:application"];
        let arguments: Vec<_> = arguments.into_iter().flatten().chain(more).collect();
        let own = [
            ("STACK_APPLICATION", OsStr::new(application)),
            ("PYTHONDONTWRITEBYTECODE", OsStr::new("1")),
            ("PYTHONWARNINGS", OsStr::new("ignore")),
        ];
        let environment: Vec<_> = own.into_iter().chain(environment.iter().copied()).collect();
        self.start(name, &self.installed.program("python"), &arguments, &environment);
        format!("http://{address}")
    }

    /// Starts a service that takes its work from RabbitMQ, with the configuration of this name.
    pub(super) fn worker(&mut self, program: &str, configuration: &str) {
        let file = self.write(configuration).display().to_string();
        let environment =
            [("PYTHONWARNINGS", OsStr::new("ignore")), ("OS_NOVA_DISABLE_EVENTLET_PATCHING", OsStr::new("true"))];
        self.start(program, &self.installed.program(program), &["--config-file", &file], &environment);
    }

    /// Waits until a service answers at this URL.
    pub(super) async fn answers_at(&self, name: &str, url: &str) {
        let client = &self.client;
        self.answers(name, async || client.get(url).send().await.is_ok()).await;
        self.say(&format!("{name} answers"));
    }

    /// Writes the configuration of a service.
    pub(super) fn write(&self, name: &str) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("openstack/conf/{name}.conf"));
        let mut text = fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        for (word, value) in &self.words {
            text = text.replace(&format!("@{word}@"), value);
        }
        let file = self.installed.run(&format!("conf/{name}.conf"));
        fs::write(&file, text).expect("a file under target/");
        file
    }

    fn start(&mut self, name: &str, program: &Path, arguments: &[&str], environment: &[(&str, &OsStr)]) {
        let log = self.installed.run(&format!("logs/{name}.log"));
        let group = Group::start(program, arguments, environment, &self.installed.run(""), &log);
        self.running.push((name.to_owned(), group));
    }

    async fn answers(&self, name: &str, probe: impl AsyncFn() -> bool) {
        let answered = wait::within(START, async || {
            let answers = probe().await;
            if !answers {
                sleep(PAUSE).await;
            }
            answers.then_some(())
        })
        .await;
        assert!(answered.is_some(), "{name} does not answer:\n{}", self.log_tail(name));
    }

    /// The end of a program's log.
    fn log_tail(&self, name: &str) -> String {
        let log = fs::read(self.installed.run(&format!("logs/{name}.log"))).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(TAIL)..]).into_owned()
    }
}
