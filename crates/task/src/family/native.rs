//! Rewrites the responses of a family's native API: replaces the provider's ids and models by the caller's.

use super::VideoFamily;
use super::native_api::NativeTextValues;
use super::response_pointer::find;
use super::result::RESULT;
use super::source::ValueSourceList;
use super::url_removal::{UrlRemoval, is_url, remove_url_headers, without_urls};
use crate::id::TaskId;
use crate::state::TaskState;
use crate::status::{INVALID_RESPONSE, TaskError, TaskStatus, with_callers_id};
use bytes::Bytes;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind, quoted};
use http::HeaderMap;
use serde_json::{Value, json};
use std::ops::Range;

/// A task as its caller sees it in the vendor's own API.
#[derive(Clone, Copy)]
pub struct NativeTaskView<'a> {
    pub task: &'a TaskId,
    /// The caller's id of the task.
    pub id: &'a str,
    /// The same in lower case, as it stands in URLs of files.
    pub file_id: &'a str,
    /// `None` for the response to a create or a cancel.
    pub status: Option<&'a TaskStatus>,
    /// Seals the upstream id of another task.
    pub seal: &'a dyn Fn(&str) -> String,
    /// The gateway's URL under which the vendor's API is served; `None` if it is not known.
    pub base_url: Option<&'a str>,
    /// Whether callers may get a URL of a file.
    pub is_allowed: &'a dyn Fn(&str) -> bool,
}

/// A response to a caller of the vendor's own API.
#[derive(Debug)]
pub struct NativeResponse {
    pub body: Bytes,
    /// Where URLs were removed about which the definition has nothing, such as `urls.web`.
    pub removed: Vec<String>,
}

/// A response while it is rewritten.
#[derive(Default)]
struct NativeRewrite {
    edits: JsonEdits,
    /// Spans of values that are as their caller gets them.
    settled: Vec<Range<usize>>,
}

impl VideoFamily {
    /// The provider's response for a caller of the vendor's own API: with the caller's ids and models, the gateway's URLs,
    /// and a status that the gateway has changed.
    pub fn native(&self, response: &JsonDocument, view: NativeTaskView<'_>) -> NativeResponse {
        let mut rewrite = self.rewritten(response, view);
        if self.result.is_some()
            && let Some(result) = response.root().get(RESULT)
        {
            rewrite.edits.remove_member(result);
            rewrite.settled.push(result.span());
        }
        let removed = self.remove_urls(response.root(), &mut rewrite);
        NativeResponse {
            body: rewrite.edits.apply(response.body()).to_bytes(),
            removed,
        }
    }

    /// The provider's response to the request for a result, out of a status with the result in it; `None` if the status
    /// has none.
    pub fn native_result(
        &self,
        status: &JsonDocument,
        view: NativeTaskView<'_>,
    ) -> Option<NativeResponse> {
        let result = status.root().get(RESULT)?;
        let mut rewrite = self.rewritten(status, view);
        let removed = self.remove_urls(result, &mut rewrite);
        let rewritten = rewrite.edits.apply(status.body()).to_bytes();
        let rewritten = JsonDocument::parse(rewritten, &JsonLimits::default()).ok()?;
        let body = rewritten.body().slice(rewritten.root().get(RESULT)?.span());
        Some(NativeResponse { body, removed })
    }

    /// A provider's error for a caller of the vendor's own API, without URLs if the definition replaces them.
    pub fn native_error(&self, error: &JsonDocument) -> NativeResponse {
        let mut rewrite = NativeRewrite::default();
        let removed = self.remove_urls(error.root(), &mut rewrite);
        NativeResponse {
            body: rewrite.edits.apply(error.body()).to_bytes(),
            removed,
        }
    }

    /// Removes the headers of a response to a caller of the vendor's own API that have URLs, if the definition replaces them.
    pub fn remove_url_headers(&self, headers: &mut HeaderMap) {
        if self.native.replaces_urls() {
            remove_url_headers(headers);
        }
    }

