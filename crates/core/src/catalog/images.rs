//! How a channel wants requests for image edits.

/// How a channel wants requests for image edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageEditPolicy {
    pub body: ImageEditBodyFormat,
    pub response_format: ResponseFormatHandling,
}

/// The format of the request body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageEditBodyFormat {
    /// The caller's format: JSON or a form.
    #[default]
    Unchanged,
    Json,
    /// JSON, with files and data URLs as URLs of the media store.
    JsonWithUrls,
    Multipart,
}

/// Who applies `response_format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseFormatHandling {
    /// The gateway: it removes the field and converts the response.
    #[default]
    Convert,
    /// The provider.
    Forward,
}
