//! Reads a Service's annotations. Where there is a load balancer, a value that would change nothing is no refusal.

use aerostat_sdk::annotations::{Annotations, Key, Values};
use aerostat_sdk::{LoadBalancer, Result};

use super::warnings::Warnings;
use crate::api::load_balancers::LoadBalancer as Live;

/// The annotations of a Service, the load balancer that there is, and what its author should know.
pub(super) struct Reading<'a> {
    pub(super) annotations: Annotations<'a>,
    pub(super) live: Option<&'a Live>,
    pub(super) warnings: Warnings,
}

impl<'a> Reading<'a> {
    pub(super) fn of(service: &'a LoadBalancer, live: Option<&'a Live>) -> Self {
        Self { annotations: Annotations::of(service), live, warnings: Warnings::default() }
    }

    /// A value. What counts only at a creation, and may not stand there, is a warning where there is a load balancer.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and what may stand there.
    pub(super) fn read<V: Values>(&mut self, key: &Key<V>) -> Result<Option<V::Value<'a>>> {
        let refused = match self.annotations.read(key) {
            Err(refused) if key.is_only_at_creation() && self.live.is_some() => refused,
            read => return read,
        };
        let Some(text) = self.text(key.name) else { return Err(refused) };
        let meaning = format!("has no effect on a load balancer that is there, and is not {}", key.allowed());
        self.warnings.tolerated(key.name, text, &meaning);
        Ok(None)
    }

    /// A value, or one that may not stand there and that the load balancer has nevertheless: `as_shown` reads it then.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and what may stand there.
    pub(super) fn read_or_keep<V: Values>(
        &mut self,
        key: &Key<V>,
        as_shown: impl FnOnce(&Live, &'a str) -> Option<V::Value<'a>>,
    ) -> Result<Option<V::Value<'a>>> {
        let refused = match self.read(key) {
            Ok(read) => return Ok(read),
            Err(refused) => refused,
        };
        let (Some(live), Some(text)) = (self.live, self.text(key.name)) else { return Err(refused) };
        let shown = as_shown(live, text).ok_or(refused)?;
        self.keep(key, text);
        Ok(Some(shown))
    }

    /// Says that a value stays although it may not stand there.
    pub(super) fn keep<V: Values>(&mut self, key: &Key<V>, text: &str) {
        let meaning = format!("stays, because the load balancer has it; it is not {}", key.allowed());
        self.warnings.tolerated(key.name, text, &meaning);
    }

    /// A number, or the one that the load balancer has.
    pub(super) fn number<V: for<'b> Values<Value<'b> = u32>>(
        &mut self,
        key: &Key<V>,
        shown: impl Fn(&Live) -> Option<u32>,
    ) -> Result<Option<u32>> {
        self.read_or_keep(key, |live, text| shown(live).filter(|it| text.parse() == Ok(*it)))
    }

    /// A boolean; false where it is not there.
    pub(super) fn flag<V: for<'b> Values<Value<'b> = bool>>(&mut self, key: &Key<V>) -> Result<bool> {
        Ok(self.read(key)?.unwrap_or(false))
    }

    /// A value as it is; `None` where it is not there, or empty.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.annotations.text(name)
    }
}
