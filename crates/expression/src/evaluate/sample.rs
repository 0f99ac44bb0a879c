//! `sample`: a share of requests, the same for one request or key wherever it is evaluated.

use super::{ExpressionEvaluator, arguments};
use crate::error::InnerEvaluationError;
use crate::nodes::CelNode;
use crate::values::{CelText, CelValue};

/// FNV-1a, 64 bits.
const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl<'v> ExpressionEvaluator<'v> {
    pub(super) fn sample(
        &mut self,
        percent: &'v CelNode,
        key: Option<&'v CelNode>,
    ) -> Result<bool, InnerEvaluationError> {
        let percent = match self.value(percent)? {
            CelValue::Int(percent) => percent as f64,
            CelValue::Double(percent) => percent,
            other => {
                let message = format!("`sample` needs a number, not {}", other.type_name());
                return Err(InnerEvaluationError::new(message));
            }
        };
        if !(0.0..=100.0).contains(&percent) {
            let message = "the percentage of sample is not from 0 to 100";
            return Err(InnerEvaluationError::new(message));
        }
        let key = match key {
            Some(key) => self.value(key)?,
            None => CelValue::Text(CelText::Borrowed(self.values.request_id())),
        };
        let key = arguments::text_argument(&key, "sample")?;
        self.allowance.charge(key.len() / 32)?;
        Ok(position(key) < percent)
    }
}

/// Where a key is between 0 and 100, evenly distributed.
fn position(key: &str) -> f64 {
    let mut hash = OFFSET_BASIS;
    for byte in key.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    }
    // FNV alone hardly changes the high bits for the last bytes, so they are mixed as in SplitMix64.
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    (hash >> 11) as f64 / (1_u64 << 53) as f64 * 100.0
}
