//! The filter of this feature.

pub(crate) mod log_prompts;
