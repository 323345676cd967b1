//! Lists of access while the cloud's lists lag, through wasm, gate and signature. The API has no token with which a repetition makes no second one.

use std::time::Duration;

use cloud_provider::{Deletion, Progress};
use tests::vendor::{AlibabaCloud, Vendor as _};

use crate::life::{Life, slow};
use crate::setup::Rig;

const LAG: Duration = Duration::from_secs(3_600);

/// A cloud whose lists lag until its clock moves.
async fn lagging() -> Rig {
    let rig = Rig::set(slow(), &[("createAgainAfter", "1m")]).await;
    rig.cloud.behave(|it| it.lists_late_by = LAG);
    rig
}

/// The ids of all lists of access.
fn lists(rig: &Rig) -> Vec<String> {
    rig.cloud.with(|world| world.access.all().map(|(id, _)| id.to_owned()).collect())
}

/// One call of a Service that is not ready.
async fn waits(life: &mut Life<'_>) {
    let answer = life.service.ask().await.answer.unwrap();
    assert!(matches!(answer, Progress::Pending(_)), "{answer:?}");
}

/// A Service whose list of access is announced, and not made.
async fn announced(rig: &Rig) -> Life<'_> {
    let mut life = Life::new(rig);
    life.service.desired.source_ranges = vec!["10.0.0.0/8".to_owned()];
    for _ in 0..8 {
        waits(&mut life).await;
        if life.service.desired.memo.as_deref().is_some_and(|it| it.contains(" announced:")) {
            assert!(lists(rig).is_empty());
            return life;
        }
    }
    panic!("it is not announced: {:?}", life.service.desired.memo);
}

#[tokio::test]
async fn a_list_of_access_is_made_once_while_lists_lag() {
    let rig = lagging().await;
    let mut life = announced(&rig).await;
    for _ in 0..6 {
        waits(&mut life).await;
        assert_eq!(lists(&rig).len(), 1);
    }
    let (id, list) = (rig.only(), lists(&rig).remove(0));
    let memo = life.service.desired.memo.clone().unwrap();
    assert!(memo.starts_with(&format!("{id} {list}:")), "{memo}");
    rig.cloud.advance(LAG);
    life.settle().await;
    assert_eq!(life.service.desired.memo.as_deref(), Some(&*id), "the memo of one that is ready is the id alone");
    assert_eq!(lists(&rig), [&*list]);
    rig.cloud.with(|world| {
        let used: Vec<_> =
            world.listeners.all().map(|(_, it)| (it["AclId"].clone(), it["AclStatus"].clone())).collect();
        assert_eq!(used, [(list.clone().into(), "on".into())]);
    });
    assert_eq!(life.settle().await, [""; 0]);
    life.service.gone().await;
    assert_eq!(AlibabaCloud::leftovers(rig.cloud.account()), [""; 0]);
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn a_list_of_access_goes_with_its_service_while_lists_lag() {
    let rig = lagging().await;
    let mut life = announced(&rig).await;
    waits(&mut life).await;
    assert_eq!(lists(&rig).len(), 1);
    life.service.gone().await;
    assert_eq!(AlibabaCloud::leftovers(rig.cloud.account()), [""; 0], "it is known by its id");
    assert_eq!(AlibabaCloud::built(rig.cloud.account()), []);
    rig.cloud.assert_valid();
}

/// The process dies before the answer to the creation is kept, and the Service is deleted before lists show what was made.
#[tokio::test]
async fn a_list_of_access_whose_answer_is_lost_is_looked_for() {
    let rig = lagging().await;
    let mut life = announced(&rig).await;
    let kept = life.service.desired.memo.clone();
    waits(&mut life).await;
    assert_eq!(lists(&rig).len(), 1);
    (life.service.desired.memo, life.service.desired.memo_is_new) = (kept, false);
    waits(&mut life).await;
    assert!(life.service.desired.memo.as_deref().is_some_and(|it| it.contains(" sought:")));
    assert_eq!(lists(&rig).len(), 1, "no second one is made meanwhile");
    for _ in 0..6 {
        let deletion = life.service.delete().await;
        assert!(matches!(deletion, Ok(Deletion::Pending(_))), "{deletion:?}");
    }
    assert_eq!(AlibabaCloud::built(rig.cloud.account()), [], "the load balancer does not wait for it");
    rig.cloud.advance(LAG);
    life.service.gone().await;
    assert_eq!(AlibabaCloud::leftovers(rig.cloud.account()), [""; 0]);
    rig.cloud.assert_valid();
}
