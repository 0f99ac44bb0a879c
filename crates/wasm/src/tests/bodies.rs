//! Bodies: read, edited, held, given back.

use bytes::Bytes;

use super::fixture::{answered, request, started, started_with};
use crate::{PluginBodyAction, PluginFailure, PluginStreamAction};

/// Holds a body until its end, and then runs `EDIT`.
const AT_THE_END: &str = r#"
    (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (if (i32.eqz (local.get 2)) (then (return (i32.const 1))))
        EDIT
        (i32.const 0))"#;

#[tokio::test]
async fn a_body_that_is_held_is_edited_as_a_whole() {
    let set = |start: u32, size: u32| {
        format!(
            r#"(call $ok (call $set_buffer (i32.const 0) (i32.const {start}) (i32.const {size}) {{"XY"}}))"#
        )
    };
    let cases: &[(String, &str)] = &[
        (String::new(), "one two"),
        (set(0, 0), "XYone two"),
        (set(0, 3), "XY two"),
        (set(0, 7), "XY"),
        (set(0, u32::MAX), "XY"),
        (set(3, 1), "oneXYtwo"),
        (set(7, 0), "one twoXY"),
        (set(u32::MAX, u32::MAX), "one twoXY"),
        (set(4, 99), "one XY"),
        (
            r#"(call $ok (call $set_buffer (i32.const 0) (i32.const 0) (i32.const 99) (i32.const 0) (i32.const 0)))"#.to_owned(),
            "",
        ),
    ];
    for (edit, expected) in cases {
        let (plugin, _) = started(&AT_THE_END.replace("EDIT", edit)).await;
        let mut stream = plugin.open_stream().await.unwrap();
        let mut exchange = request(&[]);
        for piece in ["one", " "] {
            let step = stream.on_request_body(&mut exchange, piece.into(), false);
            assert_eq!(step.await, Ok(PluginBodyAction::Hold));
        }
        let step = stream
            .on_request_body(&mut exchange, "two".into(), true)
            .await;
        let expected = Bytes::copy_from_slice(expected.as_bytes());
        assert_eq!(step, Ok(PluginBodyAction::Continue(expected)), "{edit}");
    }
}

#[tokio::test]
async fn a_body_is_read_in_parts() {
    let read = |start: u32, max: u32, expected: &str| {
        format!(
            r#"(call $ok (call $buffer (i32.const 0) (i32.const {start}) (i32.const {max})
                (i32.const 0) (i32.const 4)))
            (call $is (i32.load (i32.const 4)) (i32.const {}))
            (drop (call $log (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4))))"#,
            expected.len()
        )
    };
    let expected = ["one two", "two", "e", "", ""];
    let edit = [
        read(0, u32::MAX, expected[0]),
        read(4, 3, expected[1]),
        read(2, 1, expected[2]),
        read(7, 1, expected[3]),
        read(u32::MAX, u32::MAX, expected[4]),
        // The response has no body yet, and there is no such buffer.
        "(call $ok (call $buffer (i32.const 1) (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 4)))".to_owned(),
        "(call $is (call $buffer (i32.const 99) (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 4)) (i32.const 2))".to_owned(),
        "(call $is (call $buffer (i32.const 4) (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 4)) (i32.const 1))".to_owned(),
        "(call $ok (call $buffer_status (i32.const 0) (i32.const 8) (i32.const 12)))".to_owned(),
        "(call $is (i32.load (i32.const 8)) (i32.const 7))".to_owned(),
    ]
    .concat();
    let (plugin, environment) = started(&AT_THE_END.replace("EDIT", &edit)).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_body(&mut exchange, "one two".into(), true);
    assert_eq!(step.await, Ok(PluginBodyAction::Continue("one two".into())));
    assert_eq!(environment.messages(), expected);
}

#[tokio::test]
async fn every_event_of_a_stream_is_one_callback() {
    let body = r#"
        (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32)
            ;; Drops events of four bytes.
            (if (i32.eq (local.get 1) (i32.const 4)) (then
                (call $ok (call $set_buffer (i32.const 1) (i32.const 0) (i32.const 99)
                    (i32.const 0) (i32.const 0)))))
            (i32.const 0))"#;
    let (plugin, _) = started(body).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = answered(&[]);
    for (event, expected) in [("data: a\n\n", "data: a\n\n"), ("four", ""), ("b", "b")] {
        let step = stream.on_response_event(&mut exchange, event.into()).await;
        assert_eq!(step, Ok(PluginBodyAction::Continue(expected.into())));
    }
    let step = stream
        .on_response_body(&mut exchange, Bytes::new(), true)
        .await;
    assert_eq!(step, Ok(PluginBodyAction::Continue(Bytes::new())));
}

