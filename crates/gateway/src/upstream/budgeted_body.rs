//! Reads a response whole as far as the budget of the process has room.

use super::bounded_body::{BodyReadResult, ChunkSource};
use super::response::UpstreamResponse;
use super::whole_response_budget::WholeResponseShare;
use bytes::Bytes;
use headgate_protocol::fault::Fault;

/// A response that is read only as far as the budget has room.
struct BudgetedBody<'a> {
    response: &'a mut UpstreamResponse,
    share: &'a mut WholeResponseShare,
    /// What was read, in bytes.
    bytes: usize,
}

impl UpstreamResponse {
    /// Like [`Self::read_bounded`], as far as the budget of `share` has room.
    pub async fn read_budgeted(
        &mut self,
        bytes_max: usize,
        share: &mut WholeResponseShare,
    ) -> BodyReadResult {
        let declared = self.declared_bytes();
        // Room for all of it: what begins many bodies, and completes few, would hold them all.
        let max_wait = self.idle_timeout();
        share.grow_to(declared.min(bytes_max), max_wait).await;
        let mut body = BudgetedBody {
            response: self,
            share,
            bytes: 0,
        };
        BodyReadResult::read(&mut body, declared, bytes_max).await
    }
}

impl ChunkSource for BudgetedBody<'_> {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunk = self.response.next_chunk().await?;
        if let Some(chunk) = &chunk {
            self.bytes += chunk.len();
            let max_wait = self.response.idle_timeout();
            self.share.grow_to(self.bytes, max_wait).await;
        }
        Ok(chunk)
    }
}
