//! A request.

use crate::escaped_text::EscapedText;
use crate::part::{CacheMark, Part};
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::DocumentNode;

/// What members take that are around a part or a turn in one protocol, and not in another.
const PART_BYTES: usize = 64;

/// A request of any protocol.
///
/// Members that only two protocols have, and that both write alike, are not here: their writers find them in `body`.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The protocol of `body`.
    pub protocol: ConversationFormat,
    /// The whole body.
    pub body: DocumentNode<'a>,
    /// Texts that precede the conversation and have more authority than users.
    pub instructions: Vec<Part<'a>>,
    pub turns: Vec<Turn<'a>>,
    pub tools: Vec<Tool<'a>>,
    pub tool_choice: Option<ToolCallChoice<'a>>,
    /// Whether one answer may have several tool calls; the provider's default if `None`.
    pub parallel_tool_calls: Option<bool>,
    pub sampling: SamplingSettings<'a>,
    pub reasoning: ReasoningSettings<'a>,
    pub output_format: Option<AnswerFormat<'a>>,
    /// `None` if the response is one JSON object.
    pub stream: Option<StreamSettings>,
    /// Who uses the caller's application.
    pub user: Option<EscapedText<'a>>,
}

impl<'a> Request<'a> {
    /// About what it takes in any protocol: a longer text would be copied while it is written.
    pub fn estimated_bytes(&self) -> usize {
        let parts = self.turns.iter().map(|turn| 1 + turn.parts.len());
        self.body.raw().len() + 512 + PART_BYTES * parts.sum::<usize>()
    }

    /// Whether the model must call a tool.
    pub fn must_call_tool(&self) -> bool {
        match &self.tool_choice {
            Some(ToolCallChoice::Required | ToolCallChoice::Function(_)) => true,
            Some(ToolCallChoice::Allowed { required, .. }) => *required,
            Some(ToolCallChoice::Auto | ToolCallChoice::None) | None => false,
        }
    }

    /// Whether the choice leaves this tool among those that may be called.
    pub fn allows_tool(&self, name: &EscapedText<'_>) -> bool {
        match &self.tool_choice {
            Some(ToolCallChoice::Allowed { names, .. }) => names
                .iter()
                .any(|allowed| allowed.decoded() == name.decoded()),
            Some(
                ToolCallChoice::Auto
                | ToolCallChoice::None
                | ToolCallChoice::Required
                | ToolCallChoice::Function(_),
            )
            | None => true,
        }
    }

    /// Where the caller says whether one answer may have several calls.
    pub fn parallel_calls_member(&self) -> Option<DocumentNode<'a>> {
        let body = self.body;
        body.get("parallel_tool_calls")
            .or_else(|| body.pointer("/tool_choice/disable_parallel_tool_use"))
    }

    /// Names of the tools that take free text.
    pub fn custom_tools(&self) -> Vec<Box<str>> {
        let custom = self.tools.iter().filter_map(|tool| match &tool.definition {
            ToolSignature::Custom { name, .. } => Some(name.decoded().into()),
            ToolSignature::Function { .. } | ToolSignature::Provider(_) => None,
        });
        custom.collect()
    }
}

/// Consecutive parts of one author.
#[derive(Clone, Debug)]
pub struct Turn<'a> {
    pub role: ContentRole,
    pub parts: Vec<Part<'a>>,
    /// The first message of the turn.
    pub at: DocumentNode<'a>,
}

impl Turn<'_> {
    /// Adds the turn at the end, to the last one if that has the same author.
    pub fn append_to(mut self, turns: &mut Vec<Self>) {
        match turns.last_mut().filter(|last| last.role == self.role) {
            Some(last) => last.parts.append(&mut self.parts),
            None => turns.push(self),
        }
    }
}

/// The author of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRole {
    /// The user, and the results of tools.
    User,
    Assistant,
    /// Instructions in the middle of the conversation.
    System,
}

/// A tool that the model may call.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    pub at: DocumentNode<'a>,
    pub definition: ToolSignature<'a>,
    pub cache: Option<CacheMark<'a>>,
}

