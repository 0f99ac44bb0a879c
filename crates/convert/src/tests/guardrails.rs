//! Tests of guardrails of LiteLLM.

use super::litellm;
use serde_json::{Value, json};

fn with(guardrail: Value) -> (String, String, Value) {
    let entry = json!({"model_name": "m", "litellm_params": {"model": "anthropic/a"}});
    let guardrail = json!({"guardrail_name": "guard", "litellm_params": guardrail});
    litellm(entry, json!({"guardrails": [guardrail]}))
}

/// The steps of the route of messages, and those of its responses.
fn steps(parsed: &Value) -> (Vec<Value>, Vec<Value>) {
    let mut routes = parsed["routes"].as_array().unwrap().iter();
    let route = routes.find(|route| route["name"] == "messages").unwrap();
    let [request, response] =
        ["request", "response"].map(|chain| route[chain].as_array().unwrap().clone());
    (request, response)
}

const NAME: &str = "(has(t.name) ? t.name : t.type)";
const NAMED: &str = r#"json("/guardrails") != null && json("/guardrails").exists(g, g == "guard")"#;

#[test]
fn rules_about_tools_are_conditions_of_steps() {
    let rule =
        |name: &str, decision: &str| json!({"id": name, "tool_name": name, "decision": decision});
    for (rules, others, allowed) in [
        (
            json!([rule("Bash", "allow"), rule("Read", "Deny")]),
            "deny",
            format!("{NAME} == \"Bash\""),
        ),
        (
            json!([rule("Read", "deny")]),
            "allow",
            format!("!({NAME} == \"Read\")"),
        ),
        (
            json!([rule("mcp__a", "deny"), rule("mcp__.*", "allow")]),
            "deny",
            format!("(!({NAME} == \"mcp__a\") && {NAME}.matches(\"^(?:mcp__.*)$$\"))"),
        ),
    ] {
        for (mode, default_on) in [("pre_call", true), ("post_call", false)] {
            let mut guardrail = json!({"guardrail": "tool_permission", "mode": mode, "default_on": default_on,
                "rules": rules, "default_action": others, "violation_message_template": "no \"{tool_name}\" here"});
            let (yaml, summary, parsed) = with(guardrail.clone());
            let denied =
                format!("json(\"/tools\") != null && json(\"/tools\").exists(t, !({allowed}))");
            let condition = match default_on {
                true => denied,
                false => format!("{NAMED} && {denied}"),
            };
            let message = format!(
                "\"no \\\"\" + json(\"/tools\").map(t, !({allowed}), {NAME})[0] + \"\\\" here\""
            );
            let step = json!({"if": condition, "reply": {"status": 400, "error": {"message": {"cel": message}}}});
            let (request, _) = steps(&parsed);
            assert!(request.contains(&step), "{step}: {yaml}");
            let removal = json!({"edit_json": {"remove": ["/guardrails"]}});
            assert_eq!(request.contains(&removal), !default_on, "{yaml}");
            assert!(summary.ends_with("(100 %)\n"), "{summary}");
            guardrail["on_disallowed_action"] = json!("rewrite");
            let (yaml, _, parsed) = with(guardrail);
            let kept = json!({"set": {"/tools": {"cel": format!("json(\"/tools\").filter(t, {allowed})")}}});
            let edits = steps(&parsed).0;
            assert!(edits.iter().any(|step| step["edit_json"] == kept), "{yaml}");
        }
    }
}

#[test]
fn a_guardrail_that_is_not_converted_is_a_comment() {
    let rule =
        |rule: Value| json!({"guardrail": "tool_permission", "mode": "pre_call", "rules": [rule]});
    for guardrail in [
        json!({"guardrail": "lakera", "mode": "pre_call"}),
        json!({"guardrail": "generic_guardrail_api", "mode": "pre_call"}),
        json!({"guardrail": "generic_guardrail_api", "mode": "pre_call", "api_base": "ftp://a"}),
        rule(json!({"id": "a", "tool_name": "(?<!a)b", "decision": "allow"})),
        rule(json!({"id": "a", "tool_name": "*a", "decision": "allow"})),
        rule(json!({"id": "a", "tool_name": "a\"b", "decision": "allow"})),
        rule(json!({"id": "a", "tool_type": "function", "decision": "allow"})),
        rule(
            json!({"id": "a", "tool_name": "b", "decision": "allow", "allowed_param_patterns": {"x": "y"}}),
        ),
    ] {
        let (yaml, _, parsed) = with(guardrail);
        assert!(yaml.contains("# no counterpart: guardrails[0]\n"), "{yaml}");
        let (request, _) = steps(&parsed);
        let use_body = json!({"use": "body"});
        assert_eq!(
            request,
            [
                json!("require_version"),
                use_body,
                json!("validate"),
                json!("normalise")
            ],
            "{yaml}"
        );
    }
}

