//! Requests to Bedrock that are signed with temporary keys: of a container, an instance, a web identity and a role.

use super::signatures::{LASTING, TEMPORARY, question, signed_bedrock, signed_config};
use crate::harness::aws_account::AwsAccount;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::http_response;
use crate::harness::scripted::ScriptedResponse;
use crate::harness::{Gateway, ScriptedProvider};
use chrono::{TimeDelta, Utc};
use headgate_protocol::percent_encoding::decoded;
use serde_json::{Value, json};
use std::sync::Arc;

const TOKEN: &str = "agent-canary/3f+9==";
const ROLE: &str = "arn:aws:iam::123456789012:role/gateway";

/// A server that answers by this function of a request.
async fn server(respond: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> ScriptedProvider {
    ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(respond))]).await
}

fn expiration() -> String {
    let time = Utc::now() + TimeDelta::hours(1);
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The keys of the account as agents and metadata servers have them.
fn key_document() -> Vec<u8> {
    let document = json!({
        "Code": "Success",
        "AccessKeyId": TEMPORARY.access_key_id,
        "SecretAccessKey": TEMPORARY.secret_access_key,
        "Token": TEMPORARY.session_token,
        "Expiration": expiration(),
    });
    http_response(200, "", document.to_string())
}

/// The same as the Security Token Service has them.
fn key_in_xml(action: &str) -> Vec<u8> {
    let (id, secret) = (TEMPORARY.access_key_id, TEMPORARY.secret_access_key);
    let (token, expiration) = (TEMPORARY.session_token.unwrap(), expiration());
    http_response(
        200,
        "",
        format!(
            "<{action}Response><{action}Result><Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{token}</SessionToken><Expiration>{expiration}</Expiration></Credentials></{action}Result></{action}Response>"
        ),
    )
}

/// Asserts that a gateway with this credential signs with the temporary key, and shows no part of it.
async fn assert_signs(folder: Folder, aws: Value, variables: &[(&str, String)]) {
    let provider = signed_bedrock(TEMPORARY).await;
    let mut config = signed_config(&TEMPORARY, &[&provider.url()]);
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["credential"] = json!({"aws": aws});
    }
    let gateway = Gateway::start_with_variables(folder, &config, variables).await;
    for _ in 0..3 {
        let answer = gateway.ask(&question("demo-large", "Hi")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let shown = [
        gateway.process.stderr.all().concat(),
        gateway.page("GET", "/config").await.text(),
        gateway.page("GET", "/channels").await.text(),
    ];
    for text in shown {
        let secrets = [
            TEMPORARY.secret_access_key,
            TEMPORARY.session_token.unwrap(),
            TOKEN,
        ];
        assert!(
            !secrets.iter().any(|secret| text.contains(secret)),
            "{text}"
        );
    }
}

fn fields(request: &str) -> Vec<(String, String)> {
    let body = request.split_once("\r\n\r\n").unwrap().1;
    let fields = body.split('&').filter_map(|field| field.split_once('='));
    let fields = fields.map(|(name, value)| (name.to_owned(), decoded(value).into_owned()));
    fields.collect()
}

fn has_header(request: &str, name: &str, value: &str) -> bool {
    let mut fields = request.lines().filter_map(|line| line.split_once(':'));
    fields.any(|(known, found)| known.eq_ignore_ascii_case(name) && found.trim() == value)
}

#[tokio::test]
async fn a_container_gets_its_keys_from_its_agent_with_the_token_of_a_file() {
    let agent = server(|request| {
        let is_right = request.starts_with("GET /v1/credentials HTTP/1.1\r\n")
            && has_header(request, "authorization", TOKEN);
        match is_right {
            true => key_document(),
            false => http_response(401, "", "{}"),
        }
    })
    .await;
    let folder = folder_with_schemas();
    let file = folder.write("token", TOKEN);
    let variables = [
        (
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            format!("http://{}/v1/credentials", agent.address),
        ),
        (
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            file.to_str().unwrap().to_owned(),
        ),
    ];
    let aws = json!({"container": true, "region": "eu-west-1"});
    assert_signs(folder, aws, &variables).await;
    assert_eq!(agent.requests().len(), 1);
}

#[tokio::test]
async fn an_instance_gets_the_keys_of_its_role_with_a_session_token() {
    let metadata = server(|request| {
        let path = "/latest/meta-data/iam/security-credentials/";
        let has_token = has_header(request, "x-aws-ec2-metadata-token", TOKEN);
        if request.starts_with("PUT /latest/api/token HTTP/1.1\r\n")
            && has_header(request, "x-aws-ec2-metadata-token-ttl-seconds", "300")
        {
            return http_response(200, "", TOKEN);
        }
        if has_token && request.starts_with(&format!("GET {path} HTTP/1.1\r\n")) {
            return http_response(200, "", "gateway-role\n");
        }
        if has_token && request.starts_with(&format!("GET {path}gateway-role HTTP/1.1\r\n")) {
            return key_document();
        }
        http_response(401, "", "")
    })
    .await;
    let url = format!("http://{}/", metadata.address);
    let variables = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)];
    let aws = json!({"instance": true, "region": "eu-west-1"});
    assert_signs(folder_with_schemas(), aws, &variables).await;
    assert_eq!(metadata.requests().len(), 3);
}

