//! Answers of registries and token services: reading one costs no more than its bytes.

use http::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use measured_work::{Line, fuzz};
use sha256::Digest;

use crate::remote::WrittenIn;
use crate::signature::{FoundSignature, Signed};
use crate::{challenge, image, manifest, reference, token};

const LINE: Line = Line { nanoseconds: 3_000, memory: 32 };

const JSON: [&[u8]; 12] = [
    b"[",
    b"]",
    b"{\"manifests\":[",
    b"{\"mediaType\":\"application/wasm\",\"digest\":\"sha256:0\",\"size\":1,\"annotations\":{\"a\":\"b\"}},",
    b"}",
    b"{\"layers\":[",
    b"\"a\":",
    b"{\"token\":\"",
    b"\\u0041",
    b"1234567890",
    b"\"a\",",
    b"{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\",\"verificationMaterial\":{\"publicKey\":{\"hint\":\"a\"}},\
      \"dsseEnvelope\":{\"payload\":\"QUJD",
];

#[test]
fn adv_158_manifests_cost_no_more_than_their_bytes() {
    fuzz("manifests", LINE, &JSON, |text| {
        drop(manifest::layer(text));
        drop(serde_json::from_slice::<manifest::Manifest>(text));
    });
}

#[test]
fn adv_158_tokens_cost_no_more_than_their_bytes() {
    fuzz("tokens", LINE, &JSON, |text| drop(token::read(text)));
}

#[test]
fn adv_158_signatures_cost_no_more_than_their_bytes() {
    let signed = Signed { manifest: Digest::of(b""), name: "a", keys: &[], written: WrittenIn::CloudConfig };
    fuzz("signatures", LINE, &JSON, |text| {
        let signature = String::from_utf8_lossy(text).into_owned();
        for found in
            [FoundSignature::Bundle("sha256:0".to_owned()), FoundSignature::Payload("sha256:0".to_owned(), signature)]
        {
            drop(found.claim(text));
            drop(found.verify(text, &signed));
        }
    });
}

#[test]
fn adv_158_challenges_cost_no_more_than_their_bytes() {
    let pieces: [&[u8]; 9] =
        [b"Bearer ", b"realm=\"https://a.example.com/\"", b",", b"=", b"\"", b" ", b"a=b,", b"Basic", b"\n"];
    fuzz("challenges", LINE, &pieces, |text| {
        let values = text.split(|it| *it == b'\n').filter_map(|it| HeaderValue::from_bytes(it).ok());
        let headers: HeaderMap = values.take(100).map(|it| (WWW_AUTHENTICATE, it)).collect();
        drop(challenge::read(&headers));
    });
}

#[test]
fn adv_158_references_cost_no_more_than_their_bytes() {
    let pieces: [&[u8]; 7] = [b"a", b"/", b":", b"@sha256:", b"registry.example.com", b"[::1]", b"--"];
    fuzz("references", LINE, &pieces, |text| {
        let text = String::from_utf8_lossy(text);
        drop((image::Image::parse(&text), reference::Reference::parse(&text)));
    });
}