#[test]
fn a_service_is_called_for_the_requests_and_responses_that_it_checks() {
    let service = json!({"url": "http://g.example/beta/litellm_basic_guardrail_api", "timeout": "5s", "headers": {"x-api-key": "${KEY}"}});
    let callout = |texts: &[&str]| {
        json!({"service": "guard", "format": "litellm", "on_failure": "allow_unreachable",
            "send": {"max_bytes": "32MiB", "parameters": {"version": "v1", "x": [1]}}, "allow": {"edit_body": texts}})
    };
    let request = callout(&["/system", "/messages"]);
    let mut response = callout(&["/content"]);
    response["hold"] = json!({});
    let response = json!({"callout": response});
    for (modes, default_on, is_request, is_response) in [
        (json!("pre_call"), true, true, false),
        (json!(["during_call", "post_call"]), true, true, true),
        (json!("post_call"), true, false, true),
        (json!(["pre_call", "post_call"]), false, true, false),
    ] {
        let (yaml, _, parsed) = with(
            json!({"guardrail": "generic_guardrail_api", "mode": modes, "default_on": default_on,
            "api_base": "http://g.example/", "api_key": "os.environ/KEY", "unreachable_fallback": "fail_open",
            "additional_provider_specific_params": {"version": "v1", "x": [1], "nested": {"api_key": "sk-canary"}}}),
        );
        assert_eq!(parsed["services"]["guard"], service, "{yaml}");
        let (requests, responses) = steps(&parsed);
        let step = match default_on {
            true => json!({"callout": request}),
            false => json!({"if": NAMED, "callout": request}),
        };
        assert_eq!(requests.contains(&step), is_request, "{yaml}");
        assert_eq!(responses.contains(&response), is_response, "{yaml}");
        let mode = "no counterpart: guardrails[0].litellm_params.mode";
        let is_remarked = yaml.contains(mode);
        assert_eq!(is_remarked, !default_on, "{yaml}");
        let kind = "no counterpart: guardrails[0].litellm_params.guardrail\n";
        assert!(!yaml.contains(kind), "{yaml}");
        let secret = "no counterpart: guardrails[0].litellm_params.additional_provider_specific_params.nested\n";
        assert!(
            yaml.contains(secret) && !yaml.contains("sk-canary"),
            "{yaml}"
        );
    }
}

#[test]
fn failures_of_a_service_do_what_they_did() {
    for (settings, on_failure) in [
        (json!({}), "deny"),
        (json!({"unreachable_fallback": "fail_closed"}), "deny"),
        (
            json!({"unreachable_fallback": "fail_open"}),
            "allow_unreachable",
        ),
        (json!({"fail_on_error": false}), "allow"),
    ] {
        let mut guardrail = json!({"guardrail": "generic_guardrail_api", "mode": "pre_call", "default_on": true,
            "api_base": "http://g.example/"});
        let members = settings.as_object().unwrap().clone();
        guardrail.as_object_mut().unwrap().extend(members);
        let (yaml, summary, parsed) = with(guardrail);
        let (requests, _) = steps(&parsed);
        let mut callouts = requests.iter().filter(|step| step["callout"].is_object());
        assert_eq!(
            callouts.next().unwrap()["callout"]["on_failure"],
            on_failure,
            "{yaml}"
        );
        assert!(summary.ends_with("(100 %)\n"), "{summary}");
    }
}

#[test]
fn headers_and_the_timeout_of_a_service_are_converted() {
    let guardrail = json!({"guardrail": "generic_guardrail_api", "mode": "pre_call", "default_on": true,
        "api_base": "http://g.example/", "api_key": "sk-canary", "timeout": 1.5,
        "headers": {"X-Tenant": "blue", "X-Auth-Token": "token-canary", "authorization": "os.environ/GUARD"},
        "extra_headers": ["X-Request-Source", "cookie"]});
    let (yaml, _, parsed) = with(guardrail);
    let service = json!({"url": "http://g.example/beta/litellm_basic_guardrail_api", "timeout": "1500ms", "headers": {
        "x-api-key": "${GUARD_API_KEY}", "x-tenant": "blue", "x-auth-token": "${GUARD_X_AUTH_TOKEN}", "authorization": "${GUARD}",
    }});
    assert_eq!(parsed["services"]["guard"], service, "{yaml}");
    let (requests, _) = steps(&parsed);
    let mut callouts = requests
        .iter()
        .map(|step| &step["callout"]["send"]["headers"]);
    let shown = json!(["x-request-source"]);
    assert!(callouts.any(|headers| *headers == shown), "{yaml}");
    let cookie = "no counterpart: guardrails[0].litellm_params.extra_headers[1]\n";
    assert!(yaml.contains(cookie) && !yaml.contains("canary"), "{yaml}");
}
