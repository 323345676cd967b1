//! The commands that a newcomer types, how long each took, and what it said.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use tests::aerostat::binary;
use tests::folder::Folder;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A folder outside of any workspace, in which commands are typed.
pub(crate) struct Story {
    folder: Folder,
    name: String,
    typed: Vec<(String, f64)>,
}

/// A cloud in memory that was started by a command; it ends with this.
pub(crate) struct StartedCloud {
    pub(crate) url: String,
    _child: Child,
}

impl Story {
    /// `aerostat provider new` with these flags, and the lock file of the workspace: the same dependencies, which are here.
    pub(crate) async fn begin(name: &str, flags: &[&str]) -> Self {
        let mut story = Self { folder: Folder::new(), name: name.to_owned(), typed: Vec::new() };
        let folder = story.folder();
        let folder = format!("--folder={}", folder.display());
        let arguments = ["provider", "new", name, &folder].into_iter().chain(flags.iter().copied());
        let shown =
            std::iter::once(format!("aerostat provider new {name}")).chain(flags.iter().map(|it| (*it).to_owned()));
        let shown = shown.collect::<Vec<_>>().join(" ");
        let mut command = Command::new(binary().unwrap());
        command.args(arguments).current_dir(ROOT);
        story.run(&shown, command).await;
        std::fs::copy(format!("{ROOT}/Cargo.lock"), story.folder().join("Cargo.lock")).unwrap();
        story
    }

    /// `aerostat provider new --lang=go` with these flags: the SDK comes with the folder.
    pub(crate) async fn begin_in_go(name: &str, flags: &[&str]) -> Self {
        let mut story = Self { folder: Folder::new(), name: name.to_owned(), typed: Vec::new() };
        let folder = format!("--folder={}", story.folder().display());
        let arguments = [&["provider", "new", name, "--lang=go", &folder], flags].concat();
        story.aerostat(&arguments).await;
        story
    }

    /// A program in the folder.
    pub(crate) async fn program(&mut self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder());
        self.run(&format!("{program} {}", arguments.join(" ")), command).await
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path(&self.name)
    }

    /// The component that was built.
    pub(crate) fn module(&self) -> PathBuf {
        let file = format!("{}.wasm", self.name.replace('-', "_"));
        target().join("wasm32-wasip2/release").join(file)
    }

    /// cargo, with what is here already: nothing is fetched, and dependencies are compiled once for all newcomers.
    pub(crate) async fn cargo(&mut self, arguments: &[&str]) -> String {
        let command = self.cargo_command(arguments);
        self.run(&format!("cargo {}", arguments.join(" ")), command).await
    }

    /// aerostat.
    pub(crate) async fn aerostat(&mut self, arguments: &[&str]) -> String {
        let mut command = Command::new(binary().unwrap());
        command.args(arguments);
        let shown = format!("aerostat {}", arguments.join(" "));
        self.run(&shown, command).await
    }

    /// `aerostat provider check` with the config of the folder, which lacks nothing.
    pub(crate) async fn checked(&mut self, module_file: &str) {
        let config = format!("--cloud-config={}", self.folder().join("cloud.yaml").display());
        let checked = self.aerostat(&["provider", "check", module_file, &config]).await;
        let provider = format!("provider    {} 0.1.0; ids {}://", self.name, self.name);
        for words in [&provider, "missing     nothing"] {
            assert!(checked.contains(words), "no {words}: {checked}");
        }
    }

    /// The cloud in memory, as `examples/cloud.rs` serves it.
    pub(crate) async fn cloud(&mut self) -> StartedCloud {
        let command = self.cargo_command(&["run", "--example", "cloud"]);
        self.served(command, "cargo run --example cloud &").await
    }

    /// The cloud in memory, as `cloud/serve` serves it. It is a program of its own, so that its end is the cloud's.
    pub(crate) async fn cloud_in_go(&mut self) -> StartedCloud {
        let program = self.folder.path("serve");
        self.program("go", &["build", "-o", program.to_str().unwrap(), "./cloud/serve"]).await;
        self.served(Command::new(program), "serve &").await
    }

    async fn served(&mut self, mut command: Command, shown: &str) -> StartedCloud {
        let start = Instant::now();
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("the cloud prints its URL");
        self.typed.push((shown.to_owned(), start.elapsed().as_secs_f64()));
        StartedCloud { url, _child: child }
    }

    /// Says what happened between two commands.
    pub(crate) fn note(&mut self, what: &str, since: Instant) {
        self.typed.push((format!("# {what}"), since.elapsed().as_secs_f64()));
    }

    /// The commands and their seconds, for whoever looks at the log.
    pub(crate) fn tell(&self) {
        let (sdk, folder) = (format!("{ROOT}/guest-sdk"), self.folder().display().to_string());
        for (typed, seconds) in &self.typed {
            eprintln!("{seconds:6.1} s  {}", typed.replace(&sdk, "SDK").replace(&folder, "."));
        }
        eprintln!("{:6.1} s  in all", self.typed.iter().map(|(_, it)| it).sum::<f64>());
    }

    fn cargo_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.arg(arguments[0]).arg("--offline").args(&arguments[1..]).current_dir(self.folder());
        command.env("CARGO_TARGET_DIR", target()).env("CARGO_INCREMENTAL", "0");
        for name in [
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_MANIFEST_PATH",
            "RUSTC_BOOTSTRAP",
            "RUSTUP_TOOLCHAIN",
        ] {
            command.env_remove(name);
        }
        command
    }

    async fn run(&mut self, shown: &str, mut command: Command) -> String {
        let start = Instant::now();
        let output = command.stdin(Stdio::null()).output().await.unwrap();
        let text = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
        assert!(output.status.success(), "{shown}: {}{}", text(&output.stdout), text(&output.stderr));
        self.typed.push((shown.to_owned(), start.elapsed().as_secs_f64()));
        text(&output.stdout)
    }
}

/// One folder for what all newcomers compile.
fn target() -> PathBuf {
    Path::new(ROOT).join("target/newcomer")
}
