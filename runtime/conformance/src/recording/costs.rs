//! The requests that each recorded call costs.

use crate::conversation::ConversationCall;
use crate::report::Cost;

use super::stage::RecordedStage;

/// One row for each call: the requests that were recorded. The least is one read, and one write where there was one.
pub(super) fn of(stage: &RecordedStage) -> Vec<Cost> {
    let cost = |(number, call): (usize, &ConversationCall)| {
        let writes = call.exchanges.iter().filter(|it| it.writes).count();
        let reads = call.exchanges.len() - writes;
        let (least_reads, least_writes) = (reads.min(1), writes.min(1));
        Cost { deed: stage.title(number), calls: 1, reads, writes, least_reads, least_writes }
    };
    stage.calls().iter().enumerate().map(cost).collect()
}
