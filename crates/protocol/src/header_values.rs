//! Header values that are made for every request.

use http::HeaderValue;

/// The digits of `number`. The conversion of the `http` crate allocates twice.
pub fn decimal_value(number: u64) -> HeaderValue {
    let mut digits = itoa::Buffer::new();
    HeaderValue::from_str(digits.format(number)).expect("digits are plain text")
}
