//! Finds the id of the audio that a chat completion puts out.

use crate::json::skim;
use std::ops::Range;

/// The ids of audio in a chunk of a stream.
pub fn audio_in_chunk(data: &[u8]) -> Vec<String> {
    let choices = skim::find(data, &["choices"]);
    choices.map_or_else(Vec::new, |choices| in_choices(data, choices).collect())
}

/// The ids of audio in the choices of a completion, or of a chunk.
pub fn in_choices(json: &[u8], choices: Range<usize>) -> impl Iterator<Item = String> {
    skim::elements(json, choices).filter_map(|choice| {
        let member = |object: Range<usize>, names: &[&[u8]]| {
            let mut members = skim::members(json, object);
            members
                .find(|(name, _)| names.contains(name))
                .map(|(_, value)| value)
        };
        let message = member(choice, &[b"message", b"delta"])?;
        let audio = member(message, &[b"audio"])?;
        let id = member(audio, &[b"id"])?;
        skim::plain_string(json, id).map(str::to_owned)
    })
}
