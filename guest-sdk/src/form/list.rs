//! Ports, and lists with commas.

use super::traits::Form;

/// A port.
#[derive(Clone, Copy, Debug)]
pub struct Port;

impl Form for Port {
    type Value<'a> = u16;

    fn parse(&self, text: &str) -> Option<u16> {
        text.parse().ok().filter(|it| *it != 0)
    }

    fn allowed(&self) -> String {
        "one port, a whole number from 1 to 65535".to_owned()
    }
}

/// Values of one form with commas between them.
#[derive(Clone, Copy, Debug)]
pub struct List<F> {
    /// The form of each item.
    pub of: F,
    /// Their common name: "ports". Empty where the example says enough.
    pub what: &'static str,
    /// An allowed list, for errors.
    pub example: &'static str,
}

/// Ports with commas between them.
pub const PORTS: List<Port> = List { of: Port, what: "ports", example: "80,8080" };

impl<F: Form> Form for List<F> {
    type Value<'a> = Vec<F::Value<'a>>;

    fn parse<'a>(&self, text: &'a str) -> Option<Self::Value<'a>> {
        text.split(',').map(|it| self.of.parse(it.trim())).collect()
    }

    fn allowed(&self) -> String {
        let Self { what, example, .. } = self;
        let of = if what.is_empty() { "" } else { " of " };
        format!("a list{of}{what} such as {example}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_without_white_space() {
        assert_eq!(PORTS.parse("80, 443"), Some(vec![80, 443]));
        for text in ["", "80,", "0", "65536", "http"] {
            assert_eq!(PORTS.parse(text), None, "{text}");
        }
    }
}
