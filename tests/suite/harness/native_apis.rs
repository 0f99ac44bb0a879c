//! The vendors' own APIs as one gateway serves them, each below a path of its own and with a create that the vendor takes.

use super::config::{self, caller};
use super::request::{ANN, BOB};
use super::vendors::{Vendor, vendors};
use super::video::{GENERIC, OPENAI};
use super::{Request, Simulator, WholeResponse};
use serde_json::{Value, json};

/// The URL of the gateway in responses: that of the caller's requests.
pub const GATEWAY: &str = "http://gate.test";

/// A vendor's own API.
pub struct NativeApi {
    pub family: &'static str,
    /// The model as callers name it; some vendors have two segments.
    pub model: String,
    pub create: &'static str,
    /// `MODEL` is the model, where the body names it.
    pub body: Value,
    /// The query first.
    pub tasks: &'static [&'static str],
    /// Where the response to a create has the task id.
    pub id_at: &'static str,
    /// Where a status has its word, and the word of a success.
    pub state: (&'static str, Value),
    /// Where the result has the URL of the video.
    pub video_at: &'static str,
}

pub fn native_apis() -> Vec<NativeApi> {
    let api = |family, model: &str, create, body, tasks, id_at, state, video_at| NativeApi {
        family,
        model: model.replace("video", family),
        create,
        body,
        tasks,
        id_at,
        state,
        video_at,
    };
    vec![
        api(
            "runway",
            "own-video",
            "POST /v1/text_to_video",
            json!({"model": "MODEL", "promptText": "a gate", "ratio": "1280:720", "duration": 5}),
            &["GET /v1/tasks/{id}", "DELETE /v1/tasks/{id}"],
            "/id",
            ("/status", json!("SUCCEEDED")),
            "/output/0",
        ),
        api(
            "replicate",
            "own/video",
            "POST /models/{+model}/predictions",
            json!({"input": {"prompt": "a gate"}}),
            &[
                "GET /predictions/{id}",
                "POST /predictions/{id}/cancel",
                "GET /predictions/{id}/output",
            ],
            "/id",
            ("/status", json!("succeeded")),
            "/output",
        ),
        api(
            "fal",
            "own/video",
            "POST /{+model}",
            json!({"prompt": "a gate"}),
            &[
                "GET /{+model}/requests/{id}/status",
                "PUT /{+model}/requests/{id}/cancel",
                "GET /{+model}/requests/{id}",
            ],
            "/request_id",
            ("/status", json!("COMPLETED")),
            "/video/url",
        ),
        api(
            "luma",
            "own-video",
            "POST /generations/video",
            json!({"model": "MODEL", "prompt": "a gate", "generation_type": "video"}),
            &["GET /generations/{id}"],
            "/id",
            ("/state", json!("completed")),
            "/assets/video",
        ),
        api(
            "veo",
            "own-video",
            "POST /models/{model}:predictLongRunning",
            json!({"instances": [{"prompt": "a gate"}], "parameters": {"durationSeconds": 8}}),
            &[
                "GET /models/{model}/operations/{id}",
                "POST /models/{model}/operations/{id}:cancel",
                "GET /files/{id}:download",
            ],
            "/name",
            ("/done", json!(true)),
            "/response/generateVideoResponse/generatedSamples/0/video/uri",
        ),
        api(
            "gemini-omni",
            "own-video",
            "POST /interactions",
            json!({"model": "MODEL", "input": "a gate", "background": true,
                "response_format": {"type": "video", "delivery": "uri"}}),
            &[
                "GET /interactions/{id}",
                "POST /interactions/{id}/cancel",
                "GET /files/{id}:download",
            ],
            "/id",
            ("/status", json!("completed")),
            "/steps/1/content/1/uri",
        ),
        api(
            "kling",
            "own-video",
            "POST /v1/videos/text2video",
            json!({"model_name": "MODEL", "prompt": "a gate", "duration": "5"}),
            &["GET /v1/videos/text2video/{id}"],
            "/data/task_id",
            ("/data/task_status", json!("succeed")),
            "/data/task_result/videos/0/url",
        ),
        api(
            "minimax",
            "own-video",
            "POST /v1/video_generation",
            json!({"model": "MODEL", "prompt": "a gate"}),
            &[
                "GET /v1/query/video_generation?task_id={id}",
                "GET /v1/files/retrieve?file_id={id}",
            ],
            "/task_id",
            ("/status", json!("Success")),
            "/file/download_url",
        ),
        api(
            "minimax-v2",
            "own-video",
            "POST /v2/video_generation",
            json!({"model": "MODEL", "content": [{"type": "text", "text": "a gate"}],
                "duration": 5, "ratio": "16:9", "resolution": "2K"}),
            &[
                "GET /v2/query/video_generation/{id}",
                "DELETE /v2/video_generation/{id}",
            ],
            "/task_id",
            ("/task/status", json!("succeeded")),
            "/task/content/url",
        ),
        api(
            "vidu",
            "own-video",
            "POST /ent/v2/text2video",
            json!({"model": "MODEL", "prompt": "a gate", "duration": 5}),
            &[
                "GET /ent/v2/tasks/{id}/creations",
                "POST /ent/v2/tasks/{id}/cancel",
            ],
            "/task_id",
            ("/state", json!("success")),
            "/creations/0/url",
        ),
        api(
            "pixverse",
            "own-video",
            "POST /openapi/v2/video/text/generate",
            json!({"model": "MODEL", "prompt": "a gate", "duration": 5, "quality": "540p", "aspect_ratio": "16:9"}),
            &["GET /openapi/v2/video/result/{id}"],
            "/Resp/video_id",
            ("/Resp/status", json!(1)),
            "/Resp/url",
        ),
        api(
            "flux",
            "own-video",
            "POST /{model}",
            json!({"mode": "t2v", "prompt": "a gate", "duration": 5}),
            &["GET /get_result?id={id}"],
            "/id",
            ("/status", json!("Ready")),
            "/result/sample",
        ),
        api(
            "xai",
            "own-video",
            "POST /videos/generations",
            json!({"model": "MODEL", "prompt": "a gate"}),
            &["GET /videos/{id}"],
            "/request_id",
            ("/status", json!("done")),
            "/video/url",
        ),
    ]
}

