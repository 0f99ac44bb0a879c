//! Tests of `headgate check` on declared protocols: each mistake has its place and a next step.

use super::check::{GOOD, changed, check};

/// The valid file with `protocols:` and these lines at its end.
fn declaring(lines: &str) -> String {
    format!("{GOOD}protocols:\n{lines}")
}

#[test]
fn a_declaration_with_its_cost_is_good_without_a_warning() {
    let printed = check(&declaring(
        "  embeddings: {path: /v1/embeddings, retry: free, usage: {input: /prompt_tokens, total: /total_tokens}}\n",
    ));
    assert!(printed.success, "{}", printed.stderr);
    assert_eq!(printed.stdout.lines().count(), 1, "{}", printed.stdout);
}

#[test]
fn a_declaration_without_its_cost_is_paid_with_a_warning() {
    let printed = check(&declaring("  decisions: {path: /v1/decisions}\n"));
    assert!(printed.success, "{}", printed.stderr);
    for words in [
        "without `retry` each request counts as paid",
        "add `retry: free`",
    ] {
        assert!(printed.stdout.contains(words), "{}", printed.stdout);
    }
}

#[test]
fn a_mistake_in_a_declaration_is_an_error_at_its_place() {
    for (lines, place, words) in [
        (
            "  chat: {retry: free}\n",
            "(protocols.chat)",
            "built-in protocol",
        ),
        (
            "  Upper: {retry: free}\n",
            "(protocols.Upper)",
            "not a name of a protocol",
        ),
        (
            "  own: {retry: free, usage: {input: tokens}}\n",
            "(protocols.own.usage.input)",
            "must be a JSON pointer",
        ),
        (
            "  own: {retry: fre}\n",
            "(protocols.own.retry)",
            "did you mean `free`",
        ),
        (
            "  own: {extends: chatt}\n",
            "(protocols.own.extends)",
            "did you mean `chat`",
        ),
        (
            "  own: {errors: mesages}\n",
            "(protocols.own.errors)",
            "did you mean `messages`",
        ),
        (
            "  own: {streams: sse}\n",
            "(protocols.own.streams)",
            "done_marker",
        ),
        (
            "  own: {streams: {last: done}}\n",
            "protocols.own.streams",
            "last_event",
        ),
        (
            "  own: {body: forms}\n",
            "(protocols.own.body)",
            "did you mean `form`",
        ),
        (
            "  own: {model: model}\n",
            "(protocols.own.model)",
            "must be a JSON pointer",
        ),
        (
            "  own: {body: form, model: /input/model}\n",
            "(protocols.own.model)",
            "a form has fields of one name",
        ),
        (
            "  own: {usages: {}}\n",
            "protocols.own",
            "did you mean `usage`",
        ),
        (
            "  own: {errors: {body: {text: \"{reason}\"}}}\n",
            "(protocols.own.errors.body.text)",
            "`{reason}`",
        ),
        (
            "  own: {extends: videos}\n",
            "(protocols.own.extends)",
            "in `families`",
        ),
    ] {
        let printed = check(&declaring(lines));
        let text = format!("{}{}", printed.stdout, printed.stderr);
        assert!(!printed.success, "{lines}{text}");
        assert!(
            text.contains(place) && text.contains(words),
            "{lines}{text}"
        );
    }
}

#[test]
fn an_unknown_name_has_the_declared_ones_as_suggestions() {
    let file = changed("protocols: [chat]", "protocols: [chat, embedings]");
    let printed = check(&format!(
        "{file}protocols: {{embeddings: {{retry: free}}}}\n"
    ));
    let text = format!("{}{}", printed.stdout, printed.stderr);
    assert!(
        !printed.success && text.contains("did you mean `embeddings`"),
        "{text}"
    );
}

