//! The class of the endpoint that a request uses. Providers limit classes separately.

use http::Method;

/// The class of an endpoint of a provider. Each class has a health of its own on a channel: a rate limit for queries of
/// tasks says nothing about creates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderOperationClass {
    /// Output is generated: text, images, video tasks.
    #[default]
    Generation,
    /// The status of a task is queried.
    TaskQuery,
    /// Something that exists is read, such as a response, a conversation or a file.
    Retrieval,
    /// Something is stored, changed, cancelled or deleted, and nothing generated.
    Change,
    /// The tokens of a request are counted.
    TokenCount,
    /// The provider's models are listed, for callers of the gateway's own list.
    ModelList,
}

/// The ends of paths that name a model and generate nothing.
const TOKEN_COUNT_PATHS: [&str; 4] = [
    "/count_tokens",
    "/input_tokens",
    ":countTokens",
    "/count-tokens",
];

impl ProviderOperationClass {
    pub const ALL: [Self; 6] = [
        Self::Generation,
        Self::TaskQuery,
        Self::Retrieval,
        Self::Change,
        Self::TokenCount,
        Self::ModelList,
    ];

    /// The class of a request that is no query of a task. Only requests that generate output, or count its tokens, name
    /// a model.
    pub fn for_request(method: &Method, path: &str, names_model: bool) -> Self {
        match (names_model, method) {
            (true, _) if TOKEN_COUNT_PATHS.iter().any(|end| path.ends_with(end)) => {
                Self::TokenCount
            }
            (true, _) => Self::Generation,
            (false, &Method::GET | &Method::HEAD) => Self::Retrieval,
            (false, _) => Self::Change,
        }
    }

    /// The name in logs and on the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generation => "generation",
            Self::TaskQuery => "task_query",
            Self::Retrieval => "retrieval",
            Self::Change => "change",
            Self::TokenCount => "token_count",
            Self::ModelList => "model_list",
        }
    }

    /// The fingerprint of the health of this class, for what has `fingerprint`: a channel, a model or a credential.
    pub fn health_fingerprint(self, fingerprint: u64) -> u64 {
        // The first class keeps the fingerprint; the others spread from it by a multiple of an odd constant.
        fingerprint ^ (self as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Whether a request may use a channel in cool-down if no other is usable. Of a task the last status is known, so
    /// that a query can wait.
    pub fn has_last_resort(self) -> bool {
        self != Self::TaskQuery
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_model_generates_nothing() {
        use ProviderOperationClass::{Change, Generation, Retrieval, TokenCount};
        for (method, path, names_model, class) in [
            (Method::POST, "/v1/responses", true, Generation),
            (Method::POST, "/v1/video/generations", true, Generation),
            (Method::POST, "/v1/messages/count_tokens", true, TokenCount),
            (Method::POST, "/v1/responses/input_tokens", true, TokenCount),
            (
                Method::POST,
                "/v1/models/{model}:countTokens",
                true,
                TokenCount,
            ),
            (
                Method::POST,
                "/model/{model}/count-tokens",
                true,
                TokenCount,
            ),
            (
                Method::POST,
                "/v1/models/{model}:generateContent",
                true,
                Generation,
            ),
            (Method::GET, "/v1/responses/resp_1", false, Retrieval),
            (Method::GET, "/v1/files", false, Retrieval),
            (Method::POST, "/v1/responses/resp_1/cancel", false, Change),
            (Method::DELETE, "/v1/files/file_1", false, Change),
            (Method::POST, "/v1/files", false, Change),
        ] {
            let found = ProviderOperationClass::for_request(&method, path, names_model);
            assert_eq!(found, class, "{method} {path}");
        }
    }

    #[test]
    fn each_class_has_a_health_of_its_own() {
        let mut all = ProviderOperationClass::ALL
            .map(|class| class.health_fingerprint(7))
            .to_vec();
        assert_eq!(all[0], 7);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ProviderOperationClass::ALL.len());
    }
}
