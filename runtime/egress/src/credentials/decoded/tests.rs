//! Other people's encoders, alone and within each other.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use measured_work::{Line, cost, fuzz};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use super::*;

/// Tokens with characters that are escaped somewhere.
const TOKENS: [&str; 4] = [
    "dop_v1_ab+cd/ef~0123456789",
    r#"q"u\o/t'e<&>%41%zz#{x}"#,
    "short+/9",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.s5qKz_7-0Xh2mR8yWvTn4LpJcB1dFgHu6aEoIiQkUxY",
];

type Encoder = (&'static str, fn(&str) -> String);

/// The characters that a browser escapes in a path.
const PATH: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'?').add(b'{').add(b'}');

fn percent(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Every character as `before`, its number, and `after`.
fn each(text: &str, form: impl Fn(u32) -> String) -> String {
    text.chars().map(|it| form(u32::from(it))).collect()
}

/// Only what is no letter or digit.
fn odd(text: &str, form: impl Fn(u32) -> String) -> String {
    text.chars().map(|it| if it.is_ascii_alphanumeric() { it.to_string() } else { form(u32::from(it)) }).collect()
}

const ENCODERS: [Encoder; 24] = [
    ("as it is", str::to_owned),
    ("percent", percent),
    ("percent in lower case", |it| odd(it, |it| format!("%{it:02x}"))),
    ("percent of a path", |it| utf8_percent_encode(&it.replace('%', "%25"), PATH).to_string()),
    ("percent of everything", |it| each(it, |it| format!("%{it:02X}"))),
    ("form", |it| url::form_urlencoded::byte_serialize(it.as_bytes()).collect()),
    ("JSON", json),
    ("JSON with \\/", |it| json(it).replace('/', "\\/")),
    ("JSON with \\u002b", |it| json(&odd(it, |it| format!("\\u{it:04x}"))).replace("\\\\u", "\\u")),
    ("JSON with \\u002B of everything", |it| each(it, |it| format!("\\u{it:04X}"))),
    ("C", |it| odd(it, |it| format!("\\x{it:02x}"))),
    ("octal", |it| odd(it, |it| format!("\\{it:03o}"))),
    ("Rust", |it| it.escape_unicode().to_string()),
    ("HTML in decimal", |it| odd(it, |it| format!("&#{it};"))),
    ("HTML in hexadecimal", |it| odd(it, |it| format!("&#x{it:X};"))),
    ("HTML by name", |it| it.replace('&', "&amp;").replace('<', "&lt;").replace('+', "&plus;").replace('/', "&sol;")),
    ("base64", |it| STANDARD.encode(it)),
    ("base64 without padding", |it| STANDARD_NO_PAD.encode(it)),
    ("base64 for URLs", |it| URL_SAFE.encode(it)),
    ("base64 for URLs without padding", |it| URL_SAFE_NO_PAD.encode(it)),
    ("base64 in lines", |token| {
        let encoded = STANDARD.encode(token);
        encoded.as_bytes().chunks(16).map(|it| str::from_utf8(it).unwrap()).collect::<Vec<_>>().join("\r\n")
    }),
    ("hexadecimal", |it| hex::encode(it)),
    ("hexadecimal in upper case", |it| hex::encode_upper(it)),
    ("UTF-16", |it| it.chars().flat_map(|it| ['\0', it]).collect()),
];

fn is_in(needles: &[&Needle], text: &[u8]) -> bool {
    Search::new(needles.iter().copied()).finds(text, 0)
}

fn assert_found(token: &str, form: &str, how: &str) {
    assert!(is_in(&[&Needle::new(token.as_bytes())], form.as_bytes()), "{token} as {how}: {form}");
}

#[test]
fn adv_108_a_token_is_found_in_every_form() {
    for token in TOKENS {
        for (how, encode) in ENCODERS {
            // At all three offsets of base64, and beside text that is of the same kind.
            for before in ["", "a", "ab", "abc", "Bearer ", "/v1/echo/", "100%", "\\", "user:"] {
                for after in ["", "b", "bc", "%", "/x", "\""] {
                    assert_found(token, &encode(&format!("{before}{token}{after}")), how);
                    if !before.ends_with(['%', '\\']) {
                        assert_found(token, &format!("{{\"echo\": \"{before} {}.{after}\"}}", encode(token)), how);
                    }
                }
            }
        }
    }
}

#[test]
fn adv_108_a_token_is_found_in_two_forms_at_once() {
    for token in &TOKENS[..3] {
        for (inner, first) in ENCODERS {
            for (outer, second) in ENCODERS {
                assert_found(token, &second(&format!("x={};", first(token))), &format!("{inner} in {outer}"));
            }
        }
    }
}

#[test]
fn adv_108_the_encoders_hide_the_token_from_a_plain_search() {
    let token = TOKENS[1];
    for (how, encode) in ENCODERS.iter().skip(1) {
        assert!(!encode(token).contains(token), "{how} changes nothing");
    }
}

#[test]
fn adv_108_other_texts_are_not_taken_for_the_token() {
    for token in TOKENS {
        let needle = Needle::new(token.as_bytes());
        for index in [SWALLOWED, token.len() / 2, token.len() - SWALLOWED - 1] {
            let mut other = token.to_owned().into_bytes();
            other[index] ^= 1;
            let other = String::from_utf8(other).unwrap();
            for (how, encode) in ENCODERS {
                assert!(!is_in(&[&needle], encode(&other).as_bytes()), "{how} of {other}");
            }
        }
        for part in ["", &token[..token.len() / 2], &token[token.len() / 2..], &token.to_uppercase()] {
            assert!(!is_in(&[&needle], part.as_bytes()), "{part}");
        }
    }
}

#[test]
fn adv_108_broken_escapes_are_left_as_they_are() {
    for text in ["%", "%4", "%zz", "\\", "\\u12", "\\u{}", "\\x+1", "\\9", "&", "&#;", "&#x;", "&nothing;", "&amp"] {
        assert_eq!(unescape(text.as_bytes()), None, "{text}");
    }
    assert_eq!(unescape(b"50%25\\u00e9&#8364;"), Some(b"50%\xff\xff".to_vec()));
}

#[test]
fn adv_108_the_work_grows_with_the_text_and_no_faster() {
    let needle = Needle::new(TOKENS[0].as_bytes());
    // What has to be undone again and again: each kind of escape, and long runs of digits.
    let texts =
        [("%25", 3), ("\\\\", 2), ("&amp;", 5), ("QUJD", 4), ("4142", 4), ("VFVGQlRVRT0", 11), ("{\"a\": 1}", 8)];
    for (piece, length) in texts {
        let time = |bytes: usize| {
            let text = piece.repeat(bytes / length);
            let took = (0..3).map(|_| cost(|| assert!(!is_in(&[&needle], text.as_bytes()))).time);
            took.min().unwrap()
        };
        let (small, large) = (time(64 << 10), time(512 << 10));
        // Eight times the text; quadratic work would be 64 times as much.
        assert!(large < small * 24, "{piece}: {small:?}, then {large:?}");
    }
}

#[test]
fn adv_159_a_token_is_found_wherever_a_window_ends() {
    for token in &TOKENS[..3] {
        let needle = Needle::new(token.as_bytes());
        let search = Search::new([&needle].into_iter());
        for (inner, first) in ENCODERS {
            for (outer, second) in ENCODERS {
                let text = second(&first(token));
                for before in [0, 1, 50, 63] {
                    let text = format!("{}{text}{}", ".".repeat(before), ".".repeat(100));
                    assert!(search.finds_by(64, text.as_bytes(), 0), "{token} as {inner} in {outer} after {before}");
                }
            }
        }
    }
}

#[test]
fn adv_159_a_token_is_found_that_comes_in_two_pieces() {
    let needle = Needle::new(TOKENS[1].as_bytes());
    let search = Search::new([&needle].into_iter());
    let text = format!("{}{}{}", "x".repeat(10_000), TOKENS[1], "x".repeat(10_000));
    for known in [0, 9_000, 10_000, 10_000 + TOKENS[1].len() - 1] {
        assert!(search.finds(text.as_bytes(), known), "{known}");
    }
    assert!(!search.finds(&text.as_bytes()[..10_000], 0));
}

#[test]
fn adv_159_several_tokens_are_looked_for_at_once() {
    let needles: Vec<_> = TOKENS.iter().map(|it| Needle::new(it.as_bytes())).collect();
    let needles: Vec<_> = needles.iter().collect();
    for token in TOKENS {
        for (how, encode) in ENCODERS {
            assert!(is_in(&needles, format!("x {}.", encode(token)).as_bytes()), "{token} as {how}");
        }
    }
    assert!(!is_in(&[], b"anything") && !is_in(&needles, b"anything"));
}

#[test]
fn adv_159_the_memory_of_the_search_does_not_grow_with_the_text() {
    let needle = Needle::new("x".repeat(2_000).as_bytes());
    for piece in ["%25", "QUJD", "4142", "{\"a\": 1}"] {
        let memory = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            cost(|| assert!(!is_in(&[&needle], text.as_bytes()))).memory
        };
        let (small, large) = (memory(1 << 20), memory(4 << 20));
        assert!(large < small + (64 << 10) && large < 3 << 20, "{piece}: {small} bytes, then {large}");
    }
}

#[test]
fn adv_159_the_search_costs_no_more_than_the_bytes_of_an_answer() {
    let needles: Vec<_> = TOKENS.iter().map(|it| Needle::new(it.as_bytes())).collect();
    let pieces: [&[u8]; 12] = [
        b"%25",
        b"%2525",
        b"\\\\",
        b"\\u0025",
        b"&amp;",
        b"&#38;",
        b"QUJD",
        b"4142",
        b"VFVGQlRVRT0",
        b"{\"a\": 1}",
        b"\0",
        b"\r\n",
    ];
    fuzz("the search for secrets", Line { nanoseconds: 30_000, memory: 16 }, &pieces, |text| {
        assert!(!is_in(&needles.iter().collect::<Vec<_>>(), text));
    });
}
