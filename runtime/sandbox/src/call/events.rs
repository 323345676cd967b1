use cloud_provider::Event;

use crate::untrusted::printable;

const PER_CALL: usize = 64;
const REASON_BYTES: usize = 128;
const MESSAGE_BYTES: usize = 1 << 10;
const PROVIDER_ID_BYTES: usize = 1 << 10;

/// The events of one call: few, short, each once.
#[derive(Default)]
pub(super) struct Events(Vec<Event>);

impl Events {
    /// Keeps `event`, or says why not.
    pub(super) fn add(&mut self, mut event: Event) -> Result<(), &'static str> {
        if self.0.len() == PER_CALL {
            return Err("there are 64 in this call already");
        }
        if !is_reason(&event.reason) {
            return Err("its reason is not one UpperCamelCase word");
        }
        if event
            .about
            .as_ref()
            .is_some_and(|it| it.len() > PROVIDER_ID_BYTES || !it.bytes().all(|it| it.is_ascii_graphic()))
        {
            return Err("what it is about is no provider id: one is visible ASCII, at most 1024 bytes");
        }
        event.about.take_if(|it| it.is_empty());
        event.message = printable(&event.message, MESSAGE_BYTES);
        if !self.0.contains(&event) {
            self.0.push(event);
        }
        Ok(())
    }

    pub(super) fn into_vec(self) -> Vec<Event> {
        self.0
    }
}

fn is_reason(text: &str) -> bool {
    text.len() <= REASON_BYTES
        && text.starts_with(|it: char| it.is_ascii_uppercase())
        && text.bytes().all(|it| it.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use cloud_provider::EventKind;

    use super::*;

    fn event(reason: &str, message: &str) -> Event {
        Event { about: None, kind: EventKind::Warning, reason: reason.into(), message: message.into() }
    }

    #[test]
    fn a_repeated_notice_is_one() {
        let mut events = Events::default();
        for _ in 0..10_000 {
            events.add(event("QuotaLow", "two droplets left")).unwrap();
        }
        assert_eq!(events.into_vec().len(), 1);
    }

    #[test]
    fn the_sixty_fifth_is_refused_and_a_long_message_is_cut() {
        let mut events = Events::default();
        let kept = (0..10_000).filter(|it| events.add(event("Note", &format!("{it} {}", "x".repeat(1 << 20)))).is_ok());
        assert_eq!(kept.take(65).count(), 64);
        assert!(events.into_vec().iter().all(|it| it.message.len() <= 1024));
    }

    #[test]
    fn what_a_notice_is_about_is_a_provider_id() {
        for wrong in ["acme://1\n2", "acme://\u{202e}1", &"x".repeat(1025)] {
            let about = Event { about: Some(wrong.to_owned()), ..event("Note", "text") };
            assert!(Events::default().add(about).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn a_reason_is_one_word() {
        for wrong in ["", "lower", "Two Words", "Line\nbreak", &"X".repeat(129)] {
            assert!(Events::default().add(event(wrong, "text")).is_err(), "{wrong:?} was taken");
        }
    }
}
