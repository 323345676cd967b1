//! Patterns for names of subnets: `*` and `?`, or a regular expression after `~`, each with `!` before it for all others.

/// The most steps that one match takes: patterns are written by authors of Services.
const STEPS: usize = 20_000;

/// Whether a name matches a pattern as a whole. `None` if the regular expression cannot be read, or takes too long.
pub(crate) fn matches(pattern: &str, name: &str) -> Option<bool> {
    let (wanted, pattern) = match pattern.strip_prefix('!') {
        Some(rest) => (false, rest),
        None => (true, pattern),
    };
    let is = match pattern.strip_prefix('~') {
        Some(expression) => NamePattern::parse(expression)?.matches(name)?,
        None => NamePattern::glob(pattern).matches(name)?,
    };
    Some(is == wanted)
}

/// Whether a pattern can be read.
pub(crate) fn is_readable(pattern: &str) -> bool {
    let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
    pattern.strip_prefix('~').is_none_or(|it| NamePattern::parse(it).is_some())
}

/// The filter of Neutron that tags stand for: any of them; all, after `&`; not any, after `!`; not all, after `!&`.
pub(crate) fn tag_filter(tags: &str) -> (&'static str, String) {
    let (not, tags) = match tags.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, tags),
    };
    let (all, tags) = match tags.strip_prefix('&') {
        Some(rest) => (true, rest),
        None => (false, tags),
    };
    let filter = match (not, all) {
        (false, false) => "tags-any",
        (false, true) => "tags",
        (true, false) => "not-tags",
        (true, true) => "not-tags-any",
    };
    let tags: Vec<_> = tags.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    (filter, tags.join(","))
}

/// A regular expression: the usual part of Go's.
#[derive(Debug)]
struct NamePattern(Vec<Vec<PatternStep>>);

#[derive(Debug)]
struct PatternStep {
    atom: PatternAtom,
    least: usize,
    most: usize,
}

#[derive(Debug)]
enum PatternAtom {
    Any,
    Start,
    End,
    Class { ranges: Vec<(char, char)>, is_negated: bool },
    Group(Vec<Vec<PatternStep>>),
}

impl NamePattern {
    fn glob(pattern: &str) -> Self {
        let atom = |letter| match letter {
            '*' => PatternStep { atom: PatternAtom::Any, least: 0, most: usize::MAX },
            '?' => once(PatternAtom::Any),
            other => once(literal(other)),
        };
        Self(vec![pattern.chars().map(atom).collect()])
    }

    fn parse(text: &str) -> Option<Self> {
        let characters: Vec<char> = text.chars().collect();
        let mut reader = PatternReader { characters: &characters, at: 0, depth: 0 };
        let alternatives = reader.alternatives()?;
        (reader.at == characters.len()).then_some(Self(alternatives))
    }

    fn matches(&self, name: &str) -> Option<bool> {
        let text: Vec<char> = name.chars().collect();
        let mut matcher = PatternMatcher { text: &text, steps: 0 };
        let is = self.0.iter().any(|it| matcher.sequence(it, 0, &mut |_, at| at == text.len()));
        (matcher.steps < STEPS).then_some(is)
    }
}

fn once(atom: PatternAtom) -> PatternStep {
    PatternStep { atom, least: 1, most: 1 }
}

fn literal(it: char) -> PatternAtom {
    PatternAtom::Class { ranges: vec![(it, it)], is_negated: false }
}

struct PatternReader<'a> {
    characters: &'a [char],
    at: usize,
    depth: usize,
}

impl PatternReader<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is = self.peek() == Some(wanted);
        self.at += usize::from(is);
        is
    }

    fn next(&mut self) -> Option<char> {
        let it = self.peek()?;
        self.at += 1;
        Some(it)
    }

    fn alternatives(&mut self) -> Option<Vec<Vec<PatternStep>>> {
        self.depth += 1;
        if self.depth > 8 {
            return None;
        }
        let mut all = vec![self.sequence()?];
        while self.take('|') {
            all.push(self.sequence()?);
        }
        self.depth -= 1;
        Some(all)
    }

    fn sequence(&mut self) -> Option<Vec<PatternStep>> {
        let mut sequence = Vec::new();
        while self.peek().is_some_and(|it| it != '|' && it != ')') {
            let atom = self.atom()?;
            let (least, most) = self.repetition()?;
            sequence.push(PatternStep { atom, least, most });
        }
        Some(sequence)
    }

    fn atom(&mut self) -> Option<PatternAtom> {
        Some(match self.next()? {
            '.' => PatternAtom::Any,
            '^' => PatternAtom::Start,
            '$' => PatternAtom::End,
            '(' => {
                if self.take('?') && !self.take(':') {
                    return None;
                }
                let group = self.alternatives()?;
                if !self.take(')') {
                    return None;
                }
                PatternAtom::Group(group)
            }
            '[' => self.class()?,
            '\\' => PatternAtom::Class { ranges: escaped(self.next()?)?, is_negated: false },
            '*' | '+' | '?' | '{' => return None,
            other => literal(other),
        })
    }

    fn class(&mut self) -> Option<PatternAtom> {
        let is_negated = self.take('^');
        let mut ranges = Vec::new();
        loop {
            let first = self.next()?;
            if first == ']' && !ranges.is_empty() {
                return Some(PatternAtom::Class { ranges, is_negated });
            }
            if first == '\\' {
                ranges.extend(escaped(self.next()?)?);
                continue;
            }
            let is_range = self.peek() == Some('-') && self.characters.get(self.at + 1).is_some_and(|it| *it != ']');
            let last = if is_range {
                self.at += 1;
                self.next()?
            } else {
                first
            };
            ranges.push((first, last));
        }
    }

    fn repetition(&mut self) -> Option<(usize, usize)> {
        let bounds = match self.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => return self.counted(),
            _ => return Some((1, 1)),
        };
        self.at += 1;
        // A match as a whole is the same, however eager it is.
        self.take('?');
        Some(bounds)
    }

    fn counted(&mut self) -> Option<(usize, usize)> {
        let rest: String = self.characters[self.at + 1..].iter().take_while(|it| **it != '}').collect();
        self.at += rest.chars().count() + 2;
        let number = |it: &str| it.parse().ok().filter(|it| *it <= 255);
        match rest.split_once(',') {
            None => number(&rest).map(|it| (it, it)),
            Some((least, "")) => Some((number(least)?, usize::MAX)),
            Some((least, most)) => Some((number(least)?, number(most)?)),
        }
    }
}

