//! What is wrong with a credential of a channel.

/// Why a credential cannot be built.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::snapshot) struct InvalidCredential {
    /// The pointer, below the credential, to the value that it is about.
    pub key: &'static str,
    pub reason: String,
    pub hint: Option<&'static str>,
}

impl From<String> for InvalidCredential {
    fn from(reason: String) -> Self {
        Self {
            key: "",
            reason,
            hint: None,
        }
    }
}