#[test]
fn a_route_of_forms_needs_a_filter_that_accepts_them() {
    let file = changed("protocols: [chat]", "protocols: [chat, transcription]");
    let route = "  - {name: sound, match: POST /v1/audio/transcriptions, protocol: transcription, request: [FILTERS authenticate, route_model]}\n";
    for (filters, words) in [
        ("", Some("see docs/filters/require_form.md")),
        ("require_json,", Some("see docs/filters/require_form.md")),
        ("require_form,", None),
        ("{require_json: {also_accept: multipart}},", None),
    ] {
        let printed = check(&format!("{file}{}", route.replace("FILTERS", filters)));
        let text = format!("{}{}", printed.stdout, printed.stderr);
        assert_eq!(printed.success, words.is_none(), "{filters}{text}");
        assert!(text.contains(words.unwrap_or_default()), "{filters}{text}");
    }
    let route = "  - {name: own, match: POST /v1/own, protocol: chat, request: [require_form, authenticate, route_model]}\n";
    let printed = check(&format!("{GOOD}{route}"));
    let text = format!("{}{}", printed.stdout, printed.stderr);
    assert!(
        !printed.success && text.contains("write `body: form`"),
        "{text}"
    );
}

#[test]
fn the_model_in_a_path_has_one_place_that_the_route_and_the_protocol_share() {
    let own = "protocols: {own: {retry: free, DECLARED}}\n";
    let route =
        "  - {name: path, match: MATCH, protocol: own, request: [authenticate, route_model]}\n";
    for (declared, pattern, words) in [
        (
            "path: '/models/{model}:run'",
            "POST /models/{model}:run",
            None,
        ),
        ("path: '/models/{+model}'", "POST /run/{+model}/now", None),
        ("path: /v1/run", "POST /deployments/{model}", None),
        ("path: /v1/run", "POST /deployments/{model}/run", None),
        ("model: /input/model", "POST /deployments/{model}/run", None),
        (
            "path: '/models/{model}', model: /model",
            "POST /models/{model}",
            Some("`model` and `path` both name a place"),
        ),
        (
            "path: '/models/{model}'",
            "POST /models/run",
            Some("add `{model}` or `{+model}` to the path of `match`"),
        ),
        (
            "path: '/models/{model}'",
            "['POST /models/{model}', POST /models]",
            Some("a path of the route has no `{model}`"),
        ),
        (
            "path: '/models/{model}'",
            "POST /{+model}",
            Some("begins with the model"),
        ),
        (
            "path: /v1/run",
            "POST /{+model}",
            Some("begins with the model"),
        ),
        (
            "path: /v1/run",
            "POST /a/{model}/b/{part}",
            Some("place other parameters before"),
        ),
        (
            "path: /v1/run",
            "POST /a/{model}/b/{model}",
            Some("place other parameters before"),
        ),
        (
            "medium: data",
            "POST /a/{model}",
            Some("add `path` to the protocol"),
        ),
        (
            "path: '/models/{name}'",
            "POST /models/{model}",
            Some("other than one `{model}`"),
        ),
        (
            "path: '/{model}/{model}'",
            "POST /models/{model}",
            Some("other than one `{model}`"),
        ),
        (
            "path: '/models/{model}?alt=sse'",
            "POST /models/{model}",
            Some("no query"),
        ),
        (
            "path: 'models/{model}'",
            "POST /models/{model}",
            Some("must begin with `/`"),
        ),
        (
            "path: '/a/../{model}'",
            "POST /models/{model}",
            Some("dot segments"),
        ),
    ] {
        let file = changed("protocols: [chat]", "protocols: [chat, own]");
        let pattern = match pattern.starts_with('[') {
            true => pattern.to_owned(),
            false => format!("'{pattern}'"),
        };
        let added = route.replace("MATCH", &pattern) + &own.replace("DECLARED", declared);
        let printed = check(&format!("{file}{added}"));
        let text = format!("{}{}", printed.stdout, printed.stderr);
        assert_eq!(
            printed.success,
            words.is_none(),
            "{declared} {pattern}{text}"
        );
        assert!(words.is_none_or(|words| text.contains(words)), "{text}");
    }
}
