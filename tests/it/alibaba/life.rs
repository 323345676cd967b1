//! The life of one Service, through wasm, gate and signature.

use cloud_provider::Deletion;
use tests::clouds::alibaba::{Behaviour, Options, Taking, ZONES};
use tests::vendor::{AlibabaCloud, Service, Vendor as _};
use tests::wait;

use crate::setup::Rig;

/// Changes are seen once before they end.
pub(crate) fn slow() -> Options {
    Options::with(Behaviour::taking(Taking::Reads(1)))
}

/// The steps of a life, each with the requests that write in it.
pub(crate) struct Life<'a> {
    pub(crate) rig: &'a Rig,
    pub(crate) service: Service<'a>,
}

impl<'a> Life<'a> {
    pub(crate) fn new(rig: &'a Rig) -> Self {
        let mut service = Service::new(rig);
        service.desired.nodes = vec![AlibabaCloud::worker(1), AlibabaCloud::worker(2)];
        Self { rig, service }
    }

    /// One with a Network Load Balancer.
    pub(crate) fn network(rig: &'a Rig) -> Self {
        let mut life = Self::new(rig);
        life.service.desired.load_balancer_class = Some("alibabacloud.com/nlb".to_owned());
        life.service.set("zone-maps", ZONES);
        life
    }

    /// Deletes a Service whose load balancer is kept, and answers why.
    pub(crate) async fn kept(&mut self) -> String {
        wait::until("it is kept", async || match self.service.ask_to_delete().await.answer.unwrap() {
            Deletion::Kept(why) => Some(why),
            Deletion::Pending(_) => None,
            Deletion::Done => panic!("nothing is kept"),
        })
        .await
    }

    /// Steps until it is served. Answers the actions that were done. A write that comes while an earlier one is carried out is refused: there are
    /// few of these.
    pub(crate) async fn settle(&mut self) -> Vec<String> {
        let begun = self.rig.cloud.requests().len();
        self.service.served_with().await;
        let writes = self.rig.writes_since(begun);
        let done = writes.iter().filter_map(|it| it.strip_suffix(" → 200")?.split('/').next_back());
        let done: Vec<String> = done.map(str::to_owned).collect();
        let refused = writes.len() - done.len();
        assert!(refused <= done.len(), "{refused} refused writes beside {}: {writes:?}", done.len());
        done
    }
}
