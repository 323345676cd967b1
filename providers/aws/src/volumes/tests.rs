use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Error, PersistentVolumes, Result, Topology, Volume};

use crate::Aws;
use crate::tests::{action, filter, host, refused, sent, settings};

fn ask(host: &Host, handles: &[&str]) -> Vec<Result<Option<Topology>>> {
    let volume = |handle: &&str| Volume {
        name: "pv".to_owned(),
        source: "ebs.csi.aws.com".to_owned(),
        handle: (*handle).to_owned(),
        attributes: Vec::new(),
        extra: Vec::new(),
    };
    let volumes: Vec<_> = handles.iter().map(volume).collect();
    host.run(|| Aws::get_topologies(&volumes))
}

#[test]
fn volumes_are_one_request_and_an_unknown_one_fails_no_other() {
    let host = host(|request| {
        assert_eq!(action(request), "DescribeVolumes");
        assert_eq!(filter(request, "volume-id"), ["vol-1", "vol-2"]);
        answer(
            200,
            "<R><volumeSet><item><volumeId>vol-1</volumeId><availabilityZone>us-east-1b</availabilityZone></item></volumeSet></R>",
        )
    });
    let answers = ask(&host, &["vol-1", "vol-2", "aws://us-east-1b/vol-1", "aws:///us-east-1b/vol-1"]);
    let place = || Ok(Some(Topology::new(Some("us-east-1".to_owned()), ["us-east-1b"])));
    assert_eq!(answers, [place(), Ok(None), place(), place()]);
    assert_eq!(sent(&host).len(), 1);
}

#[test]
fn a_foreign_handle_asks_nothing() {
    for handle in ["", "pd-1", "vol-", "vol-a b", "aws://us-east-1b/i-1"] {
        let answers = ask(&settings(), &[handle]);
        assert!(
            matches!(&answers[..], [Err(Error::Invalid(why))] if why.contains(&format!("{handle:?}"))),
            "{answers:?}"
        );
    }
}

#[test]
fn an_error_is_no_absence() {
    let answers = ask(&host(|_| refused(503, "RequestLimitExceeded")), &["vol-1", "vol-2"]);
    assert!(answers.iter().all(|it| matches!(it, Err(Error::RetryAfter(_)))), "{answers:?}");
}

#[test]
fn drivers_and_the_older_source_are_described() {
    let described = <Aws as PersistentVolumes>::describe().unwrap();
    assert_eq!(
        (described.drivers, described.sources, described.batch_size),
        (vec!["ebs.csi.aws.com".to_owned()], vec!["awsElasticBlockStore".to_owned()], 200)
    );
}
