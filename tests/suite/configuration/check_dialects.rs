//! Tests of `headgate check` on dialects: each mistake has its place and a next step.

use super::check::{changed, check};

/// The valid file whose channel has this dialect, with these lines at the end.
fn with_dialect(dialect: &str, lines: &str) -> String {
    let text = changed(
        "    protocols: [chat]\n",
        &format!("    protocols: [chat]\n    dialect: {dialect}\n"),
    );
    format!("{text}{lines}")
}

#[test]
fn shipped_declared_and_inline_dialects_are_good() {
    for (dialect, lines) in [
        ("deepseek", ""),
        ("standard", ""),
        ("{based_on: vllm, chat: {top_k: false}}", ""),
        ("{chat: {output_limit: max_tokens}}", ""),
        (
            "own",
            "dialects:\n  own: {based_on: kimi, models: [{names: [\"kimi-*\"], chat: {stop_max: 1}}]}\n",
        ),
        (
            "glm",
            "dialects:\n  glm: {based_on: glm, chat: {stop_max: 4}}\n",
        ),
    ] {
        let printed = check(&with_dialect(dialect, lines));
        assert!(printed.success, "{dialect}: {}", printed.stderr);
        assert_eq!(printed.stdout.lines().count(), 1, "{}", printed.stdout);
    }
}

#[test]
fn a_mistake_in_a_dialect_is_an_error_at_its_place() {
    for (dialect, lines, place, words) in [
        (
            "deepsek",
            "",
            "(channels.primary.dialect)",
            "there is no dialect `deepsek`",
        ),
        (
            "deepsek",
            "",
            "(channels.primary.dialect)",
            "did you mean `deepseek`",
        ),
        (
            "{based_on: sglan}",
            "",
            "(channels.primary.dialect.based_on)",
            "did you mean `sglang`",
        ),
        (
            "{messages: {thinking: budget}}",
            "",
            "(channels.primary.dialect)",
            "the dialect has nothing for the protocols of this channel, but for messages",
        ),
        (
            "own",
            "dialects:\n  own: {responses: {effort: false}}\n",
            "(channels.primary.dialect)",
            "`own` has nothing for the protocols of this channel, but for responses",
        ),
        (
            "{chat: {output_limit: max_token}}",
            "",
            "(channels.primary.dialect.chat.output_limit)",
            "did you mean `max_tokens`",
        ),
        (
            "{chat: {reasonning: {}}}",
            "",
            "channels.primary.dialect.chat",
            "did you mean `reasoning`",
        ),
        (
            "{chat: {lacks: {user: gone}}}",
            "",
            "(channels.primary.dialect.chat.lacks.user)",
            "dropped",
        ),
        (
            "{chat: {reasoning: {effort: effort}}}",
            "",
            "(channels.primary.dialect.chat.reasoning.effort)",
            "write it as /member",
        ),
        (
            "standard",
            "dialects:\n  one: {based_on: two}\n  two: {based_on: one}\n",
            "(dialects.one.based_on)",
            "circular reference",
        ),
        (
            "standard",
            "dialects:\n  own: {chat: {adds: {model: x}}}\n",
            "(dialects.own.chat.adds.model)",
            "a member that the translation writes",
        ),
    ] {
        let printed = check(&with_dialect(dialect, lines));
        assert!(!printed.success, "{dialect} {lines}: {}", printed.stdout);
        for part in [place, words] {
            assert!(
                printed.stderr.contains(part),
                "{dialect} {lines}: {part} in {}",
                printed.stderr
            );
        }
    }
}
