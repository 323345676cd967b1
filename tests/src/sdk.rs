//! A vendor's own client, in Python, that a test drives: it reads calls as JSON, and writes what became of each.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// How long a client may take for all calls.
const PATIENCE: Duration = Duration::from_secs(120);

/// A client, which `make` has installed into `target/NAME`, and the script `tests/NAME/call.py` that calls it.
#[derive(Clone, Copy, Debug)]
pub struct VendorClient(pub &'static str);

impl VendorClient {
    /// The results of these calls, made in their order.
    ///
    /// # Panics
    ///
    /// Panics if the client is not installed, or ends without results.
    pub async fn call(self, arguments: &[&str], calls: &[Value]) -> Vec<Value> {
        let Self(name) = self;
        let folder = |path: String| -> PathBuf { Path::new(env!("CARGO_MANIFEST_DIR")).join(path) };
        let python = folder(format!("../target/{name}/bin/python"));
        assert!(python.exists(), "the client is not installed. Next step: make {name}");
        let mut child = Command::new(python)
            .arg(folder(format!("{name}/call.py")))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(Value::from(calls).to_string().as_bytes()).await.unwrap();
        drop(input);
        let output = timeout(PATIENCE, child.wait_with_output()).await.expect("the client ends in time").unwrap();
        assert!(output.status.success(), "the client failed, see above");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
