//! Reads responses that have a file as base64: the file goes to the disk or is dropped, and is never in memory as a whole.

use crate::Gateway;
use crate::downstream::spool::BodySpool;
use crate::exchange::evaluate::ERROR_BYTES_MAX;
use crate::upstream::bounded_body::{BodyEnd, BodyReadResult};
use crate::upstream::response::UpstreamResponse;
use bytes::Bytes;
use headgate_core::subrequest::InlineFile;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::inline_file::{InlineFileError, InlineFileExtractor};
use std::io;

/// The maximum size of a file.
const FILE_BYTES_MAX: u64 = 1 << 30;

impl Gateway {
    /// The body without the file, and the file if it is kept and there is one.
    ///
    /// # Errors
    /// The response cannot be read, or the file cannot be written.
    pub(super) async fn read_around_file(
        &self,
        response: &mut UpstreamResponse,
        file: Option<&InlineFile>,
    ) -> Result<(BodyReadResult, Option<Bytes>), Fault> {
        let at = file.map_or("", |file| &*file.at);
        let is_kept = file.is_some_and(|file| file.is_kept);
        let folder = self.reloader.current().spooling.folder.clone();
        let mut spool = BodySpool::new(folder);
        let mut extractor = InlineFileExtractor::new(at, ERROR_BYTES_MAX);
        let (mut piece, mut size) = (Vec::new(), 0);
        while let Some(chunk) = response.next_chunk().await? {
            extractor.push(&chunk, &mut piece).map_err(unreadable)?;
            size += piece.len() as u64;
            if size > FILE_BYTES_MAX {
                let reason = format!("its file has more than {FILE_BYTES_MAX} bytes");
                return Err(too_large(reason));
            }
            if is_kept {
                spool
                    .push(piece.split_off(0).into())
                    .await
                    .map_err(unwritable)?;
            }
            piece.clear();
        }
        let document = extractor.finish(&mut piece).map_err(unreadable)?;
        spool.push(piece.into()).await.map_err(unwritable)?;
        let body = BodyReadResult {
            bytes: document.into(),
            end: BodyEnd::Complete,
        };
        if !is_kept || spool.len() == 0 {
            return Ok((body, None));
        }
        let file = spool.finish().await.map_err(unwritable)?;
        Ok((body, Some(file)))
    }
}

fn unreadable(error: InlineFileError) -> Fault {
    match error {
        InlineFileError::TooLarge => too_large(error.to_string()),
        InlineFileError::TooDeep | InlineFileError::NotBase64 => Fault::new(
            FaultKind::UnreadableResponse,
            "the provider's response cannot be read; query the task again",
        )
        .source(error),
    }
}

fn too_large(reason: String) -> Fault {
    Fault::new(
        FaultKind::UnreadableResponse,
        "the provider's response is too large; tell the operator of this gateway",
    )
    .detail(reason)
}

fn unwritable(error: io::Error) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot keep the file of this task at the moment; try again later",
    )
    .source(error)
}