impl<'a> Tool<'a> {
    /// The name by which the model calls it; `None` for a tool that the provider runs.
    pub fn name(&self) -> Option<&EscapedText<'a>> {
        match &self.definition {
            ToolSignature::Function { name, .. } | ToolSignature::Custom { name, .. } => Some(name),
            ToolSignature::Provider(_) => None,
        }
    }
}

/// What a tool takes.
#[derive(Clone, Debug)]
pub enum ToolSignature<'a> {
    Function {
        name: EscapedText<'a>,
        description: Option<EscapedText<'a>>,
        /// A JSON schema; no arguments if `None`.
        parameters: Option<DocumentNode<'a>>,
        /// Whether arguments must match the schema; the protocol's default if `None`.
        strict: Option<bool>,
    },
    /// A tool that takes free text, or text of a grammar.
    Custom {
        name: EscapedText<'a>,
        description: Option<EscapedText<'a>>,
        /// Any text if `None`.
        grammar: Option<Grammar<'a>>,
    },
    /// A tool that the provider runs, by its type.
    Provider(EscapedText<'a>),
}

/// What the text for a tool must match.
#[derive(Clone, Debug)]
pub struct Grammar<'a> {
    /// `lark` or `regex`.
    pub syntax: EscapedText<'a>,
    pub definition: EscapedText<'a>,
}

/// Which tools the model must call.
#[derive(Clone, Debug)]
pub enum ToolCallChoice<'a> {
    Auto,
    None,
    /// At least one.
    Required,
    /// This one.
    Function(EscapedText<'a>),
    /// Only these; `required` is whether at least one must be called.
    Allowed {
        names: Vec<EscapedText<'a>>,
        required: bool,
    },
}

/// Numbers of the request, as they are written.
#[derive(Clone, Debug, Default)]
pub struct SamplingSettings<'a> {
    pub max_output_tokens: Option<DocumentNode<'a>>,
    pub temperature: Option<DocumentNode<'a>>,
    pub top_p: Option<DocumentNode<'a>>,
    pub top_k: Option<DocumentNode<'a>>,
    /// Texts at which the model stops.
    pub stop: Vec<EscapedText<'a>>,
}

/// How much the model should think.
#[derive(Clone, Debug, Default)]
pub struct ReasoningSettings<'a> {
    pub effort: Option<ReasoningEffort>,
    /// Tokens for thoughts.
    pub budget: Option<DocumentNode<'a>>,
    /// Whether the response may have thoughts; the provider's default if `None`.
    pub is_enabled: Option<bool>,
    /// How detailed a summary of thoughts is: `auto`, `concise`, `detailed`.
    pub summary: Option<EscapedText<'a>>,
}

/// The words for effort, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasoningEffort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl ReasoningEffort {
    const ALL: [(Self, &'static str); 7] = [
        (Self::None, "none"),
        (Self::Minimal, "minimal"),
        (Self::Low, "low"),
        (Self::Medium, "medium"),
        (Self::High, "high"),
        (Self::XHigh, "xhigh"),
        (Self::Max, "max"),
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find_map(|(effort, its_name)| (its_name == name).then_some(effort))
    }

    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The effort that takes about as many tokens. Not all models know one above `high`.
    pub fn for_budget(tokens: u64) -> Self {
        match tokens {
            0..=3072 => Self::Low,
            3073..=6144 => Self::Medium,
            6145.. => Self::High,
        }
    }
}

/// The form of the answer.
#[derive(Clone, Debug)]
pub enum AnswerFormat<'a> {
    Text,
    /// Any JSON object.
    JsonObject,
    JsonSchema {
        name: Option<EscapedText<'a>>,
        description: Option<EscapedText<'a>>,
        schema: DocumentNode<'a>,
        strict: Option<bool>,
    },
}

/// What a stream should have.
#[derive(Clone, Copy, Debug)]
pub struct StreamSettings {
    /// Whether the caller wants usage in the stream, where that is optional.
    pub includes_usage: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_effort_has_a_name() {
        for (position, (effort, name)) in ReasoningEffort::ALL.into_iter().enumerate() {
            assert_eq!(effort as usize, position);
            assert_eq!(effort.name(), name);
            assert_eq!(ReasoningEffort::from_name(name), Some(effort));
        }
        assert_eq!(ReasoningEffort::from_name("extreme"), None);
    }
}
