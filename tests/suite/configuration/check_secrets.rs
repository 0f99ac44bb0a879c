//! Tests that a secret in the wrong place is never printed by `check`, a reload, the log or an admin page.

use super::check::{GOOD, changed, check, check_in};
use crate::harness::Gateway;
use crate::harness::gateway::folder_with_schemas;

/// A text that looks like a key.
const KEY: &str = "sk-CANARY-abcdef0123456789";
/// A text that does not look like a secret.
const WORD: &str = "correct-CANARY-horse";

const CREDENTIAL: &str = "credential: {bearer: \"${KEY}\"}";

/// Places that should have a secret, where every value is masked.
const PLACES_OF_SECRETS: [(&str, &str); 26] = [
    (CREDENTIAL, "credential: {CANARY: x}"),
    (CREDENTIAL, "credential: {CANARY: {a: b}}"),
    (CREDENTIAL, "credential: {bearer: {CANARY: x}}"),
    (CREDENTIAL, "credential: {header: {CANARY: x}}"),
    (
        CREDENTIAL,
        "credential: {header: {name: x-key, vlue: CANARY}}",
    ),
    (CREDENTIAL, "credential: CANARY"),
    (CREDENTIAL, "credential: [CANARY]"),
    (CREDENTIAL, "credentials: CANARY"),
    (CREDENTIAL, "credentials: {CANARY: {}}"),
    (CREDENTIAL, "credental: {token: CANARY}"),
    (CREDENTIAL, "bearer: CANARY"),
    (CREDENTIAL, "api-key: CANARY"),
    (CREDENTIAL, "token: CANARY"),
    (CREDENTIAL, "secret: {a: [CANARY]}"),
    (CREDENTIAL, "key: CANARY"),
    (CREDENTIAL, "headers: {x-goog-api-key: [CANARY]}"),
    (CREDENTIAL, "credential: {bearer: [\"CANARY\", 'CANARY']}"),
    (
        CREDENTIAL,
        "credential:\n      bearer:\n        - CANARY\n        - CANARY",
    ),
    (
        CREDENTIAL,
        "credential:\n      bearr: |\n        CANARY\n        CANARY",
    ),
    (
        CREDENTIAL,
        "weight: &k {a: b}\n    credential: {CANARY: *k}",
    ),
    (CREDENTIAL, "credential: {bearer: x, CANARY: 1, CANARY: 2}"),
    ("key_sha256: 0b5f", "key: CANARY\n    key_sha256: 0b5f"),
    (
        "key_sha256: 0b5f9f3cdd0e4a21f57d5a1a2ab7e7b9e4ff5d9ac64b0a95e5f6d0f0a3f2a1c4",
        "key_sha256: CANARY",
    ),
    ("  - name: ann\n", "  - CANARY\n  - name: ann\n"),
    (
        "  - name: ann\n",
        "  - name: ann\n    password_of_ann: CANARY\n",
    ),
    ("chains:\n", "task_keys: {CANARY: CANARY}\nchains:\n"),
];

/// Places where only values that look like a secret are masked.
const OTHER_PLACES: [(&str, &str); 30] = [
    ("name: ann", "name: [CANARY]"),
    ("name: ann", "nme: CANARY"),
    ("name: ann", "name: ann # CANARY\n    nme: x # CANARY"),
    ("demo-small: small-2026", "CANARY: [CANARY]"),
    ("  primary:", "  CANARY:\n    protocl: x\n  primary:"),
    ("protocols: [chat]", "protocols: [CANARY]"),
    ("protocols: [chat]", "protocols: CANARY"),
    ("listen: 127.0.0.1:0", "listen: CANARY"),
    ("listen: 127.0.0.1:0", "CANARY: x"),
    ("listen: 127.0.0.1:0", "workers: CANARY"),
    (
        "https://api.provider.example/v1",
        "https://user:CANARY@api.provider.example/v1",
    ),
    (
        "https://api.provider.example/v1",
        "https://CANARY@api.provider.example/v1",
    ),
    (
        "https://api.provider.example/v1",
        "https://api.provider.example/v1?api_key=CANARY",
    ),
    (
        "https://api.provider.example/v1",
        "https://api.provider.example/v1#CANARY",
    ),
    ("https://api.provider.example/v1", "CANARY"),
    ("https://api.provider.example/v1", "Bearer CANARY"),
    ("https://api.provider.example/v1", "http://a b/CANARY"),
    ("- route_model", "- CANARY"),
    ("- route_model", "- {use: CANARY}"),
    ("- route_model", "- {CANARY: {}}"),
    ("- route_model", "- {validate: {schema: CANARY}}"),
    (
        "- route_model",
        "- rewrite_path: {match: \"CANARY(\", to: /x}",
    ),
    (
        "- route_model",
        "- rewrite_path: {match: \"(.*)\", to: \"/$CANARY\"}",
    ),
    ("- route_model", "- set_headers: {CANARY: [x]}"),
    ("match: POST /v1/chat/completions", "match: CANARY /v1"),
    ("match: POST /v1/chat/completions", "match: POST /{CANARY"),
    ("name: legacy", "name: chat # CANARY"),
    ("${KEY}", "${CANARY}"),
    ("chains:\n", "state: CANARY\nchains:\n"),
    ("chains:\n", "CANARY: &CANARY [*CANARY]\nchains:\n"),
];

