//! Calls whose path names the model, and whether the response is a stream: those of Gemini and of Bedrock's Converse.

use super::query::percent_decoded;
use std::borrow::Cow;

/// A call whose path names the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelCall<'p> {
    pub api: ModelCallApi,
    pub is_stream: bool,
    /// Whether the response is only the number of tokens of the request.
    pub counts_tokens: bool,
    /// As it stands in the path.
    model: &'p str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelCallApi {
    Gemini,
    Converse,
}

impl<'p> ModelCall<'p> {
    /// The call to which a `POST` to `path` belongs.
    pub fn find(path: &'p str) -> Option<Self> {
        let gemini = ["/v1beta/models/", "/v1/models/"];
        let gemini = gemini.iter().find_map(|prefix| path.strip_prefix(prefix));
        let gemini = gemini.or_else(|| {
            let (account, call) = path.split_once("/publishers/google/models/")?;
            account.starts_with("/v1").then_some(call)
        });
        let (api, (model, verb)) = match gemini {
            Some(call) => (ModelCallApi::Gemini, call.rsplit_once(':')?),
            None => (
                ModelCallApi::Converse,
                path.strip_prefix("/model/")?.split_once('/')?,
            ),
        };
        let is_stream = match (api, verb) {
            (ModelCallApi::Gemini, "generateContent" | "countTokens")
            | (ModelCallApi::Converse, "converse") => false,
            (ModelCallApi::Gemini, "streamGenerateContent")
            | (ModelCallApi::Converse, "converse-stream") => true,
            (ModelCallApi::Gemini | ModelCallApi::Converse, _) => return None,
        };
        (!model.is_empty()).then_some(Self {
            api,
            is_stream,
            counts_tokens: verb == "countTokens",
            model,
        })
    }

    /// The name of the model.
    pub fn model(self) -> Cow<'p, str> {
        percent_decoded(self.model)
    }

    /// The name of the endpoint in request records.
    pub fn name(self) -> &'static str {
        match (self.api, self.is_stream) {
            (ModelCallApi::Gemini, _) if self.counts_tokens => "gemini.count_tokens",
            (ModelCallApi::Gemini, false) => "gemini.generate_content",
            (ModelCallApi::Gemini, true) => "gemini.stream_generate_content",
            (ModelCallApi::Converse, false) => "bedrock.converse",
            (ModelCallApi::Converse, true) => "bedrock.converse_stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_names_the_model_and_the_form_of_the_response() {
        for (path, found) in [
            (
                "/v1beta/models/g-3:generateContent",
                Some(("g-3", "gemini.generate_content")),
            ),
            (
                "/v1/models/a%2Fb:x:streamGenerateContent",
                Some(("a/b:x", "gemini.stream_generate_content")),
            ),
            (
                "/model/eu.a.c-v1%3A0/converse",
                Some(("eu.a.c-v1:0", "bedrock.converse")),
            ),
            (
                "/model/m/converse-stream",
                Some(("m", "bedrock.converse_stream")),
            ),
            ("/model/m/invoke", None),
            ("/model//converse", None),
            ("/model/a/b/converse", None),
            (
                "/v1beta/models/g:countTokens",
                Some(("g", "gemini.count_tokens")),
            ),
            (
                "/v1/projects/p/locations/l/publishers/google/models/g:generateContent",
                Some(("g", "gemini.generate_content")),
            ),
            ("/own/publishers/google/models/g:generateContent", None),
            ("/v1beta/models/g:embedContent", None),
            ("/v1beta/models/:generateContent", None),
            ("/v1/models/g", None),
        ] {
            let call = ModelCall::find(path);
            let seen = call.map(|call| (call.model().into_owned(), call.name()));
            let seen = seen.as_ref().map(|(model, name)| (model.as_str(), *name));
            assert_eq!(seen, found, "{path}");
        }
    }
}
