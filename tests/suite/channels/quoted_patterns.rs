//! Tests that no message pattern of the error-class table steers the gateway when a caller has its text quoted.
//!
//! `QUOTED_PATTERN_REQUESTS=1000` runs them at full size, with so many requests for each pattern and shape; they print
//! their measurements.

use super::confirmations::{chat, chat_response, cool_downs, findings, start};
use crate::harness::http_response::json_response;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, eventually};
use headgate_protocol::error_class::{
    ErrorClassification, ErrorEvidence, ErrorSubject, classify_response,
};
use serde_json::{Value, json};
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../../crates/protocol/src/error_class/providers.txt");
/// What a provider says about a parameter, with the caller's text in it.
const SENTENCES: [&str; 4] = [
    "Invalid value: '{}'. It is too long.",
    "'{}' is not a valid user",
    "user: {}",
    "Input should be an id, got \"{}\"",
];
/// What a provider says if its message is the caller's text.
const EXACT: &str = "{}";
/// Connections of the caller who has texts quoted.
const CONNECTIONS: usize = 4;

/// An error that a provider gives to a parameter, in the form of a row of the table.
struct QuotingError {
    /// The text that the caller sends, which is the message of the row.
    text: String,
    sentence: &'static str,
    status: u16,
    /// The member that has the message.
    place: &'static str,
    code: &'static str,
}

/// For each row with a message, an error that quotes it within a sentence, and one that is the text.
static ERRORS: LazyLock<Vec<QuotingError>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter(|line| !line.starts_with(['#', '[']));
    let errors = rows.enumerate().filter_map(|(number, row)| {
        let columns: [&str; 4] = row.split(" | ").collect::<Vec<_>>().try_into().ok()?;
        let sentence = SENTENCES[number % SENTENCES.len()];
        (columns[3] != "-").then(|| [sentence, EXACT].map(|one| QuotingError::new(columns, one)))
    });
    errors.flatten().collect()
});

impl QuotingError {
    /// An error with the status and a code of the row, unless these alone say what the row says: no provider sends them
    /// because of a parameter.
    fn new([_, status, codes, message]: [&'static str; 4], sentence: &'static str) -> Self {
        let (place, pattern) = message.split_once(": ").unwrap();
        let text = pattern.trim_end_matches('$').replace('*', "x");
        let lowest = match status {
            "-" => 400,
            _ => status.split('-').next().unwrap().parse().unwrap(),
        };
        let of_row = codes.split(", ").map(|code| (lowest, code));
        let candidates = of_row.chain([(lowest, "-"), (400, "-")]);
        let errors = candidates.map(|(status, code)| Self {
            text: text.clone(),
            sentence,
            status,
            place,
            code: code.trim_end_matches('$'),
        });
        let mut harmless: Vec<Self> = errors.filter(Self::is_harmless_without_text).collect();
        let steering = harmless
            .iter()
            .position(|error| error.classification(&error.text).evidence == ErrorEvidence::Text);
        harmless.swap_remove(steering.unwrap_or(0))
    }

    fn is_harmless_without_text(&self) -> bool {
        let without = self.classification("Bad request");
        without.class.is_callers() || without.evidence == ErrorEvidence::Status
    }

    fn classification(&self, parameter: &str) -> ErrorClassification {
        let body = self.body(parameter).to_string();
        classify_response(self.status, body.as_bytes(), ErrorSubject::Model)
    }

    fn body(&self, parameter: &str) -> Value {
        let message = self.sentence.replace("{}", parameter);
        let code = match self.code {
            "-" => "invalid_request_error",
            code => code,
        };
        match self.place {
            "error.message" => json!({"error": {"message": message, "type": code, "code": code}}),
            place => json!({place: message, "type": code, "code": code}),
        }
    }
}

/// Responds with the error whose number is the caller's `seed`, quoting its `user`; without a `user`, with a success.
fn quoting(request: &str) -> Vec<u8> {
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let Some(text) = body["user"].as_str() else {
        return json_response(200, chat_response());
    };
    let error = &ERRORS[usize::try_from(body["seed"].as_u64().unwrap()).unwrap()];
    json_response(error.status, error.body(text))
}

/// Sends a request `count` times, over several connections at once.
async fn send_repeatedly(gateway: &Gateway, request: &Request, count: usize) {
    let share = |nth| count / CONNECTIONS + usize::from(nth < count % CONNECTIONS);
    let send = async |count| {
        let mut connection = gateway.connect().await;
        for _ in 0..count {
            let answer = connection.ask(request).await;
            assert!(answer.status >= 400, "{}", answer.text());
        }
    };
    tokio::join!(
        send(share(0)),
        send(share(1)),
        send(share(2)),
        send(share(3))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quoted_pattern_of_the_table_cools_nothing_down_and_affects_no_other_caller() {
    let count: usize =
        std::env::var("QUOTED_PATTERN_REQUESTS").map_or(8, |text| text.parse().expect("a number"));
    let (gateway, _provider) = start(quoting, |_| {}).await;
    assert_eq!(gateway.ask(&chat(BOB, None, "Hello")).await.status, 200);
    for (number, error) in ERRORS.iter().enumerate() {
        let number = u16::try_from(number).unwrap();
        let request = chat(ANN, Some((number, &error.text)), "Hello");
        send_repeatedly(&gateway, &request, count).await;
        let found = findings(&gateway).await;
        assert_eq!(
            found,
            [] as [Value; 0],
            "{} {}",
            error.status,
            error.body(&error.text)
        );
        let other = gateway.ask(&chat(BOB, None, "Hello")).await;
        assert_eq!(other.status, 200, "{}: {}", error.text, other.text());
    }
    let sent = ERRORS.len() * count;
    let all = sent + ERRORS.len() + 1;
    let log = eventually("all lines of the access log", async || {
        Some(gateway.log()).filter(|log| log.len() == all)
    })
    .await;
    let lines_of = |caller: &'static str| log.iter().filter(move |line| line["caller"] == caller);
    let attempts = lines_of("ann")
        .map(|line| line["attempts"].as_u64().unwrap())
        .max();
    assert_eq!((cool_downs(&gateway).await, attempts), (0.0, Some(2)));
    for line in lines_of("bob") {
        let seen = (&line["channel"], &line["attempts"]);
        assert_eq!(seen, (&json!("one"), &json!(1)), "{line}");
    }
    println!(
        "{} patterns, quoted by {sent} requests: no cool-down, no finding, at most 2 attempts, {} requests of another caller served",
        ERRORS.len() / 2,
        lines_of("bob").count()
    );
}

#[test]
fn each_pattern_is_quoted_within_a_sentence_and_alone() {
    let is_text = |error: &&QuotingError| {
        let classification = error.classification(&error.text);
        classification.evidence == ErrorEvidence::Text && !classification.class.is_callers()
    };
    let (alone, within): (Vec<_>, Vec<_>) = ERRORS.iter().partition(|one| one.sentence == EXACT);
    assert_eq!(
        (
            within.iter().filter(|one| is_text(one)).count(),
            alone.len()
        ),
        (0, within.len())
    );
    // The others are the caller's errors, or have a status that no parameter causes.
    let steering = alone.iter().filter(|one| is_text(one)).count();
    println!(
        "{steering} of {} patterns have a class of their channel",
        alone.len()
    );
    assert!(
        alone.len() >= 60 && steering >= 35,
        "{steering} of {}",
        alone.len()
    );
}
