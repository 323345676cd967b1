//! The account without a Lease, and what a Lease says of it.

use scripted_cloud::ScriptedCloud;

use super::*;

/// A cloud that returns this account.
pub(super) fn cloud(account: &str) -> Arc<ScriptedCloud> {
    Arc::new(ScriptedCloud::of_account(account))
}

pub(super) fn account(cloud: &Arc<ScriptedCloud>) -> Account {
    Account::new(cloud.clone(), None)
}

#[tokio::test(start_paused = true)]
async fn the_account_that_a_replaced_provider_saw_is_kept() {
    let cloud = cloud("a");
    let account = account(&cloud);
    assert_eq!(account.check().await, Ok(()));
    assert_eq!(account.compare(Some("a")).await, Ok(()));
    let denied = async |found| match account.compare(found).await {
        Err(Error::Denied(because)) => because,
        other => panic!("{other:?}"),
    };
    let refused = denied(Some("b")).await;
    assert!(refused.contains(r#"the cloud account "b""#) && refused.contains(r#"the cloud account "a""#), "{refused}");
    assert!(denied(None).await.contains("no cloud account"));

    let swap = |version, counts| {
        cloud.version().send_replace(version);
        ((), counts)
    };
    account.while_nobody_asks(|| swap(2, Some(2))).await;
    assert_eq!((account.version(), account.check().await, cloud.identity.asked()), (2, Ok(()), 1), "it was seen");
    account.while_nobody_asks(|| swap(3, None)).await;
    assert_eq!((account.check().await, cloud.identity.asked()), (Ok(()), 2), "it was not");
}

#[test]
fn a_new_lease_does_not_forget_the_account() {
    let on_lease =
        |uid: &str, account: Option<&str>| LeaseAccount { uid: Some(uid.into()), account: account.map(Into::into) };
    let mut known = RememberedAccount::default();
    let mut turn = |uid, account, found| {
        known.follow_lease(on_lease(uid, account), Some(found));
        (known.remembered.clone(), known.is_written)
    };
    let of = |account: &str| Some(account.to_owned());
    assert_eq!(turn("1", None, "a"), (None, false), "a new cluster");
    assert_eq!(turn("1", Some("a"), "a"), (of("a"), true));
    assert_eq!(turn("1", None, "a"), (of("a"), true), "a person has removed it: nothing to do");
    assert_eq!(turn("2", None, "a"), (of("a"), false), "to be written again");
    assert_eq!(turn("2", None, "a"), (of("a"), false), "the write has failed");
    assert_eq!(turn("3", Some("b"), "a"), (of("b"), true), "what it was made with counts");
    for _ in 0..2 {
        assert_eq!(turn("4", None, "a"), (of("b"), false), "nobody has removed it");
    }
    assert_eq!(turn("4", Some("b"), "a"), (of("b"), true));
    assert_eq!(turn("4", None, "a"), (None, false), "a person has removed it: another account may come");
}

#[tokio::test(start_paused = true)]
async fn the_account_is_asked_once_a_minute() {
    let cloud = cloud("a");
    let account = account(&cloud);
    for _ in 0..3 {
        assert_eq!(account.check().await, Ok(()));
    }
    assert_eq!((cloud.identity.asked(), cloud.approved()), (1, 1));
    tokio::time::advance(RIGHT).await;
    assert_eq!(account.check().await, Ok(()));
    assert_eq!(cloud.identity.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_new_credential_is_checked_at_once() {
    let cloud = cloud("a");
    let account = account(&cloud);
    assert_eq!(account.check().await, Ok(()));
    cloud.version().send_replace(2);
    cloud.names(Ok(Some("b".to_owned())));
    let Err(Error::Denied(message)) = account.check().await else { panic!("another account is denied") };
    assert!(message.contains("\"b\"") && message.contains("\"a\""), "{message}");
    assert_eq!(cloud.approved(), 1, "the new version is not approved");
    tokio::time::advance(WRONG).await;
    cloud.names(Ok(Some("a".to_owned())));
    assert_eq!(account.check().await, Ok(()), "the right account is back");
}

#[tokio::test(start_paused = true)]
async fn an_error_says_nothing_about_the_account() {
    let cloud = cloud("a");
    let account = account(&cloud);
    cloud.names(Err(Error::Unavailable("down".to_owned())));
    let error = Error::Unavailable("asking which cloud account the credential belongs to: down".to_owned());
    assert_eq!(account.check().await, Err(error.clone()));
    assert_eq!(account.check().await, Err(error));
    assert_eq!(cloud.identity.asked(), 1, "eight callers ask once");
    tokio::time::advance(FAILED).await;
    cloud.names(Ok(Some("a".to_owned())));
    assert_eq!(account.check().await, Ok(()));
}

#[tokio::test]
async fn settings_that_do_not_fit_the_account_make_no_object_invalid() {
    let cloud = cloud("a");
    let account = account(&cloud);
    assert_eq!(account.check().await, Ok(()));
    cloud.version().send_replace(2);
    cloud.names(Err(Error::Invalid("setting accountID says a".to_owned())));
    let reason = "checking that the credential still belongs to the cloud account \"a\": setting accountID says a";
    assert_eq!(account.check().await, Err(Error::Denied(reason.to_owned())), "another credential may do");
}

#[tokio::test]
async fn a_cloud_without_accounts_is_never_doubted() {
    let cloud = cloud("a");
    cloud.names(Ok(None));
    assert_eq!(account(&cloud).check().await, Ok(()));
    assert_eq!(Account::any().check().await, Ok(()));
}

#[tokio::test]
async fn a_cloud_that_named_its_account_must_go_on() {
    let cloud = cloud("a");
    let account = account(&cloud);
    assert_eq!(account.check().await, Ok(()));
    cloud.version().send_replace(2);
    cloud.names(Ok(None));
    let Err(Error::Denied(message)) = account.check().await else { panic!("nobody knows whose this is") };
    assert!(message.contains("no longer says"), "{message}");
}

#[tokio::test]
async fn an_error_says_which_account_was_expected() {
    let cloud = cloud("a");
    let account = account(&cloud);
    assert_eq!(account.check().await, Ok(()));
    cloud.version().send_replace(2);
    let after = Duration::from_secs(7);
    cloud.names(Err(Error::RetryAfter { after, reason: "slow down".to_owned() }));
    let reason = "checking that the credential still belongs to the cloud account \"a\": slow down".to_owned();
    assert_eq!(account.check().await, Err(Error::RetryAfter { after, reason }), "the pause is obeyed as ever");
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_never_names_its_account_blocks_nobody() {
    let cloud = cloud("a");
    cloud.identity.answers_later(|()| std::future::pending());
    let Err(Error::Unavailable(text)) = account(&cloud).check().await else { panic!("it told") };
    assert!(text.starts_with("asking which cloud account") && text.contains("did not answer within"), "{text}");
}
