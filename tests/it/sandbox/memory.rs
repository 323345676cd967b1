//! Memory, stack, handles, and what passes between guest and host.

use sandbox::CallLimits;
use tests::component;

use crate::setup::{Guest, alone};

const MEMORY: &str = "was stopped: it wanted more than 65536 KiB of memory (provider.limits.memory)";

#[tokio::test]
async fn adv_33_a_guest_that_eats_memory_is_stopped() {
    let lab = Guest::hostile().load().await;
    assert_eq!(lab.end("eat-memory").await, format!("provider hostile: get {MEMORY}"));
    assert_eq!(lab.calls("memory"), 1);
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_33_several_memories_are_counted_together() {
    // A memory of a page, and five with a page less than the limit.
    let bytes = component::provider("(memory 1023)".repeat(5).as_str(), "(i32.const 64)");
    let text = Guest::of(bytes).refusal().await;
    assert!(text.ends_with(MEMORY), "{text}");
}

#[tokio::test]
async fn adv_33_growth_by_steps_over_several_memories_is_stopped() {
    let grow = "(loop $again (drop (memory.grow $a (i32.const 7))) (drop (memory.grow $b (i32.const 1))) (br $again)) (unreachable)";
    let text = Guest::of(component::provider("(memory $a 0) (memory $b 0)", grow)).refusal().await;
    assert!(text.ends_with(MEMORY), "{text}");
}

#[tokio::test]
async fn adv_33_growth_over_a_memorys_own_maximum_answers_minus_one() {
    let grow = "(if (result i32) (i32.eq (memory.grow $small (i32.const 100000)) (i32.const -1))
        (then (i32.const 256)) (else (unreachable)))";
    let text = Guest::of(component::provider("(memory $small 1 2)", grow)).refusal().await;
    assert!(text.ends_with("does not start: refused"), "{text}");
}

#[tokio::test]
async fn adv_33_a_huge_table_is_stopped() {
    let text = Guest::of(component::provider("(table 100001 funcref)", "(i32.const 64)")).refusal().await;
    assert!(text.contains("its tables are too large"), "{text}");
}

#[tokio::test]
async fn adv_35_a_stack_overflow_is_a_trap() {
    let lab = Guest::hostile().load().await;
    for crime in ["recurse", "recurse-and-log"] {
        let text = lab.end(crime).await;
        assert!(text.contains("call stack exhausted"), "{text}");
    }
    assert_eq!(lab.calls("trap"), 2);
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_36_handles_are_counted() {
    let lab = Guest::hostile().load().await;
    let text = lab.end("handles").await;
    assert!(text.contains("resource table"), "{text}");
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_36_handles_leaked_in_ten_thousand_calls_are_gone() {
    let _alone = alone().await;
    let lab = Guest::hostile().load_alone().await;
    let leak = async |calls: usize| {
        for _ in 0..calls {
            assert_eq!(lab.report("leak-handles:100").await, "leaked");
        }
    };
    leak(500).await;
    let before = resident();
    leak(10_000).await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes more after 10,000 calls");
}

#[tokio::test]
async fn adv_37_a_huge_answer_is_a_trap() {
    let limits = CallLimits { memory: 256 << 20, ..CallLimits::default() };
    let lab = Guest::hostile().limits(limits).load().await;
    for crime in ["big-string", "big-list", "nested-lists"] {
        let text = lab.end(crime).await;
        assert!(text.contains("fuel"), "{crime}: {text}");
    }
    lab.assert_alive().await;
}

/// Bytes of this process in memory.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size()
}
