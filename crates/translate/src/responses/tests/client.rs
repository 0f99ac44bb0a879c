//! A client of streams that panics where an event contradicts the protocol or an earlier event.

use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(crate) struct ResponsesStreamClient {
    /// Each event as JSON.
    pub events: Vec<Value>,
    /// The response of the last event.
    pub response: Option<Value>,
    items: Vec<Value>,
    done: Vec<bool>,
}

impl ResponsesStreamClient {
    pub(crate) fn names(&self) -> Vec<&str> {
        let names = self
            .events
            .iter()
            .map(|event| event["type"].as_str().unwrap());
        names.collect()
    }

    pub(crate) fn take(&mut self, event: &SseEvent) {
        let data: Value = serde_json::from_slice(event.data()).unwrap();
        let name = data["type"].as_str().unwrap();
        assert_eq!(event.name(), Some(name.as_bytes()));
        assert_eq!(data["sequence_number"], self.events.len());
        assert!(self.response.is_none(), "{name} after the last event");
        let is_first = self.events.is_empty();
        assert_eq!(is_first, name == "response.created");
        self.apply(name, &data);
        self.events.push(data);
    }

    fn apply(&mut self, name: &str, data: &Value) {
        match name {
            "response.created" | "response.in_progress" => {
                assert_eq!(data["response"]["status"], "in_progress");
                assert_eq!(data["response"]["output"], json!([]));
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = data["response"].clone();
                assert_eq!(
                    name,
                    format!("response.{}", response["status"].as_str().unwrap())
                );
                assert_eq!(response["output"], Value::from(self.items.clone()));
                assert!(self.done.iter().all(|done| *done), "an item is not done");
                self.response = Some(response);
            }
            "response.output_item.added" => {
                assert_eq!(data["output_index"], self.items.len());
                self.items.push(data["item"].clone());
                self.done.push(false);
            }
            "response.output_item.done" => self.finish_item(data),
            "response.content_part.added" | "response.reasoning_summary_part.added" => {
                let (list, index) = text_list(name);
                let list = self.item(data)[list].as_array_mut().unwrap();
                assert_eq!(data[index], list.len());
                list.push(data["part"].clone());
            }
            "response.content_part.done" | "response.reasoning_summary_part.done" => {
                let (list, index) = text_list(name);
                let part = &self.item(data)[list][place(&data[index])];
                assert_eq!(*part, data["part"]);
            }
            _ => self.apply_text(name, data),
        }
    }

    /// A piece of a text, or all of it.
    fn apply_text(&mut self, name: &str, data: &Value) {
        let item = self.item(data);
        let content = &data["content_index"];
        let (text, whole) = match name.rsplit_once('.').unwrap().0 {
            "response.output_text" => (&mut item["content"][place(content)]["text"], "text"),
            "response.refusal" => (&mut item["content"][place(content)]["refusal"], "refusal"),
            "response.reasoning_summary_text" => (
                &mut item["summary"][place(&data["summary_index"])]["text"],
                "text",
            ),
            "response.function_call_arguments" => (&mut item["arguments"], "arguments"),
            "response.custom_tool_call_input" => (&mut item["input"], "input"),
            _ => panic!("{name} is unknown"),
        };
        if name.ends_with(".delta") {
            let delta = data["delta"].as_str().unwrap();
            assert!(!delta.is_empty());
            *text = format!("{}{delta}", text.as_str().unwrap()).into();
        } else {
            assert_eq!(*text, data[whole]);
        }
    }

    fn finish_item(&mut self, data: &Value) {
        let position = place(&data["output_index"]);
        assert!(!std::mem::replace(&mut self.done[position], true));
        let mut known = self.items[position].clone();
        for changed in ["status", "encrypted_content"] {
            if let Some(value) = data["item"].get(changed) {
                known[changed] = value.clone();
            }
        }
        assert_eq!(known, data["item"]);
        self.items[position] = known;
    }

    fn item(&mut self, data: &Value) -> &mut Value {
        let position = place(&data["output_index"]);
        assert!(!self.done[position], "more of an item that is done");
        let item = &mut self.items[position];
        assert_eq!(item["id"], data["item_id"]);
        item
    }
}

fn text_list(name: &str) -> (&'static str, &'static str) {
    match name.contains("summary") {
        true => ("summary", "summary_index"),
        false => ("content", "content_index"),
    }
}

fn place(index: &Value) -> usize {
    index.as_u64().unwrap() as usize
}