/// Files that are not valid YAML.
const BROKEN: [(&str, &str); 9] = [
    (CREDENTIAL, "credential: {CANARY: x"),
    (CREDENTIAL, "credential: {bearer: \"CANARY}"),
    (CREDENTIAL, "credential:\n\tbearer: CANARY"),
    (
        CREDENTIAL,
        "credential:\n      bearer: CANARY\n       more: CANARY",
    ),
    (CREDENTIAL, "credential: CANARY: CANARY"),
    (CREDENTIAL, "credential: {bearer: CANARY, bearer: CANARY}"),
    (CREDENTIAL, "bearer CANARY"),
    ("name: ann", "name: \"ann\n    key: CANARY"),
    ("chains:\n", "task_keys: [CANARY\nchains:\n"),
];

#[test]
fn a_secret_in_the_wrong_place_is_printed_nowhere_by_check() {
    let with =
        |(old, new): (&str, &str), secret: &str| changed(old, &new.replace("CANARY", secret));
    let mut texts = Vec::new();
    for case in PLACES_OF_SECRETS {
        texts.extend([with(case, KEY), with(case, WORD)]);
    }
    for case in OTHER_PLACES.into_iter().chain(BROKEN) {
        texts.push(with(case, KEY));
    }
    for text in texts {
        let output = check(&text);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("CANARY"), "{all}\nof\n{text}");
        assert!(!all.is_empty());
    }
}

#[test]
fn tokens_of_many_kinds_are_masked_wherever_they_stand() {
    for token in [
        "sk-proj-CANARY",
        "sk-hg-CANARYCANARY",
        "ghp_CANARYCANARY012345",
        "AKIACANARY0123456789",
        "AIzaCANARYCANARY0123456789",
        "eyJCANARY0.eyJCANARY.CANARY_x-y",
        "xoxb-CANARY-0123456789",
        "CANARY0f9e8d7c6b5a4f3e2d1c",
        "CANARYaB3dEf/9hIjKl0mNoPqR+stUv==",
        "password=CANARY",
        "https://user:CANARY@host.example/",
        "https://host.example/?token=CANARY",
        "\"Bearer CANARY0\"",
    ] {
        for place in [
            "{server: {listen: TOKEN}, channels: {}, routes: []}",
            "{server: {unknown: TOKEN}, channels: {}, routes: []}",
            "channels: {}\nroutes:\n- {name: a, match: TOKEN, request: []}\n",
            "channels: {}\nroutes: [TOKEN]\n",
            "channels: {}\nroutes:\n- name: x\n  mtch: TOKEN # TOKEN\n",
            "channels: {}\nroutes: [TOKEN\n",
        ] {
            let text = place.replace("TOKEN", token);
            let output = check(&text);
            assert!(!output.success, "{text}");
            let all = format!("{}{}", output.stdout, output.stderr);
            assert!(!all.contains("CANARY"), "{all}\nof\n{text}");
        }
    }
}