/// A gateway with a channel at each vendor's stub, and with routes of their APIs and of the other formats.
pub fn native_config(simulator: &Simulator, directives: &str) -> Value {
    config_with(&native_apis(), |api| api.stub(simulator, directives))
}

fn config_with(apis: &[NativeApi], channel: impl Fn(&NativeApi) -> Value) -> Value {
    let mut config = config::standard("http://127.0.0.1:9");
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"]), caller("bob", BOB, &["*"])]);
    config["egress"] = json!({"allow": ["127.0.0.1"]});
    config["models"] = json!({});
    let channels = apis.iter().map(|api| (api.family.to_owned(), channel(api)));
    config["channels"] = Value::Object(channels.collect());
    let about_tasks = |name: &str, path: &str, protocol: &str| {
        json!({"name": name, "match": format!("GET {path}/{{id}}"), "protocol": protocol,
            "request": ["authenticate", {"map_task": {"operation": "query"}}]})
    };
    let mut routes: Vec<_> = apis.iter().flat_map(NativeApi::routes).collect();
    routes.extend([
        json!({"name": "video", "match": format!("POST {GENERIC}"), "protocol": "video",
            "request": [{"use": "body"}, "idempotency", {"map_task": {"operation": "create"}}]}),
        about_tasks("video_task", GENERIC, "video"),
        about_tasks("videos_task", OPENAI, "videos"),
    ]);
    config["routes"] = json!(routes);
    config
}

impl NativeApi {
    /// A gateway with this API alone.
    pub fn config(&self, simulator: &Simulator, directives: &str) -> Value {
        config_with(std::slice::from_ref(self), |api| {
            api.stub(simulator, directives)
        })
    }

