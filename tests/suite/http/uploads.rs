//! Tests of large bodies that no filter needs: they stream to the provider, and are sent once.

use crate::harness::upload_provider::{Plan, UploadProvider, pattern};
use crate::harness::upload_world::{
    CALLERS, Caller, MIB, PIECE, UploadWorld as World, head, write,
};
use crate::harness::{Request, config, eventually};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_body_arrives_byte_for_byte_over_either_version_of_http() {
    for caller in CALLERS {
        for is_http2 in [false, true] {
            let world = World::between(caller, is_http2, Plan::Read).await;
            for bytes in [1, PIECE as u64 + 1, 5 * MIB + 3] {
                let answer = world.upload(caller, bytes).await;
                assert_eq!(answer.status, 200, "{caller:?}: {}", answer.text());
                let upload = world.provider.uploads().pop().unwrap();
                let case = format!("{caller:?}, HTTP/2 {is_http2}: {upload:?}");
                assert!(upload.is_intact && upload.is_complete, "{case}");
                assert_eq!(upload.bytes, bytes, "{case}");
                let length = upload.headers.get("content-length");
                let length = length.map(|length| length.to_str().unwrap().to_owned());
                let declared = (caller == Caller::Declared).then(|| bytes.to_string());
                assert_eq!(length, declared, "{case}");
                let sent_type = &upload.headers.get("content-type");
                let octets = caller != Caller::Http2;
                assert_eq!(sent_type.is_some(), octets, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_gibibyte_takes_no_more_memory_than_a_small_body() {
    let world = World::between(Caller::Declared, false, Plan::Read).await;
    // The first requests allocate memory that the process keeps.
    for _ in 0..3 {
        world.upload(Caller::Declared, 16 * MIB).await;
    }
    let before = world.gateway.process.anonymous_bytes();
    let watched = async {
        let mut most = 0;
        loop {
            most = most.max(world.gateway.process.anonymous_bytes());
            if world
                .provider
                .uploads()
                .get(3)
                .is_some_and(|upload| upload.has_ended)
            {
                return most;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let (answer, most) = tokio::join!(world.upload(Caller::Declared, 1024 * MIB), watched);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let upload = world.provider.uploads().pop().unwrap();
    assert!(upload.is_intact && upload.bytes == 1024 * MIB, "{upload:?}");
    let grown = most.saturating_sub(before);
    // On a busy machine the allocator and transparent huge pages affect the figure; the body is 64 times as large.
    assert!(grown < 16 * MIB, "{grown} bytes");
}

#[tokio::test]
async fn a_provider_that_does_not_read_slows_its_callers_down_and_each_takes_less_than_a_mebibyte()
{
    const UPLOADS: usize = 8;
    for caller in CALLERS {
        for is_http2 in [false, true] {
            let world = Arc::new(World::between(caller, is_http2, Plan::Read).await);
            for _ in 0..3 {
                world.upload(caller, 4 * MIB).await;
            }
            world.provider.read(false);
            let before = world.gateway.process.anonymous_bytes();
            let mut uploading = JoinSet::new();
            for _ in 0..UPLOADS {
                let world = world.clone();
                uploading.spawn(async move { world.upload(caller, 12 * MIB).await.status });
            }
            sleep(4 * SHORT).await;
            let held = world.gateway.process.anonymous_bytes();
            let held = held.saturating_sub(before) / UPLOADS as u64;
            println!("{caller:?}, HTTP/2 {is_http2}: {held} bytes for each");
            world.provider.read(true);
            assert!(
                uploading
                    .join_all()
                    .await
                    .iter()
                    .all(|status| *status == 200)
            );
            let uploads = world.provider.uploads();
            assert!(
                uploads
                    .iter()
                    .all(|upload| upload.is_complete && upload.is_intact)
            );
            assert!(
                held < MIB,
                "{caller:?}, HTTP/2 {is_http2}: {held} bytes for each"
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_broke_off_at_the_provider_is_not_sent_again() {
    for caller in CALLERS {
        for is_http2 in [false, true] {
            let plan = Plan::Break { after: MIB };
            let world = World::between(caller, is_http2, plan).await;
            let answer = world.upload(caller, 16 * MIB).await;
            assert_eq!(answer.status, 502, "{caller:?}: {}", answer.text());
            assert_eq!(answer.json()["error"]["code"], "upstream_error");
            assert!(!world.received().await.is_complete);
            let line = world.gateway.log_of(&answer).await;
            assert_eq!(line["attempts"], 1, "{line}");
        }
    }
}

#[tokio::test]
async fn a_provider_may_refuse_a_body_before_it_has_read_it() {
    for caller in CALLERS {
        for is_http2 in [false, true] {
            let plan = Plan::Respond {
                after: MIB,
                status: 413,
            };
            let world = World::between(caller, is_http2, plan).await;
            let answer = world.upload(caller, 32 * MIB).await;
            assert_eq!(answer.status, 413, "{caller:?}: {}", answer.text());
            let upload = world.received().await;
            assert!(!upload.is_complete, "{caller:?}: {upload:?}");
            assert!(upload.bytes < 32 * MIB, "{caller:?}: {upload:?}");
        }
    }
}

#[tokio::test]
async fn a_success_that_comes_early_does_not_cut_the_body_short() {
    for caller in CALLERS {
        for is_http2 in [false, true] {
            let plan = Plan::Respond {
                after: 1,
                status: 200,
            };
            let world = World::between(caller, is_http2, plan).await;
            let answer = world.upload(caller, 8 * MIB).await;
            assert_eq!(answer.status, 200, "{caller:?}: {}", answer.text());
            let upload = world.received().await;
            assert!(upload.is_complete && upload.bytes == 8 * MIB, "{upload:?}");
        }
    }
}

#[tokio::test]
async fn a_caller_that_leaves_leaves_no_complete_body_behind() {
    for (chunked, is_http2) in [(false, false), (true, false), (false, true), (true, true)] {
        let caller = if chunked {
            Caller::Chunked
        } else {
            Caller::Declared
        };
        let world = World::between(caller, is_http2, Plan::Read).await;
        let mut connection = world.gateway.connect().await;
        let declared = (!chunked).then_some(8 * MIB);
        connection.send(head(declared).as_bytes()).await.unwrap();
        write(&mut connection, chunked, 0..MIB).await.unwrap();
        let begun = async || {
            world
                .provider
                .uploads()
                .pop()
                .filter(|upload| upload.bytes > 0)
        };
        eventually("the begin of the body", begun).await;
        drop(connection);
        let upload = world.received().await;
        assert!(!upload.is_complete && upload.bytes <= MIB, "{upload:?}");
        let logged = async || {
            let lines = world.gateway.log();
            lines.into_iter().find(|line| line["route"] == "uploads")
        };
        let line = eventually("the access log", logged).await;
        assert_eq!(line["settlement"], "client_cancelled", "{line}");
        let again = world.gateway.ask(&Request::get("/v1/models")).await;
        assert_eq!(again.status, 200);
    }
}

#[tokio::test]
async fn a_body_beyond_its_limit_or_out_of_form_reaches_no_provider_whole() {
    let provider = UploadProvider::http1(Plan::Read).await;
    let world = World::start(provider, "http1", |config| {
        config::route(config, "uploads")["request"][1] = json!({"limit_body": "1MiB"});
    })
    .await;
    let answer = world.upload(Caller::Declared, MIB + 1).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(world.provider.uploads().is_empty());
    let answer = world.upload(Caller::Chunked, MIB + 1).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(!world.received().await.is_complete);
    let mut connection = world.gateway.connect().await;
    connection.send(head(None).as_bytes()).await.unwrap();
    write(&mut connection, true, 0..MIB / 2).await.unwrap();
    connection.send(b"zz\r\n").await.unwrap();
    let answer = connection.answer().await.unwrap();
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(connection.is_over().await);
    let uploads = world.provider.uploads();
    assert!(uploads.iter().all(|upload| !upload.is_complete));
}

#[tokio::test]
async fn a_body_that_a_filter_needs_or_that_costs_money_is_held_until_it_is_complete() {
    let limits = json!({"limit_body": {"body": "2GiB", "file": "1GiB"}});
    for (protocol, filter, streams) in [
        (None, None, true),
        (Some("chat"), None, true),
        (None, Some(json!("rate_limit")), true),
        (Some("chat"), Some(json!("rate_limit")), false),
        (None, Some(json!("follow_ids")), false),
        (None, Some(limits), false),
        (Some("chat"), Some(json!("require_json")), false),
        (Some("image_edit"), None, false),
        (Some("video"), None, false),
    ] {
        let case = format!("{protocol:?}, {filter:?}");
        let provider = UploadProvider::http1(Plan::Read).await;
        let world = World::start(provider, "http1", |config| {
            config["channels"]["openai"]["protocols"] =
                json!(["chat", "responses", "image_edit", "video"]);
            let route = config::route(config, "uploads");
            if let Some(protocol) = protocol {
                route["protocol"] = protocol.into();
            }
            if let Some(filter) = filter {
                route["request"].as_array_mut().unwrap().insert(2, filter);
            }
        })
        .await;
        let mut connection = world.gateway.connect().await;
        let head = head(Some(2 * MIB)).replace("octet-stream", "json");
        connection.send(head.as_bytes()).await.unwrap();
        let half = vec![b' '; usize::try_from(MIB).unwrap()];
        connection.send(&half).await.unwrap();
        let begun = async || (!world.provider.uploads().is_empty()).then_some(());
        match streams {
            true => eventually("the begin of the body", begun).await,
            false => sleep(SHORT).await,
        }
        assert_eq!(world.provider.uploads().is_empty(), !streams, "{case}");
        let object = [&half[2..], b"{}"].concat();
        connection.send(&object).await.unwrap();
        let answer = connection.answer().await.unwrap();
        assert_eq!(answer.status, 200, "{case}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_body_that_is_small_is_held_and_goes_to_the_next_credential() {
    for (bytes, requests) in [(1000, 2), (MIB, 1)] {
        let plan = Plan::Respond {
            after: 1,
            status: 401,
        };
        let refusing = UploadProvider::http1(plan).await;
        let world = World::start(refusing, "http1", |config| {
            let keys = json!([{"bearer": "sk-first-0001"}, {"bearer": "sk-second-0002"}]);
            let channel = config["channels"]["openai"].as_object_mut().unwrap();
            channel.remove("credential");
            channel.insert("credentials".into(), keys);
            channel.remove("health");
        })
        .await;
        let answer = world.upload(Caller::Declared, bytes).await;
        assert_eq!(answer.status, 502, "{}", answer.text());
        sleep(SHORT).await;
        assert_eq!(world.provider.uploads().len(), requests, "{bytes} bytes");
    }
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_given_up_and_the_channel_stays_healthy() {
    let provider = UploadProvider::http1(Plan::Read).await;
    let world = World::start(provider, "http1", |config| {
        config["server"]["limits"] = json!({"body_timeout": "1s"});
        config["channels"]["openai"]["timeouts"] = json!({"total": "1s", "first_byte": "1s"});
        config["channels"]["openai"]["health"] = json!({"consecutive_failures": 1});
    })
    .await;
    let mut connection = world.gateway.connect().await;
    connection.send(head(Some(MIB)).as_bytes()).await.unwrap();
    write(&mut connection, false, 0..PIECE as u64)
        .await
        .unwrap();
    let answer = timeout(10 * Duration::from_secs(1), connection.answer()).await;
    let answer = answer.unwrap().unwrap();
    assert_eq!(answer.status, 408, "{}", answer.text());
    assert!(!world.received().await.is_complete);
    assert_eq!(world.upload(Caller::Declared, MIB).await.status, 200);
}

#[tokio::test]
async fn connections_carry_further_requests_behind_an_upload() {
    let world = World::between(Caller::Declared, false, Plan::Read).await;
    let mut connection = world.gateway.connect().await;
    for _ in 0..3 {
        connection
            .send(head(Some(2 * MIB)).as_bytes())
            .await
            .unwrap();
        write(&mut connection, false, 0..2 * MIB).await.unwrap();
        assert_eq!(connection.answer().await.unwrap().status, 200);
    }
    assert_eq!(
        connection.ask(&Request::get("/v1/models")).await.status,
        200
    );
}

#[tokio::test]
async fn a_chunk_whose_size_comes_before_its_bytes_does_not_end_the_body() {
    for is_http2 in [false, true] {
        let world = World::between(Caller::Chunked, is_http2, Plan::Read).await;
        let mut connection = world.gateway.connect().await;
        connection.send(head(None).as_bytes()).await.unwrap();
        for at in 0..20 {
            connection.send(b"3e8\r\n").await.unwrap();
            sleep(Duration::from_millis(10)).await;
            connection.send(&pattern(at * 1000, 1000)).await.unwrap();
            sleep(Duration::from_millis(10)).await;
            connection.send(b"\r\n").await.unwrap();
        }
        connection.send(b"0\r\n\r\n").await.unwrap();
        assert_eq!(connection.answer().await.unwrap().status, 200);
        let upload = world.received().await;
        assert!(upload.is_intact && upload.bytes == 20_000, "{upload:?}");
    }
}
