//! The endpoints of the simulated provider, found by method and path.

use super::api_error::ApiError;
use super::batch_operation::{BatchApi, BatchOperation};
use super::media;
use super::model_call::ModelCall;
use super::vendors;
use super::vendors::descriptor::VendorOperation;
use super::video_operation::{SimulatedFamily, VideoOperation};
use http::{Method, StatusCode};
use std::borrow::Cow;

/// The endpoint of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint<'p> {
    Chat,
    Completions,
    Embeddings,
    Moderations,
    Rerank(RerankApi),
    Speech,
    Realtime,
    Sound(SoundTask),
    Messages,
    CountTokens,
    ModelCall(ModelCall<'p>),
    CreateResponse,
    CountResponseTokens,
    CompactResponse,
    GetResponse(&'p str),
    DeleteResponse(&'p str),
    CancelResponse(&'p str),
    InputItems(&'p str),
    Models,
    Model(&'p str),
    Resource(ResourceKind, ResourceOperation<'p>),
    Batch(BatchApi, BatchOperation<'p>),
    EditImage,
    GenerateImage,
    VaryImage,
    Video(SimulatedFamily, VideoOperation<'p>),
    /// The API of a vendor, by its name.
    Vendor(&'static str, VendorOperation<'p>),
    /// A video or an image from a URL in a response.
    Media(&'p str),
}

/// Whose API a request for ranks is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerankApi {
    Jina,
    Cohere,
}

/// What a form with sound asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoundTask {
    Transcribe,
    Translate,
}

/// The resources that an account can have besides responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    Files,
    Conversations,
    Containers,
    Uploads,
    VectorStores,
    /// A chat completion is created by its own endpoint.
    ChatCompletions,
}

/// An operation on a collection of resources, on one resource, or on a part of one, by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceOperation<'p> {
    Create,
    List,
    Get(&'p str),
    Delete(&'p str),
    Content(&'p str),
    AddPart(&'p str),
    ListParts(&'p str),
    GetPart(&'p str, &'p str),
    DeletePart(&'p str, &'p str),
    PartContent(&'p str, &'p str),
    /// Makes a file of an upload.
    Complete(&'p str),
    Cancel(&'p str),
    Search(&'p str),
    /// Adds several files to a vector store.
    AddBatch(&'p str),
    GetBatch(&'p str, &'p str),
}

impl<'p> Endpoint<'p> {
    /// The endpoint for `method` and `path`.
    ///
    /// # Errors
    /// `404` if the path is unknown, `405` if only the method is wrong.
    pub fn find(method: &Method, path: &'p str) -> Result<Self, ApiError> {
        if let Some((api, own)) = vendors::find(path) {
            let operation = vendors::operation(api, method.as_str(), own);
            let unknown = || ApiError::not_found(format!("Invalid URL ({method} {path})"));
            return Ok(Self::Vendor(api.name, operation.ok_or_else(unknown)?));
        }
        if let Some(call) = ModelCall::find(path).filter(|_| method == Method::POST) {
            return Ok(Self::ModelCall(call));
        }
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        if let Some((family, operation)) = VideoOperation::find(method.as_str(), &segments) {
            return Ok(Self::Video(family, operation));
        }
        let endpoint = match (method.as_str(), segments.as_slice()) {
            ("POST", ["v1", "images", "edits"]) => Self::EditImage,
            ("GET" | "HEAD", [media::FOLDER, name]) => Self::Media(name),
            ("POST", ["v1", "chat", "completions"]) => Self::Chat,
            ("POST", ["v1", "completions"]) => Self::Completions,
            ("POST", ["v1", "embeddings"]) => Self::Embeddings,
            ("POST", ["v1", "moderations"]) => Self::Moderations,
            ("POST", ["v1", "rerank"]) => Self::Rerank(RerankApi::Jina),
            ("POST", ["v2", "rerank"]) => Self::Rerank(RerankApi::Cohere),
            ("POST", ["v1", "audio", "speech"]) => Self::Speech,
            ("GET", ["v1", "realtime"]) => Self::Realtime,
            ("POST", ["v1", "audio", "transcriptions"]) => Self::Sound(SoundTask::Transcribe),
            ("POST", ["v1", "audio", "translations"]) => Self::Sound(SoundTask::Translate),
            ("POST", ["v1", "images", "generations"]) => Self::GenerateImage,
            ("POST", ["v1", "images", "variations"]) => Self::VaryImage,
            ("POST", ["v1", "messages"]) => Self::Messages,
            ("POST", ["v1", "messages", "count_tokens"]) => Self::CountTokens,
            (method, ["v1", rest @ ..])
                if let Some((api, operation)) = BatchOperation::find(method, rest) =>
            {
                Self::Batch(api, operation)
            }
            ("POST", ["v1", "responses"]) => Self::CreateResponse,
            ("POST", ["v1", "responses", "input_tokens"]) => Self::CountResponseTokens,
            ("POST", ["v1", "responses", "compact"]) => Self::CompactResponse,
            ("GET", ["v1", "responses", id]) => Self::GetResponse(id),
            ("DELETE", ["v1", "responses", id]) => Self::DeleteResponse(id),
            ("POST", ["v1", "responses", id, "cancel"]) => Self::CancelResponse(id),
            ("GET", ["v1", "responses", id, "input_items"]) => Self::InputItems(id),
            ("GET", ["v1", "models"]) => Self::Models,
            ("GET", ["v1", "models", _, ..]) => Self::Model(path.trim_start_matches("/v1/models/")),
            (method, ["v1", "chat", "completions", rest @ ..])
                if let Some((kind, operation)) =
                    ResourceOperation::find(method, "chat_completions", rest) =>
            {
                Self::Resource(kind, operation)
            }
            (method, ["v1", kind, rest @ ..])
                if let Some((kind, operation)) = ResourceOperation::find(method, kind, rest) =>
            {
                Self::Resource(kind, operation)
            }
            (
                _,
                ["v1", "chat", "completions"]
                | [
                    "v1",
                    "completions" | "embeddings" | "moderations" | "rerank",
                ]
                | ["v2", "rerank"]
                | ["v1", "audio", "speech" | "transcriptions" | "translations"]
                | ["v1", "images", "edits" | "generations" | "variations"]
                | [.., "v3", "contents", "generations", "tasks"]
                | [.., "contents", "generations", "tasks", _]
                | [.., "api", "v1", "services", "aigc", _, "video-synthesis"]
                | [.., "api", "v1", "tasks", _]
                | [.., "api", "v1", "tasks", _, "cancel"]
                | [
                    "v1",
                    "batches" | "messages" | "responses" | "models" | "files" | "conversations"
                    | "containers" | "uploads" | "vector_stores",
                    ..,
                ],
            ) => {
                let message = format!("Not allowed to {method} on {path}.");
                return Err(ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
                    .code("method_not_supported"));
            }
            _ => {
                let message = format!("Invalid URL ({method} {path})");
                return Err(ApiError::not_found(message).code("unknown_url"));
            }
        };
        Ok(endpoint)
    }

    /// The name in request records.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Vendor(vendor, operation) => {
                return Cow::Owned(format!("{vendor}.{}", operation.name()));
            }
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
            Self::Moderations => "moderations",
            Self::Rerank(_) => "rerank",
            Self::Speech => "audio.speech",
            Self::Realtime => "realtime",
            Self::Sound(SoundTask::Transcribe) => "audio.transcriptions",
            Self::Sound(SoundTask::Translate) => "audio.translations",
            Self::GenerateImage => "images.generate",
            Self::VaryImage => "images.vary",
            Self::Messages => "messages",
            Self::CountTokens => "count_tokens",
            Self::ModelCall(call) => call.name(),
            Self::CreateResponse => "responses.create",
            Self::CountResponseTokens => "responses.input_tokens",
            Self::CompactResponse => "responses.compact",
            Self::GetResponse(_) => "responses.get",
            Self::DeleteResponse(_) => "responses.delete",
            Self::CancelResponse(_) => "responses.cancel",
            Self::InputItems(_) => "responses.input_items",
            Self::Models => "models",
            Self::Model(_) => "model",
            Self::Resource(ResourceKind::Files, _) => "files",
            Self::Resource(ResourceKind::Conversations, _) => "conversations",
            Self::Resource(ResourceKind::Containers, _) => "containers",
            Self::Resource(ResourceKind::Uploads, _) => "uploads",
            Self::Resource(ResourceKind::VectorStores, _) => "vector_stores",
            Self::Resource(ResourceKind::ChatCompletions, _) => "chat_completions",
            Self::Batch(api, operation) => operation.name(api),
            Self::EditImage => "images.edit",
            Self::Video(family, operation) => operation.name(family),
            Self::Media(_) => "media",
        })
    }
}

impl<'p> ResourceOperation<'p> {
    fn find(method: &str, kind: &str, rest: &[&'p str]) -> Option<(ResourceKind, Self)> {
        use ResourceKind::{
            ChatCompletions, Containers, Conversations, Files, Uploads, VectorStores,
        };
        let (kind, parts) = match kind {
            "files" => (Files, None),
            "conversations" => (Conversations, Some("items")),
            "containers" => (Containers, Some("files")),
            "uploads" => (Uploads, Some("parts")),
            "vector_stores" => (VectorStores, Some("files")),
            "chat_completions" => (ChatCompletions, Some("messages")),
            _ => return None,
        };
        let of_part = |word: &str| parts == Some(word);
        let operation = match (method, rest, kind) {
            ("POST", [], _) if kind != ChatCompletions => Self::Create,
            // No provider lists conversations or uploads.
            ("GET", [], Files | Containers | VectorStores | ChatCompletions) => Self::List,
            ("GET", [id], _) if kind != Uploads => Self::Get(id),
            ("POST", [id], Conversations | VectorStores | ChatCompletions) => Self::Get(id),
            ("DELETE", [id], _) if kind != Uploads => Self::Delete(id),
            ("GET", [id, "content"], Files) => Self::Content(id),
            ("POST", [id, "complete"], Uploads) => Self::Complete(id),
            ("POST", [id, "cancel"], Uploads) => Self::Cancel(id),
            ("POST", [id, "search"], VectorStores) => Self::Search(id),
            ("POST", [id, "file_batches"], VectorStores) => Self::AddBatch(id),
            ("GET", [id, "file_batches", batch], VectorStores) => Self::GetBatch(id, batch),
            ("POST", [id, word], _) if of_part(word) && kind != ChatCompletions => {
                Self::AddPart(id)
            }
            ("GET", [id, word], _) if of_part(word) && kind != Uploads => Self::ListParts(id),
            ("GET" | "POST", [id, word, part], VectorStores) if of_part(word) => {
                Self::GetPart(id, part)
            }
            ("GET", [id, word, part], _) if of_part(word) => Self::GetPart(id, part),
            ("DELETE", [id, word, part], Conversations | Containers | VectorStores)
                if of_part(word) =>
            {
                Self::DeletePart(id, part)
            }
            ("GET", [id, "files", part, "content"], Containers) => Self::PartContent(id, part),
            _ => return None,
        };
        Some((kind, operation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_and_path_finds_its_endpoint() {
        for (method, path, endpoint) in [
            ("POST", "/v1/chat/completions", Ok(Endpoint::Chat)),
            ("POST", "/v1/embeddings", Ok(Endpoint::Embeddings)),
            ("POST", "/v1/completions", Ok(Endpoint::Completions)),
            (
                "POST",
                "/v2/rerank",
                Ok(Endpoint::Rerank(RerankApi::Cohere)),
            ),
            ("GET", "/v1/audio/speech", Err(405)),
            (
                "POST",
                "/v1/audio/translations",
                Ok(Endpoint::Sound(SoundTask::Translate)),
            ),
            ("POST", "/v1/images/variations", Ok(Endpoint::VaryImage)),
            ("POST", "/v1/messages", Ok(Endpoint::Messages)),
            (
                "POST",
                "/v1/messages/count_tokens",
                Ok(Endpoint::CountTokens),
            ),
            ("POST", "/v1/responses", Ok(Endpoint::CreateResponse)),
            ("GET", "/v1/responses/r1", Ok(Endpoint::GetResponse("r1"))),
            (
                "DELETE",
                "/v1/responses/r1",
                Ok(Endpoint::DeleteResponse("r1")),
            ),
            (
                "POST",
                "/v1/responses/r1/cancel",
                Ok(Endpoint::CancelResponse("r1")),
            ),
            (
                "GET",
                "/v1/responses/r1/input_items",
                Ok(Endpoint::InputItems("r1")),
            ),
            ("GET", "/v1/models", Ok(Endpoint::Models)),
            (
                "GET",
                "/v1/models/org/name",
                Ok(Endpoint::Model("org/name")),
            ),
            (
                "POST",
                "/v1/files",
                Ok(Endpoint::Resource(
                    ResourceKind::Files,
                    ResourceOperation::Create,
                )),
            ),
            (
                "GET",
                "/v1/containers/c/files/f/content",
                Ok(Endpoint::Resource(
                    ResourceKind::Containers,
                    ResourceOperation::PartContent("c", "f"),
                )),
            ),
            (
                "DELETE",
                "/v1/conversations/c/items/i",
                Ok(Endpoint::Resource(
                    ResourceKind::Conversations,
                    ResourceOperation::DeletePart("c", "i"),
                )),
            ),
            (
                "POST",
                "/v1/batches/b/cancel",
                Ok(Endpoint::Batch(BatchApi::File, BatchOperation::Cancel("b"))),
            ),
            (
                "GET",
                "/v1/messages/batches/b/results",
                Ok(Endpoint::Batch(
                    BatchApi::Messages,
                    BatchOperation::Results("b"),
                )),
            ),
            ("DELETE", "/v1/batches/b", Err(405)),
            ("GET", "/v1/conversations", Err(405)),
            ("GET", "/v1/files/f/items", Err(405)),
            (
                "GET",
                "/v1/chat/completions",
                Ok(Endpoint::Resource(
                    ResourceKind::ChatCompletions,
                    ResourceOperation::List,
                )),
            ),
            (
                "POST",
                "/v1/uploads/u/complete",
                Ok(Endpoint::Resource(
                    ResourceKind::Uploads,
                    ResourceOperation::Complete("u"),
                )),
            ),
            ("PUT", "/v1/chat/completions", Err(405)),
            ("GET", "/v1/uploads", Err(405)),
            ("POST", "/v1/models", Err(405)),
            ("POST", "/chat/completions", Err(404)),
            ("GET", "/", Err(404)),
        ] {
            let found = Endpoint::find(&method.parse().unwrap(), path);
            let found = found.map_err(|refusal| refusal.status.as_u16());
            assert_eq!(found, endpoint, "{method} {path}");
        }
    }
}
