//! Tests of thirty mistakes of application developers: each error says what is wrong, where, and what to do.

use super::demo::Demo;
use crate::harness::Request;
use crate::harness::connection::Connection;

/// A request with a mistake, the status of the response, and what its message must say.
type Mistake = (Request, u16, &'static [&'static str]);

const CHAT: &str = "/v1/chat/completions";
const VIDEO: &str = "/v1/video/generations";
const EDITS: &str = "/v1/images/edits";

fn post(path: &str, body: &str) -> Request {
    Request::post(path, body).key("sk-demo")
}

/// A chat request with these members besides `model`.
fn chat(members: &str) -> Request {
    post(CHAT, &format!(r#"{{"model": "demo-chat", {members}}}"#))
}

/// A chat request that is right but for these members.
fn chat_with(members: &str) -> Request {
    let messages = r#""messages": [{"role": "user", "content": "hi"}]"#;
    chat(&format!("{messages}, {members}"))
}

fn video(members: &str) -> Request {
    let body = format!(r#"{{"model": "demo-video-a", "prompt": "x", {members}}}"#);
    post(VIDEO, &body)
}

fn mistakes_of_address() -> Vec<Mistake> {
    let good = r#"{"model": "demo-chat", "messages": [{"role": "user", "content": "hi"}]}"#;
    let keyless = || post(CHAT, good).without("authorization");
    let get = |path| Request::get(path).key("sk-demo");
    vec![
        (
            post(CHAT, good).key("sk-wrong"),
            401,
            &["Incorrect API key provided", "check it"],
        ),
        (
            keyless(),
            401,
            &["no API key provided", "send `authorization: Bearer <key>`"],
        ),
        (
            keyless().header("api-key", "sk-demo"),
            401,
            &["header `api-key`", "send `authorization: Bearer"],
        ),
        (
            post("/v1/v1/chat/completions", good),
            404,
            &[
                "unknown path `/v1/v1/chat/completions`",
                "did you mean `POST /v1/chat/completions`?",
            ],
        ),
        (
            post("/chat/completions", good),
            404,
            &[
                "unknown path `/chat/completions`",
                "did you mean `POST /v1/chat/completions`?",
            ],
        ),
        (
            post("/v1/embeddings", good),
            404,
            &[
                "unknown path `/v1/embeddings`",
                "this gateway serves POST /v1/chat/completions, POST /v1/messages",
                "base URL that ends in `/v1`",
            ],
        ),
        (
            post("/v1/images/generations", good),
            404,
            &[
                "unknown path `/v1/images/generations`",
                "did you mean `POST /v1/images/edits`?",
            ],
        ),
        (
            get("/v1/messages"),
            405,
            &["GET is not allowed on this path", "use POST"],
        ),
        (
            get("/v1/video/generations?status=done"),
            404,
            &[
                "lists of tasks are not offered",
                "query each task by its id",
            ],
        ),
        (
            get("/v1/video/generations/task_nope"),
            404,
            &["no task with this id", "check the id"],
        ),
    ]
}

fn mistakes_of_text() -> Vec<Mistake> {
    let model = |name| post(CHAT, &format!(r#"{{"model": "{name}", "messages": []}}"#));
    vec![
        (
            model("gpt-4o"),
            404,
            &[
                "model `gpt-4o` does not exist",
                "this path serves models `demo-chat`, `demo-small`",
            ],
        ),
        (
            model("demo-chta"),
            404,
            &[
                "model `demo-chta` does not exist",
                "did you mean `demo-chat`?",
            ],
        ),
        (
            model("demo-video-a"),
            404,
            &[
                "does not support chat requests",
                "use POST /v1/video/generations",
                "this path serves models `demo-chat`",
            ],
        ),
        (
            post(CHAT, "[1]"),
            400,
            &["the body must be a JSON object, received an array"],
        ),
        (
            post(CHAT, "{}"),
            400,
            &["missing required fields `model` (a string), `messages` (an array)"],
        ),
        (
            post(CHAT, r#"{"model": "demo-chat"}"#),
            400,
            &["missing required field `messages` (an array)"],
        ),
        (
            chat(r#""messages": "hi""#),
            400,
            &["`messages` must be an array, received a string"],
        ),
        (
            chat(r#""messages": []"#),
            400,
            &["`messages` must not be empty"],
        ),
        (
            chat(r#""messages": [{"role": "usr", "content": "hi"}]"#),
            400,
            &[
                "`messages[0].role` must be one of \"developer\", ",
                "received another string",
                "did you mean \"user\"?",
            ],
        ),
        (
            chat_with(r#""temperature": "hot""#),
            400,
            &["`temperature` must be a number, received a string"],
        ),
        (
            chat_with(r#""temperature": 3"#),
            400,
            &["`temperature` must be at most 2, received a larger number"],
        ),
        (
            chat_with(r#""stream_options": {}"#),
            400,
            &[
                "`stream_options` requires `stream: true`",
                "add it, or remove",
            ],
        ),
    ]
}

fn mistakes_of_media() -> Vec<Mistake> {
    let edit = |members: &str| post(EDITS, &format!(r#"{{"prompt": "x", {members}}}"#));
    vec![
        (
            video(r#""image_url": "https://x.example/a.png""#),
            400,
            &[
                "unknown field `image_url`",
                "`[{\"type\": \"image\", \"url\": …}]`",
                "the fields are `model`, `medias`, ",
            ],
        ),
        (
            video(r#""size": "1280x720""#),
            400,
            &[
                "unknown field `size`",
                "did you mean `resolution`?",
                "the fields are `model`, ",
            ],
        ),
        (
            video(r#""duration": "5s""#),
            400,
            &[
                "`duration` must be an integer number of seconds",
                "received a string",
            ],
        ),
        (
            video(r#""duration": 60"#),
            400,
            &[
                "`duration` must be 4 to 15 seconds",
                "received a larger number",
            ],
        ),
        (
            video(r#""medias": [{"type": "image"}]"#),
            400,
            &["missing required field `medias[0].url` (a string)"],
        ),
        (
            post(VIDEO, r#"{"model": "demo-video-a"}"#),
            400,
            &["send `prompt`, `medias`, or both"],
        ),
        (
            edit(r#""model": "demo-chat""#),
            404,
            &[
                "does not support image_edit requests",
                "use POST /v1/chat/completions",
                "this path serves model `demo-image`",
            ],
        ),
        (
            edit(r#""model": "demo-image", "image": "https://x.example/a.png""#),
            400,
            &["missing required field `images`", "instead of `image`"],
        ),
    ]
}

#[tokio::test]
async fn each_of_thirty_mistakes_is_answered_with_what_is_wrong_where_and_the_next_step() {
    let demo = Demo::start().await;
    let mistakes: Vec<Mistake> = [
        mistakes_of_address(),
        mistakes_of_text(),
        mistakes_of_media(),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert_eq!(mistakes.len(), 30);
    for (request, status, parts) in mistakes {
        let response = Connection::to(demo.gateway).await.ask(&request).await;
        let shown = format!("{} {}", request.method, request.target);
        assert_eq!(response.status, status, "{shown}: {}", response.text());
        let body = response.json();
        let message = body["error"]["message"].as_str().unwrap();
        for part in parts {
            assert!(message.contains(part), "{shown}: {part} in {message}");
        }
    }
}
