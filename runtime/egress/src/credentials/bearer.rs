//! `authorization: Bearer …`, with a token from a file.

use zeroize::Zeroizing;

use super::secret::Secret;

/// The form of a file with a token, for people.
pub(super) const FORM: &str = "put the token there, on one line, and nothing else";

/// The header for a token, and what no answer may hold. The error continues the sentence that begins with the file.
pub(super) fn read(text: &[u8]) -> Result<(Zeroizing<String>, Vec<Secret>), String> {
    if text.is_empty() {
        return Err("is empty; put the token there".to_owned());
    }
    if let Some(index) = text.iter().position(|it| !it.is_ascii_graphic()) {
        return Err(format!("holds a character at byte {index} that is not visible ASCII; {FORM}"));
    }
    let token: Zeroizing<String> = Zeroizing::new(text.iter().copied().map(char::from).collect());
    let header = Zeroizing::new(format!("Bearer {}", &*token));
    Ok((header, vec![Secret::new(token)]))
}
