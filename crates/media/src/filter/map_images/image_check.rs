//! Checks the images of an edit by their content: a provider bills an edit also if what it was given is no image.

use super::request_urls::{invalid, request_images, stopped};
use crate::off_workers;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::Fault;

/// Images of this size, all in all, are checked on the worker itself.
const INLINE_BYTES_MAX: usize = 256 << 10;

/// Checks that each image of the request is one, and that its base64 is valid.
///
/// # Errors
/// 400 for the first one that is not.
pub(super) async fn check(request: &RequestView) -> Result<(), Fault> {
    let images = request_images(request)?;
    let bytes: usize = images.iter().map(|image| image.content.work_bytes()).sum();
    let check_all = move || {
        let mut images = images.iter();
        images.try_for_each(|image| {
            let checked = image.content.check();
            checked.map_err(|error| invalid(&image.param, &error))
        })
    };
    match bytes > INLINE_BYTES_MAX {
        true => off_workers(check_all).await.ok_or_else(stopped)?,
        false => check_all(),
    }
}
