//! Signs of a source text.

/// The words of a path, or of a text.
pub(crate) type Words = Vec<String>;

/// Words, `::` and single signs; without comments, texts and characters.
pub(crate) fn tokens(text: &str) -> Words {
    let letters: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    let is = |at: usize, sign: char| letters.get(at) == Some(&sign);
    while at < letters.len() {
        let letter = letters[at];
        if letter == '/' && is(at + 1, '/') {
            while at < letters.len() && !is(at, '\n') {
                at += 1;
            }
        } else if let Some(end) = text_end(&letters, at) {
            at = end;
        } else if letter == ':' && is(at + 1, ':') {
            tokens.push("::".to_owned());
            at += 2;
        } else if letter.is_alphanumeric() || letter == '_' {
            let end = letters[at..].iter().position(|it| !it.is_alphanumeric() && *it != '_');
            let end = end.map_or(letters.len(), |it| at + it);
            tokens.push(letters[at..end].iter().collect());
            at = end;
        } else {
            if !letter.is_whitespace() {
                tokens.push(letter.to_string());
            }
            at += 1;
        }
    }
    tokens
}

/// Where a text or a character ends that begins here.
fn text_end(letters: &[char], at: usize) -> Option<usize> {
    let is = |at: usize, sign: char| letters.get(at) == Some(&sign);
    let before = at.checked_sub(1).map(|it| letters[it]);
    let begins_word = before.is_none_or(|it| !it.is_alphanumeric() && it != '_');
    if letters[at] == 'r' && begins_word && (is(at + 1, '"') || is(at + 1, '#')) {
        let hashes = letters[at + 1..].iter().take_while(|it| **it == '#').count();
        let open = at + 1 + hashes;
        if is(open, '"') {
            let closes = |it: &usize| is(*it, '"') && (1..=hashes).all(|n| is(it + n, '#'));
            return Some((open + 1..letters.len()).find(closes).map_or(letters.len(), |it| it + 1 + hashes));
        }
        return None;
    }
    let close = letters[at];
    // A quote that no other one follows within a character is a lifetime.
    let is_character = close == '\'' && (is(at + 2, '\'') || is(at + 1, '\\'));
    if close != '"' && !is_character {
        return None;
    }
    let mut end = at + 1;
    while end < letters.len() && letters[end] != close {
        end += if letters[end] == '\\' { 2 } else { 1 };
    }
    Some(end + 1)
}

/// Leaves out each item behind `#[cfg(test)]`.
pub(crate) fn without_tests(tokens: Words) -> Words {
    let marker = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if !tokens[at..].iter().take(marker.len()).eq(marker.iter()) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += marker.len();
        let mut depth = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(token.as_str(), ";" | "}") {
                break;
            }
        }
    }
    kept
}
