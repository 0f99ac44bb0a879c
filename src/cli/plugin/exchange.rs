//! One exchange of a test case, on the host that the gateway uses.

use super::case_file::PluginTestCase;
use super::case_message::{CaseBodyDelivery, CaseInputMessage};
use super::host_services::CaseHostServices;
use super::outcome::{CaseOutcome, CaseRunEnd, PluginOutputMessage};
use super::rules::CaseMessageRules;
use bytes::Bytes;
use headgate_wasm::{
    LentExchange, Plugin, PluginBodyAction, PluginFailure, PluginGrants, PluginLimits,
    PluginLogLevel, PluginModule, PluginReply, PluginRequestHead, PluginSettings, PluginStartError,
    PluginStream, PluginStreamAction,
};
use std::sync::Arc;
use std::time::Duration;

/// How long a case waits for a plugin that paused it. In a case nothing takes time but the plugin itself.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a case waits, at its end, for the calls that the plugin made.
const CALLS: Duration = Duration::from_secs(1);

/// Why an exchange ended before its end.
enum ExchangeEnd {
    Reply(Box<PluginReply>),
    Close,
    Failure(PluginFailure),
    /// A change that a route refuses.
    Refused(String),
}

/// Starts the plugin and runs the exchange of the case.
pub async fn run(
    module: &PluginModule,
    case: &PluginTestCase,
    configuration: Bytes,
    rules: &CaseMessageRules,
    environment: &Arc<CaseHostServices>,
) -> CaseOutcome {
    let mut outcome = CaseOutcome::default();
    let settings = PluginSettings {
        configuration,
        log_level: PluginLogLevel::Trace,
        instances: 1,
        limits: PluginLimits {
            pause: PAUSE,
            ..PluginLimits::default()
        },
        grants: PluginGrants {
            http_call: case.calls.iter().map(|call| call.channel.clone()).collect(),
            shared_data: true,
            ..PluginGrants::default()
        },
        ..PluginSettings::named("tested")
    };
    match Plugin::start(module, settings, Arc::clone(environment) as Arc<_>).await {
        Ok(plugin) if case.exchange => complete(&plugin, case, rules, &mut outcome).await,
        Ok(plugin) => {
            wait_for_start(&plugin, environment).await;
            note_traps(&plugin, &mut outcome);
        }
        Err(error @ PluginStartError::ConfigurationRefused) => {
            outcome.end = CaseRunEnd::Refused(error.to_string());
        }
        Err(PluginStartError::Call(failure)) => outcome.end = failed(&failure),
        Err(error) => outcome.end = CaseRunEnd::Failure(error.to_string()),
    }
    outcome.calls = environment.take_calls();
    outcome.log = environment.log_lines();
    outcome
}

/// Runs the exchange to its end, whatever the plugin does.
async fn complete(
    plugin: &Plugin,
    case: &PluginTestCase,
    rules: &CaseMessageRules,
    outcome: &mut CaseOutcome,
) {
    let mut stream = match plugin.open_stream().await {
        Ok(stream) => stream,
        Err(failure) => {
            outcome.end = failed(&failure);
            return;
        }
    };
    let mut exchange = LentExchange {
        request: rules.visible_request(&request_head(&case.request)),
        properties: Some(Arc::new(case.properties.clone())),
        ..LentExchange::default()
    };
    match exchange_messages(&mut stream, &mut exchange, case, rules, outcome).await {
        Ok(()) => {}
        Err(ExchangeEnd::Reply(reply)) => outcome.reply = Some(PluginOutputMessage::from(*reply)),
        Err(ExchangeEnd::Close) => {
            outcome.end = CaseRunEnd::Failure("the plugin closed the exchange".to_owned());
        }
        Err(ExchangeEnd::Failure(failure)) => outcome.end = failed(&failure),
        Err(ExchangeEnd::Refused(reason)) => outcome.end = CaseRunEnd::Failure(reason),
    }
    wait_for_calls(plugin).await;
    let finished = stream.finish(&mut exchange).await;
    if let (CaseRunEnd::Completed, Err(failure)) = (&outcome.end, finished) {
        outcome.end = failed(&failure);
    }
    wait_for_calls(plugin).await;
    note_traps(plugin, outcome);
}

/// Notes a trap in a callback beside the exchange, such as that for the response to a call.
fn note_traps(plugin: &Plugin, outcome: &mut CaseOutcome) {
    if plugin.status().traps > 0 && !matches!(outcome.end, CaseRunEnd::Trap(_)) {
        let reason = "a trap in a callback beside those of the exchange".to_owned();
        outcome.end = CaseRunEnd::Trap(reason);
    }
}

/// Passes the messages of the case to the plugin. The outcome has the messages that were passed on as a whole.
async fn exchange_messages(
    stream: &mut PluginStream,
    exchange: &mut LentExchange,
    case: &PluginTestCase,
    rules: &CaseMessageRules,
    outcome: &mut CaseOutcome,
) -> Result<(), ExchangeEnd> {
    let has_no_body = case.request.body == CaseBodyDelivery::None;
    check_head(stream.on_request_headers(exchange, has_no_body).await?)?;
    let mut body = Vec::new();
    if let CaseBodyDelivery::Pieces(pieces) = rules.visible_body(&case.request, false) {
        for (number, piece) in pieces.iter().enumerate() {
            let is_last = number + 1 == pieces.len();
            let step = stream.on_request_body(exchange, piece.clone(), is_last);
            pass_on(step.await?, &mut body)?;
        }
    }
    let (given, left) = (request_head(&case.request), &exchange.request);
    let bodies = (&case.request.whole_body(), &body.into());
    let sent = rules.sent_request(&given, left, bodies);
    let sent = sent.map_err(ExchangeEnd::Refused)?;
    outcome.request = Some(received_request(&sent, bodies.1.to_vec()));
    match &case.response {
        Some(response) => respond(stream, exchange, response, rules, outcome).await,
        None => Ok(()),
    }
}

