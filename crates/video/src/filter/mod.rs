//! The filters of this feature.

pub mod callbacks;
pub mod convert_videos;
pub mod map_task;
pub mod receive_callback;
