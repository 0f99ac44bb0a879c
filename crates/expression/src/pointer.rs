//! Pointers into documents, split at load and followed within the allowance.

use headgate_protocol::json::{DocumentNode, ValueKind};

use crate::allowance::{EvaluationAllowance, LIST_ELEMENTS};
use crate::error::InnerEvaluationError;

/// The longest index of an array, in digits.
const INDEX_DIGITS: usize = 9;

/// An RFC 6901 pointer that is valid and split into its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentPointer {
    text: Box<str>,
    tokens: Box<[PointerToken]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PointerToken {
    key: Box<str>,
    index: Option<usize>,
}

impl DocumentPointer {
    /// Splits a pointer; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let tokens = match text.strip_prefix('/') {
            Some(rest) => rest.split('/').map(token).collect::<Result<_, _>>()?,
            None if text.is_empty() => Box::default(),
            None => return Err("must begin with `/`"),
        };
        Ok(Self {
            text: text.into(),
            tokens,
        })
    }

    /// The pointer as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value at the pointer.
    pub fn follow<'v>(
        &self,
        root: DocumentNode<'v>,
        allowance: &mut EvaluationAllowance,
    ) -> Result<Option<DocumentNode<'v>>, InnerEvaluationError> {
        let mut node = root;
        for token in &self.tokens {
            let found = match node.kind() {
                ValueKind::Object => member(node, &token.key, allowance)?,
                ValueKind::Array => match token.index {
                    Some(index) => element(node, index, allowance)?,
                    None => None,
                },
                _ => None,
            };
            match found {
                Some(found) => node = found,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }
}

/// The member of an object.
pub(crate) fn member<'v>(
    object: DocumentNode<'v>,
    key: &str,
    allowance: &mut EvaluationAllowance,
) -> Result<Option<DocumentNode<'v>>, InnerEvaluationError> {
    allowance.charge_skipped(object.len())?;
    Ok(object.get(key))
}

/// The element of an array.
pub(crate) fn element<'v>(
    array: DocumentNode<'v>,
    index: usize,
    allowance: &mut EvaluationAllowance,
) -> Result<Option<DocumentNode<'v>>, InnerEvaluationError> {
    if index >= array.len() {
        return Ok(None);
    }
    allowance.charge_skipped(index)?;
    Ok(array.elements().nth(index))
}

/// The number of elements of an array that is gone through.
pub(crate) fn charge_elements(
    count: usize,
    allowance: &mut EvaluationAllowance,
) -> Result<(), InnerEvaluationError> {
    if count > LIST_ELEMENTS {
        return Err(InnerEvaluationError::new(format!(
            "an array or object of a document has more than {LIST_ELEMENTS} elements"
        )));
    }
    allowance.charge_skipped(count)
}

fn token(escaped: &str) -> Result<PointerToken, &'static str> {
    let mut after_tildes = escaped.split('~').skip(1);
    if !after_tildes.all(|rest| rest.starts_with(['0', '1'])) {
        return Err("has a `~` that is not part of `~0` or `~1`");
    }
    let key = escaped.replace("~1", "/").replace("~0", "~");
    let is_index = key.len() <= INDEX_DIGITS
        && key.bytes().all(|byte| byte.is_ascii_digit())
        && (key == "0" || !key.starts_with('0'));
    Ok(PointerToken {
        index: is_index.then(|| key.parse().ok()).flatten(),
        key: key.into(),
    })
}
