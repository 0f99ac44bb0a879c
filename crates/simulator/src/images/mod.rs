//! The images protocol: edits in JSON or as a form, answered whole or as a stream of partial images.

mod asked;
mod picture;
pub mod png;

pub use asked::Asked;
pub use picture::Edit;

use super::call::Call;
use super::outcome::Outcome;
use super::refusal::Refusal;
use super::{clock, media};
use picture::Form;

/// The most images an account may ask for at once.
const MAX_IMAGES: u64 = 10;
const MAX_PARTIAL_IMAGES: u64 = 3;

/// Answers an edit.
///
/// # Errors
/// `400` for what the real provider refuses, `404` for files this account does not have.
pub fn edit(asked: &Asked, call: &Call) -> Result<Outcome, Refusal> {
    asked.check(call)?;
    call.shelves.check_named(call.account, asked.json())?;
    let count = asked.number("n", 1, 1..=MAX_IMAGES)?;
    let partial_images = asked.number("partial_images", 0, 0..=MAX_PARTIAL_IMAGES)?;
    let size = png::Size::parse(asked.text("size")).unwrap_or(png::Size::ORDINARY);
    let image = png::image(size, call.sizes.text.unwrap_or(0));
    let form = if asked.text("response_format") == "url" {
        let name = format!("{}.png", call.ids.next("img-"));
        Form::Url(media::url(
            call.head,
            &name,
            call.sizes.text,
            "st=2026-11-21&sig=simulated%3D",
        ))
    } else {
        Form::base64(&image)
    };
    let edit = Edit {
        created: clock::unix_seconds(),
        form,
        count,
        partial_images,
        size: size.to_string(),
        quality: asked.word_or("quality", "high"),
        background: match asked.text("background") {
            "transparent" => "transparent",
            _ => "opaque",
        },
        output_format: asked.word_or("output_format", "png"),
        usage: (!call.directives.no_usage).then(|| asked.usage(size, count)),
    };
    Ok(if asked.is_set("stream") {
        Outcome::Stream(Box::new(edit))
    } else {
        Outcome::Whole(edit.json())
    })
}
