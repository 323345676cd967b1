//! Patterns in which `*` stands for any run of characters, also of none. Pure.

/// Whether the text is one of those that the pattern stands for.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // The leftmost place is as good as any other: what follows has more room.
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether every text that `narrow` stands for is one that `wide` stands for. It is never said wrongly.
pub(crate) fn covers(wide: &str, narrow: &str) -> bool {
    let narrow = narrow.as_bytes();
    // `rest[n]`: what follows here covers `narrow` from its character `n` on.
    let mut rest = vec![false; narrow.len() + 1];
    rest[narrow.len()] = true;
    for character in wide.bytes().rev() {
        let mut from = vec![false; narrow.len() + 1];
        for n in (0..=narrow.len()).rev() {
            from[n] = match (character, narrow.get(n)) {
                (b'*', None) => rest[n],
                (b'*', Some(_)) => rest[n] || from[n + 1],
                (_, Some(it)) => *it == character && rest[n + 1],
                (_, None) => false,
            };
        }
        rest = from;
    }
    rest[0]
}

/// Whether there is a text that both stand for.
pub(crate) fn meet(one: &str, other: &str) -> bool {
    let other = other.as_bytes();
    // `rest[n]`: what follows here meets `other` from its character `n` on.
    let mut rest: Vec<bool> = (0..=other.len()).map(|n| other[n..].iter().all(|it| *it == b'*')).collect();
    for character in one.bytes().rev() {
        let mut from = vec![false; other.len() + 1];
        for n in (0..=other.len()).rev() {
            from[n] = match (character, other.get(n)) {
                (b'*', None) => rest[n],
                (b'*', Some(_)) => rest[n] || from[n + 1],
                (_, Some(b'*')) => from[n + 1] || rest[n],
                (_, Some(it)) => *it == character && rest[n + 1],
                (_, None) => false,
            };
        }
        rest = from;
    }
    rest[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All patterns of up to three characters against each other and all texts of up to four.
    #[test]
    fn patterns_compare_as_their_texts_do() {
        let words = |characters: &str, most: usize| {
            let mut all = vec![String::new()];
            let mut newest = all.clone();
            for _ in 0..most {
                newest =
                    newest.iter().flat_map(|it| characters.chars().map(move |next| format!("{it}{next}"))).collect();
                all.extend(newest.clone());
            }
            all
        };
        let (patterns, texts) = (words("ab*", 3), words("abc", 5));
        for one in &patterns {
            for other in &patterns {
                let both = texts.iter().any(|it| matches(one, it) && matches(other, it));
                assert_eq!(meet(one, other), both, "{one} meets {other}");
                let all = texts.iter().all(|it| matches(one, it) || !matches(other, it));
                assert!(all || !covers(one, other), "{one} covers {other}");
            }
        }
    }
}