    fn rewritten(&self, response: &JsonDocument, view: NativeTaskView<'_>) -> NativeRewrite {
        let NativeTaskView { task, status, .. } = view;
        let root = response.root();
        let mut rewrite = NativeRewrite::default();
        for node in texts(self.native.ids_in_response.nodes(root)) {
            rewrite.replace(node, &(view.seal)(&node.as_str().unwrap_or_default()));
        }
        for node in texts(self.native.model.nodes(root)) {
            rewrite.replace(node, &task.model);
        }
        for node in self.task_id.nodes(root) {
            rewrite.replace(node, view.id);
        }
        self.replace_declared(root, view, &mut rewrite);
        if let Some(word) = status.and_then(|status| self.native_word(status)) {
            for node in texts(self.status.at.nodes(root)) {
                rewrite.replace(node, word);
            }
        }
        let is_invalid = status.is_some_and(|status| invalid(status).is_some());
        for node in texts(self.errors.message.nodes(root)).filter(|_| !is_invalid) {
            let sent = node.as_str().unwrap_or_default();
            let mut message = with_callers_id(&sent, task, view.id);
            if self.native.replaces_urls() {
                message = without_urls(&message).into();
            }
            if message != sent {
                rewrite.replace(node, &message);
            }
        }
        if let Some(error) = status.and_then(invalid) {
            let place = |sources: &ValueSourceList| sources.pointers().next().map(str::to_owned);
            let texts = [
                (place(&self.errors.code), &error.code),
                (place(&self.errors.message), &error.message),
            ];
            put_texts(&mut rewrite.edits, root, texts);
        }
        self.keep_files(root, view, &mut rewrite);
        rewrite
    }

    /// Replaces and removes what the definition says.
    fn replace_declared(
        &self,
        root: DocumentNode<'_>,
        view: NativeTaskView<'_>,
        rewrite: &mut NativeRewrite,
    ) {
        let values = NativeTextValues {
            id: view.id,
            file_id: view.file_id,
            model: &view.task.model,
            base_url: view.base_url,
        };
        for (pointer, text) in &self.native.replaced {
            let Some(node) = find(root, pointer).filter(|node| is_scalar(*node)) else {
                continue;
            };
            match text.fill(&self.native, values) {
                Some(text) => rewrite.replace(node, &text),
                None => rewrite.remove(node),
            }
        }
        for node in self.native.removed.nodes(root) {
            if !rewrite.settled.contains(&node.span()) {
                rewrite.remove(node);
            }
        }
    }

    /// Leaves URLs of files as they are where callers may get them.
    fn keep_files(
        &self,
        root: DocumentNode<'_>,
        view: NativeTaskView<'_>,
        rewrite: &mut NativeRewrite,
    ) {
        let videos = match self.response.is_private {
            true => Vec::new(),
            false => self.response.video_url.nodes(root),
        };
        let files = videos.into_iter().chain(self.native.files.nodes(root));
        for node in texts(files.collect()) {
            let url = node.as_str().unwrap_or_default();
            if is_url(&url) && (view.is_allowed)(&url) {
                rewrite.settled.push(node.span());
            }
        }
    }

    fn remove_urls(&self, node: DocumentNode<'_>, rewrite: &mut NativeRewrite) -> Vec<String> {
        if !self.native.replaces_urls() {
            return Vec::new();
        }
        let NativeRewrite { edits, settled } = rewrite;
        let mut removal = UrlRemoval {
            settled,
            edits,
            removed: Vec::new(),
        };
        removal.remove_in(node);
        removal.removed
    }

    /// The edits that set the family's word for `state` in a response to a query; `None` if the family has no such
    /// word.
    pub fn with_state(&self, response: &JsonDocument, state: TaskState) -> Option<JsonEdits> {
        let word = self.word_for(state)?;
        let nodes: Vec<_> = texts(self.status.at.nodes(response.root())).collect();
        // A status that is computed, or is no text, cannot be replaced.
        if nodes.is_empty() {
            return None;
        }
        let mut edits = JsonEdits::default();
        for node in nodes {
            edits.replace(node.span(), quoted(word));
        }
        Some(edits)
    }