#[test]
fn a_secret_that_is_written_with_escapes_or_over_lines_is_masked_as_it_is_read() {
    for token in [
        "\"s\\x6b-CANARY-abcdef\"",
        "\"sk-\\u0043ANARY-CANARY\"",
        "\"sk-\\\n    CANARY-abcdef\"",
    ] {
        for place in [
            "channels: {}\nroutes: []\nserver:\n  listen: TOKEN\n",
            "channels: {}\nroutes: []\nserver:\n  unknown: TOKEN\n",
            "channels: {}\nroutes:\n  - TOKEN\n",
        ] {
            let output = check(&place.replace("TOKEN", token));
            assert!(
                !output.success && !output.stderr.contains("CANARY"),
                "{}",
                output.stderr
            );
        }
    }
}

#[test]
fn what_variables_and_files_hold_is_not_repeated() {
    let folder = folder_with_schemas();
    folder.write("key", "of-the-file-CANARY\n\n second line");
    for (old, new, shown) in [
        (
            "listen: 127.0.0.1:0",
            "listen: ${KEY}",
            "`${KEY}` is not `host:port`",
        ),
        (
            "listen: 127.0.0.1:0",
            "listen: \"${KEY}:x\"",
            "`${KEY}:x` is not `host:port`",
        ),
        (
            "name: legacy",
            "name: ${KEY}\n    mtch: x",
            "unknown key `mtch`",
        ),
        (
            "demo-small: small-2026",
            "demo-small: \"${KEY}*\"",
            "`${KEY}*`",
        ),
        (
            CREDENTIAL,
            "credential: {bearer: {file: key}}",
            "not a valid header value",
        ),
    ] {
        let output = check_in(&folder, &changed(old, new));
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(
            !all.contains("of-the-environment") && !all.contains("CANARY"),
            "{all}"
        );
        assert!(all.contains(shown), "{shown} in {all}");
    }
}

#[tokio::test]
async fn a_secret_in_the_wrong_place_is_in_no_log_reload_or_page() {
    let folder = folder_with_schemas();
    let good = GOOD
        .replace(
            "server:\n",
            "state: memory\nserver:\n  admin: 127.0.0.1:0\n",
        )
        .replace("${KEY}", "sk-of-the-channel-1234");
    let gateway = Gateway::start_in(folder, &good).await;
    let mut reported = Vec::new();
    for (old, new) in PLACES_OF_SECRETS
        .into_iter()
        .chain(OTHER_PLACES)
        .chain(BROKEN)
    {
        let old = old.replace("${KEY}", "sk-of-the-channel-1234");
        let new = new.replace("CANARY", KEY);
        assert!(good.contains(&old), "{old}");
        gateway
            .folder
            .replace("routes.yaml", good.replacen(&old, &new, 1));
        reported.push(gateway.page("POST", "/reload").await.text());
        for page in ["/config", "/channels"] {
            reported.push(gateway.page("GET", page).await.text());
        }
    }
    // These are not errors: names are in use, and pages that show them mask them.
    for (old, new) in [
        ("demo-large: large-2026", "demo-large: CANARY"),
        ("name: chat", "name: CANARY"),
        ("name: ann", "name: CANARY"),
        ("example/v1", "example/CANARY/v1"),
        ("models: [demo-small]", "models: [CANARY]"),
    ] {
        let text = good.replacen(old, &new.replace("CANARY", KEY), 1);
        gateway.folder.replace("routes.yaml", text);
        let answer = gateway.page("POST", "/reload").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        reported.push(answer.text());
        reported.push(gateway.page("GET", "/config").await.text());
    }
    reported.extend(gateway.process.stdout.all());
    reported.extend(gateway.process.stderr.all());
    assert!(reported.iter().any(|text| text.contains("[secret]")));
    for text in reported {
        assert!(!text.contains("CANARY"), "{text}");
    }
}

#[test]
fn a_name_that_looks_like_a_secret_is_a_warning() {
    for (old, new) in [
        ("name: ann", "name: CANARY"),
        ("name: legacy", "name: CANARY"),
        ("  primary:", "  CANARY:"),
        ("demo-large: large-2026", "CANARY: large-2026"),
    ] {
        let output = check(&changed(old, &new.replace("CANARY", KEY)));
        assert!(output.success, "{}", output.stderr);
        assert!(
            output.stdout.contains("this name looks like a secret"),
            "{}",
            output.stdout
        );
        assert!(!output.stdout.contains("CANARY"), "{}", output.stdout);
    }
}
