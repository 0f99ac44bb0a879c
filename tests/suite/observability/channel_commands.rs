//! Tests of the commands that act on a running gateway, and of `headgate why`.

use super::command_setup::CommandSetup;
use super::status::run;
use crate::harness::request::{OPERATOR, VIEWER};
use crate::harness::{Request, eventually};
use headgate_protocol::Protocol;

#[tokio::test]
async fn a_channel_is_drained_undrained_and_reset() {
    let setup = CommandSetup::start().await;
    let chat = Request::ask(Protocol::Chat);
    assert_eq!(setup.gateway.ask(&chat).await.status, 200);
    let (code, printed, errors) = setup.run(&["drain", "openai"], OPERATOR);
    assert_eq!(
        (code, &*printed),
        (0, "openai: drained: no new requests; 0 in flight\n"),
        "{errors}"
    );
    assert_eq!(setup.gateway.ask(&chat).await.status, 503);
    let (_, _, errors) = setup.run(&["drain", "messages"], OPERATOR);
    let words = "warning: no channel is left for demo-large, demo-small";
    assert!(errors.contains(words), "{errors}");
    for action in ["undrain", "reset"] {
        let (code, printed, errors) = setup.run(&[action, "openai"], OPERATOR);
        assert_eq!(
            (code, &*printed),
            (0, "openai: usable; 0 in flight\n"),
            "{action}: {errors}"
        );
        assert_eq!(setup.gateway.ask(&chat).await.status, 200);
    }
    for (args, key, words) in [
        (["drain", "openia"], OPERATOR, "did you mean `openai`?"),
        (["drain", "openai"], VIEWER, "403"),
    ] {
        let (code, _, errors) = setup.run(&args, key);
        assert_eq!(code, 1, "{args:?}");
        assert!(errors.contains(words), "{args:?}: {errors}");
    }
}

#[tokio::test]
async fn a_reload_reports_the_revision_or_why_the_file_is_rejected() {
    let setup = CommandSetup::start().await;
    let (code, printed, errors) = setup.run(&["reload"], OPERATOR);
    assert_eq!(code, 0, "{errors}");
    assert!(printed.ends_with(" unchanged\n"), "{printed}");
    setup.gateway.folder.write("routes.yaml", "routs: []\n");
    let (code, printed, errors) = setup.run(&["reload"], OPERATOR);
    assert_eq!((code, &*printed), (1, ""), "{errors}");
    for words in ["unknown key `routs`", "the one before stays in use"] {
        assert!(errors.contains(words), "{errors}");
    }
}

#[tokio::test]
async fn why_prints_what_happened_to_a_request() {
    let setup = CommandSetup::start().await;
    let failed = Request::ask(Protocol::Chat).simulate("status=500");
    let response = setup.gateway.ask(&failed).await;
    let id = response.headers.get("x-request-id").unwrap().to_owned();
    let listed = async || {
        let (code, printed, _) = setup.run(&["why", &id], VIEWER);
        (code == 0).then_some(printed)
    };
    let printed = eventually("the request", listed).await;
    for line in [
        "request     POST /v1/chat/completions, ended ",
        "route       ",
        "caller      ann, 127.0.0.1",
        "failed      openai: ",
        "status      500, upstream_error",
        "revision    ",
    ] {
        assert!(printed.contains(line), "{line} in {printed}");
    }
    let (code, printed, errors) = setup.run(&["why", "nothing"], VIEWER);
    assert_eq!((code, &*printed), (1, ""));
    assert!(errors.contains("no request `nothing`"), "{errors}");
}

#[tokio::test]
async fn a_command_at_the_port_of_callers_names_the_other_one() {
    let setup = CommandSetup::start().await;
    let port = format!("http://{}", setup.gateway.address);
    for args in [
        &["status", "--admin", &port][..],
        &["top", "--once", "--admin", &port],
        &["drain", "openai", "--admin", &port],
        &["why", "x", "--admin", &port],
    ] {
        let (code, _, errors) = run(args, &[("HEADGATE_ADMIN_KEY", OPERATOR)]);
        assert_ne!(code, 0);
        let words = "this is the port for callers (`server.listen`)";
        assert!(errors.contains(words), "{args:?}: {errors}");
    }
}
