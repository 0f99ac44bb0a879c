//! The functions of expressions, with what each takes and how it is written.

use crate::nodes::CelFunction;

/// A function whose arguments are evaluated first.
pub(super) struct FunctionSignature {
    pub name: &'static str,
    pub function: CelFunction,
    /// The fewest and the most arguments, the one before the dot included.
    pub arguments: (usize, usize),
    pub style: CallStyle,
    pub usage: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStyle {
    /// `f(x)`
    Global,
    /// `x.f()`
    Member,
    Either,
}

const fn signature(
    name: &'static str,
    function: CelFunction,
    arguments: (usize, usize),
    style: CallStyle,
    usage: &'static str,
) -> FunctionSignature {
    FunctionSignature {
        name,
        function,
        arguments,
        style,
        usage,
    }
}

pub(super) const FUNCTIONS: &[FunctionSignature] = &[
    signature(
        "size",
        CelFunction::Size,
        (1, 1),
        CallStyle::Either,
        "size(x) or x.size()",
    ),
    signature(
        "contains",
        CelFunction::Contains,
        (2, 2),
        CallStyle::Member,
        "text.contains(part)",
    ),
    signature(
        "startsWith",
        CelFunction::StartsWith,
        (2, 2),
        CallStyle::Member,
        "text.startsWith(prefix)",
    ),
    signature(
        "endsWith",
        CelFunction::EndsWith,
        (2, 2),
        CallStyle::Member,
        "text.endsWith(suffix)",
    ),
    signature(
        "lowerAscii",
        CelFunction::LowerAscii,
        (1, 1),
        CallStyle::Member,
        "text.lowerAscii()",
    ),
    signature(
        "upperAscii",
        CelFunction::UpperAscii,
        (1, 1),
        CallStyle::Member,
        "text.upperAscii()",
    ),
    signature(
        "split",
        CelFunction::Split,
        (2, 3),
        CallStyle::Member,
        "text.split(separator) or text.split(separator, limit)",
    ),
    signature(
        "join",
        CelFunction::Join,
        (1, 2),
        CallStyle::Member,
        "list.join() or list.join(separator)",
    ),
    signature(
        "substring",
        CelFunction::Substring,
        (2, 3),
        CallStyle::Member,
        "text.substring(start) or text.substring(start, end)",
    ),
    signature(
        "replace",
        CelFunction::Replace,
        (3, 4),
        CallStyle::Member,
        "text.replace(from, to) or text.replace(from, to, limit)",
    ),
    signature(
        "string",
        CelFunction::ToText,
        (1, 1),
        CallStyle::Global,
        "string(x)",
    ),
    signature(
        "int",
        CelFunction::ToInt,
        (1, 1),
        CallStyle::Global,
        "int(x)",
    ),
    signature(
        "double",
        CelFunction::ToDouble,
        (1, 1),
        CallStyle::Global,
        "double(x)",
    ),
    signature(
        "min",
        CelFunction::Min,
        (2, 2),
        CallStyle::Global,
        "min(a, b)",
    ),
    signature(
        "max",
        CelFunction::Max,
        (2, 2),
        CallStyle::Global,
        "max(a, b)",
    ),
];

/// Functions and macros that take literals or names, with their usage.
pub(super) const SPECIAL_FUNCTIONS: [(&str, &str); 13] = [
    ("json", "json(\"/pointer\")"),
    ("response_json", "response_json(\"/pointer\")"),
    ("event_json", "event_json(\"/pointer\")"),
    (
        "matches",
        "matches(text, \"regex\") or text.matches(\"regex\")",
    ),
    ("in_network", "in_network(address, \"10.0.0.0/8\")"),
    ("sample", "sample(percent) or sample(percent, key)"),
    ("has", "has(json(\"/pointer\")) or has(x.member)"),
    ("all", "list.all(x, condition)"),
    ("exists", "list.exists(x, condition)"),
    ("exists_one", "list.exists_one(x, condition)"),
    ("existsOne", "list.existsOne(x, condition)"),
    ("filter", "list.filter(x, condition)"),
    ("map", "list.map(x, value) or list.map(x, condition, value)"),
];
