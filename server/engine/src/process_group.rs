//! A process with everything that it starts, which ends as a whole.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;

/// The group of a process that was started at the head of one. Dropped, all of its processes are
/// killed, and those that have left the group but can still be told to be its descendants.
pub(crate) struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// The group that a child is the head of.
    pub(crate) fn of(child: &Child) -> Self {
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        Self(number.and_then(Pid::from_raw))
    }

    /// Asks its processes to end by themselves.
    pub(crate) fn terminate(&self) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, Signal::TERM);
        }
    }

    /// Once only: later the number may be another's.
    pub(crate) fn end(&mut self) {
        let Some(leader) = self.0.take() else { return };
        let family = descendants(leader);
        // Killing fails if they have ended by themselves.
        let _ = kill_process_group(leader, Signal::KILL);
        for process in family {
            let _ = kill_process(process, Signal::KILL);
        }
    }
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
