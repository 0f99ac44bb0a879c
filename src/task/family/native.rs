//! A family's own shape, with the caller's ids and models in the place of the provider's.

use super::Family;
use crate::protocol::json::edit::Edits;
use crate::protocol::json::{Document, Kind, Node, quoted};
use crate::task::id::TaskId;
use crate::task::state::State;
use crate::task::status::TaskStatus;

impl Family {
    /// What changes in an answer for a caller who speaks this family: ids, models, and a status that is
    /// not what the task's is. `id` is the caller's id of the task, `seal` makes one of another task's
    /// upstream id, `status` is none for the answer to a create.
    pub fn native(
        &self,
        answer: &Document,
        id: &str,
        task: &TaskId,
        status: Option<&TaskStatus>,
        seal: &dyn Fn(&str) -> String,
    ) -> Edits {
        let root = answer.root();
        let mut edits = Edits::default();
        let mut replace = |node: Node<'_>, with: &str| edits.replace(node.span(), quoted(with));
        for node in texts(self.native.ids_in_answer.nodes(root)) {
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
        edits
    }

    /// Where a request in the family's own shape names other tasks: for each, the caller's id is to be
    /// opened and the upstream id put in its place.
    pub fn tasks_named_in<'a>(&self, request: &'a Document) -> Vec<Node<'a>> {
        texts(self.native.ids_in_request.nodes(request.root())).collect()
    }

    /// The family's word for a state that the provider has not reported as such; none if it has, or if
    /// the family has no word for it.
    fn native_word(&self, status: &TaskStatus) -> Option<&str> {
        let error = status.error.as_ref();
        let is_invalid = error.is_some_and(|error| {
            status.state == State::Failed && error.code == crate::task::status::INVALID_RESPONSE
        });
        if status.upstream_word.is_none() && !is_invalid {
            return None;
        }
        let of_state = |(_, state): &&(String, State)| *state == status.state;
        let word = self.status.words.iter().find(of_state);
        word.map(|(word, _)| &**word)
    }
}

fn texts<'a>(nodes: Vec<Node<'a>>) -> impl Iterator<Item = Node<'a>> {
    nodes.into_iter().filter(|node| node.kind() == Kind::String)
}
