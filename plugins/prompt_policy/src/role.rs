//! The roles that texts of a request have.

use serde::Deserialize;

/// The role of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

impl Role {
    /// All roles.
    pub fn all() -> Vec<Self> {
        vec![
            Self::System,
            Self::Developer,
            Self::User,
            Self::Assistant,
            Self::Tool,
        ]
    }
}
