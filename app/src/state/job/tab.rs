//! What a tab takes of the responses of its sessions and of the task.

use wire::{SessionResponse, TaskId, TaskResponse, Timed};

/// The content of a tab. Its sessions, and the task's decisions, are numbered sources.
pub(crate) trait Tab: Clone {
    /// An empty tab; the task may already be running.
    fn new(task_runs: bool) -> Self;
    /// Adds responses of a session.
    fn take_session(&self, source: usize, responses: Vec<Timed<SessionResponse>>);
    /// A session has ended.
    fn end_session(&self, source: usize);
    /// Adds a response of the task.
    fn take_task(&self, source: usize, id: TaskId, response: Timed<TaskResponse>);
    /// The task has ended.
    fn end_task(&self);
    /// Frees the content: the tab will not be shown again.
    fn forget(&self);
}
