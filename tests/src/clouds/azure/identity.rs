//! The identities of a simulator: Entra and the tokens that it has given, as tests change them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;

use crate::simulator::{Answer, Recorded};

use super::entra::Entra;
use super::tokens::Tokens;

/// Applications, managed identities and tokens.
#[derive(Debug)]
pub struct Identity(Mutex<State>);

#[derive(Debug)]
struct State {
    entra: Entra,
    tokens: Tokens,
}

impl Identity {
    /// This token is good from the start, for ever.
    pub(super) fn new(token: &str) -> Identity {
        Identity(Mutex::new(State { entra: Entra::new(), tokens: Tokens::new(token) }))
    }

    /// Forgets all tokens that were given until now: 401 `InvalidAuthenticationToken`.
    pub fn revoke_all(&self) {
        self.now().tokens.revoke_all();
    }

    /// Lets all tokens that were given until now be expired: 401 `ExpiredAuthenticationToken`.
    pub fn expire_all(&self) {
        self.now().tokens.expire_all();
    }

    /// Demands of tokens from now on that they were asked for with these claims, as JSON; others are refused with a challenge.
    pub fn demand_claims(&self, claims: Option<&str>) {
        self.now().tokens.demanded = claims.map(str::to_owned);
    }

    /// Demands a token of the second tenant, too, from now on.
    pub fn demand_auxiliary(&self, needs: bool) {
        self.now().tokens.needs_auxiliary = needs;
    }

    /// Gives tokens for so long from now on.
    pub fn set_lifetime(&self, lifetime: Duration) {
        self.now().tokens.lifetime = lifetime;
    }

    /// Lets an application have this secret alone, which has expired or has not.
    pub fn set_secret(&self, client: &str, secret: &str, is_expired: bool) {
        if let Some(it) = self.now().entra.applications.get_mut(client) {
            it.secrets = vec![(secret.to_owned(), is_expired)];
        }
    }

    /// Lets tokens of this issuer and subject stand for an application, and no others.
    pub fn trust(&self, client: &str, issuer: &str, subject: &str) {
        if let Some(it) = self.now().entra.applications.get_mut(client) {
            it.federated = vec![(issuer.to_owned(), subject.to_owned())];
        }
    }

    /// Takes all managed identities away from the machine but its own.
    pub fn unassign_all(&self) {
        self.now().entra.identities.clear();
    }

    /// How many tokens are good now.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.now().tokens.good()
    }

    /// Says where the simulator is reached: its answers name addresses.
    pub(super) fn set_base(&self, base: &str) {
        base.clone_into(&mut self.now().entra.base);
    }

    pub(super) fn answer(&self, request: &Recorded) -> Option<Answer> {
        let state = &mut *self.now();
        state.entra.answer(&mut state.tokens, request)
    }

    pub(super) fn refuse(&self, authorization: &str, headers: &HeaderMap) -> Option<Answer> {
        let state = self.now();
        state.tokens.refuse(authorization, headers, &state.entra.base)
    }

    fn now(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