/// Passes the response of the case to the plugin.
async fn respond(
    stream: &mut PluginStream,
    exchange: &mut LentExchange,
    response: &CaseInputMessage,
    rules: &CaseMessageRules,
    outcome: &mut CaseOutcome,
) -> Result<(), ExchangeEnd> {
    let given = rules.visible_response(response);
    exchange.response = Some(given.clone());
    let arriving = rules.visible_body(response, true);
    let has_no_body = arriving == CaseBodyDelivery::None;
    check_head(stream.on_response_headers(exchange, has_no_body).await?)?;
    let sent_head = exchange.response.clone().unwrap_or_default();
    let mut body = Vec::new();
    match &arriving {
        _ if !rules.shows_body(&response.headers.plain) => {
            body.extend_from_slice(&response.whole_body());
        }
        CaseBodyDelivery::None => {}
        CaseBodyDelivery::Pieces(pieces) => {
            for (number, piece) in pieces.iter().enumerate() {
                let is_last = number + 1 == pieces.len();
                let step = stream.on_response_body(exchange, piece.clone(), is_last);
                pass_on(step.await?, &mut body)?;
            }
        }
        CaseBodyDelivery::Events(events) => {
            for event in events {
                let step = stream.on_response_event(exchange, event.clone());
                pass_on(step.await?, &mut body)?;
            }
            let step = stream.on_response_body(exchange, Bytes::new(), true);
            pass_on(step.await?, &mut body)?;
        }
    }
    let body = Bytes::from(body);
    let sent = match response.body {
        // The head of a stream is sent before its first event.
        CaseBodyDelivery::Events(_) => rules.sent_response(&given, &sent_head, None),
        _ => {
            let left = exchange.response.clone().unwrap_or_default();
            rules.sent_response(&given, &left, Some(&body))
        }
    };
    outcome.response = Some(PluginOutputMessage {
        pseudo: vec![(":status", sent.status.as_str().to_owned())],
        headers: sent.headers,
        body: body.into(),
    });
    Ok(())
}

fn check_head(step: PluginStreamAction) -> Result<(), ExchangeEnd> {
    match step {
        PluginStreamAction::Continue | PluginStreamAction::Hold => Ok(()),
        PluginStreamAction::Reply(reply) => Err(ExchangeEnd::Reply(Box::new(reply))),
        PluginStreamAction::Close => Err(ExchangeEnd::Close),
    }
}

fn pass_on(step: PluginBodyAction, body: &mut Vec<u8>) -> Result<(), ExchangeEnd> {
    match step {
        PluginBodyAction::Continue(bytes) => body.extend_from_slice(&bytes),
        PluginBodyAction::Hold => {}
        PluginBodyAction::Reply(reply) => return Err(ExchangeEnd::Reply(Box::new(reply))),
        PluginBodyAction::Close => return Err(ExchangeEnd::Close),
    }
    Ok(())
}

/// Waits until the plugin has made the calls that the case has responses for, for example by its timer.
async fn wait_for_start(plugin: &Plugin, environment: &CaseHostServices) {
    let waiting = async {
        while environment.awaits_calls() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    // A call that is not made is a difference that is reported.
    let _ = tokio::time::timeout(CALLS, waiting).await;
    wait_for_calls(plugin).await;
}

/// Waits until the plugin has the responses to its calls.
async fn wait_for_calls(plugin: &Plugin) {
    let waiting = async {
        while plugin.status().http_calls > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The response is delivered right after the call is no longer counted.
        tokio::task::yield_now().await;
    };
    // A call that takes longer is compared as it is.
    let _ = tokio::time::timeout(CALLS, waiting).await;
}

fn request_head(request: &CaseInputMessage) -> PluginRequestHead {
    PluginRequestHead {
        method: request.method(),
        scheme: request.pseudo(":scheme", "http"),
        authority: request.pseudo(":authority", "localhost"),
        path: request.pseudo(":path", "/"),
        headers: request.headers.plain.clone(),
    }
}

fn received_request(head: &PluginRequestHead, body: Vec<u8>) -> PluginOutputMessage {
    PluginOutputMessage {
        pseudo: vec![
            (":method", head.method.to_string()),
            (":scheme", head.scheme.clone()),
            (":authority", head.authority.clone()),
            (":path", head.path.clone()),
        ],
        headers: head.headers.clone(),
        body,
    }
}

fn failed(failure: &PluginFailure) -> CaseRunEnd {
    let reason = failure.to_string();
    match failure {
        PluginFailure::Trap { .. } | PluginFailure::Time { .. } => CaseRunEnd::Trap(reason),
        _ => CaseRunEnd::Failure(reason),
    }
}

impl From<PluginFailure> for ExchangeEnd {
    fn from(failure: PluginFailure) -> Self {
        Self::Failure(failure)
    }
}
