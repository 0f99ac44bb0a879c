//! The work that one evaluation may take. Every node, element and stretch of text is charged before it is touched.

use crate::error::InnerEvaluationError;
use crate::values::CelText;

/// Steps of one evaluation: about 50 ns each at worst.
pub(crate) const STEPS: u32 = 10_000;
/// The longest text that is read or made.
pub(crate) const TEXT_BYTES: usize = 64 << 10;
/// The longest list that is read or made.
pub(crate) const LIST_ELEMENTS: usize = 1_000;
/// The bytes that are compared, copied or searched in one step.
const BYTES_PER_STEP: usize = 128;
/// The same for text that is not ASCII, whose encoding is checked.
const ENCODED_BYTES_PER_STEP: usize = 64;
/// The escapes of a JSON string that are decoded in one step.
const ESCAPES_PER_STEP: usize = 2;
/// The members of an object or elements of an array that are passed over in one step.
const SKIPPED_PER_STEP: usize = 4;

/// What is left of an evaluation's work.
#[derive(Debug)]
pub(crate) struct EvaluationAllowance {
    left: u32,
}

type Charged = Result<(), InnerEvaluationError>;

impl EvaluationAllowance {
    pub fn new() -> Self {
        Self { left: STEPS }
    }

    pub fn charge(&mut self, steps: usize) -> Charged {
        let left = usize::try_from(self.left).ok();
        match left.and_then(|left| left.checked_sub(steps)) {
            Some(left) => {
                self.left = left as u32;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(used_up())
            }
        }
    }

    /// Charges for work that is linear in `bytes`.
    pub fn charge_bytes(&mut self, bytes: usize) -> Charged {
        self.charge(bytes / BYTES_PER_STEP)
    }

    /// Charges for reading a JSON string.
    pub fn charge_decoding(&mut self, raw: &[u8]) -> Charged {
        let bytes_per_step = match raw.is_ascii() {
            true => BYTES_PER_STEP,
            false => ENCODED_BYTES_PER_STEP,
        };
        self.charge(raw.len() / bytes_per_step)?;
        let escapes = memchr::memchr_iter(b'\\', raw).count();
        self.charge(escapes / ESCAPES_PER_STEP)
    }

    /// Charges for passing over `count` members or elements of a document.
    pub fn charge_skipped(&mut self, count: usize) -> Charged {
        self.charge(count / SKIPPED_PER_STEP)
    }

    /// Charges for making a text of `bytes`, which must not be too long.
    pub fn charge_text(&mut self, bytes: usize) -> Charged {
        if bytes > TEXT_BYTES {
            return Err(long_text());
        }
        self.charge_bytes(bytes)
    }

    /// Charges for a list of `elements`, which must not be too long.
    pub fn charge_list(&mut self, elements: usize) -> Charged {
        if elements > LIST_ELEMENTS {
            return Err(InnerEvaluationError::new(format!(
                "a list has more than {LIST_ELEMENTS} elements"
            )));
        }
        self.charge(elements)
    }

    /// Charges for a text of the exchange that was read in place.
    pub fn read<'v>(&mut self, text: CelText<'v>) -> Result<CelText<'v>, InnerEvaluationError> {
        self.charge_text(text.len())?;
        Ok(text)
    }
}

/// The error of a text that is too long to be read or made.
pub(crate) fn long_text() -> InnerEvaluationError {
    let kib = TEXT_BYTES >> 10;
    InnerEvaluationError::new(format!("a string is longer than {kib} KiB"))
}

fn used_up() -> InnerEvaluationError {
    InnerEvaluationError {
        message: format!("the evaluation takes more than {STEPS} steps").into(),
        is_final: true,
    }
}
