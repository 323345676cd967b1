//! Programs that serve on loopback over TLS, and end with the tests.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::folder::Folder;
use crate::port::free_port;

/// Ends the program when standard input ends, which it does whatever becomes of the tests.
const GUARD: &str = r#""$@" </dev/null & child=$!; cat; kill "$child"; wait "$child""#;

/// A running program. Dropping it ends it, and waits until it has ended.
pub(crate) struct Program(Child);

impl Program {
    /// Starts a program. What it writes goes into the file `log`, or nowhere.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started.
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        environment: &[(&str, &OsStr)],
        log: Option<&Path>,
    ) -> Self {
        let output = || match log {
            Some(log) => {
                let file = File::options().create(true).append(true).open(log);
                file.unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display())).into()
            }
            None => Stdio::null(),
        };
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(output())
            .stderr(output())
            .spawn();
        Self(guard.expect("sh starts"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends with its standard input.
        let _ = self.0.wait();
    }
}

/// The name by which a proxy knows this machine, in certificates beside its address.
pub const BEHIND: &str = "registry.behind.example";

/// A folder with `cert.pem` for 127.0.0.1 and [`BEHIND`], its key `key.pem`, and the certificate of an authority of its own, `ca.pem`.
pub(crate) fn tls_folder() -> Folder {
    let folder = Folder::new();
    let ca_key = KeyPair::generate().expect("ring makes keys");
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // OpenSSL takes a certificate for self-signed that has its authority's name.
    ca.distinguished_name.push(DnType::CommonName, "the tests' authority");
    folder.write("ca.pem", ca.self_signed(&ca_key).expect("a key signs").pem());
    let issuer = Issuer::from_params(&ca, &ca_key);
    let key = KeyPair::generate().expect("ring makes keys");
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned(), BEHIND.to_owned()]).expect("an address");
    params.distinguished_name.push(DnType::CommonName, "127.0.0.1");
    folder.write("cert.pem", params.signed_by(&key, &issuer).expect("a key signs").pem());
    folder.write("key.pem", key.serialize_pem());
    folder
}

/// An address of loopback with a port that is free now: `127.0.0.1:…`.
pub(crate) fn free_address() -> String {
    format!("127.0.0.1:{}", free_port())
}