    /// A response to a query that has nothing but the id of the task and the family's word for `state`; `None` if the
    /// family has no such word.
    pub fn minimal_response(&self, task: &TaskId, state: TaskState) -> Option<Bytes> {
        let word = self.word_for(state)?.to_owned();
        let place = |sources: &ValueSourceList| sources.pointers().next().map(str::to_owned);
        place(&self.status.at)?;
        let empty = JsonDocument::parse(Bytes::from_static(b"{}"), &JsonLimits::default()).ok()?;
        let texts = [
            (place(&self.task_id), &task.upstream),
            (place(&self.status.at), &word),
        ];
        let mut edits = JsonEdits::default();
        put_texts(&mut edits, empty.root(), texts);
        Some(edits.apply(empty.body()).to_bytes())
    }

    /// The values in a native request that are ids of other tasks. Each must be opened and replaced by its upstream id.
    pub fn tasks_named_in<'a>(&self, request: &'a JsonDocument) -> Vec<DocumentNode<'a>> {
        texts(self.native.ids_in_request.nodes(request.root())).collect()
    }

    /// The family's word for a state that differs from the provider's report; `None` if it does not differ, or the
    /// family has no such word.
    fn native_word(&self, status: &TaskStatus) -> Option<&str> {
        match status.upstream_word.is_none() && invalid(status).is_none() {
            true => None,
            false => self.word_for(status.state),
        }
    }

    /// If several words mean the state, the one that the generic protocol uses, or else one that begins like it: SDKs may not
    /// know all.
    fn word_for(&self, state: TaskState) -> Option<&str> {
        let words = self.status.words.iter();
        let words = words.filter(|(_, known)| *known == state);
        let words = words.map(|(word, _)| &**word);
        words.min_by_key(|word| {
            let pairs = word.bytes().zip(state.name().bytes());
            let same = pairs.take_while(|(one, other)| one.eq_ignore_ascii_case(other));
            (*word != state.name(), same.count() < 3)
        })
    }
}

/// The error, if the provider reports a success without a video.
fn invalid(status: &TaskStatus) -> Option<&TaskError> {
    let error = status.error.as_ref()?;
    (status.state == TaskState::Failed && error.code == INVALID_RESPONSE).then_some(error)
}

/// Sets texts at the pointers, and creates missing objects.
fn put_texts(edits: &mut JsonEdits, root: DocumentNode<'_>, texts: [(Option<String>, &String); 2]) {
    let mut members: Vec<(DocumentNode<'_>, String, Value)> = Vec::new();
    for (pointer, text) in texts {
        let Some(pointer) = pointer else {
            continue;
        };
        let mut keys = pointer.split('/').skip(1).peekable();
        let mut object = root;
        let mut key = keys.next().unwrap_or_default();
        while keys.peek().is_some()
            && let Some(inner) = object.get(key)
            && inner.kind() == ValueKind::Object
        {
            object = inner;
            key = keys.next().unwrap_or_default();
        }
        let rest: Vec<&str> = keys.collect();
        let wrap = |inner, key: &&str| json!({ (*key): inner });
        let value = rest.iter().rfold(json!(text), wrap);
        let known = members
            .iter_mut()
            .find(|(known, name, _)| known.span() == object.span() && name == key);
        match known {
            Some((_, _, known)) => merge(known, value),
            None => members.push((object, key.to_owned(), value)),
        }
    }
    for (object, key, value) in members {
        edits.insert_member(object, &key, value.to_string());
    }
}

fn merge(known: &mut Value, more: Value) {
    match (known, more) {
        (Value::Object(known), Value::Object(more)) => {
            for (key, value) in more {
                merge(known.entry(key).or_insert(Value::Null), value);
            }
        }
        (known, more) => *known = more,
    }
}

impl NativeRewrite {
    fn replace(&mut self, node: DocumentNode<'_>, with: &str) {
        self.edits.replace(node.span(), quoted(with));
        self.settled.push(node.span());
    }

    /// Removes a member; an element of a list becomes `null`.
    fn remove(&mut self, node: DocumentNode<'_>) {
        match node.key_span() {
            Some(_) => self.edits.remove_member(node),
            None => self.edits.replace(node.span(), "null"),
        }
        self.settled.push(node.span());
    }
}

fn is_scalar(node: DocumentNode<'_>) -> bool {
    matches!(node.kind(), ValueKind::String | ValueKind::Number)
}

fn texts<'a>(nodes: Vec<DocumentNode<'a>>) -> impl Iterator<Item = DocumentNode<'a>> {
    nodes
        .into_iter()
        .filter(|node| node.kind() == ValueKind::String)
}
