//! Requests about routes at which something happens: the process that sent them is killed, say.

use tokio::sync::watch;

/// When a request is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// It has come, and nothing was done.
    Before,
    /// The request was carried out, and not answered.
    After,
}

/// A request that is about to be held, and is then never answered.
#[derive(Debug)]
pub struct Hold {
    reached: watch::Receiver<bool>,
}

/// The script's end of a [`Hold`].
#[derive(Debug)]
pub(super) struct Held {
    /// So many requests come before it.
    left: usize,
    side: Side,
    reached: watch::Sender<bool>,
}

impl Hold {
    /// Waits until the request has come.
    pub async fn reached(&mut self) {
        // An error means that another request is to be held instead: this one never comes.
        if self.reached.wait_for(|it| *it).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Holds the nth request from now on: the first is 1.
pub(super) fn nth(nth: usize, side: Side) -> (Hold, Held) {
    let (sender, reached) = watch::channel(false);
    (Hold { reached }, Held { left: nth.saturating_sub(1), side, reached: sender })
}

/// The fate of one request.
#[derive(Debug, Default)]
pub(super) struct Fate {
    /// On which side of it the request is held, and who waits for that.
    held: Option<(Side, watch::Sender<bool>)>,
}

impl Fate {
    /// Counts a request.
    pub(super) fn of(held: &mut Option<Held>) -> Self {
        match held {
            Some(Held { left: 0, .. }) => Self { held: held.take().map(|it| (it.side, it.reached)) },
            Some(it) => {
                it.left -= 1;
                Self::default()
            }
            None => Self::default(),
        }
    }

    /// Never returns if the request is held here.
    pub(super) async fn pass(&self, side: Side) {
        if let Some((held, reached)) = &self.held
            && *held == side
        {
            reached.send_replace(true);
            std::future::pending::<()>().await;
        }
    }
}
