//! The properties of a simulated video: resolution, ratio and length.

use serde_json::Value;

/// The frame rate of every simulated video.
pub const FRAMES_PER_SECOND: u64 = 24;

/// The length in seconds if the request leaves it to the model.
const ORDINARY_SECONDS: u64 = 5;

/// The requested length in seconds, or the model's choice.
pub fn seconds(requested: Option<&Value>) -> u64 {
    requested
        .and_then(Value::as_u64)
        .unwrap_or(ORDINARY_SECONDS)
}

/// The requested ratio, or the model's choice.
pub fn ratio(requested: &str) -> &str {
    match requested {
        "" | "adaptive" => "16:9",
        ratio => ratio,
    }
}

/// The tokens of a video in family A: the pixels of a frame times the number of frames, divided by 1024.
pub fn tokens(resolution: &str, seconds: u64) -> u64 {
    let pixels = match resolution {
        "480p" => 864 * 480,
        "1080p" => 1920 * 1080,
        "4k" => 3840 * 2160,
        _ => 1280 * 720,
    };
    seconds * pixels * FRAMES_PER_SECOND / 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_to_the_model_is_chosen() {
        for (requested, chosen) in [(json!(-1), 5), (json!(12), 12), (json!(null), 5)] {
            assert_eq!(seconds(Some(&requested)), chosen, "{requested}");
        }
        assert_eq!((ratio("adaptive"), ratio("9:16")), ("16:9", "9:16"));
        assert_eq!(tokens("720p", 5), 108_000);
    }
}
