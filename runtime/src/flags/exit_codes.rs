//! Exit codes of commands that cannot be carried out.

use std::ffi::OsString;

/// The exit code of a command that cannot be carried out: 2 of those whose 1 is an answer, as for a difference; else 1.
#[must_use]
pub fn failure_code(arguments: &[OsString]) -> u8 {
    let word = |at: usize| arguments.get(at).and_then(|it| it.to_str()).unwrap_or_default();
    match (word(1), word(2)) {
        ("module", "diff")
        | ("provider", "build" | "call" | "check" | "conformance" | "describe" | "record" | "replay") => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_whose_1_is_an_answer_fails_with_2() {
        let code = |line: &str| failure_code(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!((code("aerostat module diff a b"), code("aerostat provider check a.wasm")), (2, 2));
        assert_eq!(code("aerostat provider conformance a.wasm"), 2);
        assert_eq!((code("aerostat module inspect a"), code("aerostat provider new a"), code("x")), (1, 1, 1));
    }
}
