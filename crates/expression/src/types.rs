//! Which types the value of a part can have, as far as the text shows it: documents and the elements of their lists can be
//! of any type, variables and literals are of one.

use std::fmt;
use std::ops::BitOr;

use crate::names::Variable;
use crate::nodes::{BinaryOperator, CelFunction, CelMacro, CelNode, MacroKind};

/// A set of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeSet(u8);

/// Each type with its name.
const NAMED: [(TypeSet, &str); 7] = [
    (TypeSet::NULL, "null"),
    (TypeSet::BOOL, "bool"),
    (TypeSet::INT, "int"),
    (TypeSet::DOUBLE, "double"),
    (TypeSet::TEXT, "string"),
    (TypeSet::LIST, "list"),
    (TypeSet::MAP, "map"),
];

impl TypeSet {
    pub const NULL: Self = Self(1);
    pub const BOOL: Self = Self(1 << 1);
    pub const INT: Self = Self(1 << 2);
    pub const DOUBLE: Self = Self(1 << 3);
    pub const TEXT: Self = Self(1 << 4);
    pub const LIST: Self = Self(1 << 5);
    pub const MAP: Self = Self(1 << 6);
    pub const NUMBER: Self = Self(Self::INT.0 | Self::DOUBLE.0);
    pub const CONTAINER: Self = Self(Self::LIST.0 | Self::MAP.0);
    pub const ANY: Self = Self((1 << 7) - 1);
    const NONE: Self = Self(0);

    /// The types that a node can have. `element` are those of the variable of the macro around.
    pub fn for_node(node: &CelNode, element: Self) -> Self {
        match node {
            CelNode::Null => Self::NULL,
            CelNode::Bool(_) => Self::BOOL,
            CelNode::Int(_) => Self::INT,
            CelNode::Double(_) => Self::DOUBLE,
            CelNode::Text(_) | CelNode::Entry(..) => Self::TEXT,
            CelNode::Variable(variable) => Self::for_variable(*variable),
            CelNode::Element => element,
            CelNode::Document(..) | CelNode::Member(..) | CelNode::Index(..) => Self::ANY,
            CelNode::Negate(operand) => Self::for_node(operand, element) & Self::NUMBER,
            CelNode::Conditional(parts) => {
                Self::for_node(&parts[1], element) | Self::for_node(&parts[2], element)
            }
            CelNode::Binary(operator, left, right) => operator.result(
                Self::for_node(left, element),
                Self::for_node(right, element),
            ),
            CelNode::List(_) => Self::LIST,
            CelNode::Map(_) => Self::MAP,
            CelNode::Macro(of) => match of.kind {
                MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => Self::BOOL,
                MacroKind::Filter | MacroKind::Map => Self::LIST,
            },
            CelNode::Call(function, arguments) => function.result(arguments, element),
            CelNode::HasEntry(..)
            | CelNode::HasDocument(..)
            | CelNode::HasMember(..)
            | CelNode::Not(_)
            | CelNode::And(..)
            | CelNode::Or(..)
            | CelNode::Matches(..)
            | CelNode::InNetwork(..)
            | CelNode::Sample(..) => Self::BOOL,
        }
    }

    /// The types of the elements of a list, or of the keys of a map.
    pub fn for_elements(range: &CelNode, element: Self) -> Self {
        match range {
            CelNode::List(nodes) if nodes.is_empty() => Self::ANY,
            CelNode::List(nodes) => nodes
                .iter()
                .fold(Self::NONE, |all, node| all | Self::for_node(node, element)),
            CelNode::Map(_) | CelNode::Call(CelFunction::Split, _) => Self::TEXT,
            CelNode::Macro(of) => Self::for_results(of, element),
            _ => Self::ANY,
        }
    }

    fn for_results(of: &CelMacro, element: Self) -> Self {
        let elements = Self::for_elements(&of.range, element);
        match of.kind {
            MacroKind::Filter => elements,
            _ => Self::for_node(&of.body, elements),
        }
    }

