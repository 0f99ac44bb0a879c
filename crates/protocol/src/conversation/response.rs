//! The messages of a response that is one JSON document.

use super::{
    ConversationMessage, ConversationShape, ConversationText, ResponseMessages, TextAllowance,
};
use crate::json::{DocumentNode, JsonDocument};

/// The messages of a whole response, as far as they fit in `bytes_max`.
pub fn response_text(
    shape: &ConversationShape,
    body: &JsonDocument,
    bytes_max: usize,
) -> ConversationText {
    let root = body.root();
    let mut allowance = TextAllowance::new(bytes_max);
    let mut list = Vec::new();
    match shape.response {
        ResponseMessages::Choices => {
            let choices = root.get("choices").into_iter();
            for choice in choices.flat_map(DocumentNode::elements) {
                if let Some(message) = choice.get("message") {
                    list.extend(allowance.choice(choice, message));
                }
            }
        }
        ResponseMessages::Candidates => {
            let candidates = root.get("candidates").into_iter();
            for candidate in candidates.flat_map(DocumentNode::elements) {
                let content = candidate.get("content");
                list.extend(allowance.content(content, (candidate, "finishReason")));
            }
        }
        ResponseMessages::Output => {
            let content = root.pointer("/output/message/content");
            list.extend(allowance.content(content, (root, "stopReason")));
        }
        ResponseMessages::One { parts, reason } => {
            list.extend(allowance.output(root, parts, reason));
        }
    }
    allowance.written(&list)
}

impl TextAllowance {
    /// A choice of the chat protocol.
    fn choice(
        &mut self,
        choice: DocumentNode<'_>,
        message: DocumentNode<'_>,
    ) -> Option<ConversationMessage> {
        if !self.admits_part() {
            return None;
        }
        let mut parts = Vec::new();
        for name in ["content", "refusal"] {
            if let Some(content) = message.get(name) {
                self.parts(content, &mut parts);
            }
        }
        self.tool_calls(message, &mut parts);
        Some(ConversationMessage {
            role: "assistant".into(),
            parts,
            finish_reason: self.reason(choice, "finish_reason"),
        })
    }

    /// A message that consists of this content, and ended for a reason that another object has.
    fn content(
        &mut self,
        content: Option<DocumentNode<'_>>,
        (ended, reason): (DocumentNode<'_>, &str),
    ) -> Option<ConversationMessage> {
        if !self.admits_part() {
            return None;
        }
        let mut parts = Vec::new();
        if let Some(content) = content {
            self.parts(content, &mut parts);
        }
        Some(ConversationMessage {
            role: "assistant".into(),
            parts,
            finish_reason: self.reason(ended, reason),
        })
    }

    /// A response that is one message of blocks or items; the content of messages among them is part of it.
    fn output(
        &mut self,
        root: DocumentNode<'_>,
        content: &str,
        reason: &str,
    ) -> Option<ConversationMessage> {
        if !self.admits_part() {
            return None;
        }
        let mut parts = Vec::new();
        let items = root.get(content).into_iter();
        for item in items.flat_map(DocumentNode::elements) {
            match item.get("content").filter(|_| item.get("role").is_some()) {
                Some(content) => self.parts(content, &mut parts),
                None => {
                    self.part(item, &mut parts);
                }
            }
        }
        Some(ConversationMessage {
            role: "assistant".into(),
            parts,
            finish_reason: self.reason(root, reason),
        })
    }

    pub(super) fn reason(&mut self, node: DocumentNode<'_>, name: &str) -> Option<String> {
        let reason = self.member(node, name);
        (!reason.is_empty()).then_some(reason)
    }
}
