//! What Gemini's models take, by their names.

use headgate_protocol::json::{JsonDocument, JsonLimits};

/// What a model takes, where generations differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GeminiModel {
    pub thinking: ThinkingControl,
    /// Whether it fetches images and documents of public addresses, and takes those that tools return as what they are.
    pub takes_addresses: bool,
    /// Whether it refuses the first call of a turn without its signature.
    pub demands_signatures: bool,
}

/// How requests ask a model to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThinkingControl {
    /// It does not think, and refuses to be asked.
    None,
    /// A budget of tokens within these bounds; 0 is off, if the model can.
    Budget {
        min: u64,
        max: u64,
        can_be_off: bool,
    },
    /// One of these levels, the least first.
    Level(&'static [ThinkingLevel]),
}

/// How much a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ThinkingLevel {
    Minimal,
    Low,
    Medium,
    High,
}

impl ThinkingLevel {
    /// The word of the protocol.
    pub fn word(self) -> &'static str {
        match self {
            Self::Minimal => "MINIMAL",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

impl GeminiModel {
    /// The model with this name, a JSON string with quotes. Names that say nothing are those of the newest generation.
    pub fn from_json_name(json: &[u8]) -> Self {
        let document = JsonDocument::parse(json.to_vec().into(), &JsonLimits::default());
        let name = document.ok().and_then(|name| {
            let text = name.root().as_str()?;
            Some(text.to_ascii_lowercase())
        });
        Self::from_name(&name.unwrap_or_default())
    }

    fn from_name(name: &str) -> Self {
        let thinking = match name {
            _ if is_older(name) => ThinkingControl::None,
            _ if name.contains("gemini-2.5-pro") => ThinkingControl::Budget {
                min: 128,
                max: 32_768,
                can_be_off: false,
            },
            _ if name.contains("gemini-2.5-flash-lite") => ThinkingControl::Budget {
                min: 512,
                max: 24_576,
                can_be_off: true,
            },
            _ if name.contains("gemini-2.5") => ThinkingControl::Budget {
                min: 1,
                max: 24_576,
                can_be_off: true,
            },
            _ => ThinkingControl::Level(levels(name)),
        };
        let is_newest = matches!(thinking, ThinkingControl::Level(_));
        Self {
            thinking,
            takes_addresses: is_newest,
            demands_signatures: is_newest,
        }
    }
}

/// The levels that a model takes. Source: ai.google.dev/gemini-api/docs/generate-content/thinking#thinking-levels; all models
/// but those for images have low and high ones.
fn levels(name: &str) -> &'static [ThinkingLevel] {
    use ThinkingLevel::{High, Low, Medium, Minimal};
    const WITH_MINIMAL: [&str; 5] = [
        "flash-lite",
        "gemini-3-flash",
        "gemini-3.1-flash",
        "gemini-3.5-flash",
        "gemini-3.6-flash",
    ];
    let has = |part: &&str| name.contains(*part);
    if has(&"image") {
        &[Minimal, High]
    } else if WITH_MINIMAL.iter().any(has) {
        &[Minimal, Low, Medium, High]
    } else if has(&"flash") || has(&"gemini-3.") {
        &[Low, Medium, High]
    } else {
        &[Low, High]
    }
}

/// Whether a model is of a generation that does not think.
fn is_older(name: &str) -> bool {
    const OLDER: [&str; 5] = [
        "gemini-1",
        "gemini-2.0",
        "gemini-pro-vision",
        "gemma",
        "learnlm",
    ];
    OLDER.iter().any(|older| name.contains(older))
        || name.contains("gemini-2.5") && name.contains("image")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_differ_by_their_names() {
        let budget = |min, max, can_be_off| ThinkingControl::Budget {
            min,
            max,
            can_be_off,
        };
        use ThinkingLevel::{High, Low, Medium, Minimal};
        let level = ThinkingControl::Level;
        let (all, most) = (&[Minimal, Low, Medium, High], &[Low, Medium, High]);
        let cases = [
            ("gemini-1.5-pro", ThinkingControl::None),
            ("gemini-2.0-flash", ThinkingControl::None),
            ("gemma-3-27b-it", ThinkingControl::None),
            ("gemini-2.5-flash-image", ThinkingControl::None),
            ("gemini-2.5-pro", budget(128, 32_768, false)),
            ("models/Gemini-2.5-Flash-preview", budget(1, 24_576, true)),
            ("gemini-2.5-flash-lite", budget(512, 24_576, true)),
            ("gemini-3-pro-preview", level(&[Low, High])),
            ("gemini-3.1-pro-preview", level(most)),
            ("gemini-3-flash", level(all)),
            ("gemini-3.1-flash-lite", level(all)),
            ("gemini-3.7-flash", level(most)),
            ("gemini-flash-latest", level(most)),
            ("gemini-3.1-flash-image", level(&[Minimal, High])),
            ("tuned", level(&[Low, High])),
            ("", level(&[Low, High])),
        ];
        for (name, thinking) in cases {
            let model = GeminiModel::from_json_name(format!("\"{name}\"").as_bytes());
            assert_eq!(model.thinking, thinking, "{name}");
            let is_newest = matches!(thinking, ThinkingControl::Level(_));
            assert_eq!(model.demands_signatures, is_newest, "{name}");
        }
    }
}
