//! Patterns for paths, as the operator's rules have them.

use std::fmt;

/// A pattern for paths: literal segments, `*` for exactly one segment, `**` for any number of them, none included.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathPattern {
    parts: Vec<Segment>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Segment {
    Literal(String),
    One,
    Any,
}

impl PathPattern {
    /// Reads `/v2/droplets/**`. Literal segments stand unescaped.
    ///
    /// # Errors
    ///
    /// A sentence that names the segment and says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest =
            text.strip_prefix('/').ok_or_else(|| format!("path pattern {text:?} does not begin with a slash"))?;
        if rest.is_empty() {
            return Ok(Self { parts: Vec::new() });
        }
        let part = |segment: &str| match segment {
            "*" => Ok(Segment::One),
            "**" => Ok(Segment::Any),
            _ if segment.contains('*') => Err(format!(
                "path pattern {text:?} has the segment {segment:?}; a star stands alone: `*` is one segment, `**` any number"
            )),
            _ if segment.contains(['%', '?', '#']) => Err(format!(
                "path pattern {text:?} has the segment {segment:?}; write a path unescaped, without query and fragment"
            )),
            _ => match super::text::segment(segment) {
                Ok(()) => Ok(Segment::Literal(segment.to_owned())),
                Err(because) => Err(format!("path pattern {text:?} has a segment that {because}")),
            },
        };
        Ok(Self { parts: rest.split('/').map(part).collect::<Result<_, _>>()? })
    }

    /// Whether the unescaped `path` is one of those that the pattern stands for.
    pub(crate) fn matches(&self, path: &[String]) -> bool {
        // `reached[n]`: the parts so far can stand for the first `n` segments.
        let mut reached = vec![false; path.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            let mut next = vec![false; path.len() + 1];
            match part {
                Segment::Any => {
                    let mut any = false;
                    for (next, reached) in next.iter_mut().zip(&reached) {
                        any |= reached;
                        *next = any;
                    }
                }
                Segment::One => next[1..].copy_from_slice(&reached[..path.len()]),
                Segment::Literal(literal) => {
                    for (index, segment) in path.iter().enumerate() {
                        next[index + 1] = reached[index] && segment == literal;
                    }
                }
            }
            reached = next;
        }
        reached[path.len()]
    }
}

