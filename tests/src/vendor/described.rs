//! Configs that providers' own descriptions make.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::aerostat::binary;

/// The config that the description of a provider's file makes, as `aerostat provider describe` prints it. The file is described once in a
/// process.
///
/// # Panics
///
/// Panics if the binary does not describe it.
pub(super) fn described(guest: &'static str) -> Value {
    static DESCRIBED: Mutex<BTreeMap<&'static str, Value>> = Mutex::new(BTreeMap::new());
    let mut all = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    let describe = || {
        let binary = binary().unwrap_or_else(|error| panic!("{error:#}"));
        let output = Command::new(binary).args(["provider", "describe", guest, "--format=config"]).output();
        let output = output.expect("the binary starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("the config is text");
        serde_saphyr::from_str(&text).expect("the config is YAML")
    };
    all.entry(guest).or_insert_with(describe).clone()
}
