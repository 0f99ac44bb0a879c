//! What a create in OpenAI's format asked for, which is sealed into the id of the task.

/// Length and size as the caller named them; every later object of the task repeats them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedVideoFormat {
    /// Whole seconds, as text.
    pub seconds: Option<String>,
    /// Such as `1280x720`.
    pub size: Option<String>,
}
