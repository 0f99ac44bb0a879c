//! The operations on batches, found by method and path.

/// Whose API a batch is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchApi {
    /// Of OpenAI, with a file.
    File,
    /// Of Anthropic, with a list of requests.
    Messages,
}

/// An operation on batches, by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOperation<'p> {
    Create,
    List,
    Get(&'p str),
    Cancel(&'p str),
    Delete(&'p str),
    Results(&'p str),
}

impl<'p> BatchOperation<'p> {
    /// The operation for a method and the path after `/v1/`.
    pub fn find(method: &str, path: &[&'p str]) -> Option<(BatchApi, Self)> {
        let (api, rest) = match path {
            ["batches", rest @ ..] => (BatchApi::File, rest),
            ["messages", "batches", rest @ ..] => (BatchApi::Messages, rest),
            _ => return None,
        };
        let operation = match (method, rest, api) {
            ("POST", [], _) => Self::Create,
            ("GET", [], _) => Self::List,
            ("GET", [id], _) => Self::Get(id),
            ("POST", [id, "cancel"], _) => Self::Cancel(id),
            ("DELETE", [id], BatchApi::Messages) => Self::Delete(id),
            ("GET", [id, "results"], BatchApi::Messages) => Self::Results(id),
            _ => return None,
        };
        Some((api, operation))
    }

    /// The name in request records.
    pub fn name(self, api: BatchApi) -> &'static str {
        match (api, self) {
            (BatchApi::File, Self::Create) => "batches.create",
            (BatchApi::File, _) => "batches",
            (BatchApi::Messages, Self::Create) => "message_batches.create",
            (BatchApi::Messages, _) => "message_batches",
        }
    }
}
