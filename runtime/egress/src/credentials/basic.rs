//! `authorization: Basic …` (RFC 7617), with a user and a password from files.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::secret::Secret;
use super::text_file;

/// The header for a user and a password, and what no answer may hold: the password, and both together in base64. Each
/// error continues the sentence that begins with the file, the user's first.
pub(super) fn read(user: &[u8], password: &[u8]) -> Result<(Zeroizing<String>, Vec<Secret>), (LoginPart, String)> {
    let printable = |part, text| printable(text).map_err(|because| (part, because));
    let (name, word) = (printable(LoginPart::User, user)?, printable(LoginPart::Password, password)?);
    if name.contains(':') {
        return Err((LoginPart::User, "holds a colon, which ends a user's name in HTTP; correct the name".to_owned()));
    }
    let pair = Zeroizing::new(format!("{}:{}", &*name, &*word));
    let encoded = Zeroizing::new(STANDARD.encode(pair.as_bytes()));
    let header = Zeroizing::new(format!("Basic {}", &*encoded));
    Ok((header, vec![Secret::new(word), Secret::new(encoded)]))
}

/// The header for files with a user and a password. An error is the file, and how a sentence goes on behind its name.
pub(crate) fn header_of_files(user: &Path, password: &Path) -> Result<Zeroizing<String>, (PathBuf, String)> {
    let line = |file: &Path| match text_file::read_line(file) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err((file.to_owned(), "is larger than 16 KiB; put nothing but the text there".to_owned())),
        Err(error) => Err((file.to_owned(), format!("cannot be read: {error}"))),
    };
    match read(&line(user)?, &line(password)?) {
        Ok((header, _)) => Ok(header),
        Err((LoginPart::User, because)) => Err((user.to_owned(), because)),
        Err((LoginPart::Password, because)) => Err((password.to_owned(), because)),
    }
}

/// Which of the two files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LoginPart {
    User,
    Password,
}

fn printable(text: &[u8]) -> Result<Zeroizing<String>, String> {
    if text.is_empty() {
        return Err("is empty; put the text there, on one line".to_owned());
    }
    if let Some(index) = text.iter().position(|it| !(b' '..=b'~').contains(it)) {
        return Err(format!(
            "holds a character at byte {index} that is not printable ASCII; put the text there, on one line, and nothing \
             else"
        ));
    }
    Ok(Zeroizing::new(text.iter().copied().map(char::from).collect()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::secrets::Secrets;
    use super::*;

    #[test]
    fn a_user_and_a_password_become_a_header() {
        // The example of RFC 7617.
        let (header, secrets) = read(b"Aladdin", b"open sesame").unwrap_or_else(|it| panic!("{it:?}"));
        assert_eq!(header.as_str(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(secrets.len(), 2);
    }

    #[test]
    fn adv_115_both_forms_of_a_password_are_secrets() {
        let (_, secrets) = read(b"Aladdin", b"open sesame").unwrap_or_else(|it| panic!("{it:?}"));
        let secrets = Secrets::new(secrets.into_iter().map(Arc::new).collect());
        let holds = |text: &str| secrets.are_in(text.as_bytes());
        for text in [
            "you sent open sesame",
            "authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "QWxhZGRpbjpvcGVuIHNlc2FtZQ",
            "open%20sesame",
            "6f70656e20736573616d65",
            r#"{"password":"open\u0020sesame"}"#,
        ] {
            assert!(holds(text), "{text}");
        }
        assert!(!holds("Aladdin") && !holds("open the door"));
        // A password that is too short to be recognised is still found together with its user.
        let (_, secrets) = read(b"Aladdin", b"open").unwrap_or_else(|it| panic!("{it:?}"));
        let encoded = STANDARD.encode("Aladdin:open");
        assert!(secrets[0].weakness().is_some());
        assert!(Secrets::new(secrets.into_iter().map(Arc::new).collect()).are_in(encoded.as_bytes()));
    }

    #[test]
    fn users_and_passwords_are_one_printable_line() {
        for (user, password, part) in [
            (&b""[..], &b"secret"[..], LoginPart::User),
            (b"user", b"", LoginPart::Password),
            (b"us:er", b"secret", LoginPart::User),
            (b"us\ner", b"secret", LoginPart::User),
            (b"user", b"sec\nret", LoginPart::Password),
            (b"user", "sécret".as_bytes(), LoginPart::Password),
            (b"us\0er", b"secret", LoginPart::User),
        ] {
            assert_eq!(read(user, password).err().map(|it| it.0), Some(part), "{user:?} {password:?}");
        }
        assert!(read(b"user", b"a:b c~").is_ok());
    }
}
