//! Tests of the owners of ids in Redis.

use super::redis_server::RedisServer;
use super::redis_store::{AT_ONCE, command, open, site};
use super::*;

#[tokio::test]
async fn an_id_of_an_earlier_version_is_kept_by_its_caller() {
    let server = RedisServer::start();
    let (one, other) = (open(site(&server.url())), open(site(&server.url())));
    let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
    // It stored no owner, which the first use of the id adds.
    command(&server, "SET test:{ann}:made:resp_1 primary");
    let found = find_channel(&*one, &ann, "resp_1").await;
    assert_eq!(found.as_deref(), Some("primary"));
    one.flush(AT_ONCE);
    other.remember(&bob, "resp_1", &Arc::from("primary"));
    assert_eq!(find_channel(&*other, &bob, "resp_1").await, None);
    other.flush(AT_ONCE);
    assert_eq!(find_channel(&*other, &bob, "resp_1").await, None);
}