    fn for_variable(variable: Variable) -> Self {
        match variable {
            Variable::Hour | Variable::Minute | Variable::Weekday | Variable::UnixTime => Self::INT,
            _ if variable.is_number() => Self::INT | Self::NULL,
            _ => Self::TEXT,
        }
    }

    /// Whether a value can be of one of these types.
    pub fn may_be(self, types: Self) -> bool {
        self & types != Self::NONE
    }
}

impl BinaryOperator {
    /// Whether the operator has a result for some of these types.
    pub fn applies(self, left: TypeSet, right: TypeSet) -> bool {
        let both = |types| left.may_be(types) && right.may_be(types);
        match self {
            Self::Add => both(TypeSet::NUMBER) || both(TypeSet::TEXT) || both(TypeSet::LIST),
            Self::Subtract | Self::Multiply | Self::Divide => both(TypeSet::NUMBER),
            Self::Remainder => both(TypeSet::INT),
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => {
                both(TypeSet::NUMBER) || both(TypeSet::TEXT) || both(TypeSet::BOOL)
            }
            Self::Equal | Self::NotEqual => left.may_be(right) || both(TypeSet::NUMBER),
            Self::In => right.may_be(TypeSet::CONTAINER),
        }
    }

    fn result(self, left: TypeSet, right: TypeSet) -> TypeSet {
        match self {
            Self::Add => {
                let joined = left & right & (TypeSet::TEXT | TypeSet::LIST);
                joined | numbers(left, right)
            }
            Self::Subtract | Self::Multiply | Self::Divide => numbers(left, right),
            Self::Remainder => TypeSet::INT,
            _ => TypeSet::BOOL,
        }
    }
}

/// The types of a sum: a double if one part is.
fn numbers(left: TypeSet, right: TypeSet) -> TypeSet {
    if !left.may_be(TypeSet::NUMBER) || !right.may_be(TypeSet::NUMBER) {
        return TypeSet::NONE;
    }
    let either = left | right;
    let ints = left & right & TypeSet::INT;
    ints | (either & TypeSet::DOUBLE)
}

impl CelFunction {
    /// The types that an argument must have.
    pub fn parameter(self, index: usize) -> TypeSet {
        match (self, index) {
            (Self::Size, _) => TypeSet::TEXT | TypeSet::CONTAINER,
            (Self::Join, 0) => TypeSet::LIST,
            (Self::Substring, 1 | 2) | (Self::Split, 2) | (Self::Replace, 3) => TypeSet::INT,
            (Self::ToText, _) => TypeSet::TEXT | TypeSet::NUMBER | TypeSet::BOOL,
            (Self::ToInt | Self::ToDouble, _) => TypeSet::TEXT | TypeSet::NUMBER,
            (Self::Min | Self::Max, _) => TypeSet::NUMBER,
            _ => TypeSet::TEXT,
        }
    }

    fn result(self, arguments: &[CelNode], element: TypeSet) -> TypeSet {
        match self {
            Self::Size | Self::ToInt => TypeSet::INT,
            Self::Contains | Self::StartsWith | Self::EndsWith => TypeSet::BOOL,
            Self::Split => TypeSet::LIST,
            Self::ToDouble => TypeSet::DOUBLE,
            Self::Min | Self::Max => arguments.iter().fold(TypeSet::NONE, |all, argument| {
                all | TypeSet::for_node(argument, element) & TypeSet::NUMBER
            }),
            Self::LowerAscii
            | Self::UpperAscii
            | Self::Join
            | Self::Substring
            | Self::Replace
            | Self::ToText => TypeSet::TEXT,
        }
    }
}

impl BitOr for TypeSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitAnd for TypeSet {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMED.iter().filter(|(one, _)| self.may_be(*one));
        for (index, (_, name)) in names.enumerate() {
            if index > 0 {
                f.write_str(" or ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}
