//! The elements of lists, whether the evaluation made them or a document holds them.

use std::slice;

use headgate_protocol::json::{ArrayElements, DocumentNode, ValueKind};

use crate::allowance::EvaluationAllowance;
use crate::error::InnerEvaluationError;
use crate::evaluate::{Evaluated, documents};
use crate::pointer::charge_elements;
use crate::values::CelValue;

/// The elements of a list in their order.
pub(super) enum ListElements<'l, 'v> {
    Values(slice::Iter<'l, CelValue<'v>>),
    Array(ArrayElements<'v>),
}

/// An element of a list before it is read.
pub(super) enum UnreadElement<'l, 'v> {
    Value(&'l CelValue<'v>),
    Node(DocumentNode<'v>),
}

/// The elements of a list; `None` for other values.
pub(super) fn elements<'l, 'v>(
    list: &'l CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Result<Option<ListElements<'l, 'v>>, InnerEvaluationError> {
    match list {
        CelValue::List(elements) => Ok(Some(ListElements::Values(elements.iter()))),
        CelValue::Document(node) if node.kind() == ValueKind::Array => {
            charge_elements(node.len(), allowance)?;
            Ok(Some(ListElements::Array(node.elements())))
        }
        _ => Ok(None),
    }
}

impl ListElements<'_, '_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Values(elements) => elements.len(),
            Self::Array(elements) => elements.size_hint().0,
        }
    }
}

impl<'l, 'v> Iterator for ListElements<'l, 'v> {
    type Item = UnreadElement<'l, 'v>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Values(elements) => elements.next().map(UnreadElement::Value),
            Self::Array(elements) => elements.next().map(UnreadElement::Node),
        }
    }
}

impl<'v> UnreadElement<'_, 'v> {
    pub fn value(self, allowance: &mut EvaluationAllowance) -> Evaluated<'v> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Node(node) => documents::value(node, allowance),
        }
    }
}
