//! Tests of `headgate status`: its words, its JSON, its exit codes, and how it reaches the admin pages.

use crate::harness::admin::{config, gateway};
use crate::harness::certificates::Authority;
use crate::harness::config::{admin_keys, channel};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::request::{OPERATOR, VIEWER};
use crate::harness::{Gateway, Request, TestSetup};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::process::Command;

/// The exit code, standard output and standard error of `headgate` with these arguments.
pub fn run(args: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(BINARY);
    command.env_remove("HEADGATE_ADMIN_KEY").args(args);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn status(gateway: &Gateway) -> (i32, String) {
    let url = format!("http://{}", gateway.admin);
    let (code, printed, errors) = run(&["status", "--admin", &url], &[]);
    assert_eq!(errors, "");
    (code, printed)
}

#[tokio::test]
async fn a_gateway_without_problems_is_fine() {
    let gateway = gateway(json!({})).await;
    let (code, printed) = status(&gateway);
    assert_eq!(code, 0, "{printed}");
    for line in [
        &format!("gateway     http://{}, ready", gateway.admin),
        "; the same on disk",
        "state       memory, up",
        "channels    2 of 2 usable",
        "  openai    usable; 0 in flight",
        "models      2 of 2 available",
        "status      fine",
    ] {
        assert!(printed.contains(line), "{line} in {printed}");
    }
    let admin = gateway.admin.to_string();
    let (code, printed, _) = run(&["status", "--json", "--admin", &admin], &[]);
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (code, &report["status"], &report["findings"]),
        (0, &json!("fine"), &json!([]))
    );
    assert_eq!(
        (&report["ready"], &report["channels"][1]["name"]),
        (&json!(true), &json!("openai"))
    );
    assert!(
        report["config"]["revision"]["in_use"].is_string(),
        "{report}"
    );
}

#[tokio::test]
async fn each_problem_of_a_gateway_is_a_finding() {
    let world = TestSetup::between(|config, simulator| {
        let url = simulator.url_obeying("status=429;retry_after=600");
        let limited = channel(&url, &["chat"], json!({"bearer": "sk-canary-1"}));
        config["channels"] = json!({"limited": limited});
        config["channels"]["limited"]["models"] = json!({"demo-large": "sim-large-2026-08"});
        config["models"] = json!({});
        config["callers"][1]["models"] = json!(["demo-large"]);
        config["server"]["admin_keys"] = admin_keys();
    })
    .await;
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 429);
    let gateway = &world.gateway;
    gateway.folder.replace("routes.yaml", "callers: 1");
    assert_eq!(gateway.page("POST", "/reload").await.status, 422);
    let url = format!("http://{}", gateway.admin);
    let variables = [("HEADGATE_ADMIN_KEY", VIEWER)];
    let (code, printed, errors) = run(&["status", "--admin", &url], &variables);
    assert_eq!((code, &*errors), (1, ""), "{printed}");
    for words in [
        "in use, loaded ",
        "; on disk ",
        "routes.yaml at 20",
        "stays in use",
        "(callers)",
        "channels   0 of 1 usable",
        "  limited  not usable; model demo-large in cool-down (rate_limited), ",
        " s left, last error req_",
        "models     0 of 1 available",
        "status     degraded",
        "- critical: No channel can serve model `demo-large` now (limited: ",
        "\n             Requests for it fail with 502 or 503 until a channel recovers",
        "- warning: Model demo-large on channel limited gets no requests for another ",
        "- warning: The configuration on disk was refused at 20",
    ] {
        assert!(printed.contains(words), "{words} in {printed}");
    }
    // What an operator has done is a notice, and is no problem as long as something else serves the models.
    assert_eq!(
        gateway
            .page("POST", "/channels/reset?channel=limited")
            .await
            .status,
        200
    );
    assert_eq!(
        gateway
            .page("POST", "/channels/drain?channel=limited")
            .await
            .status,
        200
    );
    let (_, printed, _) = run(&["status", "--admin", &url], &variables);
    for words in [
        "  limited  drained by an operator; ",
        "- notice: An operator has drained channel `limited`; ",
    ] {
        assert!(printed.contains(words), "{words} in {printed}");
    }
}

#[tokio::test]
async fn a_channel_that_an_operator_drained_does_not_degrade_a_gateway() {
    let mut config = config(json!({"admin_keys": admin_keys()}));
    config["channels"]["spare"] = config["channels"]["openai"].clone();
    let gateway = Gateway::start(&config).await;
    let drained = gateway.page("POST", "/channels/drain?channel=openai").await;
    assert_eq!(drained.status, 200, "{}", drained.text());
    assert_eq!(drained.json()["unavailable_models"], json!([]));
    let url = format!("http://{}", gateway.admin);
    let variables = [("HEADGATE_ADMIN_KEY", VIEWER)];
    let (code, printed, _) = run(&["status", "--admin", &url], &variables);
    assert_eq!(code, 0, "{printed}");
    for words in [
        "status      fine\n",
        "- notice: An operator has drained channel `openai`; 0 requests are in flight on it.\n",
    ] {
        assert!(printed.contains(words), "{words} in {printed}");
    }
    let (_, printed, _) = run(&["status", "--json", "--admin", &url], &variables);
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(report["status"], "fine");
    assert_eq!(report["findings"][0]["code"], "channel_drained");
    // Another channel has the model, but not with the protocols of these two.
    gateway.page("POST", "/channels/drain?channel=spare").await;
    let (code, printed, _) = run(&["status", "--admin", &url], &variables);
    assert_eq!(code, 1, "{printed}");
    let cause =
        "No channel can serve model `demo-large` with protocol `chat` or `responses` now (openai: ";
    assert!(printed.contains(cause), "{printed}");
}

