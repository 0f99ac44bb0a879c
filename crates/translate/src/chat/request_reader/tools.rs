//! Reads the tools of a request, and the choice between them, also as `functions` and `function_call`.

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Grammar, Tool, ToolCallChoice, ToolSignature};
use crate::typed_value::{array, boolean, object, refuse, required_text, text};
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
    let functions = array(functions, ledger);
    if let Some(functions) = functions.filter(|functions| !functions.is_empty()) {
        let reason = "is sent as `tools`, whose calls come back as `tool_calls`";
        ledger.add(functions, FieldOutcome::Approximated, reason);
    }
    for at in functions.into_iter().flat_map(DocumentNode::elements) {
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
            let Some(custom) = object(custom, ledger) else {
                ledger.add_missing(at, "custom");
                return None;
            };
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
        parameters: object(parameters, ledger),
        strict: boolean(strict, ledger),
    })
}

fn read_grammar<'a>(format: DocumentNode<'a>, ledger: &mut Ledger) -> Option<Grammar<'a>> {
    let [kind, grammar] = format.get_each(["type", "grammar"]);
    match required_text(format, "type", kind, ledger)?.as_written() {
        "text" => return None,
        "grammar" => {}
        _ => return refuse(kind, "`text` or `grammar`", ledger),
    }
    let Some(grammar) = object(grammar, ledger) else {
        ledger.add_missing(format, "grammar");
        return None;
    };
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
    let [kind, allowed, name] = choice.get_each(["type", "allowed_tools", "name"]);
    if text(kind, ledger).is_some_and(|kind| kind.as_written() == "allowed_tools") {
        return read_allowed_tools(choice, allowed, ledger);
    }
    // `function_call` has the name alone.
    match name {
        Some(name) => text(Some(name), ledger).map(ToolCallChoice::Function),
        None => chosen_name(choice, ledger).map(ToolCallChoice::Function),
    }
}

fn read_allowed_tools<'a>(
    choice: DocumentNode<'a>,
    allowed: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<ToolCallChoice<'a>> {
    let Some(allowed) = object(allowed, ledger) else {
        ledger.add_missing(choice, "allowed_tools");
        return None;
    };
    let [mode, tools] = allowed.get_each(["mode", "tools"]);
    let required = match required_text(allowed, "mode", mode, ledger)?.as_written() {
        "auto" => false,
        "required" => true,
        _ => return refuse(mode, "`auto` or `required`", ledger),
    };
    let Some(tools) = array(tools, ledger) else {
        ledger.add_missing(allowed, "tools");
        return None;
    };
    let names = tools.elements();
    let names = names.filter_map(|tool| chosen_name(tool, ledger)).collect();
    Some(ToolCallChoice::Allowed { names, required })
}

/// The name of a function or custom tool that a choice names.
fn chosen_name<'a>(choice: DocumentNode<'a>, ledger: &mut Ledger) -> Option<EscapedText<'a>> {
    let kind = required_text(choice, "type", choice.get("type"), ledger)?;
    let member = match kind.as_written() {
        "function" => "function",
        "custom" => "custom",
        other => {
            let reason = format!("names a tool of type `{other:.64}`, which no other protocol has");
            ledger.add(choice, FieldOutcome::Refused, reason);
            return None;
        }
    };
    let Some(named) = object(choice.get(member), ledger) else {
        ledger.add_missing(choice, member);
        return None;
    };
    required_text(named, "name", named.get("name"), ledger)
}