    /// The same with a channel at any URL.
    pub fn config_at(&self, base_url: &str) -> Value {
        let credential = json!({"bearer": "vendor-key"});
        config_with(std::slice::from_ref(self), |api| {
            api.channel(base_url, credential.clone())
        })
    }

    /// A channel at the vendor's stub.
    fn stub(&self, simulator: &Simulator, directives: &str) -> Value {
        let vendor = self.vendor();
        let host = simulator.address;
        let base_url = format!("http://{host}/~{directives}/vendor/{}", vendor.base);
        self.channel(&base_url, vendor.credential.config())
    }

    fn channel(&self, base_url: &str, credential: Value) -> Value {
        json!({
            "base_url": base_url, "credential": credential, "family": self.family,
            "protocols": ["video", self.family], "models": {&*self.model: self.vendor().model},
        })
    }

    /// That of creates first.
    fn routes(&self) -> [Value; 2] {
        let below = |pattern: &str| {
            let (method, path) = pattern.split_once(' ').unwrap();
            let path = path.split('?').next().unwrap();
            format!("{method} {}{path}", self.prefix())
        };
        let tasks: Vec<_> = self.tasks.iter().map(|pattern| below(pattern)).collect();
        let family = self.family;
        [
            json!({"name": family, "match": below(self.create), "protocol": family,
                "request": [{"use": "body"}, "idempotency", {"map_task": {"operation": "create"}}]}),
            json!({"name": format!("{family}_task"), "match": tasks, "protocol": family,
                "request": ["authenticate", {"map_task": {"operation": "native"}}]}),
        ]
    }

    /// The path of the gateway below which the API is.
    fn prefix(&self) -> String {
        format!("/own/{}", self.family)
    }

    pub fn vendor(&self) -> Vendor {
        let mut all = vendors().into_iter();
        all.find(|vendor| vendor.family == self.family).unwrap()
    }

    pub fn create_request(&self) -> Request {
        let (_, path) = self.create.split_once(' ').unwrap();
        let body = self.body.to_string().replace("MODEL", &self.model);
        Request::post(&self.path(path, ""), body)
    }

    /// The request to a path about a task.
    pub fn task_request(&self, pattern: &str, id: &str) -> Request {
        let (method, path) = pattern.split_once(' ').unwrap();
        let request = Request::new(method, &self.path(path, id));
        match method {
            "POST" | "PUT" => request.header("Content-Length", "0"),
            _ => request,
        }
    }

    pub fn query_request(&self, id: &str) -> Request {
        self.task_request(self.tasks[0], id)
    }

    /// The caller's id in a response to a create: alone, or at the end of a name.
    pub fn id_in(&self, created: &WholeResponse) -> String {
        let json = created.json();
        let id = json.pointer(self.id_at).and_then(Value::as_str);
        let id = id.unwrap_or_else(|| panic!("{}: {}", self.family, created.text()));
        let id = id.rsplit('/').next().unwrap();
        assert!(id.starts_with("task_"), "{}: {id}", self.family);
        id.to_owned()
    }

    fn path(&self, path: &str, id: &str) -> String {
        let path = path
            .replace("{+model}", &self.model)
            .replace("{model}", &self.model);
        format!("{}{}", self.prefix(), path.replace("{id}", id))
    }
}

/// All texts of a response that are URLs.
pub fn urls_in(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.contains("://") => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(urls_in).collect(),
        Value::Object(members) => members.values().flat_map(urls_in).collect(),
        _ => Vec::new(),
    }
}

/// No URL leads to the vendor, except to the file of the video.
pub fn assert_urls_are_the_gateways(api: &NativeApi, response: &WholeResponse, file: Option<&str>) {
    let gateway = format!("{GATEWAY}{}/", api.prefix());
    for url in urls_in(&response.json()) {
        let is_gateways = url.starts_with(&gateway);
        let is_file = file.is_some_and(|file| url.split('.').next() == file.split('.').next());
        assert!(is_gateways || is_file, "{}: {url}", api.family);
    }
}
