//! What sessions, tasks, jobs and works are, and the states that they are in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::permission::{UnknownWord, words};

words!(
    /// Whether something is a session, a task or a job.
    EntityKind {
        /// A conversation with an agent.
        Session = "session",
        /// A run of a task.
        Task = "task",
        /// A run of a job.
        Job = "job",
    }
);

words!(
    /// State of a session, task or job.
    EntityState {
        /// An open session in which no turn runs.
        Idle = "idle",
        /// A session with a running turn, or a task or job that has not ended.
        Running = "running",
        /// A person must answer before it can continue.
        Waiting = "waiting",
        /// The server stopped while it ran.
        Interrupted = "interrupted",
        /// The task or job was done.
        Succeeded = "succeeded",
        /// The task or job was not done, or the session crashed.
        Failed = "failed",
        /// It was stopped from outside.
        Canceled = "canceled",
        /// A session that was closed.
        Closed = "closed",
    }
);

words!(
    /// State of a work in a run of a job.
    WorkState {
        /// The job has not come there, or ended before.
        NotReached = "notReached",
        /// It is due, and waits for one of the limited places.
        Queued = "queued",
        /// Its task is running.
        Running = "running",
        /// Its task is running, and a person must answer a question of it.
        Waiting = "waiting",
        /// Its task was done.
        Succeeded = "succeeded",
        /// Its task was not done.
        Failed = "failed",
        /// Its task was stopped.
        Canceled = "canceled",
        /// The server stopped while its task was running.
        Interrupted = "interrupted",
        /// The job passed it by: the other branch was chosen, or the loop ended before.
        Skipped = "skipped",
        /// It is part of a condition, and its task was done.
        True = "true",
        /// It is part of a condition, and its task was not done.
        False = "false",
    }
);
