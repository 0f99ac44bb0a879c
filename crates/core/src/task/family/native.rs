//! Rewrites the responses of a family's native API: replaces the provider's ids and models by the caller's.

use super::VideoFamily;
use super::source::ValueSourceList;
use crate::task::id::TaskId;
use crate::task::state::TaskState;
use crate::task::status::{INVALID_RESPONSE, TaskError, TaskStatus, with_callers_id};
use bytes::Bytes;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind, quoted};
use serde_json::{Value, json};
use std::borrow::Cow;

impl VideoFamily {
    /// The edits of a response for a caller of the native API: ids, models, and a status that the gateway has changed.
    /// `id` is the caller's id of the task, `seal` seals the upstream id of another task, `status` is `None` for the
    /// response to a create.
    pub fn native(
        &self,
        response: &JsonDocument,
        id: &str,
        task: &TaskId,
        status: Option<&TaskStatus>,
        seal: &dyn Fn(&str) -> String,
    ) -> JsonEdits {
        let root = response.root();
        let mut edits = JsonEdits::default();
        let mut replace =
            |node: DocumentNode<'_>, with: &str| edits.replace(node.span(), quoted(with));
        for node in texts(self.native.ids_in_response.nodes(root)) {
            replace(node, &seal(&node.as_str().unwrap_or_default()));
        }
        for node in texts(self.native.model.nodes(root)) {
            replace(node, &task.model);
        }
        for node in self.task_id.nodes(root) {
            replace(node, id);
        }
        if let Some(word) = status.and_then(|status| self.native_word(status)) {
            for node in texts(self.status.at.nodes(root)) {
                replace(node, word);
            }
        }
        let is_invalid = status.is_some_and(|status| invalid(status).is_some());
        for node in texts(self.errors.message.nodes(root)).filter(|_| !is_invalid) {
            let message = node.as_str().unwrap_or_default();
            if let Cow::Owned(message) = with_callers_id(&message, task, id) {
                replace(node, &message);
            }
        }
        if let Some(error) = status.and_then(invalid) {
            let place = |sources: &ValueSourceList| sources.pointers().next().map(str::to_owned);
            let texts = [
                (place(&self.errors.code), &error.code),
                (place(&self.errors.message), &error.message),
            ];
            put_texts(&mut edits, root, texts);
        }
        edits
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

    /// If several words mean the state, the one that the generic protocol uses.
    fn word_for(&self, state: TaskState) -> Option<&str> {
        let words = self.status.words.iter();
        let mut words = words.filter(|(_, known)| *known == state);
        let first = words.clone().next();
        let word = words.find(|(word, _)| *word == state.name()).or(first);
        word.map(|(word, _)| &**word)
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

fn texts<'a>(nodes: Vec<DocumentNode<'a>>) -> impl Iterator<Item = DocumentNode<'a>> {
    nodes
        .into_iter()
        .filter(|node| node.kind() == ValueKind::String)
}
