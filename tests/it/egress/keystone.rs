//! A real Keystone gives tokens: which of its words are kept, and how it is asked.

use tests::keystone::{Keystone, REGION};

#[tokio::test]
async fn a_real_keystone_gives_and_takes_back_tokens() {
    let keystone = Keystone::start().await;
    let project = keystone.project("kubernetes").await;
    let user = keystone.user("aerostat", "of-the-tests", &[&project]).await;
    keystone.publish("compute", "public", REGION, "http://127.0.0.1:8774/v2.1").await;
    let token = keystone.token_of(&user, "of-the-tests", &project).await;
    assert_eq!(keystone.project_of(&token).await.as_ref(), Some(&project));
    keystone.revoke(&token).await;
    assert_eq!(keystone.project_of(&token).await, None);
    assert_eq!(keystone.logins(), [201, 201], "the administrator's, and this one");
}
