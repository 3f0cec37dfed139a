//! A process with everything that it starts, which ends as a whole.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;

/// How often marked processes are looked for: those that were found may have started others.
const ROUNDS: usize = 3;

/// The group of a process that was started at the head of one. Dropped, all of its processes are
/// killed, and those that have left the group but can still be told to be its descendants.
pub(crate) struct ProcessGroup {
    leader: Option<Pid>,
    mark: Option<String>,
}

impl ProcessGroup {
    /// The group that a child is the head of.
    pub(crate) fn of(child: &Child) -> Self {
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: number.and_then(Pid::from_raw), mark: None }
    }

    /// Asks its processes to end by themselves.
    pub(crate) fn terminate(&self) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, Signal::TERM);
        }
    }

    /// The same group, with a mark (`NAME=VALUE`) that the child has in its environment. By it, its
    /// descendants are found when they have left the group and the child is no more.
    pub(crate) fn with_mark(mut self, mark: String) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Once only: later the number may be another's.
    pub(crate) fn end(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        let family = descendants(leader);
        // Killing fails if they have ended by themselves.
        let _ = kill_process_group(leader, Signal::KILL);
        for process in family {
            let _ = kill_process(process, Signal::KILL);
        }
        for _ in 0..ROUNDS {
            let left = self.mark.as_deref().map(marked).unwrap_or_default();
            if left.is_empty() {
                break;
            }
            for process in left {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

/// The processes with a mark in their environment, where the system tells.
fn marked(mark: &str) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let environment = std::fs::read(process.path().join("environ")).ok()?;
        let has_mark = environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes());
        Pid::from_raw(number).filter(|_| has_mark)
    });
    numbered.collect()
}

/// The children of a process and theirs, where the system tells. A process whose parent has ended
/// is nobody's descendant.
fn descendants(process: Pid) -> Vec<Pid> {
    let mut family = vec![process];
    let mut index = 0;
    while let Some(parent) = family.get(index) {
        let threads = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
        for thread in threads.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            let children = children.split_whitespace().filter_map(|child| child.parse().ok());
            family.extend(children.filter_map(Pid::from_raw));
        }
        index += 1;
    }
    family.split_off(1)
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}
