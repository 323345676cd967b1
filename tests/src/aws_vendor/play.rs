//! Playing a part of the story.

use crate::manager::{Manager, Who};

use super::manager::start;
use super::stage::Stage;
use super::story::{Part, Step};

impl Stage {
    /// Plays a part of the story. After each step `judge` is called, with the number of requests before the step, to wait for its end and
    /// to look at what there is.
    ///
    /// # Panics
    ///
    /// Panics if the API server or AWS refuses a change.
    pub async fn play(&self, who: Who, part: &Part, mut judge: impl AsyncFnMut(&Step, usize, &Manager)) {
        let mut begun = self.cloud.requests().len();
        let mut manager = start(who, part, self).await;
        for step in &part.steps {
            if step.restart {
                begun = self.cloud.requests().len();
                manager.stop().await;
                manager = start(who, part, self).await;
            }
            for change in &step.changes {
                self.apply(change).await;
            }
            judge(step, begun, &manager).await;
            begun = self.cloud.requests().len();
        }
        manager.stop().await;
    }
}
