//! Reads the tools of a request, and the choice between them.

use super::is_strict;
use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{CacheMark, Tool, ToolCallChoice, ToolSignature};
use crate::typed_value::{array, boolean, object, present, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

/// Which tools must be called, and whether several may be.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolCallRules<'a> {
    pub choice: Option<ToolCallChoice<'a>>,
    pub parallel_tool_calls: Option<bool>,
}

pub(super) fn read_tools<'a>(
    tools: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Vec<Tool<'a>> {
    let tools = array(tools, ledger)
        .into_iter()
        .flat_map(DocumentNode::elements);
    tools.filter_map(|tool| read_tool(tool, ledger)).collect()
}

/// A tool without a type, or of type `custom`, is a function of the caller.
fn read_tool<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Tool<'a>> {
    if at.kind() != ValueKind::Object {
        return refuse(Some(at), "an object", ledger);
    }
    let [kind, name, description, schema, strict, cache] = at.get_each([
        "type",
        "name",
        "description",
        "input_schema",
        "strict",
        "cache_control",
    ]);
    let kind = text(kind, ledger);
    if let Some(kind) = kind.filter(|kind| kind.as_written() != "custom") {
        return Some(Tool {
            at,
            definition: ToolSignature::Provider(kind),
            cache: None,
        });
    }
    let schema = object(schema, ledger);
    let strict = boolean(strict, ledger);
    Some(Tool {
        at,
        definition: ToolSignature::Function {
            name: required_text(at, "name", name, ledger)?,
            description: text(description, ledger),
            parameters: schema,
            strict: match (strict, schema) {
                (Some(true), Some(schema)) => Some(is_strict(at, schema, ledger)),
                (strict, _) => strict,
            },
        },
        cache: object(cache, ledger).map(|mark| CacheMark {
            at: mark,
            ttl: text(mark.get("ttl"), ledger),
        }),
    })
}

pub(super) fn read_tool_choice<'a>(
    choice: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> ToolCallRules<'a> {
    let Some(choice) = present(choice) else {
        return ToolCallRules::default();
    };
    // Some clients write the type itself in place of the object.
    let (mode, name, no_parallel) = match EscapedText::from_node(choice) {
        Some(mode) => (Some(mode), None, None),
        None => {
            let [kind, name, no_parallel] =
                choice.get_each(["type", "name", "disable_parallel_tool_use"]);
            if choice.kind() != ValueKind::Object {
                refuse::<()>(Some(choice), "an object", ledger);
                return ToolCallRules::default();
            }
            let mode = required_text(choice, "type", kind, ledger);
            (mode, name, no_parallel)
        }
    };
    let mode = mode.as_ref().map(EscapedText::as_written);
    ToolCallRules {
        choice: match mode {
            Some("auto") => Some(ToolCallChoice::Auto),
            Some("any") => Some(ToolCallChoice::Required),
            Some("none") => Some(ToolCallChoice::None),
            Some("tool") => {
                required_text(choice, "name", name, ledger).map(ToolCallChoice::Function)
            }
            Some(_) => {
                let reason = "is a choice that no other protocol has";
                ledger.add(choice, FieldOutcome::Refused, reason);
                None
            }
            None => None,
        },
        parallel_tool_calls: boolean(no_parallel, ledger).map(|is_off| !is_off),
    }
}
