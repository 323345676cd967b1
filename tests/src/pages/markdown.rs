//! A page's heads, links and blocks of code.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The parts of a page that tests look at.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The texts of heads.
    pub(super) heads: Vec<String>,
    /// Where links lead, as they are written.
    pub(super) links: Vec<String>,
    /// Blocks of code: the language and the text.
    pub(super) blocks: Vec<(String, String)>,
    /// Codes in the text, as in `` `E-EGRESS-IP` ``.
    pub(super) codes: Vec<String>,
}

impl Page {
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let (mut head, mut block) = (None, None);
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => head = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.heads.extend(head.take()),
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                    block = Some((language.to_string(), String::new()));
                }
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Text(text) => {
                    if let Some((_, block)) = &mut block {
                        block.push_str(&text);
                    } else if let Some(head) = &mut head {
                        head.push_str(&text);
                    }
                }
                Event::Code(code) => match &mut head {
                    Some(head) => head.push_str(&code),
                    None => page.codes.push(code.into_string()),
                },
                _ => {}
            }
        }
        page
    }
}

/// The anchor of a head, as repositories on the web and mdBook make it: small letters, `-` for a space, and of signs only `-` and `_`.
pub(super) fn slug(head: &str) -> String {
    let kept = head.chars().filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
    kept.flat_map(char::to_lowercase).map(|it| if it == ' ' { '-' } else { it }).collect()
}

#[test]
fn a_page_is_taken_apart() {
    let page =
        Page::parse("# What `a` is, and\n\n[x](y.md#z) `code`\n\n```yaml\na: 1\n```\n\n| a |\n| --- |\n| [t](u) |\n");
    assert_eq!(
        (page.heads.as_slice(), page.links.as_slice()),
        (&["What a is, and".to_owned()][..], &["y.md#z".to_owned(), "u".to_owned()][..])
    );
    assert_eq!((page.blocks, page.codes), (vec![("yaml".to_owned(), "a: 1\n".to_owned())], vec!["code".to_owned()]));
    assert_eq!(slug("What a is, and"), "what-a-is-and");
}
