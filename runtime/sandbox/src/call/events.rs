use cloud_provider::{Event, EventList};

use crate::convert::is_subdomain;
use crate::untrusted::printable;

const PER_OBJECT: usize = 64;
/// No question has more.
const MOST: usize = EventList::MOST;
const REASON_BYTES: usize = 128;
const MESSAGE_BYTES: usize = 1 << 10;

/// The events of one call: few, short, each once.
pub(super) struct CallEvents {
    kept: Vec<Event>,
    most: usize,
}

impl Default for CallEvents {
    fn default() -> Self {
        Self::about_several(1)
    }
}

impl CallEvents {
    /// Those of a call about so many objects.
    pub(super) fn about_several(objects: u32) -> Self {
        Self { kept: Vec::new(), most: PER_OBJECT.saturating_mul(objects as usize).min(MOST) }
    }

    /// Keeps `event`, or says why not.
    pub(super) fn add(&mut self, mut event: Event) -> Result<(), &'static str> {
        if self.kept.len() >= self.most {
            return Err("there are as many in this call as there may be");
        }
        if !is_reason(&event.reason) {
            return Err("its reason is not one UpperCamelCase word");
        }
        event.about.take_if(|it| it.is_empty());
        if event.about.as_ref().is_some_and(|it| !is_subdomain(it)) {
            return Err("what it is about is no name of a node: one is a DNS name in lower case");
        }
        event.message = printable(&event.message, MESSAGE_BYTES);
        if !self.kept.contains(&event) {
            self.kept.push(event);
        }
        Ok(())
    }

    pub(super) fn into_vec(self) -> Vec<Event> {
        self.kept
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
    fn a_repeated_event_is_one() {
        let mut events = CallEvents::default();
        for _ in 0..10_000 {
            events.add(event("QuotaLow", "two droplets left")).unwrap();
        }
        assert_eq!(events.into_vec().len(), 1);
    }

    #[test]
    fn the_sixty_fifth_is_refused_and_a_long_message_is_cut() {
        let mut events = CallEvents::default();
        let kept = (0..10_000).filter(|it| events.add(event("Note", &format!("{it} {}", "x".repeat(1 << 20)))).is_ok());
        assert_eq!(kept.take(65).count(), 64);
        assert!(events.into_vec().iter().all(|it| it.message.len() <= 1024));
    }

    #[test]
    fn the_object_of_an_event_is_a_nodes_name() {
        let about = |name: &str| Event { about: Some(name.to_owned()), ..event("Note", "text") };
        assert_eq!(CallEvents::default().add(about("worker-1.example.com")), Ok(()));
        for wrong in ["acme://1", "worker\n1", "worker\u{202e}1", "Worker-1", "-a", &"x".repeat(254)] {
            assert!(CallEvents::default().add(about(wrong)).is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn a_reason_is_one_word() {
        for wrong in ["", "lower", "Two Words", "Line\nbreak", &"X".repeat(129)] {
            assert!(CallEvents::default().add(event(wrong, "text")).is_err(), "{wrong:?} was taken");
        }
    }
}
