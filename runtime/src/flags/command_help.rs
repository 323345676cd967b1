//! The help of each command: it teaches by examples that are command lines of this program, and tells its exit codes.

use super::*;

/// The commands that have no commands of their own, each with the words that lead to it.
fn leaves(command: &clap::Command, words: &[&str]) -> Vec<(String, clap::Command)> {
    let own: Vec<_> = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help").collect();
    if own.is_empty() {
        return vec![(words.join(" "), command.clone())];
    }
    own.into_iter().flat_map(|it| leaves(it, &[words, &[it.get_name()]].concat())).collect()
}

/// The examples in a help: what stands between `Examples:` and the next empty line, and is a line of this program.
fn examples(help: &str) -> Vec<String> {
    let Some((_, rest)) = help.split_once("Examples:\n") else { return Vec::new() };
    let paragraph = rest.split("\n\n").next().unwrap_or_default();
    let whole = paragraph.split("\\\n").map(str::trim_start).collect::<Vec<_>>().join("");
    whole.lines().map(str::trim).filter(|it| it.starts_with("aerostat ")).map(str::to_owned).collect()
}

/// The words of a line as a shell would read them, until it pipes, redirects or explains. What `$(…)` would print is one word.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut depth) = (Vec::new(), String::new(), false, 0_u32);
    for sign in line.chars() {
        match sign {
            '\'' => quoted = !quoted,
            ' ' if !quoted && depth == 0 => words.push(std::mem::take(&mut word)),
            _ => {
                depth = match sign {
                    '(' => depth + 1,
                    ')' => depth - 1,
                    _ => depth,
                };
                word.push(sign);
            }
        }
    }
    words.push(word);
    // An explanation stands far to the right.
    words.into_iter().take_while(|it| !matches!(it.as_str(), "" | "|" | ">")).collect()
}

#[test]
fn examples_of_each_help_are_lines_that_are_taken() {
    let mut taken = 0;
    for (words, command) in leaves(&command_line::program(), &["aerostat"]) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = examples(&help);
        for line in &examples {
            let whole = line.replace("sha256:…", &format!("sha256:{}", "0".repeat(64)));
            let result = command_line::program().try_get_matches_from(shell_words(&whole));
            assert!(result.is_ok(), "{line}: {}", result.unwrap_err());
        }
        let is_about_it = examples.iter().any(|it| it.starts_with(&words));
        // aerostat run has its files, and the completions are read by the shell.
        let needs_one = words.starts_with("aerostat provider") || words.starts_with("aerostat module");
        assert!(is_about_it || !needs_one, "{words} --help has no example of it");
        assert!(!words.starts_with("aerostat provider") || help.contains("Exit code: 0"), "{words}: no exit codes");
        taken += examples.len();
    }
    assert!(taken > 30, "only {taken} examples");
}
