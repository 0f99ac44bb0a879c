//! The Redis server of a LiteLLM configuration, which two of its sections can name.

use super::litellm;
use serde_json::{Value, json};

#[test]
fn the_password_of_redis_is_kept_wherever_the_file_has_it() {
    let entry = json!({"model_name": "m", "litellm_params": {"model": "openai/a"}});
    let cache = |params: Value| json!({"cache": true, "cache_params": params});
    for (params, router, url, password) in [
        (
            json!({"type": "redis", "host": "r"}),
            json!({"redis_host": "r", "redis_password": "os.environ/SECRET"}),
            "redis://r:6379/0",
            "${SECRET}",
        ),
        (
            json!({"type": "redis", "host": "r"}),
            json!({"redis_password": "canary"}),
            "redis://r:6379/0",
            "${REDIS_PASSWORD}",
        ),
        (
            json!({"type": "redis"}),
            json!({"redis_host": "r", "redis_port": 7000, "redis_password": "canary"}),
            "redis://r:7000/0",
            "${REDIS_PASSWORD}",
        ),
        (
            json!({"type": "redis", "host": "r", "password": "os.environ/OWN"}),
            json!({"redis_host": "r", "redis_password": "os.environ/SECRET"}),
            "redis://r:6379/0",
            "${OWN}",
        ),
    ] {
        let others = json!({"litellm_settings": cache(params), "router_settings": router});
        let (yaml, summary, parsed) = litellm(entry.clone(), others);
        let redis = &parsed["state"]["redis"];
        assert_eq!(
            (&redis["url"], &redis["password"]),
            (&json!(url), &json!(password)),
            "{yaml}"
        );
        assert!(!yaml.contains("canary"), "{yaml}");
        assert!(summary.contains("(100 %)"), "{summary}");
    }
    let two = json!({
        "litellm_settings": cache(json!({"type": "redis", "host": "r"})),
        "router_settings": {"redis_host": "other", "redis_password": "canary"},
    });
    let (yaml, _, parsed) = litellm(entry, two);
    assert_eq!(parsed["state"]["redis"]["url"], "redis://r:6379/0");
    assert!(
        yaml.contains("# no counterpart: router_settings.redis_host"),
        "{yaml}"
    );
}
