//! Which names of models can stand in a path: at no provider do they lead to another one.

/// What a name has that a path must not have, as a text that follows "must not"; `None` if it can stand in a path.
///
/// A `/` is allowed, since it is percent-encoded where a name is one segment.
pub fn refused_part(name: &str) -> Option<&'static str> {
    let bytes = name.as_bytes();
    let has_escape = bytes.windows(3).any(|window| {
        window[0] == b'%' && window[1].is_ascii_hexdigit() && window[2].is_ascii_hexdigit()
    });
    if name.chars().any(char::is_control) {
        Some("have control characters")
    } else if name.contains(['?', '#', '\\']) {
        Some("have `?`, `#` or `\\`")
    } else if has_escape {
        // A server that decodes twice would read another name.
        Some("be percent-encoded")
    } else if name.split('/').any(is_relative) {
        Some("have a segment that is empty or consists of dots")
    } else {
        None
    }
}

/// Whether servers may take a segment for one that leads elsewhere. Some ignore blanks around it, and what follows a
/// semicolon.
fn is_relative(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default().trim();
    name.bytes().all(|byte| byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::refused_part;

    #[test]
    fn a_name_that_leads_elsewhere_in_a_path_is_refused() {
        for (name, reason) in [
            ("", "dots"),
            (".", "dots"),
            ("..", "dots"),
            ("...", "dots"),
            ("a/../b", "dots"),
            ("../a", "dots"),
            ("a/.", "dots"),
            ("a//b", "dots"),
            ("/a", "dots"),
            ("a/", "dots"),
            (" ", "dots"),
            (".. ", "dots"),
            ("..;x", "dots"),
            ("a/;b", "dots"),
            ("a?b", "`?`"),
            ("a#b", "`?`"),
            ("a\\b", "`?`"),
            ("%2e%2e", "percent"),
            ("a%2Fb", "percent"),
            ("a%252fb", "percent"),
            ("a%00", "percent"),
            ("a\nb", "control"),
            ("a\0", "control"),
            ("a\u{85}b", "control"),
        ] {
            let refused = refused_part(name);
            assert!(
                refused.is_some_and(|text| text.contains(reason)),
                "{name:?}: {refused:?}"
            );
        }
    }

    #[test]
    fn names_that_providers_have_are_allowed() {
        for name in [
            "gpt-4.1",
            "fal-ai/veo3/fast",
            "meta-llama/Llama-3.3-70B-Instruct",
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.x-v1:0",
            "ft:gpt-4o:org::id",
            "llama3.1:8b",
            "..a",
            "a..b",
            "model (beta)",
            "100%",
            "模型",
        ] {
            assert_eq!(refused_part(name), None, "{name}");
        }
    }
}
