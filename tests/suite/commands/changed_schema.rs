//! A pair of configurations whose schemas differ.

use super::changed_pair::{ChangedPair, chat};
use serde_json::{Value, json};

#[tokio::test]
async fn a_changed_schema_is_printed_and_refuses_what_it_refuses() {
    let pair = ChangedPair::new(|_, _| {}, |_, _| {}).await;
    let schemas = pair.new.path().join("schemas");
    let shipped = std::fs::read_to_string(schemas.join("chat.schema.json")).unwrap();
    let texts = ["messages", "responses", "count_tokens"].map(|name| {
        let file = format!("{name}.schema.json");
        (std::fs::read_to_string(schemas.join(&file)).unwrap(), file)
    });
    std::fs::remove_file(&schemas).unwrap();
    std::fs::create_dir(&schemas).unwrap();
    for (text, file) in texts {
        std::fs::write(schemas.join(file), text).unwrap();
    }
    let mut schema: Value = serde_json::from_str(&shipped).unwrap();
    schema["properties"]["temperature"]["maximum"] = 1.into();
    std::fs::write(schemas.join("chat.schema.json"), schema.to_string()).unwrap();
    let body = json!({
        "model": "demo-large",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 1.5
    });
    let sample = chat(&body);
    let printed = pair.diff(std::slice::from_ref(&sample));
    assert_eq!(printed.code, 1, "{}", printed.stderr);
    for line in [
        "schemas/chat.schema.json: properties.temperature.maximum: 2 → 1",
        "→ refused with 400 invalid_value: ",
    ] {
        assert!(
            printed.stdout.contains(line),
            "{line} in:\n{}",
            printed.stdout
        );
    }
    let old = pair.observe(&pair.old, &sample).await;
    let new = pair.observe(&pair.new, &sample).await;
    assert_eq!((old.status, new.status), (200, 400));
}
