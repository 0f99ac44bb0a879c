//! Unknown fields in a generic create, and the known fields that the caller probably means.

use super::{FieldError, GenericField, is_given};
use headgate_protocol::json::{DocumentNode, ValueKind};
use headgate_protocol::nearest::nearest;
use std::borrow::Cow;

/// The members of an element of `medias`.
const MEDIA_MEMBERS: [&str; 3] = ["type", "url", "role"];

/// Words in the field names of other APIs, by the generic field that they mean; the first row that matches counts.
const WORDS: [(&str, &[&str]); 8] = [
    ("callback_url", &["callback", "webhook", "notify"]),
    ("negative_prompt", &["negative"]),
    ("duration", &["second", "seconds", "length", "frames"]),
    ("ratio", &["aspect", "orientation"]),
    ("resolution", &["size", "quality", "width", "height"]),
    (
        "medias",
        &[
            "image",
            "images",
            "img",
            "frame",
            "video",
            "videos",
            "url",
            "urls",
            "media",
            "file",
            "files",
            "reference",
            "references",
            "content",
            "input",
            "picture",
            "photo",
            "clip",
        ],
    ),
    ("generate_audio", &["audio", "sound", "voice"]),
    ("prompt", &["text", "description", "caption"]),
];

/// The same for the members of an element of `medias`.
const MEDIA_WORDS: [(&str, &[&str]); 2] = [
    (
        "url",
        &[
            "url", "uri", "src", "href", "data", "base64", "file", "image", "video", "audio",
        ],
    ),
    ("role", &["kind", "purpose", "usage", "position"]),
];

/// A member that the generic protocol does not have, and whose value is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField<'a> {
    /// The index in `medias`, if it is a member of an element there.
    media: Option<usize>,
    name: Cow<'a, str>,
}

impl<'a> UnknownField<'a> {
    /// All unknown members of a request and of its media.
    pub(super) fn all(root: DocumentNode<'a>, medias: Option<DocumentNode<'a>>) -> Vec<Self> {
        let is_field = |name: &str| known().any(|field| field == name);
        let mut unknown = Vec::new();
        collect(root, None, is_field, &mut unknown);
        for (index, media) in medias
            .into_iter()
            .flat_map(DocumentNode::elements)
            .enumerate()
        {
            let is_member = |name: &str| MEDIA_MEMBERS.contains(&name);
            collect(media, Some(index), is_member, &mut unknown);
        }
        unknown
    }

    /// The path, such as `medias[2].weight`; without the name if that is not a plain word.
    pub fn param(&self) -> String {
        match (self.media, is_word(&self.name)) {
            (None, true) => self.name.to_string(),
            (None, false) => String::new(),
            (Some(index), true) => format!("medias[{index}].{}", self.name),
            (Some(index), false) => format!("medias[{index}]"),
        }
    }

    /// Whether the name may appear in a header.
    pub fn has_plain_name(&self) -> bool {
        is_word(&self.name)
    }

    /// The error of a request with these fields: the first one's param, and all of them with what to send instead.
    /// `None` if there are no such fields.
    pub fn refusal(unknown: &[Self]) -> Option<FieldError> {
        let first = unknown.first()?;
        let mut sentences: Vec<String> = Vec::new();
        for field in unknown.iter().take(NAMED_MAX) {
            let sentence = field.message();
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let is_member = |field: &Self| field.media.is_some();
        if !unknown.iter().all(is_member) {
            sentences.push(format!("the fields are {}", listed(known())));
        }
        if unknown.iter().any(is_member) {
            let members = listed(MEDIA_MEMBERS);
            sentences.push(format!("the fields of an entry of `medias` are {members}"));
        }
        Some(FieldError::new(first.param(), sentences.join("; ")))
    }

    /// One sentence: that the field is unknown, and what to send instead, if that can be guessed.
    pub fn message(&self) -> String {
        let what = match self.has_plain_name() {
            true => format!("unknown field `{}`", self.param()),
            false => {
                "unknown field with a name of other characters than letters, digits, `_` and `-`"
                    .to_owned()
            }
        };
        match (self.media, self.nearest_known()) {
            (_, None) => what,
            (None, Some("medias")) => {
                format!("{what}; send it in `medias`, as {}", self.as_media())
            }
            (_, Some(known)) => format!("{what} (did you mean `{known}`?)"),
        }
    }

    /// The element of `medias` that has the meaning of the field's name.
    fn as_media(&self) -> String {
        let words = split_words(&self.name);
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let kind = match () {
            () if has(&["video", "videos", "clip"]) => "video",
            () if has(&["audio", "sound", "voice"]) => "audio",
            () => "image",
        };
        let role = match () {
            () if kind != "image" => "",
            () if has(&["last", "end", "tail"]) => ", \"role\": \"last_frame\"",
            () if has(&["first", "start", "head"]) => ", \"role\": \"first_frame\"",
            () if has(&["reference", "references", "ref"]) => ", \"role\": \"reference_image\"",
            () => "",
        };
        format!("`[{{\"type\": \"{kind}\"{role}, \"url\": …}}]`")
    }

    /// The known name that is closest: by its letters, else by its words.
    fn nearest_known(&self) -> Option<&'static str> {
        let (known, words): (Vec<&'static str>, &[(&'static str, &[&str])]) = match self.media {
            None => (known().collect(), &WORDS),
            Some(_) => (MEDIA_MEMBERS.to_vec(), &MEDIA_WORDS),
        };
        let close = nearest(&self.name, known.iter().copied(), 1);
        close.first().copied().or_else(|| {
            let parts = split_words(&self.name);
            let has = |word: &str| parts.iter().any(|part| part == word);
            let named = known.iter().copied().find(|name| has(name));
            named.or_else(|| {
                let row = words
                    .iter()
                    .find(|(_, words)| words.iter().any(|word| has(word)));
                row.map(|(field, _)| *field)
            })
        })
    }
}

fn collect<'a>(
    object: DocumentNode<'a>,
    media: Option<usize>,
    is_known: impl Fn(&str) -> bool,
    unknown: &mut Vec<UnknownField<'a>>,
) {
    if object.kind() != ValueKind::Object {
        return;
    }
    for (name, node) in object.members() {
        if !is_known(&name) && is_given(&node) {
            unknown.push(UnknownField { media, name });
        }
    }
}

fn known() -> impl Iterator<Item = &'static str> {
    let fields = GenericField::ALL.iter().map(|field| field.name());
    ["model", "medias"].into_iter().chain(fields)
}

fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The words of a name: `firstFrame_url` has `first`, `frame` and `url`.
fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars().take(NAME_CHARS_MAX) {
        if letter.is_ascii_uppercase() || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words
}

/// The maximum number of unknown fields in one error.
const NAMED_MAX: usize = 8;
/// The maximum length of a name in a message.
const NAME_CHARS_MAX: usize = 40;

/// Whether a name may appear in a message and in a header.
fn is_word(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(plain)
}
