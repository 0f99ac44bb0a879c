//! The two formats of batches: of a file, and of a list.

use crate::usage::{UsageCount, UsageShape};

/// The format of batches, as the provider that defined it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchFormat {
    /// OpenAI's: the requests are the lines of a file, and so are the results.
    File,
    /// Anthropic's: the requests are a list in the body of the create.
    List,
}

/// The usage of a batch of a file.
const USAGE: UsageShape = UsageShape {
    counts: &[
        ("", "input_tokens", UsageCount::Input),
        ("", "output_tokens", UsageCount::Output),
        ("", "total_tokens", UsageCount::Total),
        (
            "input_tokens_details",
            "cached_tokens",
            UsageCount::CachedInput,
        ),
        (
            "output_tokens_details",
            "reasoning_tokens",
            UsageCount::Reasoning,
        ),
    ],
    ..UsageShape::NONE
};

impl BatchFormat {
    /// The members of a line of results that lead to the response to its request.
    pub fn response_path(self) -> [&'static str; 2] {
        match self {
            Self::File => ["response", "body"],
            Self::List => ["result", "message"],
        }
    }

    /// How a finished batch reports the usage of all requests, if it does.
    pub(super) fn usage(self) -> &'static UsageShape {
        match self {
            Self::File => &USAGE,
            Self::List => &UsageShape::NONE,
        }
    }
}
