//! A create in the format of OpenAI's video API, read in place, and the generic create that says the same.

use super::video_size::{InvalidVideoSize, VideoSize};
use bytes::Bytes;
use headgate_core::task::requested_format::RequestedVideoFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind, quoted};

/// The fields of this format that have another name or shape in the generic one.
const SECONDS: &str = "seconds";
const SIZE: &str = "size";
const INPUT_REFERENCE: &str = "input_reference";
/// Fields that pass as they are: those of this format, then those of the generic one that this format lacks.
const SAME: [&str; 7] = [
    "model",
    "prompt",
    "negative_prompt",
    "generate_audio",
    "watermark",
    "seed",
    "callback_url",
];
/// The maximum number of unknown fields in one error.
const NAMED_MAX: usize = 8;
/// What is read of a short text, in bytes.
const WORD_BYTES_MAX: usize = 64;

/// A create in OpenAI's format.
#[derive(Debug)]
pub(super) struct OpenAiCreate<'a> {
    same: Vec<(&'static str, DocumentNode<'a>)>,
    seconds: Option<u32>,
    size: Option<(String, VideoSize)>,
    image: Option<DocumentNode<'a>>,
}

impl<'a> OpenAiCreate<'a> {
    /// # Errors
    /// A field is unknown or has a value that the generic format cannot say.
    pub fn read(document: &'a JsonDocument) -> Result<Self, Fault> {
        let root = document.root();
        if root.kind() != ValueKind::Object {
            return Err(invalid("", "the body must be a JSON object"));
        }
        check_names(root)?;
        let given = |name| root.get(name).filter(is_given);
        Ok(Self {
            same: SAME
                .into_iter()
                .filter_map(|name| Some((name, given(name)?)))
                .collect(),
            seconds: given(SECONDS).map(seconds).transpose()?,
            size: given(SIZE).map(size).transpose()?,
            image: given(INPUT_REFERENCE).map(image).transpose()?,
        })
    }

    /// What later objects of the task repeat.
    pub fn requested(&self) -> RequestedVideoFormat {
        RequestedVideoFormat {
            seconds: self.seconds.map(|seconds| seconds.to_string()),
            size: match &self.size {
                Some((text, size)) if size.resolution.is_some() && size.ratio.is_some() => {
                    Some(text.clone())
                }
                _ => None,
            },
        }
    }

    /// The same create in the generic format.
    pub fn to_generic(&self) -> Bytes {
        let room = self.same.iter().map(|(_, node)| node.span().len() + 32);
        let room = room.sum::<usize>() + self.image.map_or(0, |image| image.span().len());
        let mut out = Vec::with_capacity(room + 256);
        out.push(b'{');
        let mut member = |name: &str, value: &[&[u8]]| {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(&quoted(name));
            out.push(b':');
            value.iter().for_each(|part| out.extend_from_slice(part));
        };
        for (name, node) in &self.same {
            member(name, &[node.raw()]);
        }
        if let Some(seconds) = self.seconds {
            member("duration", &[seconds.to_string().as_bytes()]);
        }
        if let Some((_, size)) = &self.size {
            if let Some(resolution) = &size.resolution {
                member("resolution", &[&quoted(resolution)]);
            }
            if let Some(ratio) = &size.ratio {
                member("ratio", &[&quoted(ratio)]);
            }
        }
        if let Some(image) = self.image {
            let head = br#"[{"type":"image","role":"first_frame","url":"#;
            member("medias", &[head, image.raw(), b"}]"]);
        }
        out.push(b'}');
        out.into()
    }
}

