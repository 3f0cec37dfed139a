//! What is alive, asked for once.

use wire::Alive;

use super::{ALIVE_PATH, ApiError, fetch};

/// The open sessions, and the jobs that run or ended not long ago.
pub(crate) async fn all() -> Result<Alive, ApiError> {
    fetch(ALIVE_PATH).await
}
