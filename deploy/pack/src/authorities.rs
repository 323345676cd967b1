//! The certificate authorities that an image trusts: Mozilla's, out of a crate. Its version stands in `Cargo.lock`, so that they are the
//! same wherever a release is made; a distribution's file is as old as the machine, and may hold authorities of its owner.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// The line length of PEM.
const LINE: usize = 64;

/// All of them, as `/etc/ssl/certs/ca-certificates.crt` has them.
pub(crate) fn pem() -> Vec<u8> {
    let mut text = String::new();
    for certificate in TLS_SERVER_ROOT_CERTS {
        let encoded = STANDARD.encode(certificate.as_ref());
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let mut rest = encoded.as_str();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(LINE));
            text.push_str(line);
            text.push('\n');
            rest = after;
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text.into_bytes()
}
