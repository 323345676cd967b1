//! A cloud in memory that does as it is told: one of its requests goes wrong, its lists lag, its clock moves.

use std::time::Duration;

use super::fake_cloud::{FakeCloud, FakeMoment, reply};
use super::host::{Host, Outcome, line};
use super::protocol::{ArrivedRequest, Asked, Changed, ForeignChange, How, Orders, World};
use crate::bindings::host::aerostat::cloud::http::{Error as Failure, Request};

/// How long a request takes on the cloud's clock.
const TAKES: Duration = Duration::from_secs(1);
/// The beginning of its clock.
const BEGINNING: Duration = Duration::from_secs(1_000_000);

/// A [`FakeCloud`], its clock, and what was ordered: the middle of [`converge`](super::converge) and of
/// [`serve`](super::serve), which both play the same.
///
/// ```
/// use aerostat_sdk::http;
/// use aerostat_sdk::testing::protocol::{AdminFailure, Changed, CloudObject, ForeignChange, How, Orders};
/// use aerostat_sdk::testing::{FakeCloud, Host, FakeMoment, Request, Response, SimulatedCloud, reply};
///
/// struct Empty;
///
/// impl FakeCloud for Empty {
///     fn answer(&mut self, _: &Request, moment: FakeMoment) -> Response {
///         reply(200, moment.now)
///     }
///     fn objects(&self) -> Vec<CloudObject> {
///         Vec::new()
///     }
///     fn change(&mut self, _: &ForeignChange) -> Option<Changed> {
///         None
///     }
/// }
///
/// let cloud = SimulatedCloud::new(Empty).shared();
/// let host = Host::of(&cloud);
/// let fail = Some(AdminFailure { nth: 2, how: How::Failed });
/// cloud.borrow_mut().order(Orders { fail, lists_lag: false });
/// let ask = || host.run(|| http::get("api", ["time"]).send());
/// assert!(ask().is_ok() && ask().is_err() && ask().is_ok());
/// assert_eq!(cloud.borrow_mut().asked().requests[1].status, Some(500));
/// ```
#[derive(Debug)]
pub struct SimulatedCloud<C> {
    cloud: C,
    clock: Duration,
    orders: Orders,
    /// How many requests came since the last order.
    came: usize,
    is_dead: bool,
    asked: Vec<ArrivedRequest>,
}

/// A cloud that a test and its host share.
pub type SharedCloud<C> = std::rc::Rc<std::cell::RefCell<SimulatedCloud<C>>>;

impl<C: FakeCloud> SimulatedCloud<C> {
    /// A cloud in which nothing goes wrong yet.
    #[must_use]
    pub fn new(cloud: C) -> Self {
        Self { cloud, clock: BEGINNING, orders: Orders::default(), came: 0, is_dead: false, asked: Vec::new() }
    }

    /// The same, shared with a [`Host`](super::Host).
    #[must_use]
    pub fn shared(self) -> SharedCloud<C> {
        std::rc::Rc::new(std::cell::RefCell::new(self))
    }

    /// The vendor's part.
    pub fn cloud(&mut self) -> &mut C {
        &mut self.cloud
    }

    /// Seconds on its clock.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.clock.as_secs()
    }

    /// Lets time pass.
    pub fn advance(&mut self, time: Duration) {
        self.clock += time;
    }

    /// Gives orders in the place of earlier ones; a process that has died is another one from here on.
    pub fn order(&mut self, orders: Orders) {
        (self.orders, self.came, self.is_dead) = (orders, 0, false);
    }

    /// The requests since this was asked last.
    pub fn asked(&mut self) -> Asked {
        Asked { requests: std::mem::take(&mut self.asked), dead: self.is_dead, wrong: Vec::new() }
    }

    /// Everything that exists.
    pub fn world(&self) -> World {
        let mut setup = self.cloud.setup();
        let settings = self.cloud.settings().into_iter().chain(self.cloud.fast_settings());
        setup.settings.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
        World { setup, objects: self.cloud.objects() }
    }

    /// Does something behind the provider's back; `None` if this cloud cannot.
    pub fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        if let ForeignChange::Advance { seconds } = change {
            self.advance(Duration::from_secs(*seconds));
            return Some(Changed::default());
        }
        self.cloud.change(change)
    }

    /// Carries a request out, or does with it what was ordered.
    ///
    /// # Errors
    ///
    /// That the answer was lost.
    pub fn send(&mut self, request: &Request) -> Outcome {
        self.clock += TAKES;
        self.came += 1;
        let how = self.orders.fail.filter(|it| it.nth == self.came).map(|it| it.how);
        let outcome = if self.is_dead { lost() } else { self.carry_out(request, how) };
        self.asked.push(ArrivedRequest {
            line: line(request).replacen(&format!(" {} ", request.endpoint), " ", 1),
            writes: self.cloud.writes(request),
            status: outcome.as_ref().ok().map(|it| it.status),
        });
        outcome
    }

    fn carry_out(&mut self, request: &Request, how: Option<How>) -> Outcome {
        let moment = FakeMoment { now: self.now(), lists_lag: self.orders.lists_lag };
        let failed = || Ok(reply(500, r#"{ "message": "it has failed" }"#));
        self.is_dead = matches!(how, Some(How::DiesBefore | How::DiesAfter));
        match how {
            None => Ok(self.cloud.answer(request, moment)),
            Some(How::LostBefore | How::DiesBefore) => lost(),
            Some(How::LostAfter | How::DiesAfter) => {
                self.cloud.answer(request, moment);
                lost()
            }
            Some(How::Failed) => failed(),
            Some(How::FailedAfter) => {
                self.cloud.answer(request, moment);
                failed()
            }
            Some(How::Busy) => Ok(self.cloud.busy(request)),
            Some(How::Refused) => Ok(self.cloud.refused(request)),
        }
    }
}

impl Host {
    /// A host whose cloud this is.
    pub fn of<C: FakeCloud + 'static>(cloud: &SharedCloud<C>) -> Self {
        let (now, cloud) = (cloud.borrow().now(), std::rc::Rc::clone(cloud));
        Self::new().at(now).answers(move |request| cloud.borrow_mut().send(request))
    }
}

fn lost() -> Outcome {
    Err(Failure::Interrupted("the connection ended".to_owned()))
}