#[tokio::test]
async fn no_more_is_held_than_the_limit() {
    let (plugin, _) = started_with(&AT_THE_END.replace("EDIT", ""), |settings| {
        settings.limits.body = 10;
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_body(&mut exchange, "0123456789".into(), false);
    assert_eq!(step.await, Ok(PluginBodyAction::Hold));
    let step = stream
        .on_request_body(&mut exchange, "a".into(), false)
        .await;
    assert_eq!(step, Err(PluginFailure::Body { limit: 10 }));
    assert_eq!(stream.take_held().0, "0123456789a");
    let step = stream
        .on_request_body(&mut exchange, "b".into(), false)
        .await;
    assert_eq!(step, Err(PluginFailure::InstanceLost));
    // The instance is not to blame.
    stream.finish(&mut exchange).await.unwrap();
    assert_eq!(plugin.status().instances, 1);
    assert_eq!(plugin.status().traps, 0);
}

#[tokio::test]
async fn a_plugin_cannot_write_a_body_beyond_the_limit() {
    let edit = r#"(call $is (call $set_buffer (i32.const 0) (i32.const 99) (i32.const 0) {"ab"})
        (i32.const 2))"#;
    let (plugin, _) = started_with(&AT_THE_END.replace("EDIT", edit), |settings| {
        settings.limits.body = 10;
    })
    .await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_body(&mut exchange, "012345678".into(), true);
    assert_eq!(
        step.await,
        Ok(PluginBodyAction::Continue("012345678".into()))
    );
}

#[tokio::test]
async fn a_body_that_a_failed_plugin_held_is_given_back_unchanged() {
    let edit = r#"(call $ok (call $set_buffer (i32.const 0) (i32.const 0) (i32.const 99) {"XY"}))
        unreachable"#;
    let (plugin, _) = started(&AT_THE_END.replace("EDIT", edit)).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_body(&mut exchange, "one ".into(), false);
    assert_eq!(step.await, Ok(PluginBodyAction::Hold));
    let step = stream.on_request_body(&mut exchange, "two".into(), true);
    assert_eq!(step.await.unwrap_err().label(), "trap");
    assert_eq!(stream.take_held(), ("one two".into(), Bytes::new()));
}

#[tokio::test]
async fn headers_may_be_decided_with_the_body() {
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 1))
        (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
            (call $ok (call $add (i32.const 0) {"x-seen"} {"body"}))
            (i32.const 0))"#;
    let (plugin, _) = started(body).await;
    let mut stream = plugin.open_stream().await.unwrap();
    let mut exchange = request(&[]);
    let step = stream.on_request_headers(&mut exchange, false).await;
    assert_eq!(step, Ok(PluginStreamAction::Hold));
    let step = stream
        .on_request_body(&mut exchange, "text".into(), true)
        .await;
    assert_eq!(step, Ok(PluginBodyAction::Continue("text".into())));
    assert_eq!(exchange.request.headers["x-seen"], "body");
}

#[tokio::test]
async fn edits_of_headers_on_hold_are_undone_if_the_plugin_fails_with_the_body() {
    let body = r#"
        (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
            (call $ok (call $add (i32.const 0) {"x-held"} {"1"}))
            (call $ok (call $replace (i32.const 0) {"x-a"} {"2"}))
            (i32.const 1))
        (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) unreachable)"#;
    let (plugin, _) = started_with(body, |settings| settings.instances = 1).await;
    let (mut one, mut two) = (request(&[("x-a", "1")]), request(&[("x-a", "1")]));
    let mut first = plugin.open_stream().await.unwrap();
    let mut second = plugin.open_stream().await.unwrap();
    for (stream, exchange) in [(&mut first, &mut one), (&mut second, &mut two)] {
        let step = stream.on_request_headers(exchange, false).await;
        assert_eq!(step, Ok(PluginStreamAction::Hold));
        assert_eq!(exchange.request.headers["x-held"], "1");
    }
    let step = first.on_request_body(&mut one, "text".into(), true).await;
    assert_eq!(step.unwrap_err().label(), "trap");
    // The other stream of the instance has it back, too.
    let step = second.on_request_body(&mut two, "text".into(), true).await;
    assert_eq!(step, Err(PluginFailure::InstanceLost));
    for exchange in [&one, &two] {
        assert_eq!(exchange.request, request(&[("x-a", "1")]).request);
    }
    assert_eq!(second.take_held().0, "text");
}
