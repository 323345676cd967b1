//! Files of a template. A line that ends with `new: KEY` in a comment is replaced by what the plan says of this key.

/// A file of a template, by its path in the new folder.
pub(super) struct TemplateFile {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
}

/// A file that is about to be written.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

impl TemplateFile {
    /// The file with the lines of `line`, which says for a key what stands there (`None`: nothing), and then with these words
    /// replaced, in this order.
    pub(super) fn filled(&self, line: impl Fn(&str) -> Option<String>, words: &[(&str, String)]) -> NewFile {
        let mut text = String::new();
        for it in self.text.lines() {
            let Some((before, key)) = it.split_once(" // new: ").or_else(|| it.split_once(" # new: ")) else {
                text.push_str(it);
                text.push('\n');
                continue;
            };
            if let Some(new) = line(key.trim()) {
                let indent = before.len() - before.trim_start().len();
                text.push_str(&before[..indent]);
                text.push_str(&new);
                text.push('\n');
            }
        }
        let text = words.iter().fold(text, |text, (word, new)| text.replace(word, new));
        NewFile { path: self.path.to_owned(), is_program: text.starts_with("#!"), bytes: text.into_bytes() }
    }
}

impl NewFile {
    /// A file of the SDK, by its path there, in the folder `sdk`.
    pub(super) fn of_sdk(path: &str, bytes: &[u8]) -> Self {
        Self { path: format!("sdk/{path}"), bytes: bytes.to_owned(), is_program: false }
    }
}
