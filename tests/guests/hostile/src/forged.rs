//! Text that would be a line of its own in the host's log.

use aerostat_sdk::{Annotation, Description, Endpoint, Error, Instance, Method, Node, Setting, events, log};

use crate::{Answer, honest};

/// A text that would look like an audit line, with characters that move the cursor, hide, or turn the direction of writing.
fn line() -> String {
    let hidden = "\r\u{1b}[2J\0\u{7f}\u{9b}\u{202e}\u{2028}\u{2029}\u{200b}\u{feff}\u{ad}\u{e0041}";
    format!(
        "1.0\n1999-01-01T00:00:00.000000Z  INFO audit: decision=\"allow\" forged=1\n{hidden}{}",
        "x".repeat(1 << 16)
    )
}

/// A description that has it wherever it is not refused.
pub(crate) fn description(mut description: Description) -> Description {
    description.version = line();
    description.endpoints.push(Endpoint::new("api", line(), line()).allow([Method::Get], ["/forged"], [&*line()]));
    description.settings.push(Setting::optional("forged", line()).default(line()));
    description.annotations.push(Annotation::new("hostile.example/forged", line(), line()));
    description
}

/// `None` if the node's name is no crime of this module.
pub(crate) fn run(node: &Node) -> Option<Answer> {
    Some(match node.name.strip_prefix("forged-")? {
        "error" => Err(Error::Denied(line())),
        "name" => Ok(Some(Instance { name: format!("a\u{202e}{}", "b".repeat(200)), ..honest("forged") })),
        "zone" => Ok(Some(honest("forged").zone(line()))),
        "log" => {
            log::warn(&line(), &[(&line(), &line())]);
            eprintln!("{}", line());
            Err(Error::Invalid("logged".to_owned()))
        }
        "event" => {
            events::warning(None, "Forged", &line());
            events::warning(None, &line(), "reason");
            events::warning(Some(&line()), "Forged", "about");
            Err(Error::Invalid("told".to_owned()))
        }
        "panic" => panic!("{}", line()),
        _ => return None,
    })
}
