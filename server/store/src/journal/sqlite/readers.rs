//! A pool of read-only connections.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::schema;
use crate::journal::StoreError;

/// How many reads may run at a time. More would only compete for the processor.
const MAX_CONNECTIONS: usize = 4;

/// A few connections, opened when they are needed.
pub(super) struct Readers {
    file: PathBuf,
    free: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, free: Arc::default(), places: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }

    /// Closes the idle connections.
    pub(super) fn close(&self) {
        self.free.lock().clear();
    }

    /// Runs a read in one snapshot, on a blocking thread.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let (file, free) = (self.file.clone(), self.free.clone());
        let result = tokio::task::spawn_blocking(move || {
            // Held until the connection is back in the pool.
            let _place = place;
            let kept = free.lock().pop();
            let mut connection = match kept {
                Some(connection) => connection,
                None => schema::open_reader(&file)?,
            };
            let snapshot = connection.transaction()?;
            let result = read(&snapshot)?;
            snapshot.finish()?;
            free.lock().push(connection);
            Ok(result)
        });
        let result: Result<T, rusqlite::Error> = result
            .await
            .map_err(|_| StoreError::Unavailable("a read was broken off".to_owned()))?;
        result.map_err(|error| StoreError::Unavailable(error.to_string()))
    }
}