/// # Errors
/// A field that is given is none of this format; the error names all.
fn check_names(root: DocumentNode<'_>) -> Result<(), Fault> {
    let own = [SECONDS, SIZE, INPUT_REFERENCE];
    let is_known = |name: &str| SAME.contains(&name) || own.contains(&name);
    let unknown: Vec<String> = root
        .members()
        .filter(|(name, node)| !is_known(name) && is_given(node))
        .map(|(name, _)| name.into_owned())
        .take(NAMED_MAX)
        .collect();
    let Some(first) = unknown.first() else {
        return Ok(());
    };
    let sentences: Vec<String> = unknown.iter().map(|name| unknown_field(name)).collect();
    let fields: Vec<String> = SAME
        .iter()
        .chain(&own)
        .map(|name| format!("`{name}`"))
        .collect();
    let message = format!(
        "{}; the fields are {}",
        sentences.join("; "),
        fields.join(", ")
    );
    let param = if is_plain(first) { first } else { "" };
    Err(invalid(param, message))
}

fn unknown_field(name: &str) -> String {
    let meant = match name {
        "duration" => " (send `seconds`)",
        "ratio" | "resolution" | "aspect_ratio" => " (send `size`)",
        "image" | "image_url" | "first_frame" => " (send `input_reference`)",
        "medias" => {
            " (send one image in `input_reference`, or several media to POST /v1/video/generations)"
        }
        _ => "",
    };
    match is_plain(name) {
        true => format!("unknown field `{name}`{meant}"),
        false => "unknown field with a name of other characters than letters, digits, `_` and `-`"
            .to_owned(),
    }
}

/// Whether a name may appear in a message.
fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=40).contains(&name.len()) && name.bytes().all(is_word)
}

