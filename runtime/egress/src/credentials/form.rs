//! The body of a form, as requests for tokens have it.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

/// The body with these names and values.
pub(super) fn form(pairs: &[(&str, &str)]) -> Zeroizing<String> {
    let encoded = |it: &str| Zeroizing::new(utf8_percent_encode(it, NON_ALPHANUMERIC).to_string());
    let mut form = Zeroizing::new(String::new());
    for (name, value) in pairs {
        if !form.is_empty() {
            form.push('&');
        }
        form.push_str(name);
        form.push('=');
        form.push_str(&encoded(value));
    }
    form
}
