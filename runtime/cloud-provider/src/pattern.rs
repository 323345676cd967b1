//! Names in which people choose a part, as providers describe them.

/// Whether `text` is one of the names that `pattern` stands for: each `*` is one or more characters other than
/// `separator`.
pub(crate) fn matches(pattern: &str, text: &str, separator: char) -> bool {
    if !pattern.contains('*') {
        return pattern == text;
    }
    let (patterns, parts) = (pattern.split(separator), text.split(separator));
    patterns.clone().count() == parts.clone().count()
        && patterns.zip(parts).all(|(pattern, part)| part_matches(pattern, part))
}

/// The same for a part without separators. The earliest place is taken for each piece between two `*`: if any place
/// fits, the earliest does.
fn part_matches(pattern: &str, part: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == part };
    let Some(mut left) = part.strip_prefix(start) else { return false };
    let mut pieces: Vec<_> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        // The `*` before it is one character at least.
        let after = left.chars().next().and_then(|first| left.get(first.len_utf8()..));
        let Some(found) = after.and_then(|it| it.split_once(piece)) else { return false };
        left = found.1;
    }
    left.len() > end.len() && left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, separator: char, fitting: &[&str], others: &[&str]) {
        for text in fitting {
            assert!(matches(pattern, text, separator), "{text:?} is not {pattern}");
        }
        for text in others {
            assert!(!matches(pattern, text, separator), "{text:?} is {pattern}");
        }
    }

    #[test]
    fn a_star_is_one_run_of_characters_but_the_separator() {
        check(
            "a.example/port-*-protocol",
            '/',
            &["a.example/port-80-protocol", "a.example/port--protocol-protocol", "a.example/port-a.b-protocol"],
            &[
                "a.example/port--protocol",
                "a.example/port-80-protocols",
                "b.example/port-80-protocol",
                "a.example/port-8/0-protocol",
            ],
        );
        check(
            "class.*.subnet",
            '.',
            &["class.gold.subnet"],
            &["class..subnet", "class.a.b.subnet", "class.gold.subnet.x"],
        );
        check(
            "a.example/*-of-*",
            '/',
            &["a.example/1-of-2", "a.example/1-of-2-of-3"],
            &["a.example/-of-2", "a.example/1-of-"],
        );
        check("a.example/plain", '/', &["a.example/plain"], &["a.example/plain2", "a.example/*"]);
        check("x*", '.', &["xé", "x*"], &["x", "éx"]);
    }
}
