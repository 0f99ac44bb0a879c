//! The tree of a compiled expression. Names, functions and literals are resolved.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use regex_automata::Input;
use regex_automata::dfa::Automaton;
use regex_automata::dfa::dense::DFA;

use crate::names::{DocumentKind, MapVariable, Variable};
use crate::pointer::DocumentPointer;

/// A part of a compiled expression.
#[derive(Debug)]
pub(crate) enum CelNode {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Box<str>),
    /// A variable with one value.
    Variable(Variable),
    /// The variable of the macro around.
    Element,
    /// An entry of a map variable: its text, or whether it is there.
    Entry(MapVariable, Box<CelNode>),
    HasEntry(MapVariable, Box<CelNode>),
    /// A value of a document, or whether it is there.
    Document(DocumentKind, DocumentPointer),
    HasDocument(DocumentKind, DocumentPointer),
    /// The member of a map, or whether it is there.
    Member(Box<CelNode>, Box<str>),
    HasMember(Box<CelNode>, Box<str>),
    Index(Box<CelNode>, Box<CelNode>),
    Not(Box<CelNode>),
    Negate(Box<CelNode>),
    And(Box<CelNode>, Box<CelNode>),
    Or(Box<CelNode>, Box<CelNode>),
    Conditional(Box<[CelNode; 3]>),
    Binary(BinaryOperator, Box<CelNode>, Box<CelNode>),
    List(Vec<CelNode>),
    Map(Vec<(CelNode, CelNode)>),
    Macro(Box<CelMacro>),
    Call(CelFunction, Vec<CelNode>),
    Matches(Box<CelNode>, Box<LinearRegex>),
    InNetwork(Box<CelNode>, IpNet),
    Sample(Box<CelNode>, Option<Box<CelNode>>),
}

/// An operator that needs both operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

/// A macro over the elements of a list or the keys of a map.
#[derive(Debug)]
pub(crate) struct CelMacro {
    pub kind: MacroKind,
    pub range: CelNode,
    /// The condition of `map(x, condition, value)`.
    pub condition: Option<CelNode>,
    pub body: CelNode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

/// A function whose arguments are evaluated first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CelFunction {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    Split,
    Join,
    Substring,
    Replace,
    ToText,
    ToInt,
    ToDouble,
    Min,
    Max,
}

/// A regular expression as a finite automaton, which takes the same time for every byte of a text.
pub(crate) struct LinearRegex(pub DFA<Vec<u32>>);

impl LinearRegex {
    /// Whether a text contains a match.
    pub fn is_match(&self, text: &str) -> bool {
        let input = Input::new(text).earliest(true);
        // Such an automaton never gives up: it has no bytes at which it does.
        matches!(self.0.try_search_fwd(&input), Ok(Some(_)))
    }
}

impl fmt::Debug for LinearRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an automaton of {} bytes", self.0.memory_usage())
    }
}

impl BinaryOperator {
    /// The operator as written.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
        }
    }
}

impl CelNode {
    /// Calls `visit` with this node and every node below, in the order of the text.
    pub fn each<'n>(&'n self, visit: &mut dyn FnMut(&'n CelNode)) {
        visit(self);
        match self {
            Self::Entry(_, inner)
            | Self::HasEntry(_, inner)
            | Self::Member(inner, _)
            | Self::HasMember(inner, _)
            | Self::Not(inner)
            | Self::Negate(inner)
            | Self::Matches(inner, _)
            | Self::InNetwork(inner, _) => inner.each(visit),
            Self::Index(left, right)
            | Self::And(left, right)
            | Self::Or(left, right)
            | Self::Binary(_, left, right) => {
                left.each(visit);
                right.each(visit);
            }
            Self::Conditional(parts) => parts.iter().for_each(|part| part.each(visit)),
            Self::List(parts) | Self::Call(_, parts) => {
                parts.iter().for_each(|part| part.each(visit));
            }
            Self::Map(entries) => {
                for (key, value) in entries {
                    key.each(visit);
                    value.each(visit);
                }
            }
            Self::Macro(macro_node) => {
                macro_node.range.each(visit);
                if let Some(condition) = &macro_node.condition {
                    condition.each(visit);
                }
                macro_node.body.each(visit);
            }
            Self::Sample(percent, key) => {
                percent.each(visit);
                if let Some(key) = key {
                    key.each(visit);
                }
            }
            _ => {}
        }
    }
}

/// The address that a text spells, in the form that networks are compared in.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    Some(address.to_canonical())
}
