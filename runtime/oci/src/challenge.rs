//! A registry's answer to a client that has not logged in: `WWW-Authenticate`. Pure.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// The longest header that is looked at.
const LONGEST: usize = 4 << 10;

/// How a registry wants to be logged into.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Challenge {
    /// With a user and a password.
    Basic,
    /// With a token, which is to be had at `realm`.
    Bearer { realm: String, service: Option<String> },
}

/// Reads the challenges. Of both kinds, the token's counts.
///
/// # Errors
///
/// A clause that says what is wrong: there is none, or it can be read in two ways.
pub(crate) fn read(headers: &HeaderMap) -> Result<Challenge, String> {
    let mut bearer = None;
    let mut is_basic = false;
    for value in headers.get_all(WWW_AUTHENTICATE) {
        let text = value.to_str().map_err(|_| "asks for a login in words that are no text".to_owned())?;
        if text.len() > LONGEST {
            return Err(format!("asks for a login in more than {LONGEST} bytes"));
        }
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            is_basic = true;
        } else if scheme.eq_ignore_ascii_case("bearer") {
            if bearer.is_some() {
                return Err("asks twice for a token".to_owned());
            }
            bearer = Some(parameters(rest)?);
        }
    }
    match bearer {
        Some((Some(realm), service)) => Ok(Challenge::Bearer { realm, service }),
        Some((None, _)) => Err("asks for a token and does not say where it is to be had".to_owned()),
        None if is_basic => Ok(Challenge::Basic),
        None => Err("asks for a login that is neither Basic nor Bearer".to_owned()),
    }
}

/// The realm and the service in `name="value", …`, each at most once.
fn parameters(text: &str) -> Result<(Option<String>, Option<String>), String> {
    let odd = || "asks for a token in a form that is not understood".to_owned();
    let (mut realm, mut service) = (None, None);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or_else(odd)?;
        let name = name.trim().to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-') {
            return Err(odd());
        }
        let (value, after) = match after.strip_prefix('"') {
            // An escape would make one text of two spellings.
            Some(quoted) => {
                let (value, after) = quoted.split_once('"').ok_or_else(odd)?;
                if value.contains('\\') {
                    return Err(odd());
                }
                (value, after)
            }
            None => after.split_at(after.find(',').unwrap_or(after.len())),
        };
        let into = match name.as_str() {
            "realm" => Some(&mut realm),
            "service" => Some(&mut service),
            _ => None,
        };
        if let Some(into) = into
            && into.replace(value.trim().to_owned()).is_some()
        {
            return Err(format!("names two {name}s for its token"));
        }
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if after.is_empty() => after,
            None => return Err(odd()),
        };
    }
    Ok((realm, service))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(values: &[&str]) -> Result<Challenge, String> {
        let values = values.iter().map(|it| (WWW_AUTHENTICATE, HeaderValue::from_str(it).unwrap()));
        read(&values.collect())
    }

    fn bearer(realm: &str, service: Option<&str>) -> Result<Challenge, String> {
        Ok(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
    }

    #[test]
    fn tokens_and_passwords_are_asked_for() {
        assert_eq!(of(&["Basic realm=\"x\""]), Ok(Challenge::Basic));
        assert_eq!(of(&["basic"]), Ok(Challenge::Basic));
        let all = "Bearer realm=\"https://auth.example.com/token\",service=\"reg\",scope=\"repository:a:pull,push\"";
        assert_eq!(of(&[all]), bearer("https://auth.example.com/token", Some("reg")));
        assert_eq!(of(&["BEARER realm=https://a.example.com , error=x"]), bearer("https://a.example.com", None));
        assert_eq!(of(&["Basic", all]), bearer("https://auth.example.com/token", Some("reg")));
    }

    #[test]
    fn a_challenge_that_can_be_read_in_two_ways_is_refused() {
        for (values, part) in [
            (&["Bearer realm=\"a\",realm=\"b\""][..], "two realms"),
            (&["Bearer realm=\"a\", REALM=b"], "two realms"),
            (&["Bearer realm=\"a\",service=\"b\",service=\"c\""], "two services"),
            (&["Bearer realm=\"a\"", "Bearer realm=\"b\""], "asks twice"),
            (&["Bearer realm=\"a\\\"b\""], "not understood"),
            (&["Bearer realm=\"a\" service=\"b\""], "not understood"),
            (&["Bearer realm=\"a"], "not understood"),
            (&["Bearer"], "where it is to be had"),
            (&["Negotiate"], "neither Basic nor Bearer"),
            (&[], "neither Basic nor Bearer"),
        ] {
            let error = of(values).expect_err(values.first().unwrap_or(&""));
            assert!(error.contains(part), "{values:?}: {error}");
        }
        let giant = format!("Bearer realm=\"https://a.example.com/{}\"", "a".repeat(5000));
        assert!(of(&[&giant]).unwrap_err().contains("more than 4096 bytes"));
    }
}