#[tokio::test]
async fn a_web_identity_is_exchanged_for_the_keys_of_its_role() {
    let sts = server(|_| key_in_xml("AssumeRoleWithWebIdentity")).await;
    let folder = folder_with_schemas();
    folder.write("identity", format!("{TOKEN}\n"));
    let variables = [("AWS_ENDPOINT_URL_STS", format!("http://{}", sts.address))];
    let aws = json!({
        "web_identity": {"role_arn": ROLE, "token_file": "identity", "session_name": "gate-1"},
        "region": "eu-west-1",
    });
    assert_signs(folder, aws, &variables).await;
    let request = sts.requests().pop().unwrap();
    assert!(request.starts_with("POST / HTTP/1.1\r\n"), "{request}");
    let expected = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", ROLE),
        ("RoleSessionName", "gate-1"),
        ("WebIdentityToken", TOKEN),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(fields(&request), expected);
    assert!(
        !request.to_lowercase().contains("\r\nauthorization:"),
        "{request}"
    );
}

#[tokio::test]
async fn a_role_is_assumed_by_a_signed_request_with_its_external_id() {
    let account = AwsAccount {
        service: "sts",
        ..LASTING
    };
    let sts = server(move |request| match account.verify(request.as_bytes()) {
        Ok(()) => key_in_xml("AssumeRole"),
        Err(reason) => http_response(
            403,
            "",
            format!("<Error><Code>Denied</Code><Message>{reason}</Message></Error>"),
        ),
    })
    .await;
    let variables = [("AWS_ENDPOINT_URL_STS", format!("http://{}", sts.address))];
    let aws = json!({
        "access_key_id": LASTING.access_key_id,
        "secret_access_key": LASTING.secret_access_key,
        "assume_role": {"role_arn": ROLE, "external_id": "external canary"},
        "region": "eu-west-1",
    });
    assert_signs(folder_with_schemas(), aws, &variables).await;
    let requests = sts.requests();
    assert_eq!(requests.len(), 1);
    let sent = fields(&requests[0]);
    assert!(
        sent.contains(&("ExternalId".into(), "external canary".into())),
        "{sent:?}"
    );
    assert!(
        sent.contains(&("RoleSessionName".into(), "headgate".into())),
        "{sent:?}"
    );
}

#[tokio::test]
async fn a_profile_has_a_key_in_the_file_that_the_tools_of_aws_share() {
    let folder = folder_with_schemas();
    let (id, secret) = (TEMPORARY.access_key_id, TEMPORARY.secret_access_key);
    let token = TEMPORARY.session_token.unwrap();
    let profiles = format!(
        "[default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = other-canary\n\n[gate]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\naws_session_token = {token}\n"
    );
    let file = folder.write("profiles", profiles);
    let path = file.to_str().unwrap().to_owned();
    let variables = [("AWS_SHARED_CREDENTIALS_FILE", path)];
    let aws = json!({"profile": "gate", "region": "eu-west-1"});
    assert_signs(folder, aws, &variables).await;
}
