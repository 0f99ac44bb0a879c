//! Looks up ids and their owners in Redis.

use super::RedisStoreInner;
use super::write::RedisWrite;
use headgate_core::state::StoreUnavailable;
use std::sync::Arc;

impl RedisStoreInner {
    /// The channel that created `id` for `caller`.
    ///
    /// # Errors
    /// Redis is unreachable.
    pub(super) async fn find_channel(
        &self,
        caller: &Arc<str>,
        id: &str,
    ) -> Result<Option<Arc<str>>, StoreUnavailable> {
        let mut command = redis::cmd("GETEX");
        command.arg(self.keys.affinity(caller, id));
        command.arg("PX").arg(self.id_ttl.as_millis() as u64);
        let connection = self.connector.connection()?;
        let found: Option<String> = self.connector.query(connection, &command).await?;
        let channel: Option<Arc<str>> = found.map(Arc::from);
        if let Some(channel) = channel.clone() {
            let (caller, id) = (caller.clone(), id.into());
            self.outbox.push(RedisWrite::Touch {
                caller,
                id,
                channel,
            });
        }
        Ok(channel)
    }

    /// Whether one of `channels` created `id` for another caller.
    ///
    /// # Errors
    /// Redis is unreachable.
    pub(super) async fn is_of_another(
        &self,
        caller: &Arc<str>,
        id: &str,
        channels: &[Arc<str>],
    ) -> Result<bool, StoreUnavailable> {
        if self.outbox.is_of_another(caller, id) {
            return Ok(true);
        }
        if channels.is_empty() {
            return Ok(false);
        }
        let keys = channels.iter().map(|channel| self.keys.owner(id, channel));
        let connection = self.connector.connection()?;
        let owners = self.connector.get_each(connection, keys).await?;
        let mut owners = owners.into_iter().flatten();
        Ok(owners.any(|owner| *owner != **caller))
    }

    /// The channel of an id that is not yet in Redis, unless there it belongs to another caller. An unreachable Redis knows none.
    pub(super) async fn find_claimed(
        &self,
        caller: &Arc<str>,
        id: &str,
        channel: Arc<str>,
    ) -> Option<Arc<str>> {
        let mut command = redis::cmd("GET");
        command.arg(self.keys.owner(id, &channel));
        let owner: Option<String> = match self.connector.connection() {
            Ok(connection) => {
                let pending = self.connector.query(connection, &command);
                pending.await.unwrap_or_default()
            }
            Err(_) => None,
        };
        let is_of_another = owner.is_some_and(|owner| owner != **caller);
        (!is_of_another).then_some(channel)
    }
}
