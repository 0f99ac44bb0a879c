//! How a channel wants image edits.

/// How a channel wants image edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageEditPolicy {
    pub body: ImageBodyFormat,
    pub response_format: ResponseFormatHandling,
}

/// The shape of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageBodyFormat {
    /// The caller's: JSON or a form.
    #[default]
    AsSent,
    Json,
    Form,
}

/// What becomes of `response_format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseFormatHandling {
    /// The provider does not know it: the gateway sees to it.
    #[default]
    Consume,
    /// The provider sees to it.
    Pass,
}
