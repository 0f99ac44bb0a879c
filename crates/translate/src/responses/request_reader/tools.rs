//! Reads the tools of a request, and the choice between them.

use crate::escaped_text::EscapedText;
use crate::json_schema::can_be_strict;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Grammar, Tool, ToolCallChoice, ToolSignature};
use crate::typed_value::{array, boolean, object, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

pub(super) fn read_tools<'a>(
    tools: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Vec<Tool<'a>> {
    let tools = tools.into_iter().flat_map(DocumentNode::elements);
    tools.filter_map(|tool| read_tool(tool, ledger)).collect()
}

fn read_tool<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Tool<'a>> {
    if at.kind() != ValueKind::Object {
        return refuse(Some(at), "an object", ledger);
    }
    let kind = required_text(at, "type", at.get("type"), ledger)?;
    let definition = match kind.as_written() {
        "function" => read_function(at, ledger)?,
        "custom" => read_custom(at, ledger)?,
        _ => ToolSignature::Provider(kind),
    };
    Some(Tool {
        at,
        definition,
        cache: None,
    })
}

fn read_function<'a>(tool: DocumentNode<'a>, ledger: &mut Ledger) -> Option<ToolSignature<'a>> {
    let [name, description, parameters, strict] =
        tool.get_each(["name", "description", "parameters", "strict"]);
    let parameters = object(parameters, ledger);
    let strict = match boolean(strict, ledger) {
        Some(strict) => strict,
        None => is_strict_by_default(tool, parameters, ledger),
    };
    Some(ToolSignature::Function {
        name: required_text(tool, "name", name, ledger)?,
        description: text(description, ledger),
        parameters,
        strict: Some(strict),
    })
}

/// Functions are strict by default in this protocol, as far as their schema can be.
fn is_strict_by_default(
    tool: DocumentNode<'_>,
    parameters: Option<DocumentNode<'_>>,
    ledger: &mut Ledger,
) -> bool {
    let can_be_strict = parameters.is_some_and(can_be_strict);
    if !can_be_strict && parameters.is_some() {
        let reason = "is not strict, since its schema cannot be; set `strict`";
        ledger.add(tool, FieldOutcome::Approximated, reason);
    }
    can_be_strict
}

fn read_custom<'a>(tool: DocumentNode<'a>, ledger: &mut Ledger) -> Option<ToolSignature<'a>> {
    let [name, description, format] = tool.get_each(["name", "description", "format"]);
    Some(ToolSignature::Custom {
        name: required_text(tool, "name", name, ledger)?,
        description: text(description, ledger),
        grammar: object(format, ledger).and_then(|format| read_grammar(format, ledger)),
    })
}

fn read_grammar<'a>(format: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Grammar<'a>> {
    let [kind, syntax, definition] = format.get_each(["type", "syntax", "definition"]);
    match required_text(format, "type", kind, ledger)?.as_written() {
        "grammar" => Some(Grammar {
            syntax: required_text(format, "syntax", syntax, ledger)?,
            definition: required_text(format, "definition", definition, ledger)?,
        }),
        "text" => None,
        _ => refuse(kind, "`text` or `grammar`", ledger),
    }
}

pub(super) fn read_tool_choice<'a>(
    choice: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<ToolCallChoice<'a>> {
    let node = choice?;
    if let Some(mode) = EscapedText::from_node(node) {
        return match mode.as_written() {
            "auto" => Some(ToolCallChoice::Auto),
            "none" => Some(ToolCallChoice::None),
            "required" => Some(ToolCallChoice::Required),
            _ => refuse(choice, "`auto`, `none`, `required` or an object", ledger),
        };
    }
    if node.kind() != ValueKind::Object {
        return refuse(choice, "a string or an object", ledger);
    }
    let [kind, name, mode, tools] = node.get_each(["type", "name", "mode", "tools"]);
    let kind = required_text(node, "type", kind, ledger)?;
    match kind.as_written() {
        "function" | "custom" => {
            let name = required_text(node, "name", name, ledger)?;
            Some(ToolCallChoice::Function(name))
        }
        "allowed_tools" => read_allowed_tools(node, mode, tools, ledger),
        other => {
            let reason = format!("names a tool of type `{other:.64}`, which no other protocol has");
            ledger.add(node, FieldOutcome::Refused, reason);
            None
        }
    }
}

fn read_allowed_tools<'a>(
    choice: DocumentNode<'a>,
    mode: Option<DocumentNode<'a>>,
    tools: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<ToolCallChoice<'a>> {
    let required = match required_text(choice, "mode", mode, ledger)?.as_written() {
        "auto" => false,
        "required" => true,
        _ => return refuse(mode, "`auto` or `required`", ledger),
    };
    if tools.is_none() {
        ledger.add_missing(choice, "tools");
    }
    let tools = array(tools, ledger)?;
    let names = tools.elements().filter_map(|tool| {
        let [kind, name] = tool.get_each(["type", "name"]);
        match required_text(tool, "type", kind, ledger)?.as_written() {
            "function" | "custom" => required_text(tool, "name", name, ledger),
            other => {
                let reason = format!("is of type `{other:.64}`, which no other protocol has");
                ledger.add(tool, FieldOutcome::Refused, reason);
                None
            }
        }
    });
    let names = names.collect();
    Some(ToolCallChoice::Allowed { names, required })
}
