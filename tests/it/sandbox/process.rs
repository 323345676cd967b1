//! The machine, as a guest sees it: next to nothing.

use crate::setup::Guest;

#[tokio::test]
async fn adv_77_clocks_are_coarse() {
    let lab = Guest::hostile().load().await;
    let text = lab.report("clock").await;
    let (steps, wall) = text.rsplit_once(' ').unwrap();
    let steps: Vec<u64> = steps.trim_matches(['[', ']']).split(", ").map(|it| it.parse().unwrap()).collect();
    assert_eq!(steps.len(), 5);
    for step in steps {
        assert_eq!(step % 1_000_000, 0, "{text}");
    }
    assert_eq!(wall.parse::<u64>().unwrap() % 1_000_000, 0, "{text}");
}

#[tokio::test]
async fn adv_77_two_calls_have_different_randomness() {
    let lab = Guest::hostile().load().await;
    assert_ne!(lab.report("randomness").await, lab.report("randomness").await);
}

#[tokio::test]
async fn adv_77_random_bytes_come_in_small_pieces() {
    let lab = Guest::hostile().load().await;
    assert_eq!(lab.report("random-bytes:65536").await, "65536 random bytes");
    let text = lab.end("random-bytes:65537").await;
    assert!(text.contains("exceeds limit 65536"), "{text}");
}

#[tokio::test]
async fn adv_45_there_is_no_environment_and_no_file() {
    let lab = Guest::hostile().load().await;
    assert_eq!(lab.report("environment").await, "[] [] Err(NotFound) Err(NotFound)");
}
