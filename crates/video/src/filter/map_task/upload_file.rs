//! The file of an upload: its content in pieces, from a data URI or from a URL, and a form around it.

use bytes::Bytes;
use headgate_core::filter::body_stream::{RequestBodyReceiver, RequestBodySender, body_stream};
use headgate_core::filter::fetch::OpenedFile;
use headgate_core::filter::streamed_reply::ReplyBodyReader;
use headgate_core::scalar::ByteSize;
use headgate_core::task::family::upload::UploadField;
use headgate_protocol::data_uri::DataUri;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::form::FormBoundary;
use http::header;
use std::pin::pin;

/// A file of known length.
pub(super) struct UploadFile {
    media_type: String,
    length: u64,
    content: UploadFileContent,
}

enum UploadFileContent {
    /// Decoded while it is sent.
    DataUri(DataUri),
    /// Read while it is sent.
    Opened(Box<dyn ReplyBodyReader>),
}

/// A form with one file.
pub(super) struct FormFile {
    before: String,
    after: String,
    file: UploadFile,
}

/// A form that is being sent.
pub(super) struct FormSending {
    form: FormFile,
    sender: RequestBodySender,
}

impl UploadFile {
    /// # Errors
    /// The data URI is not valid base64.
    pub fn from_data_uri(text: Bytes, param: &str) -> Result<Self, Fault> {
        let invalid = |reason: &str| {
            Fault::new(FaultKind::Invalid, format!("`{param}`: {reason}")).param(param)
        };
        let uri = match DataUri::read(&text) {
            Some(Ok(uri)) => uri,
            Some(Err(error)) => return Err(invalid(&error.to_string())),
            None => return Err(invalid("it must be a data URI or an http or https URL")),
        };
        let (mut decoder, mut piece, mut length) = (uri.decoder(), Vec::new(), 0);
        loop {
            let decoded = decoder.next_piece(&mut piece);
            decoded.map_err(|error| invalid(&error.to_string()))?;
            if piece.is_empty() {
                break;
            }
            length += piece.len() as u64;
        }
        Ok(Self {
            media_type: uri.media_type.clone(),
            length,
            content: UploadFileContent::DataUri(uri),
        })
    }

    /// `None` if the server does not say how long the file is, so that no form can declare its length.
    pub fn from_opened(opened: OpenedFile) -> Option<Self> {
        let media_type = opened.headers.get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|value| value.split(';').next());
        Some(Self {
            media_type: media_type.unwrap_or_default().trim().to_ascii_lowercase(),
            length: opened.length?,
            content: UploadFileContent::Opened(opened.body),
        })
    }

    /// # Errors
    /// The file is larger than the provider takes.
    pub fn check_size(&self, max_size: ByteSize, param: &str) -> Result<(), Fault> {
        if self.length <= max_size.bytes() {
            return Ok(());
        }
        let message = format!("the file at `{param}` is too large: it may have {max_size}");
        Err(Fault::new(FaultKind::TooLarge, message).param(param))
    }
}

impl FormFile {
    pub fn new(boundary: &FormBoundary, fields: &[(&str, &UploadField)], file: UploadFile) -> Self {
        let (mut before, mut head) = (String::new(), String::new());
        for (name, field) in fields {
            match field {
                UploadField::Text(text) => before += &boundary.text(name, text),
                UploadField::File => head = boundary.before_file(name, &file.media_type),
                UploadField::Url => {}
            }
        }
        Self {
            before: before + &head,
            after: format!("{}{}", boundary.after_file(), boundary.end()),
            file,
        }
    }

    /// The form as a body that is made while it is sent.
    pub fn stream(self) -> (FormSending, RequestBodyReceiver) {
        let around = self.before.len() + self.after.len();
        let (sender, receiver) = body_stream(Some(self.file.length + around as u64));
        (FormSending { form: self, sender }, receiver)
    }
}

impl FormSending {
    /// Makes the body while `request` sends it.
    ///
    /// # Errors
    /// The file broke off, for this reason. The request is dropped.
    pub async fn beside<T>(self, request: impl Future<Output = T>) -> Result<T, String> {
        let (mut request, mut making) = (pin!(request), pin!(self.run()));
        tokio::select! {
            // The provider may respond before it has read everything.
            biased;
            result = &mut request => Ok(result),
            made = &mut making => {
                made?;
                Ok(request.await)
            }
        }
    }

    async fn run(self) -> Result<(), String> {
        let Self { form, sender } = self;
        sender.send(form.before.into()).await;
        let length = form.file.length;
        let mut sent = 0;
        match form.file.content {
            UploadFileContent::DataUri(uri) => {
                for piece in uri.decoded_pieces() {
                    sent += piece.len() as u64;
                    sender.send(piece).await;
                }
            }
            UploadFileContent::Opened(mut body) => {
                while let Some(piece) = body.next_piece().await.map_err(Fault::into_reason)? {
                    sent += piece.len() as u64;
                    if sent > length {
                        break;
                    }
                    sender.send(piece).await;
                }
            }
        }
        if sent != length {
            // The sender is dropped without an end: the request breaks off, and creates nothing.
            return Err(format!("it has {sent} bytes in place of {length}"));
        }
        sender.send(form.after.into()).await;
        sender.end().await;
        Ok(())
    }
}
