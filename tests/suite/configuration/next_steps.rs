//! What `headgate check` prints about mistakes: what is wrong, and the next step.

use super::check::check_in;
use crate::harness::certificates::Authority;
use crate::harness::config::standard;
use crate::harness::folder::Folder;
use serde_json::{Value, json};

/// A change of a valid configuration, and what is printed about it.
type Mistake = (&'static str, fn(&mut Value), &'static [&'static str]);

const MISTAKES: &[Mistake] = &[
    (
        "a port alone",
        |config| config["server"]["listen"] = json!("8080"),
        &[
            "`8080` is not `host:port`",
            "write `127.0.0.1:8080`, or `0.0.0.0:8080`",
        ],
    ),
    (
        "a port without quotes",
        |config| config["server"]["listen"] = json!(8080),
        &[
            "expected text, found `8080`",
            "write host and port, such as `127.0.0.1:8080`",
        ],
    ),
    (
        "a date of a caller",
        |config| config["callers"][0]["expires"] = json!("2027-01-01"),
        &["unknown key `expires`", "\"expires\": \"2027-01-01\""],
    ),
    (
        "a chain that is not there",
        |config| config["routes"][0]["request"] = json!([{"use": "no_such_chain"}]),
        &["unknown chain `no_such_chain`", "expected `body`"],
    ),
    (
        "a filter that is not there",
        |config| config["routes"][0]["request"] = json!(["zzz"]),
        &[
            "unknown filter `zzz`",
            "`headgate filters` lists the filters",
        ],
    ),
    (
        "an unknown name",
        |config| {
            config["routes"][0]["request"][0] =
                json!({"if": "bananas == 'x'", "set_headers": {"x-a": "b"}});
        },
        &[
            "unknown name `bananas`",
            "known are request.method, ",
            "put strings into quotes",
        ],
    ),
    (
        "an unknown function",
        |config| {
            config["routes"][0]["request"][0] =
                json!({"if": "lower(caller) == 'x'", "set_headers": {"x-a": "b"}});
        },
        &["unknown function `lower`", "did you mean `lowerAscii`?"],
    ),
    (
        "a condition that is a string",
        |config| {
            config["routes"][0]["request"][0] =
                json!({"if": "caller", "set_headers": {"x-a": "b"}});
        },
        &[
            "the condition must be a bool, not string",
            "write caller != \"\"",
        ],
    ),
    (
        "a certificate that is none",
        |config| config["server"]["tls"] = json!({"certificate": "routes.yaml", "key": "key.pem"}),
        &[
            "`",
            "contains no PEM certificate",
            "name a PEM file with the certificate",
        ],
    ),
    (
        "a key that is none",
        |config| {
            config["server"]["tls"] =
                json!({"certificate": "certificate.pem", "key": "certificate.pem"})
        },
        &[
            "contains no PEM private key",
            "name a PEM file with the private key",
        ],
    ),
    (
        "a key of another certificate",
        |config| {
            config["server"]["tls"] = json!({"certificate": "certificate.pem", "key": "other.pem"})
        },
        &[
            "`key` does not match `certificate`\n",
            "the private key that the certificate was made for",
        ],
    ),
    (
        "a certificate file that is not there",
        |config| config["server"]["tls"] = json!({"certificate": "no.pem", "key": "key.pem"}),
        &[
            "no.pem`: no such file",
            "a relative path starts at the folder of this file",
        ],
    ),
    (
        "a secret's file by an absolute path",
        |config| {
            config["channels"]["openai"]["credential"] =
                json!({"bearer": {"file": "/nothing/here"}})
        },
        &[
            "cannot read the secret's file: no such file",
            "name a file that has the secret and nothing else",
        ],
    ),
    (
        "a secret's file by a relative path",
        |config| config["channels"]["openai"]["credential"] = json!({"bearer": {"file": "here"}}),
        &[
            "cannot read the secret's file: no such file",
            "the path is relative to the folder of this file; name a file",
        ],
    ),
];

#[test]
fn each_mistake_is_printed_with_the_next_step() {
    let authority = Authority::new();
    for (name, change, expected) in MISTAKES {
        let folder = Folder::new();
        for (certificate, key) in [("certificate.pem", "key.pem"), ("second.pem", "other.pem")] {
            let issued = authority.issue(&["localhost"]);
            folder.write(certificate, issued.certificate);
            folder.write(key, issued.key);
        }
        let mut config = standard("https://provider.test/v1");
        change(&mut config);
        let output = check_in(&folder, &format!("{config:#}"));
        let printed = output.stderr;
        assert!(!output.success, "{name}: {printed}");
        for words in *expected {
            assert!(printed.contains(words), "{name}: {words}\n{printed}");
        }
    }
}

#[test]
fn a_configuration_of_litellm_names_the_command_that_converts_it() {
    let folder = Folder::new();
    let text = "model_list:\n  - model_name: m\n    litellm_params: {model: openai/m, api_key: sk-canary-1}\n";
    let output = check_in(&folder, text);
    let printed = output.stderr;
    assert!(!output.success, "{printed}");
    for words in [
        "error: this is a configuration of LiteLLM",
        "convert it: headgate convert litellm ",
        "1 error in ",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
    assert!(!printed.contains("canary"), "{printed}");
}
