//! The audit lines of this process about requests that leave it, as an operator would read them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Write};
use std::sync::{Mutex, Once};

use serde_json::Value;

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Begins to keep audit lines.
///
/// # Panics
///
/// Panics if this process logs elsewhere.
pub fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing_subscriber::fmt().json().with_env_filter("audit=info").with_writer(|| Lines).init();
    });
}

/// The fields of the lines about this path, in the order of writing.
///
/// # Panics
///
/// Panics if a line is no JSON.
#[must_use]
pub fn lines(path: &str) -> Vec<Value> {
    let text = String::from_utf8(LINES.lock().unwrap().clone()).unwrap();
    let fields = text.lines().map(|it| serde_json::from_str::<Value>(it).unwrap()["fields"].clone());
    fields.filter(|it| it["path"] == path).collect()
}

struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
