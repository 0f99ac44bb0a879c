//! URLs that lead inside, as media of videos and as images: the gateway connects to none of them.

use crate::harness::free_port::free_port;
use crate::harness::hostile_urls::Decoy;
use crate::harness::http_response::{http_response, json_response};
use crate::harness::images::{self, image_config, json_body};
use crate::harness::media::{create_with, media_config};
use crate::harness::name_server::NameServer;
use crate::harness::video::{FAMILY_A, FAMILY_B, GENERIC};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, eventually};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::sleep;

async fn names() -> NameServer {
    let names = NameServer::start().await;
    names.reply_with("inside.test", &["127.0.0.1"], 60);
    names.reply_with("receiver.test", &["93.184.216.34"], 60);
    names
}

/// Nothing may be fetched but what is global unicast, and names are those of `names`.
fn without_exceptions(config: &mut Value, names: &NameServer) {
    config["egress"] = json!({"allow": []});
    config["server"]["dns"] = json!({"servers": [names.address.to_string()]});
}

/// A provider that takes creates of both families and opens no URL.
async fn provider_of_videos() -> ScriptedProvider {
    let create = json!({"id": "t-1", "request_id": "r", "output": {"task_id": "t-1", "task_status": "PENDING"}});
    ScriptedProvider::answering(json_response(200, create)).await
}

#[tokio::test]
async fn urls_of_media_are_passed_to_the_provider_or_refused_and_never_opened() {
    let (simulator, names, decoy) = (
        Simulator::start().await,
        names().await,
        Decoy::start().await,
    );
    let provider = provider_of_videos().await;
    let mut config = media_config(&simulator, free_port());
    without_exceptions(&mut config, &names);
    for channel in ["a", "b"] {
        config["channels"][channel]["base_url"] = json!(provider.url());
    }
    let gateway = Gateway::start(&config).await;
    let (mut passed, mut refused) = (0, 0);
    let urls = decoy.urls();
    for url in &urls {
        for (path, model, role) in [
            (FAMILY_B, "demo-video-b", "reference_image"),
            (FAMILY_B, "demo-video-b", "reference_video"),
            (FAMILY_B, "demo-video-b", "file"),
            (FAMILY_B, "demo-video-b", "link"),
            (FAMILY_A, "demo-video-a", "first_frame"),
            (GENERIC, "demo-video-a", "reference_video"),
            (GENERIC, "demo-video-b", "reference_audio"),
        ] {
            let body = create_with(path, model, role, url).to_string();
            let response = gateway.ask(&Request::post(path, body)).await;
            match response.status {
                200 => passed += 1,
                400 => refused += 1,
                status => panic!("{path} {role} {url}: {status} {}", response.text()),
            }
        }
        for field in ["img_url", "first_frame_url"] {
            let body = json!({"model": "demo-video-b", "input": {"prompt": "a gate", field: url}});
            let response = gateway
                .ask(&Request::post(FAMILY_B, body.to_string()))
                .await;
            match response.status {
                200 => passed += 1,
                400 => refused += 1,
                status => panic!("{field} {url}: {status} {}", response.text()),
            }
        }
    }
    let count = decoy.connections();
    println!(
        "{} media URLs that lead inside: {passed} requests passed to the provider, {refused} refused, {count} connections to decoys",
        urls.len()
    );
    assert_eq!(count, 0);
    assert_eq!(provider.requests().len(), passed);
}

/// A gateway whose provider of images responds with `url` to the next request.
async fn gateway_of_images(names: &NameServer, allow: &[String]) -> (ScriptedProvider, Gateway) {
    let simulator = Simulator::start().await;
    let provider =
        ScriptedProvider::answering(json_response(200, json!({"created": 1, "data": []}))).await;
    let mut config = image_config(&simulator, "", json!({"body": "json"}));
    without_exceptions(&mut config, names);
    config["egress"] = json!({"allow": allow});
    config["channels"]["images"]["base_url"] = json!(provider.url());
    let gateway = Gateway::start(&config).await;
    (provider, gateway)
}

