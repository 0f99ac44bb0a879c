//! Tests of callers in a folder: a file that is added, changed, removed or broken takes effect without a reload.

use crate::harness::config::sha256;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Request, TestSetup, WholeResponse, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A gateway with a folder of callers.
struct FolderSetup(TestSetup);

impl FolderSetup {
    async fn start(callers: &[(&str, Value)]) -> Self {
        Self::with(callers, |_| {}).await
    }

    async fn with(callers: &[(&str, Value)], change: impl FnOnce(&mut Value)) -> Self {
        let folder = crate::harness::folder::Folder::new();
        let callers = callers.to_vec();
        let path = folder.path().to_path_buf();
        for (name, caller) in callers {
            std::fs::write(path.join(format!("{name}.yaml")), caller.to_string()).unwrap();
        }
        let setup = TestSetup::with(|config| {
            config["caller_sources"] = json!({"folder": path, "metric_names": 2});
            change(config);
        })
        .await;
        // The folder lives as long as the process of the test.
        std::mem::forget(folder);
        Self(setup)
    }

    fn folder(&self) -> PathBuf {
        let config: Value = serde_json::from_str(&self.0.gateway.config()).unwrap();
        PathBuf::from(config["caller_sources"]["folder"].as_str().unwrap())
    }

    fn write(&self, name: &str, content: &str) {
        let folder = self.folder();
        std::fs::write(folder.join(".new"), content).unwrap();
        std::fs::rename(folder.join(".new"), folder.join(format!("{name}.yaml"))).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.folder().join(format!("{name}.yaml"))).unwrap();
    }

    async fn ask(&self, key: &str) -> WholeResponse {
        self.0.ask(&Request::ask(Protocol::Chat).key(key)).await
    }

    async fn status(&self, key: &str) -> u16 {
        self.ask(key).await.status
    }

    async fn until(&self, key: &str, status: u16) -> WholeResponse {
        eventually(&format!("{status} for {key}"), async || {
            let answer = self.ask(key).await;
            (answer.status == status).then_some(answer)
        })
        .await
    }

    async fn caller_of(&self, key: &str) -> Value {
        let answer = self.until(key, 200).await;
        self.0.gateway.log_of(&answer).await["caller"].clone()
    }

    async fn refused(&self) -> Vec<Value> {
        let page = self.0.gateway.page("GET", "/findings").await.json();
        let all = page["findings"].as_array().unwrap().clone();
        all.into_iter()
            .filter(|finding| finding["code"] == "caller_refused")
            .collect()
    }
}

fn caller(name: &str, keys: &[&str]) -> Value {
    let keys = keys.iter();
    let keys: Vec<Value> = keys
        .map(|key| json!({"label": key, "key_sha256": sha256(key.as_bytes())}))
        .collect();
    json!({"name": name, "keys": keys, "models": ["*"]})
}

