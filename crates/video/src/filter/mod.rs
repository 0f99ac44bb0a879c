//! The filters of this feature.

pub mod callbacks;
pub mod map_task;
pub mod receive_callback;
