//! Lists of thoughts in `reasoning_details`, whose proofs must go back.

use crate::chat::{ChatStreamReader, read_response};
use crate::responses::tests::parse;
use crate::superset::{OutputPart, StreamPiece};
use serde_json::{Value, json};

/// The thoughts of a stream of these lists, each with its proof; a text is one of the answer.
fn streamed(deltas: &[Value]) -> Vec<(String, Value)> {
    let mut reader = ChatStreamReader::default();
    let mut thoughts: Vec<(u32, String, Value)> = Vec::new();
    let take = |pieces: Vec<StreamPiece<'_>>, thoughts: &mut Vec<(u32, String, Value)>| {
        for piece in pieces {
            match piece {
                StreamPiece::Thinking { part, text } => match thoughts.last_mut() {
                    Some((open, known, _)) if *open == part => known.push_str(&text.decoded()),
                    _ => thoughts.push((part, text.decoded().into(), Value::Null)),
                },
                StreamPiece::Signature { part, signature } => {
                    let known = thoughts.iter_mut().find(|(open, ..)| *open == part);
                    let (_, _, proof) = known.expect("thoughts before their proof");
                    assert!(proof.is_null(), "one proof for each");
                    *proof = serde_json::from_str(&signature.decoded()).unwrap();
                }
                _ => {}
            }
        }
    };
    for delta in deltas {
        let delta = match delta.as_str() {
            Some(text) => json!({"content": text}),
            None => json!({"reasoning_details": [delta]}),
        };
        let document = parse(&json!({"choices": [{"index": 0, "delta": delta}]}));
        let mut pieces = Vec::new();
        reader.read(document.root(), &mut pieces).unwrap();
        take(pieces, &mut thoughts);
    }
    let end = parse(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    let mut pieces = Vec::new();
    reader.read(end.root(), &mut pieces).unwrap();
    take(pieces, &mut thoughts);
    let thoughts = thoughts.into_iter();
    thoughts.map(|(_, text, proof)| (text, proof)).collect()
}

#[test]
fn a_signature_belongs_to_its_thoughts_wherever_it_comes() {
    let signed = json!({"type": "reasoning.text", "signature": "s", "index": 0});
    let mut without_index = signed.clone();
    without_index.as_object_mut().unwrap().remove("index");
    let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0});
    let named = json!({"type": "reasoning.text", "id": "r", "text": "a", "index": 0});
    let summary = json!({"type": "reasoning.summary", "summary": "b", "format": "f", "index": 1});
    let kept = json!({"type": "reasoning.summary", "format": "f", "index": 1});
    for (deltas, expected) in [
        (
            vec![named.clone(), text("b"), signed.clone()],
            vec![("ab", signed.clone())],
        ),
        (
            vec![named],
            vec![(
                "a",
                json!({"type": "reasoning.text", "id": "r", "index": 0}),
            )],
        ),
        (
            vec![text("a"), without_index.clone()],
            vec![("a", without_index)],
        ),
        (vec![signed.clone()], vec![("", signed.clone())]),
        (
            vec![text("a"), json!("answer"), signed.clone()],
            vec![("a", Value::Null), ("", signed.clone())],
        ),
        (
            vec![text("a"), signed.clone(), summary],
            vec![("a", signed), ("b", kept)],
        ),
    ] {
        let expected: Vec<(String, Value)> = expected
            .into_iter()
            .map(|(text, proof)| (text.to_owned(), proof))
            .collect();
        assert_eq!(streamed(&deltas), expected, "{deltas:?}");
    }
}

#[test]
fn thoughts_that_are_not_shown_keep_their_signature() {
    let signed = json!({"type": "reasoning.text", "text": "", "signature": "s"});
    let whole = parse(&json!({"choices": [{"finish_reason": "stop",
        "message": {"content": "a", "reasoning_details": [signed]}}]}));
    let response = read_response(whole.root()).unwrap();
    let OutputPart::Thinking { text, signature } = &response.parts[0] else {
        panic!("{:?}", response.parts)
    };
    assert!(text.is_empty());
    assert_eq!(
        signature.as_ref().unwrap().decoded(),
        r#"{"signature":"s","type":"reasoning.text"}"#
    );
}