#[tokio::test]
async fn images_at_urls_that_lead_inside_are_not_fetched() {
    let (names, decoy) = (names().await, Decoy::start().await);
    // A global address would be connected to: that of a network for documentation is none.
    names.reply_with("receiver.test", &["203.0.113.7"], 60);
    let (provider, gateway) = gateway_of_images(&names, &[]).await;
    let urls = decoy.urls();
    for url in &urls {
        let named = json_response(200, json!({"created": 1, "data": [{"url": url}]}));
        provider.next(vec![ScriptedResponse::Send(named)]);
        let response = gateway
            .ask(&Request::post(images::PATH, json_body().to_string()))
            .await;
        assert_eq!(response.status, 200, "{url}: {}", response.text());
        assert_eq!(response.json()["data"], json!([{"url": url}]), "{url}");
        let ignored = response.headers.get("x-headgate-ignored");
        assert_eq!(ignored, Some("response_format"), "{url}");
    }
    for url in &urls {
        let mut body = json_body();
        body["images"] = json!([{"image_url": url}]);
        body.as_object_mut().unwrap().remove("mask");
        let response = gateway
            .ask(&Request::post(images::PATH, body.to_string()))
            .await;
        assert!(
            [200, 400].contains(&response.status),
            "{url}: {}",
            response.text()
        );
    }
    let count = decoy.connections();
    println!(
        "{} image URLs that lead inside, of a provider and of callers: {count} connections to decoys",
        urls.len()
    );
    assert_eq!(count, 0);
}

#[tokio::test]
async fn a_redirect_to_the_inside_is_not_followed() {
    let (names, decoy) = (names().await, Decoy::start().await);
    for target in [
        format!("http://127.0.0.1:{}/x", decoy.port),
        format!("http://[::1]:{}/x", decoy.port),
        format!("https://inside.test:{}/x", decoy.port),
        format!("//127.0.0.1:{}/x", decoy.port),
    ] {
        let redirect = http_response(302, &format!("Location: {target}\r\n"), "");
        let redirecting = ScriptedProvider::answering(redirect).await;
        let allowed = redirecting.address.to_string();
        let (provider, gateway) = gateway_of_images(&names, std::slice::from_ref(&allowed)).await;
        let url = format!("http://{allowed}/a.png");
        let named = json_response(200, json!({"created": 1, "data": [{"url": url}]}));
        provider.next(vec![ScriptedResponse::Send(named)]);
        let response = gateway
            .ask(&Request::post(images::PATH, json_body().to_string()))
            .await;
        assert_eq!(response.json()["data"], json!([{"url": url}]), "{target}");
        assert_eq!(redirecting.requests().len(), 1, "{target}");
    }
    assert_eq!(decoy.connections(), 0);
}

#[tokio::test]
async fn a_name_that_leads_inside_after_a_redirect_is_resolved_and_checked_again() {
    let (names, decoy) = (names().await, Decoy::start().await);
    names.reply_with("rebind.test", &["127.0.0.2"], 1);
    let url = format!("http://rebind.test:{}/a.png", decoy.port);
    let listener = TcpListener::bind(("127.0.0.2", decoy.port)).await.unwrap();
    let changed = Arc::new(Notify::new());
    let redirect = http_response(302, &format!("Location: {url}?again\r\n"), "");
    let redirecting = ScriptedProvider::on(
        listener,
        vec![
            ScriptedResponse::WaitFor(changed.clone()),
            ScriptedResponse::Send(redirect),
            ScriptedResponse::Close,
        ],
    );
    let (provider, gateway) = gateway_of_images(&names, &["127.0.0.2/32".to_owned()]).await;
    let named = json_response(200, json!({"created": 1, "data": [{"url": url}]}));
    provider.next(vec![ScriptedResponse::Send(named)]);
    let request = Request::post(images::PATH, json_body().to_string());
    let rebind = async {
        eventually("the first request", async || {
            (!redirecting.requests().is_empty()).then_some(())
        })
        .await;
        names.reply_with("rebind.test", &["127.0.0.1"], 1);
        sleep(Duration::from_millis(2500)).await;
        changed.notify_one();
    };
    let (response, ()) = tokio::join!(gateway.ask(&request), rebind);
    assert_eq!(response.json()["data"], json!([{"url": url}]));
    assert_eq!(decoy.connections(), 0);
    assert_eq!(redirecting.requests().len(), 1);
}
