//! Reads the tools of a request, and the choice between them, also as `functions` and `function_call`.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Grammar, Tool, ToolCallChoice, ToolSignature};
use crate::typed_value::{array, boolean, json_text, object, refuse, required_text, text};
use headgate_protocol::json::{DocumentNode, ValueKind};

pub(super) fn read_tools<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> Vec<Tool<'a>> {
    let [tools, functions] = root.get_each(["tools", "functions"]);
    let mut all = Vec::new();
    for tool in array(tools, ledger)
        .into_iter()
        .flat_map(DocumentNode::elements)
    {
        all.extend(read_tool(tool, ledger));
    }
    for at in array(functions, ledger)
        .into_iter()
        .flat_map(DocumentNode::elements)
    {
        let definition = read_function(at, ledger);
        all.extend(definition.map(|definition| tool(at, definition)));
    }
    all
}

fn read_tool<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Tool<'a>> {
    if at.kind() != ValueKind::Object {
        return refuse(Some(at), "an object", ledger);
    }
    let [kind, function, custom] = at.get_each(["type", "function", "custom"]);
    let kind = required_text(at, "type", kind, ledger)?;
    let definition = match kind.as_written() {
        "function" => {
            let Some(function) = object(function, ledger) else {
                ledger.add_missing(at, "function");
                return None;
            };
            read_function(function, ledger)?
        }
        "custom" => {
            let custom = object(custom, ledger)?;
            let [name, description, format] = custom.get_each(["name", "description", "format"]);
            ToolSignature::Custom {
                name: required_text(custom, "name", name, ledger)?,
                description: text(description, ledger),
                grammar: object(format, ledger).and_then(|format| read_grammar(format, ledger)),
            }
        }
        _ => ToolSignature::Provider(kind),
    };
    Some(tool(at, definition))
}

fn tool<'a>(at: DocumentNode<'a>, definition: ToolSignature<'a>) -> Tool<'a> {
    Tool {
        at,
        definition,
        cache: None,
    }
}

fn read_function<'a>(at: DocumentNode<'a>, ledger: &mut Ledger) -> Option<ToolSignature<'a>> {
    if at.kind() != ValueKind::Object {
        return refuse(Some(at), "an object", ledger);
    }
    let [name, description, parameters, strict] =
        at.get_each(["name", "description", "parameters", "strict"]);
    Some(ToolSignature::Function {
        name: required_text(at, "name", name, ledger)?,
        description: text(description, ledger),
        parameters: object(parameters, ledger).map(json_text),
        strict: boolean(strict, ledger),
    })
}

fn read_grammar<'a>(format: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Grammar<'a>> {
    let grammar = object(format.get("grammar"), ledger)?;
    let [syntax, definition] = grammar.get_each(["syntax", "definition"]);
    Some(Grammar {
        syntax: required_text(grammar, "syntax", syntax, ledger)?,
        definition: required_text(grammar, "definition", definition, ledger)?,
    })
}

pub(super) fn read_tool_choice<'a>(
    root: DocumentNode<'a>,
    ledger: &mut Ledger,
) -> Option<ToolCallChoice<'a>> {
    let [choice, function] = root.get_each(["tool_choice", "function_call"]);
    let choice = choice.filter(|choice| !choice.is_null()).or(function)?;
    if choice.is_null() {
        return None;
    }
    if let Some(mode) = EscapedText::from_node(choice) {
        return match mode.as_written() {
            "auto" => Some(ToolCallChoice::Auto),
            "none" => Some(ToolCallChoice::None),
            "required" => Some(ToolCallChoice::Required),
            _ => refuse(
                Some(choice),
                "`auto`, `none`, `required` or an object",
                ledger,
            ),
        };
    }
    let choice = object(Some(choice), ledger)?;
    let [allowed, name] = choice.get_each(["allowed_tools", "name"]);
    if let Some(allowed) = object(allowed, ledger) {
        let [mode, tools] = allowed.get_each(["mode", "tools"]);
        let tools = array(tools, ledger)
            .into_iter()
            .flat_map(DocumentNode::elements);
        let mode = text(mode, ledger);
        return Some(ToolCallChoice::Allowed {
            names: tools.filter_map(chosen_name).collect(),
            required: mode.is_some_and(|mode| mode.as_written() == "required"),
        });
    }
    let chosen = chosen_name(choice).or_else(|| name.and_then(EscapedText::from_node));
    if chosen.is_none() {
        let reason = "is a choice that no other protocol has";
        ledger.add(choice, FieldOutcome::Refused, reason);
    }
    chosen.map(ToolCallChoice::Function)
}

/// The name of a function or custom tool that a choice names.
fn chosen_name(choice: DocumentNode<'_>) -> Option<EscapedText<'_>> {
    let [function, custom] = choice.get_each(["function", "custom"]);
    let named = function.or(custom)?;
    named.get("name").and_then(EscapedText::from_node)
}
