//! Tests of video tasks, in the generic protocol and in those of the families.

mod cancels;
mod families;
mod family_paths;
mod form_creates;
mod hostile_responses;
mod hostile_vendors;
mod inline_videos;
mod minted_keys;
mod openai_fields;
mod openai_videos;
mod paid_connections;
mod paid_creates;
mod paid_responses;
mod paused_queries;
mod polls;
mod profiles;
mod schema_tables;
mod subrequests;
mod swapped_ids;
mod task_hosts;
mod tasks;
mod uploads;
mod upstream_errors;
mod vendors;
mod video_content;
