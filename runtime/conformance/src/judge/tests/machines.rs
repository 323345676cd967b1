//! Machines by question and by list, each beside what would be right.

use cloud_provider::{Instance, State};

use super::{read, sentences, transcript};
use crate::judge::{PromiseJudgement, instances};
use crate::protocol::How;
use crate::transcript::{ListedPage, Listing, RecordedMachines, RecordedQuestion, Transcript, Truth, Wrong};

fn machine(name: &str, id: &str) -> Instance {
    Instance { name: name.to_owned(), provider_id: Some(id.to_owned()), ..Instance::default() }
}

fn question(truth: Truth, trouble: Option<(usize, How)>, said: Result<Option<Instance>, Wrong>) -> RecordedQuestion {
    RecordedQuestion { title: "get web-1".to_owned(), trouble, truth, said, requests: vec![read("GET /1")] }
}

fn listing(pages: Vec<Vec<Instance>>, names: &[&str]) -> Listing {
    let page = |instances| Ok(ListedPage { instances, gaps: Vec::new() });
    Listing {
        limit: 2,
        trouble: None,
        names: names.iter().map(|it| (*it).to_owned()).collect(),
        pages: pages.into_iter().map(page).collect(),
        is_endless: false,
        requests: vec![read("GET /")],
    }
}

fn of_machines(questions: Vec<RecordedQuestion>, lists: Vec<Listing>) -> Transcript {
    let machines = RecordedMachines { questions, lists, words: Vec::new(), accounts: Vec::new() };
    Transcript { machines: Some(machines), ..transcript() }
}

#[test]
fn none_after_a_failure_is_a_node_that_would_be_deleted() {
    let failed = Some((1, How::Failed));
    let judged = |truth, said| {
        sentences(instances::none_only_when_certain(&of_machines(vec![question(truth, failed, said)], vec![])))
    };
    assert!(judged(Truth::Runs, Ok(None))[0].contains("its node would be deleted"));
    assert_eq!(judged(Truth::Gone, Ok(None)), [""; 0]);
    let wrong = |text: &str| Err(Wrong { is_final: false, text: text.to_owned() });
    assert_eq!(judged(Truth::Runs, wrong("the cloud answered with 500")), [""; 0]);
    let told = judged(Truth::Gone, wrong("500, and the provider answers that it does not exist: that is not believed"));
    assert!(told[0].contains("which only the host prevents"), "{told:?}");
}

#[test]
fn a_machine_is_found_in_its_state_or_certainly_gone() {
    let judged = |judge: fn(&Transcript) -> PromiseJudgement, truth, said| {
        sentences(judge(&of_machines(vec![question(truth, None, said)], vec![]))).len()
    };
    let wrong = || Err(Wrong { is_final: true, text: "no".to_owned() });
    let found = |state| Ok(Some(Instance { state, ..machine("web-1", "acme://1") }));
    let find = instances::machine_is_found;
    assert_eq!([judged(find, Truth::Runs, Ok(None)), judged(find, Truth::Runs, wrong())], [1, 1]);
    assert_eq!([judged(find, Truth::Gone, Ok(None)), judged(find, Truth::Runs, found(State::Running))], [0, 0]);
    let gone = instances::none_when_gone;
    assert_eq!([judged(gone, Truth::Gone, wrong()), judged(gone, Truth::Gone, found(State::Running))], [1, 1]);
    let state = instances::stopped_is_told;
    assert_eq!(
        [judged(state, Truth::Stopped, found(State::Running)), judged(state, Truth::Runs, found(State::Stopped))],
        [1, 1]
    );
    assert_eq!(
        [judged(state, Truth::Stopped, found(State::Stopped)), judged(state, Truth::Runs, found(State::Running))],
        [0, 0]
    );
}

#[test]
fn a_list_holds_every_machine_once_and_ends() {
    let one = || machine("web-1", "acme://1");
    let two = || machine("web-2", "acme://2");
    let judged = |list| sentences(instances::list_is_complete(&of_machines(vec![], vec![list])));
    assert_eq!(judged(listing(vec![vec![one()], vec![two()]], &["web-1", "web-2"])), [""; 0]);
    assert_eq!(judged(listing(vec![vec![one()]], &["web-1", "web-2"])), ["web-2 is on none of its 1 pages"]);
    assert_eq!(judged(listing(vec![vec![one()], vec![one()]], &["web-1"])), ["web-1 is there 2 times"]);
    let endless = Listing { is_endless: true, ..listing(vec![vec![one()]], &["web-1"]) };
    assert_eq!(judged(endless), ["it has no end: page follows page"]);
    let long = listing(vec![vec![one(), two(), one()]], &[]);
    let told = sentences(instances::list_keeps_its_limit(&of_machines(vec![], vec![long])));
    assert_eq!(told, ["a page of at most 2 holds 3"]);
}

#[test]
fn a_page_that_lacks_machines_says_so() {
    let judged = |gaps: &[&str]| {
        let gaps = gaps.iter().map(|it| (*it).to_owned()).collect();
        let list = Listing {
            trouble: Some((1, How::Failed)),
            pages: vec![Ok(ListedPage { instances: Vec::new(), gaps })],
            ..listing(Vec::new(), &["web-1"])
        };
        sentences(instances::list_tells_its_gaps(&of_machines(vec![], vec![list])))
    };
    assert_eq!(judged(&["zone a does not answer"]), [""; 0]);
    assert_eq!(judged(&[]), ["web-1 is missing, and no page tells a gap"]);
    assert_eq!(judged(&["500, and the provider does not say what is missing"]).len(), 1, "the host has noticed it");
}

#[test]
fn ids_and_answers_are_the_same_everywhere() {
    let got = question(Truth::Runs, None, Ok(Some(machine("web-1", "acme://1"))));
    let listed = listing(vec![vec![machine("web-1", "acme://A1")]], &["web-1"]);
    let both = of_machines(vec![got], vec![listed]);
    assert_eq!(sentences(instances::ids_are_stable(&both)).len(), 1);
    assert_eq!(sentences(instances::list_and_get_agree(&both)).len(), 1);
    let mut words = of_machines(vec![], vec![]);
    let machines = words.machines.as_mut().unwrap();
    let word = |it: &str| Ok(it.to_owned());
    machines.words = vec![("a".to_owned(), [word("x"), word("x")]), ("b".to_owned(), [word("x"), word("x")])];
    assert_eq!(sentences(instances::canonical_ids_tell_apart(&words)), ["2 machines have 1 words"]);
    let machines = words.machines.as_mut().unwrap();
    machines.words[1].1 = [word("y"), word("z")];
    machines.accounts = vec![Ok(Some("a".to_owned())), Ok(Some("b".to_owned()))];
    assert_eq!(sentences(instances::canonical_ids_tell_apart(&words)).len(), 1);
    assert_eq!(sentences(instances::account_stays(&words)), ["one account was called {Some(\"a\"), Some(\"b\")}"]);
}

#[test]
fn a_list_that_asks_about_each_machine_is_dear() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let all = || names.iter().map(|it| machine(it, it)).collect::<Vec<_>>();
    let judged = |requests: usize| {
        let list = Listing { requests: vec![read("GET /"); requests], limit: 100, ..listing(vec![all()], &names) };
        sentences(instances::list_is_cheap(&of_machines(vec![], vec![list]))).len()
    };
    assert_eq!([judged(1), judged(6), judged(7)], [0, 0, 1]);
}
