//! Machines of another node, cloud or account.

use super::*;

#[tokio::test(start_paused = true)]
async fn two_machines_for_one_node_are_an_error_that_names_both() {
    let twin = Instance { provider_id: Some("fake://77".into()), ..instance(1) };
    let machines = machines(9).into_iter().chain([twin]).collect();
    let fake = cloud(machines);
    let inventory = inventory(&fake, (1..=9).map(node));
    let error = inventory.joining(&node(1)).await.unwrap_err();
    assert!(
        matches!(&error, Error::Invalid(text) if text.contains("fake://1)") && text.contains("fake://77")),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_machine_stands_behind_one_node() {
    let fake = cloud(machines(1));
    let inventory = inventory(&fake, [known(1, "fake://1"), known(2, "fake://1")]);
    let error = inventory.joining(&known(2, "fake://1")).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid(text) if text.contains("node n1")), "{error}");
    assert_eq!(inventory.joining(&known(1, "fake://1")).await, Ok(Some(instance(1))));
}

#[tokio::test(start_paused = true)]
async fn adv_111_the_clouds_answer_decides_between_two_nodes() {
    let fake = cloud(machines(1));
    let (recorder, mut events) = Recorder::captured();
    let (imposter, real) = (existing("a1", "fake://1"), existing("n1", "fake://1"));
    let inventory = inventory_with(&fake, [imposter.clone(), real.clone()], recorder);
    for _ in 0..2 {
        inventory.instance_of(&imposter, None).await.unwrap_err();
        assert_eq!(inventory.instance_of(&real, None).await, Ok(Some(instance(1))));
        assert!(inventory.nodes.confirmed(&imposter).is_none() && inventory.nodes.confirmed(&real).is_some());
    }
    let event = events.try_recv().unwrap();
    assert_eq!((event.about.name.as_deref(), event.reason.as_str()), (Some("a1"), "ProviderIDConflict"));
    assert!(event.message.contains("node n1"), "{}", event.message);
    assert!(events.try_recv().is_err(), "it is recorded once");
}

#[tokio::test(start_paused = true)]
async fn adv_111_unproven_nodes_are_left_alone_with_an_event() {
    let machine = Instance { name: "web".into(), ..instance(1) };
    let fake = cloud(vec![machine.clone()]);
    let (recorder, mut events) = Recorder::captured();
    let both = [existing("a1", "fake://1"), existing("n1", "fake://1")];
    let (nodes, mut writer) = Nodes::new();
    nodes.apply(kube::runtime::watcher::Event::Apply(both[1].clone()), &mut writer);
    let inventory = Inventory { nodes: nodes.clone(), ..inventory_with(&fake, [], recorder) };
    assert_eq!(inventory.instance_of(&both[1], None).await, Ok(Some(machine.clone())), "as long as there is one");
    nodes.apply(kube::runtime::watcher::Event::Apply(both[0].clone()), &mut writer);
    for node in &both {
        let error = inventory.instance_of(node, None).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        assert!(both.iter().all(|it| nodes.confirmed(it).is_none()));
    }
    let told: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).collect();
    let mut about: Vec<_> = told.iter().map(|it| (it.about.name.as_deref().unwrap(), it.reason.as_str())).collect();
    about.sort_unstable();
    assert_eq!(about, [("a1", "ProviderIDConflict"), ("n1", "ProviderIDConflict")]);
    assert!(told.iter().any(|it| it.message.contains("so has node a1")));

    // That the machine is gone is said of neither: nobody knows whose it was.
    let gone = Inventory { instances: cloud(Vec::new()), ..inventory };
    for node in &both {
        assert!(matches!(gone.instance_of(node, None).await, Err(Error::Invalid(_))));
    }
    nodes.apply(kube::runtime::watcher::Event::Delete(both[0].clone()), &mut writer);
    let inventory = Inventory { instances: fake, ..gone };
    assert_eq!(inventory.instance_of(&both[1], None).await, Ok(Some(machine)), "it is alone again");
    assert!(nodes.confirmed(&both[1]).is_some());
}

#[test]
fn a_node_of_another_cloud_is_not_covered() {
    let inventory = inventory(&cloud(Vec::new()), []);
    assert!(inventory.covers(&node(1)));
    assert!(inventory.covers(&known(1, "fake://1")));
    assert!(!inventory.covers(&known(1, "aws:///z/i-1")));
}

#[tokio::test]
async fn adv_111_a_node_of_another_account_is_left_alone() {
    let account = Account::new(Arc::new(ScriptedCloud::of_account("account=ours region=eu-1")), None);
    let gce = Description { provider_id_prefixes: vec!["gce://".into()], ..Description::default() };
    let inventory = inventory(&cloud(Vec::new()), []);
    let inventory = Inventory { description: Arc::new(gce).into(), ..inventory }
        .within(account.clone(), watch::channel(ClusterFacts::default()).1);
    let covers = |id: &str| inventory.covers(&known(1, id));
    assert!(covers("gce://theirs/eu-1-a/n1"), "nobody has told whose it is");
    account.check().await.unwrap();
    assert!(covers("gce://ours/eu-1-a/n1"));
    assert!(!covers("gce://theirs/eu-1-a/n1"));
    assert!(!covers("gce://ours/us-1-a/n1"));
}
