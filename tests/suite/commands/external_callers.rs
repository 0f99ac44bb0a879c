//! Commands that need no gateway and callers that `routes.yaml` does not name: those of the folder are known, and those of the
//! state store are not judged.

use super::changed_pair::{ChangedPair, chat, run};
use crate::harness::config::caller;
use serde_json::json;

#[tokio::test]
async fn callers_of_the_folder_are_known_and_those_of_the_store_are_not_judged() {
    let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hello"}]});
    for (sources, name, replayed, reason) in [
        (json!({"folder": "callers"}), "eve", 0, ""),
        (
            json!({"folder": "callers"}),
            "nobody",
            1,
            "expected one of ann, bob, eve",
        ),
        (json!({"folder": "callers", "store": {}}), "eve", 0, ""),
        (json!({"store": {}}), "eve", 0, "one of the state store"),
        (
            json!({"folder": "callers"}),
            "corp:eve",
            0,
            "named by a token",
        ),
    ] {
        let sources = sources.clone();
        let pair = ChangedPair::new(
            |config, _| {
                config["caller_sources"] = sources.clone();
                config["task_keys"] = json!(["k".repeat(32)]);
            },
            |_, _| {},
        )
        .await;
        for folder in [&pair.old, &pair.new] {
            let callers = folder.path().join("callers");
            std::fs::create_dir(&callers).unwrap();
            let eve = caller("eve", "sk-eve", &["*"]);
            std::fs::write(callers.join("eve.yaml"), eve.to_string()).unwrap();
        }
        let mut line = pair.observe(&pair.old, &chat(&body)).await.line;
        line["caller"] = name.into();
        let end = pair.replay(&[line]);
        assert_eq!(end.code, replayed, "{name}: {}{}", end.stdout, end.stderr);
        let file = pair.new.path().join("routes.yaml");
        let body = body.to_string();
        let mut args = vec!["explain", "/v1/chat/completions", "-d", &body];
        args.extend(["--caller", name, "--config", file.to_str().unwrap()]);
        let end = run(&args);
        assert_eq!(end.code == 0, reason.is_empty(), "{}", end.stderr);
        assert!(end.stderr.contains(reason), "{name}: {}", end.stderr);
        let sample = json!({"path": "/v1/chat/completions", "caller": name, "body": body});
        let end = pair.diff(&[sample]);
        assert_eq!(end.code, 0, "{name}: {}{}", end.stdout, end.stderr);
    }
}
