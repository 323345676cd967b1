//! The three routes of [`conformance::protocol`], over any cloud.

use std::sync::{Arc, Mutex, PoisonError};

use conformance::protocol::{
    AdminFailure, ArrivedRequest, Asked, CHANGE, ForeignChange, How, Orders, REQUESTS, Setup, WORLD, World,
};
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::json;

use crate::simulator::{Admin, Answer, Control, Fault, Ordered, Recorded};

use super::cloud::Published;

/// The routes, and how many requests they have told already.
pub(super) struct Routes<C> {
    control: Control<C>,
    setup: Setup,
    told: Mutex<usize>,
}

impl<C: Published> Routes<C> {
    pub(super) fn of(control: Control<C>, setup: Setup) -> Arc<dyn Admin> {
        Arc::new(Self { control, setup, told: Mutex::default() })
    }

    fn asked(&self) -> Asked {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let new = self.control.requests_from(*told);
        *told += new.len();
        let requests = new.iter().filter(|it| C::is_the_providers(it)).map(request::<C>).collect();
        Asked { requests, dead: self.control.has_ended(), wrong: self.control.take_violations() }
    }

    fn order(&self, orders: Orders) {
        self.control.account().lag(orders.lists_lag);
        self.control.order(orders.fail.map(|AdminFailure { nth, how }| {
            let ends = matches!(how, How::DiesBefore | How::DiesAfter);
            Ordered::new(nth, ends, C::is_the_providers, move |request| fault::<C>(how, request))
        }));
    }
}

impl<C: Published> Admin for Routes<C> {
    fn owns(&self, path: &str) -> bool {
        path.starts_with("/conformance/")
    }

    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> Answer {
        match (method, path) {
            (&Method::GET, WORLD) => {
                told(&World { setup: self.setup.clone(), objects: self.control.account().objects() })
            }
            (&Method::GET, REQUESTS) => told(&self.asked()),
            (&Method::POST, REQUESTS) => match serde_json::from_slice(body) {
                Ok(orders) => {
                    self.order(orders);
                    told(&json!({}))
                }
                Err(error) => refused(StatusCode::BAD_REQUEST, &error.to_string()),
            },
            (&Method::POST, CHANGE) => match serde_json::from_slice::<ForeignChange>(body) {
                Ok(change) => match self.control.account().change(&change) {
                    Some(changed) => told(&changed),
                    None => refused(StatusCode::NOT_IMPLEMENTED, "this cloud cannot"),
                },
                Err(error) => refused(StatusCode::BAD_REQUEST, &error.to_string()),
            },
            _ => refused(StatusCode::NOT_FOUND, "there is no such route"),
        }
    }
}

fn request<C: Published>(it: &Recorded) -> ArrivedRequest {
    ArrivedRequest { line: format!("{} {}", it.method, it.path), writes: C::writes(it), status: it.status }
}

fn fault<C: Published>(how: How, request: &Recorded) -> Fault {
    match how {
        How::LostBefore | How::DiesBefore => Fault::nothing("*", "/**").undone(),
        How::LostAfter | How::DiesAfter => Fault::nothing("*", "/**"),
        How::Failed => Fault::status("*", "/**", 500),
        How::FailedAfter => Fault::status("*", "/**", 500).done(),
        How::Busy => C::busy(request),
        How::Refused => C::refused(request),
    }
}

fn told(value: &impl Serialize) -> Answer {
    Answer::ok(&serde_json::to_value(value).expect("texts and numbers become JSON"))
}

fn refused(status: StatusCode, why: &str) -> Answer {
    Answer::json(status, &json!({ "error": why }))
}