/// The characters that an escape stands for.
fn escaped(it: char) -> Option<Vec<(char, char)>> {
    Some(match it {
        'd' => vec![('0', '9')],
        'w' => vec![('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')],
        's' => vec![(' ', ' '), ('\t', '\t')],
        other if !other.is_alphanumeric() => vec![(other, other)],
        _ => return None,
    })
}

struct PatternMatcher<'a> {
    text: &'a [char],
    steps: usize,
}

/// The rest that has to match behind a place.
type FollowingMatch<'r> = &'r mut dyn FnMut(&mut PatternMatcher<'_>, usize) -> bool;

impl PatternMatcher<'_> {
    fn sequence(&mut self, sequence: &[PatternStep], at: usize, rest: FollowingMatch<'_>) -> bool {
        self.steps += 1;
        if self.steps >= STEPS {
            return false;
        }
        match sequence.split_first() {
            None => rest(self, at),
            Some((first, later)) => self.repeated(first, 0, at, &mut |it, at| it.sequence(later, at, rest)),
        }
    }

    fn repeated(&mut self, it: &PatternStep, times: usize, at: usize, rest: FollowingMatch<'_>) -> bool {
        self.steps += 1;
        if self.steps >= STEPS {
            return false;
        }
        let more = times < it.most
            && self.atom(&it.atom, at, &mut |matcher, end| {
                // Nothing repeated any number of times is nothing.
                (end > at || times < it.least) && matcher.repeated(it, times + 1, end, rest)
            });
        more || (times >= it.least && rest(self, at))
    }

    fn atom(&mut self, atom: &PatternAtom, at: usize, rest: FollowingMatch<'_>) -> bool {
        match atom {
            PatternAtom::Any => at < self.text.len() && rest(self, at + 1),
            PatternAtom::Start => at == 0 && rest(self, at),
            PatternAtom::End => at == self.text.len() && rest(self, at),
            PatternAtom::Class { ranges, is_negated } => {
                let is = |it: char| ranges.iter().any(|(first, last)| (*first..=*last).contains(&it)) != *is_negated;
                self.text.get(at).is_some_and(|it| is(*it)) && rest(self, at + 1)
            }
            PatternAtom::Group(alternatives) => alternatives.iter().any(|it| self.sequence(it, at, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_subnets_match_patterns() {
        for (pattern, name, is) in [
            ("ext-a", "ext-a", true),
            ("ext-a", "ext-ab", false),
            ("ext-*", "ext-tiny", true),
            ("ext-?", "ext-tiny", false),
            ("!ext-a", "ext-a", false),
            ("!ext-a", "ext-b", true),
            ("~ext-(tiny|b)", "ext-tiny", true),
            ("~ext-(tiny|b)", "ext-b", true),
            ("~ext-(tiny|b)", "ext-a", false),
            ("~^public-.*", "public-1", true),
            ("~^public-.*$", "my-public-1", false),
            ("~public-[0-9]{2,3}", "public-42", true),
            ("~public-\\d+", "public-", false),
            ("~[^a-c]x?", "dx", true),
            ("~[^a-c]x?", "ax", false),
            ("!~ext-.*", "ext-a", false),
            ("~(a|ab)c", "abc", true),
            ("~a*", "", true),
        ] {
            assert_eq!((matches(pattern, name), is_readable(pattern)), (Some(is), true), "{pattern} {name}");
        }
    }

    #[test]
    fn expressions_that_cannot_be_read_match_nothing() {
        for pattern in ["~(", "~)", "~[a", "~*", "~a{x}", "~\\q", "~(?i)a", "~((((((((((a))))))))))"] {
            assert_eq!((matches(pattern, "a"), is_readable(pattern)), (None, false), "{pattern}");
        }
        assert_eq!(matches("~(a*)*b", &"a".repeat(60)), None, "it takes too long");
    }

    #[test]
    fn tags_become_filters_of_neutron() {
        let filter = |tags| {
            let (name, tags) = tag_filter(tags);
            format!("{name}={tags}")
        };
        assert_eq!(filter("public, blue"), "tags-any=public,blue");
        assert_eq!(filter("&public,blue"), "tags=public,blue");
        assert_eq!(filter("!public"), "not-tags=public");
        assert_eq!(filter("!&public,blue"), "not-tags-any=public,blue");
    }
}
