//! Tests of the commands for captures and the log filter of a running gateway.

use super::command_setup::CommandSetup;
use crate::harness::request::{OPERATOR, VIEWER};
use crate::harness::{Request, eventually};
use headgate_protocol::Protocol;
use serde_json::Value;

impl CommandSetup {
    /// The output of a command that an operator may run.
    fn output(&self, args: &[&str]) -> String {
        let (code, output, errors) = self.run(args, OPERATOR);
        assert_eq!(code, 0, "{args:?}: {errors}");
        output.trim().to_owned()
    }
}

#[tokio::test]
async fn a_capture_is_started_listed_shown_and_removed() {
    let setup = CommandSetup::start().await;
    let id = setup.output(&[
        "capture",
        "start",
        "ann",
        "--seconds",
        "300",
        "--exchanges",
        "3",
    ]);
    let list = setup.output(&["capture", "list"]);
    let listed: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(
        (&listed["id"], &listed["caller"]),
        (&id.clone().into(), &"ann".into())
    );
    assert_eq!(listed["exchanges_max"], 3);
    setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    let exchange = eventually("a whole exchange", async || {
        let capture: Value =
            serde_json::from_str(&setup.output(&["capture", "show", &id])).unwrap();
        let exchange = capture["exchanges"][0].clone();
        exchange["access_log"].is_object().then_some(exchange)
    })
    .await;
    assert_eq!(exchange["steps"][0]["step"], "request");
    assert_eq!(
        setup.output(&["capture", "remove", &id]),
        format!("{id} removed")
    );
    assert_eq!(setup.output(&["capture", "list"]), "");
}

#[tokio::test]
async fn the_log_filter_is_printed_changed_and_comes_back() {
    let setup = CommandSetup::start().await;
    let usual = setup.output(&["log-filter"]);
    for filter in ["debug", "headgate::gateway=debug,headgate=info"] {
        let args = ["log-filter", filter, "--seconds", "600"];
        let (code, output, note) = setup.run(&args, OPERATOR);
        assert_eq!((code, output.trim()), (0, filter), "{note}");
        assert!(note.contains(&format!("usually {usual}")), "{note}");
        assert_eq!(setup.output(&["log-filter"]), filter);
    }
    assert_eq!(setup.output(&["log-filter", "usual"]), usual);
}

#[tokio::test]
async fn a_mistake_or_a_key_that_may_only_read_ends_with_the_reason() {
    let setup = CommandSetup::start().await;
    let cases: [(&[&str], &str, &str); 7] = [
        (&["capture", "start", "nobody"], OPERATOR, "unknown caller"),
        (&["capture", "start", "a&b =é"], OPERATOR, "unknown caller"),
        (
            &["capture", "start", "ann", "--seconds", "0"],
            OPERATOR,
            "must be a number from 1 to 3600",
        ),
        (&["capture", "show", "cap_99"], OPERATOR, "unknown capture"),
        (&["log-filter", "loud"], OPERATOR, "not usable"),
        (&["capture", "start", "ann"], VIEWER, "403"),
        (&["log-filter", "debug"], VIEWER, "403"),
    ];
    for (args, key, reason) in cases {
        let (code, output, errors) = setup.run(args, key);
        assert_eq!((code, &*output), (1, ""), "{args:?}: {errors}");
        assert!(errors.contains(reason), "{args:?}: {errors}");
    }
    let (code, _, errors) = setup.run(&["capture", "list"], "");
    assert_eq!(code, 1);
    assert!(errors.contains("HEADGATE_ADMIN_KEY"), "{errors}");
}