/// Seconds as text, as SDKs send them, or as a number.
fn seconds(node: DocumentNode<'_>) -> Result<u32, Fault> {
    let text = node.text_start(WORD_BYTES_MAX);
    let written = text.as_deref().filter(|text| {
        (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    });
    let number = match node.kind() {
        ValueKind::String => written.and_then(|text| text.parse().ok()),
        _ => node
            .as_u64()
            .and_then(|seconds| u32::try_from(seconds).ok()),
    };
    number
        .filter(|seconds| (1..100_000).contains(seconds))
        .ok_or_else(|| {
            invalid(
                SECONDS,
                "`seconds` must be a whole number of seconds, at least 1, such as \"8\"",
            )
        })
}

fn size(node: DocumentNode<'_>) -> Result<(String, VideoSize), Fault> {
    let text = node.text_start(WORD_BYTES_MAX).unwrap_or_default();
    let why = match VideoSize::parse(&text) {
        Ok(size) => return Ok((text.into_owned(), size)),
        Err(why) => why,
    };
    Err(invalid(
        SIZE,
        match why {
            InvalidVideoSize::Malformed => {
                "`size` must be a width and a height in pixels, such as \"1280x720\", or a ratio such as \"16:9\" or a resolution such as \"720p\", which leave the other to the model".to_owned()
            }
            InvalidVideoSize::Ratio(nearest) => {
                format!(
                    "`size` has a ratio of width to height that no model has; the nearest is {nearest}"
                )
            }
            InvalidVideoSize::Resolution(nearest) => {
                format!(
                    "`size` has a resolution that no model has; the nearest is {nearest}, the length of the shorter side"
                )
            }
        },
    ))
}

/// The URL or data URI of the first image.
fn image(node: DocumentNode<'_>) -> Result<DocumentNode<'_>, Fault> {
    let one_of_two =
        "`input_reference` must be a file, or an object with either `image_url` or `file_id`";
    if node.kind() != ValueKind::Object {
        return Err(invalid(INPUT_REFERENCE, one_of_two));
    }
    let mut image_url = None;
    for (name, member) in node.members().filter(|(_, member)| is_given(member)) {
        match (&*name, image_url) {
            ("image_url", None) if member.kind() == ValueKind::String => image_url = Some(member),
            ("file_id", _) => {
                return Err(invalid(
                    "input_reference.file_id",
                    "files by id are not available for videos here; send the image as a file in `input_reference`, or its URL in `input_reference.image_url`",
                ));
            }
            _ => return Err(invalid(INPUT_REFERENCE, one_of_two)),
        }
    }
    image_url.ok_or_else(|| invalid(INPUT_REFERENCE, one_of_two))
}

/// Whether a value is neither null nor empty: clients also send their defaults.
fn is_given(node: &DocumentNode<'_>) -> bool {
    !node.is_null() && node.str_len() != Some(0)
}

fn invalid(param: &str, message: impl Into<String>) -> Fault {
    let fault = Fault::new(FaultKind::Invalid, message);
    match param {
        "" => fault,
        param => fault.param(param),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::JsonLimits;
    use serde_json::{Value, json};

    fn convert(create: &Value) -> Result<(Value, RequestedVideoFormat), Fault> {
        let document = JsonDocument::parse(create.to_string().into(), &JsonLimits::default());
        let document = document.unwrap();
        let create = OpenAiCreate::read(&document)?;
        let generic = serde_json::from_slice(&create.to_generic()).unwrap();
        Ok((generic, create.requested()))
    }

    #[test]
    fn a_create_becomes_one_of_the_generic_format() {
        let create = json!({
            "model": "m", "prompt": "a", "seconds": "8", "size": "1024x1792", "seed": 7, "user": null,
            "input_reference": {"image_url": "https://x.example/a.png", "file_id": null},
        });
        let (generic, requested) = convert(&create).unwrap();
        let image =
            json!({"type": "image", "role": "first_frame", "url": "https://x.example/a.png"});
        assert_eq!(
            generic,
            json!({
                "model": "m", "prompt": "a", "seed": 7, "duration": 8, "resolution": "1080p",
                "ratio": "9:16", "medias": [image],
            })
        );
        assert_eq!(requested.seconds.as_deref(), Some("8"));
        assert_eq!(requested.size.as_deref(), Some("1024x1792"));
        for (size, member) in [("16:9", "ratio"), ("720p", "resolution")] {
            let create = json!({"model": "m", "prompt": "a", "size": size});
            let (generic, requested) = convert(&create).unwrap();
            assert_eq!(generic, json!({"model": "m", "prompt": "a", member: size}));
            assert_eq!(requested.size, None);
        }
        let (generic, requested) =
            convert(&json!({"model": "m", "prompt": "a", "seconds": 4})).unwrap();
        assert_eq!(generic, json!({"model": "m", "prompt": "a", "duration": 4}));
        assert_eq!(requested.seconds.as_deref(), Some("4"));
    }

    #[test]
    fn what_the_generic_format_lacks_is_refused_by_its_name() {
        for (field, value, param, message) in [
            ("seconds", json!("4.5"), "seconds", "whole number"),
            ("seconds", json!("-1"), "seconds", "whole number"),
            ("seconds", json!(0), "seconds", "whole number"),
            ("seconds", json!(4.5), "seconds", "whole number"),
            ("seconds", json!(["4"]), "seconds", "whole number"),
            ("size", json!("hd"), "size", "1280x720"),
            ("size", json!(720), "size", "1280x720"),
            ("size", json!("1000x100"), "size", "21:9"),
            ("size", json!("160x90"), "size", "480p"),
            (
                "input_reference",
                json!("https://x.example/a.png"),
                "input_reference",
                "an object",
            ),
            ("input_reference", json!({}), "input_reference", "either"),
            (
                "input_reference",
                json!({"image_url": 1}),
                "input_reference",
                "either",
            ),
            (
                "input_reference",
                json!({"image_url": "u", "url": "v"}),
                "input_reference",
                "either",
            ),
            (
                "input_reference",
                json!({"file_id": "f"}),
                "input_reference.file_id",
                "by id",
            ),
            ("duration", json!(4), "duration", "send `seconds`"),
            ("quality", json!("hd"), "quality", "unknown field `quality`"),
        ] {
            let mut create = json!({"model": "m", "prompt": "a"});
            create[field] = value;
            let fault = convert(&create).unwrap_err();
            assert_eq!(fault.param.as_deref(), Some(param), "{create}");
            assert!(fault.message.contains(message), "{}", fault.message);
        }
    }
}