#[tokio::test]
async fn files_of_callers_take_effect_without_a_reload() {
    let setup = FolderSetup::start(&[("eve", caller("eve", &["sk-eve"]))]).await;
    assert_eq!(setup.caller_of("sk-eve").await, "eve");
    assert_eq!(setup.caller_of(ANN).await, "ann");
    assert_eq!(setup.status("sk-kim").await, 401);
    setup.write("kim", &caller("kim", &["sk-kim", "sk-kim2"]).to_string());
    assert_eq!(setup.caller_of("sk-kim").await, "kim");
    assert_eq!(
        setup.status("sk-kim2").await,
        200,
        "two keys are valid at a time"
    );
    setup.write("kim", &caller("kim", &["sk-kim2"]).to_string());
    setup.until("sk-kim", 401).await;
    assert_eq!(setup.status("sk-kim2").await, 200, "the other key stays");
    setup.remove("kim");
    setup.until("sk-kim2", 401).await;
    assert_eq!(setup.status("sk-eve").await, 200);
    setup.write("kim", &caller("kim", &["sk-kim2"]).to_string());
    setup.until("sk-kim2", 200).await;
    assert_eq!(setup.refused().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_reload_keeps_the_callers_of_the_folder_and_changes_their_limits() {
    let mut eve = caller("eve", &["sk-eve"]);
    eve["group"] = "team".into();
    let group = |most: u64| json!({"team": {"limits": {"requests_per_minute": most}}});
    let setup = FolderSetup::with(&[("eve", eve)], |config| {
        config["groups"] = group(1_000);
        let chain = config["chains"]["body"].as_array_mut().unwrap();
        chain.push("rate_limit".into());
    })
    .await;
    assert_eq!(setup.status("sk-eve").await, 200);
    let mut config: Value = serde_json::from_str(&setup.0.gateway.config()).unwrap();
    config["groups"] = group(1);
    setup.0.gateway.reload(&config).await;
    assert_eq!(setup.status("sk-eve").await, 429, "the limit of the group");
    // A caller whose group is gone cannot be limited, so that it is refused.
    config.as_object_mut().unwrap().remove("groups");
    setup.0.gateway.reload(&config).await;
    assert_eq!(setup.status("sk-eve").await, 401);
    let refused = setup.refused().await;
    assert!(
        refused[0]["cause"]
            .as_str()
            .unwrap()
            .contains("there is no group `team`"),
        "{refused:?}"
    );
    config.as_object_mut().unwrap().remove("caller_sources");
    config["groups"] = group(1_000);
    setup.0.gateway.reload(&config).await;
    setup.until("sk-eve", 401).await;
}

#[tokio::test]
async fn a_broken_file_changes_nothing_but_keys_that_it_no_longer_has() {
    let whole = caller("eve", &["sk-1", "sk-2"]);
    let setup = FolderSetup::start(&[("eve", whole.clone())]).await;
    let wrong_group = {
        let mut eve = caller("eve", &["sk-2", "sk-3"]);
        eve["group"] = "nobody".into();
        serde_json::to_string_pretty(&eve).unwrap()
    };
    let [first, second] = ["sk-1", "sk-2"].map(|key| sha256(key.as_bytes()));
    for (content, valid, reason) in [
        (String::new(), [401, 401, 401], "the file is empty"),
        (
            format!("# key_sha256: {first}\n"),
            [401, 401, 401],
            "the file is empty",
        ),
        ("name: [".to_owned(), [401, 401, 401], "eve.yaml:"),
        (
            format!("name: eve\nkeys:\n- {{label: a, key_sha256: {first}}}\n- {{label: b, key_"),
            [200, 401, 401],
            "eve.yaml:",
        ),
        (
            format!("name: eve\nmodels: []\nkeyz: [{first}, {second}]\n"),
            [200, 200, 401],
            "eve.yaml:3:1: unknown key `keyz`",
        ),
        (
            "name: kim\nkeys: []\nmodels: []\n".to_owned(),
            [401, 401, 401],
            "eve.yaml:1:7: the file of caller `kim` has another name",
        ),
        (wrong_group, [401, 200, 401], "there is no group `nobody`"),
    ] {
        setup.write("eve", &whole.to_string());
        eventually("a valid file", async || {
            setup.refused().await.is_empty().then_some(())
        })
        .await;
        setup.until("sk-1", 200).await;
        setup.write("eve", &content);
        eventually(reason, async || {
            let refused = setup.refused().await;
            let cause = refused.first()?["cause"].as_str()?.to_owned();
            cause.contains(reason).then_some(())
        })
        .await;
        let metrics = setup.0.gateway.metrics().await;
        let refused = metrics.sum("headgate_callers_refused", &[("source", "folder")]);
        assert_eq!(refused, 1.0);
        let mut found = [0; 3];
        for (index, key) in ["sk-1", "sk-2", "sk-3"].iter().enumerate() {
            found[index] = setup.status(key).await;
        }
        assert_eq!(found, valid, "{reason} {content}");
    }
    setup.remove("eve");
    setup.until("sk-2", 401).await;
    assert_eq!(setup.refused().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_name_and_a_key_belong_to_the_first_that_has_them() {
    let setup = FolderSetup::start(&[
        ("ann", caller("ann", &["sk-other"])),
        ("kim", caller("kim", &["sk-kim"])),
        ("lea", caller("lea", &[BOB])),
    ])
    .await;
    assert_eq!(
        setup.status("sk-other").await,
        401,
        "routes.yaml has this name"
    );
    assert_eq!(setup.caller_of(ANN).await, "ann");
    assert_eq!(setup.caller_of("sk-kim").await, "kim");
    setup.write("max", &caller("max", &["sk-kim", "sk-max"]).to_string());
    eventually("the second holder of a key is refused", async || {
        (setup.refused().await.len() == 3).then_some(())
    })
    .await;
    assert_eq!(setup.status("sk-max").await, 401);
    assert_eq!(setup.caller_of("sk-kim").await, "kim");
    setup.remove("kim");
    assert_eq!(setup.caller_of("sk-max").await, "max");
    assert_eq!(
        setup.caller_of("sk-kim").await,
        "max",
        "the key is free for the second"
    );
}

#[tokio::test]
async fn metrics_name_only_so_many_callers_of_the_folder() {
    let callers: Vec<(String, Value)> = (0..4)
        .map(|index| {
            (
                format!("c{index}"),
                caller(&format!("c{index}"), &[&format!("sk-{index}")]),
            )
        })
        .collect();
    let callers: Vec<(&str, Value)> = callers
        .iter()
        .map(|(name, it)| (name.as_str(), it.clone()))
        .collect();
    let setup = FolderSetup::start(&callers).await;
    for index in 0..4 {
        assert_eq!(
            setup.caller_of(&format!("sk-{index}")).await,
            format!("c{index}")
        );
    }
    let metrics = setup.0.gateway.metrics().await;
    let of_callers = metrics
        .samples
        .iter()
        .filter(|sample| sample.name == "headgate_caller_requests_total");
    let mut named: Vec<_> = of_callers
        .map(|sample| (sample.labels["caller"].as_str(), sample.value))
        .collect();
    named.retain(|(_, value)| *value > 0.0);
    named.sort_unstable_by_key(|(name, _)| *name);
    assert_eq!(named, [("c0", 1.0), ("c1", 1.0), ("other", 2.0)]);
}