#[tokio::test]
async fn a_gateway_that_cannot_be_reached_has_an_exit_code_of_its_own() {
    let gateway = gateway(json!({"admin_keys": admin_keys()})).await;
    let url = format!("http://{}", gateway.admin);
    let nobody = tokio::net::TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = nobody.local_addr().unwrap().to_string();
    let listen = gateway.address.to_string();
    for (args, variables, code, words) in [
        (
            vec!["--admin", &nobody],
            vec![],
            2,
            "cannot reach the admin pages at http://127.0.0.1:",
        ),
        (vec!["--admin", &listen], vec![], 2, "HTTP/1.1 404"),
        (vec!["--admin", "9091"], vec![], 2, "expected an address"),
        (
            vec!["--admin", &url],
            vec![],
            2,
            "set the environment variable HEADGATE_ADMIN_KEY",
        ),
        (
            vec!["--admin", &url],
            vec![("HEADGATE_ADMIN_KEY", "sk-wrong")],
            2,
            "incorrect admin key",
        ),
        (
            vec!["--admin", &url, "--key-env", "KEY_OF_MINE"],
            vec![],
            2,
            "`KEY_OF_MINE` is not set",
        ),
        (
            vec!["--admin", &url, "--key-env", "KEY_OF_MINE"],
            vec![("KEY_OF_MINE", VIEWER)],
            0,
            "",
        ),
        (
            vec!["--admin", &url],
            vec![("HEADGATE_ADMIN_KEY", OPERATOR)],
            0,
            "",
        ),
        (
            vec!["--config", "no.yaml"],
            vec![],
            2,
            "give it with --admin URL",
        ),
    ] {
        let (exit, printed, errors) = run(&[&["status"], &*args].concat(), &variables);
        assert_eq!(exit, code, "{args:?}: {printed}{errors}");
        assert!(errors.contains(words), "{words} in {errors}");
        assert!(!errors.contains("sk-"), "{errors}");
    }
}

#[tokio::test]
async fn the_address_is_read_from_a_configuration_also_if_it_has_errors() {
    let started = gateway(json!({})).await;
    let folder = folder_with_schemas();
    let mut config = config(json!({"admin": started.admin.to_string()}));
    for broken in [false, true] {
        if broken {
            config["callers"] = json!(1);
        }
        let file = folder.write("routes.yaml", config.to_string());
        let file = file.to_str().unwrap();
        let (code, printed, errors) = run(&["status", "--config", file], &[]);
        assert_eq!((code, &*errors), (0, ""), "{printed}");
    }
}

#[tokio::test]
async fn commands_reach_admin_pages_with_tls_and_verify_their_certificate() {
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let server = json!({"admin_keys": admin_keys(), "admin_tls": authority.server().write(&folder, "admin")});
    let ca = folder.write("ca.pem", authority.pem());
    let other_ca = folder.write("other.pem", Authority::new().pem());
    let gateway = Gateway::start_in(folder, &config(server).to_string()).await;
    let url = format!("https://{}", gateway.admin);
    let variables = [("HEADGATE_ADMIN_KEY", OPERATOR)];
    for (command, expected) in [
        (&["status"][..], 0),
        (&["callback", "list"], 0),
        (&["callback", "redrive", "--all"], 0),
    ] {
        let ca = ca.to_str().unwrap();
        let args = [command, &["--admin", &url, "--admin-ca", ca][..]].concat();
        let (code, printed, errors) = run(&args, &variables);
        assert_eq!(code, expected, "{command:?}: {printed}{errors}");
    }
    let other_ca = other_ca.to_str().unwrap();
    let args = ["status", "--admin", &url, "--admin-ca", other_ca];
    let (code, _, errors) = run(&args, &variables);
    assert_eq!(code, 2);
    assert!(errors.contains("certificate"), "{errors}");
}

#[tokio::test]
async fn dead_letters_are_redriven_with_a_key_that_may_act() {
    let with_keys = gateway(json!({"admin_keys": admin_keys()})).await;
    let without = gateway(json!({})).await;
    for (gateway, key, code, words) in [
        (&with_keys, OPERATOR, 0, "0 redriven"),
        (&with_keys, VIEWER, 1, "this key has the role `read`"),
        (&without, OPERATOR, 1, "without `server.admin_keys`"),
    ] {
        let admin = gateway.admin.to_string();
        let args = ["callback", "redrive", "--all", "--admin", &admin];
        let (exit, printed, errors) = run(&args, &[("HEADGATE_ADMIN_KEY", key)]);
        assert_eq!(exit, code, "{printed}{errors}");
        assert!([printed, errors].concat().contains(words));
    }
}
