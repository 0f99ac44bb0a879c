//! The report of a test case that failed: each difference between what it expects and what was received.

use std::fmt;

/// Longest text of a mismatch, in characters.
const TEXT_MAX: usize = 2000;

/// A difference between a case's expectation and what happened.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CaseMismatch {
    pub place: String,
    pub expected: String,
    pub received: String,
}

/// The differences of a case, in the order in which they are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CaseMismatches(pub Vec<CaseMismatch>);

impl CaseMismatches {
    pub fn add(
        &mut self,
        place: impl Into<String>,
        expected: impl ToString,
        received: impl ToString,
    ) {
        self.0.push(CaseMismatch {
            place: place.into(),
            expected: expected.to_string(),
            received: received.to_string(),
        });
    }
}

/// Three lines for each difference, below the name of the case.
impl fmt::Display for CaseMismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for CaseMismatch {
            place,
            expected,
            received,
        } in &self.0
        {
            let (expected, received) = (shortened(expected), shortened(received));
            writeln!(f, "        {place}")?;
            writeln!(f, "          expected  {expected}")?;
            writeln!(f, "          received  {received}")?;
        }
        Ok(())
    }
}

/// The text, without what exceeds the maximum.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}