impl PathPattern {
    /// Whether every path that `other` stands for is one that this stands for. It is never said wrongly. Where a
    /// `**` has another wildcard beside it, as in `/**/*`, it may not be seen.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        // `rest[n]`: the parts after this one cover the parts of `other` from `n` on.
        let length = other.parts.len();
        let mut rest = vec![false; length + 1];
        rest[length] = true;
        for part in self.parts.iter().rev() {
            let mut from = vec![false; length + 1];
            for n in (0..=length).rev() {
                from[n] = match (part, other.parts.get(n)) {
                    (Segment::Any, None) => rest[n],
                    (Segment::Any, Some(_)) => rest[n] || from[n + 1],
                    (Segment::One, Some(Segment::One | Segment::Literal(_))) => rest[n + 1],
                    (Segment::Literal(one), Some(Segment::Literal(other))) => one == other && rest[n + 1],
                    (Segment::One, Some(Segment::Any) | None) | (Segment::Literal(_), _) => false,
                };
            }
            rest = from;
        }
        rest[0]
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parts.is_empty() {
            return f.write_str("/");
        }
        self.parts.iter().try_for_each(|part| match part {
            Segment::Literal(literal) => write!(f, "/{literal}"),
            Segment::One => f.write_str("/*"),
            Segment::Any => f.write_str("/**"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(path: &[&str]) -> Vec<String> {
        path.iter().map(|&it| it.to_owned()).collect()
    }

    #[test]
    fn patterns_match_segments() {
        let cases: [(&str, &[&str], bool); 22] = [
            ("/", &[], true),
            ("/", &["v2"], false),
            ("/v2", &["v2"], true),
            ("/v2", &[], false),
            ("/v2", &["V2"], false),
            ("/v2", &["v2", "droplets"], false),
            ("/v2/*", &["v2", "droplets"], true),
            ("/v2/*", &["v2"], false),
            ("/v2/*", &["v2", "droplets", "1"], false),
            ("/v2/**", &["v2"], true),
            ("/v2/**", &["v2", "droplets", "1"], true),
            ("/v2/**", &["v3"], false),
            ("/**", &[], true),
            ("/**", &["a", "b"], true),
            ("/**/actions", &["actions"], true),
            ("/**/actions", &["v2", "droplets", "1", "actions"], true),
            ("/**/actions", &["v2", "actions", "1"], false),
            ("/v2/**/x/**", &["v2", "a", "x", "b", "x"], true),
            ("/v2/**/x/*", &["v2", "x", "x", "b"], true),
            ("/v2/**/x/*", &["v2", "x"], false),
            ("/a:b", &["a:b"], true),
            ("/v2/allowed", &["v2", "allowed;x"], false),
        ];
        for (pattern, path, expected) in cases {
            let matches = PathPattern::parse(pattern).unwrap().matches(&segments(path));
            assert_eq!(matches, expected, "{pattern} against {path:?}");
        }
    }

    #[test]
    fn a_pattern_covers_narrower_ones() {
        for (wide, narrow, expected) in [
            ("/v2", "/v2", true),
            ("/v2/*", "/v2/droplets", true),
            ("/v2/*", "/v2/*", true),
            ("/v2/**", "/v2/*/actions", true),
            ("/v2/**", "/v2/**/actions", true),
            ("/**", "/", true),
            ("/**/actions", "/v2/**/actions", true),
            ("/v2/*", "/v2", false),
            ("/v2/*", "/v2/**", false),
            ("/v2/droplets", "/v2/*", false),
            ("/v2/*", "/v2/*/actions", false),
            ("/**/actions", "/v2/**", false),
        ] {
            let [wide, narrow] = [wide, narrow].map(|it| PathPattern::parse(it).unwrap());
            assert_eq!(wide.covers(&narrow), expected, "{wide} over {narrow}");
        }
    }

    /// All patterns of up to three parts against all paths of up to four segments.
    #[test]
    fn a_wider_pattern_matches_all_that_a_covered_one_does() {
        let lists = |words: &[&str], most: usize| {
            let mut all = vec![Vec::new()];
            let mut newest = all.clone();
            for _ in 0..most {
                let longer = |list: &Vec<String>| {
                    words.iter().map(|it| [list.clone(), vec![(*it).to_owned()]].concat()).collect::<Vec<_>>()
                };
                newest = newest.iter().flat_map(longer).collect();
                all.extend(newest.clone());
            }
            all
        };
        let patterns = lists(&["a", "b", "*", "**"], 3);
        let patterns: Vec<_> =
            patterns.iter().map(|it| PathPattern::parse(&format!("/{}", it.join("/"))).unwrap()).collect();
        let paths = lists(&["a", "b", "c"], 4);
        let matches: Vec<Vec<bool>> =
            patterns.iter().map(|pattern| paths.iter().map(|it| pattern.matches(it)).collect()).collect();
        let has_neighbours = |pattern: &PathPattern| {
            let is_any = |part: &Segment| matches!(part, Segment::Any);
            let is_wild = |part: &Segment| matches!(part, Segment::Any | Segment::One);
            pattern.parts.windows(2).any(|it| it.iter().all(is_wild) && it.iter().any(is_any))
        };
        let mut covered = 0;
        for (wide, wide_matches) in patterns.iter().zip(&matches) {
            for (narrow, narrow_matches) in patterns.iter().zip(&matches) {
                let holds = wide_matches.iter().zip(narrow_matches).all(|(wide, narrow)| *wide || !narrow);
                let is_said = wide.covers(narrow);
                assert!(holds || !is_said, "{wide} covers {narrow}");
                covered += u32::from(is_said);
                let may_be_unseen = has_neighbours(wide) || has_neighbours(narrow);
                assert!(is_said || !holds || may_be_unseen, "{wide} does not cover {narrow}");
            }
        }
        assert!(covered > 500, "only {covered} pairs cover");
    }

    #[test]
    fn patterns_are_linear_in_what_a_guest_sends() {
        let pattern = PathPattern::parse(&"/**/a".repeat(20)).unwrap();
        assert!(!pattern.matches(&segments(&vec!["a"; 2000]).into_iter().chain(["b".to_owned()]).collect::<Vec<_>>()));
    }

    #[test]
    fn a_pattern_is_shown_as_it_was_written() {
        for text in ["/", "/v2/droplets/**", "/*/x"] {
            assert_eq!(PathPattern::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn patterns_that_cannot_match_or_could_be_misread_are_refused() {
        for (text, because) in [
            ("", "does not begin with a slash"),
            ("v2", "does not begin with a slash"),
            ("/v2/", "is empty"),
            ("//v2", "is empty"),
            ("/v2/../v3", "dot segment"),
            ("/v2/drop*", "a star stands alone"),
            ("/v2/***", "a star stands alone"),
            ("/v2%2fx", "unescaped"),
            ("/v2?x", "unescaped"),
            ("/v2#x", "unescaped"),
            ("/v2\\x", "backslash"),
        ] {
            let error = PathPattern::parse(text).expect_err(text);
            assert!(error.contains(because), "{text}: {error}");
        }
    }
}
