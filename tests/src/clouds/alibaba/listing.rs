//! Lists in pages: by tokens that nobody can guess, or by numbers.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad};
use super::pairs::AcsPairs;

/// The beginning of a token, which is opaque.
const TOKEN: &str = "FFh3Xqm+JgZ/U9Jyb7wdVr9LWk80Tghn5UZjbcWEVEderBcbVF+Y6PS0i8Ggk1";

/// A page of a list with tokens.
pub(super) struct TokenPage {
    pub(super) items: Vec<Value>,
    pub(super) next: String,
    pub(super) size: usize,
    pub(super) total: usize,
}

/// The page that a request asks for under the name `size_name`, with at most `most` items, and `default` without it.
pub(super) fn by_token(
    pairs: AcsPairs<'_>,
    all: Vec<Value>,
    size_name: &str,
    (default, most): (i64, i64),
) -> Result<TokenPage, Refused> {
    let size = usize::try_from(pairs.number(size_name, (1, most), default)?).unwrap_or(1);
    let start = match pairs.get("NextToken").filter(|it| !it.is_empty()) {
        None => 0,
        Some(token) => {
            let start = token.strip_prefix(TOKEN).and_then(|it| usize::from_str_radix(it, 16).ok());
            start.ok_or_else(|| bad("NextToken", "it is none of this list"))?
        }
    };
    let total = all.len();
    let next = if total > start + size { format!("{TOKEN}{:x}", start + size) } else { String::new() };
    Ok(TokenPage { items: all.into_iter().skip(start).take(size).collect(), next, size, total })
}

/// The page with the number that a request asks for: the items, and what the answer says of it.
pub(super) fn by_number(pairs: AcsPairs<'_>, all: Vec<Value>, most: i64) -> Result<(Vec<Value>, Value), Refused> {
    let number = pairs.number("PageNumber", (1, 100_000), 1)?;
    let size = pairs.number("PageSize", (1, most), 10)?;
    let total = all.len();
    let (skipped, taken) = (usize::try_from((number - 1) * size).unwrap_or(0), usize::try_from(size).unwrap_or(0));
    let items = all.into_iter().skip(skipped).take(taken).collect();
    Ok((items, json!({ "PageNumber": number, "PageSize": size, "TotalCount": total })))
}

/// An object with the fields of another one, too.
pub(super) fn with(mut object: Value, more: &Value) -> Value {
    if let (Some(fields), Some(more)) = (object.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    object
}

/// A page without a wrapper.
pub(super) fn plain(field: &str, page: TokenPage) -> Answer {
    let TokenPage { items, next, size, total } = page;
    Answer::ok(&json!({ field: items, "NextToken": next, "MaxResults": size, "TotalCount": total }))
}
