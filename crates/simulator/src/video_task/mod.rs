//! Video tasks: the plan and the state of each, and the store of all.

mod plan;
mod store;
mod task;

pub use plan::TaskPlan;
pub use store::{KeepOrRemove, VideoTaskStore};
pub use task::{VideoTask, VideoTaskState};
