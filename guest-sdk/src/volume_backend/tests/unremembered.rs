//! A creation of which no memo tells: a process has died over it.

use super::{Acme, Disks, abandon, call, desired};
use crate::{DesiredVolume, VolumeDeletion};

/// Cases: csi 21
#[test]
fn a_creation_that_nobody_remembers_is_waited_for() {
    let abandoned = |memo: &str| {
        let memo = Some(memo.to_owned());
        call(Disks::<true>::default(), || abandon(&Acme::<true>, &DesiredVolume { memo, ..desired() })).0
    };
    // A process may have sent another creation, and died before it could keep a memo of that.
    for memo in ["lost since 1", "made disk-9 since 1"] {
        let Ok(VolumeDeletion::Pending(left)) = abandoned(memo) else { panic!("{memo} is believed") };
        assert_eq!(left.wait.milliseconds, 60_000, "{memo}");
        let looked = left.memo.unwrap();
        assert!(looked.ends_with(" number 0"), "{looked}");
        let Ok(VolumeDeletion::Pending(again)) = abandoned(&looked) else { panic!("{looked} is over at once") };
        assert_eq!(again.memo.as_deref(), Some(looked.as_str()), "it goes on from there");
    }
    assert_eq!(abandoned("lost since 1 number 0"), Ok(VolumeDeletion::Done));
}
