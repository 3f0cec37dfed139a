//! Which processes descend from which.

use rustix::process::Pid;

/// The children of a process and theirs, where the system tells. A process whose parent has ended
/// is a child of the nearest supervisor, and without one nobody's descendant.
pub(crate) fn descendants(process: Pid) -> Vec<Pid> {
    let mut family = vec![process];
    let mut index = 0;
    while let Some(parent) = family.get(index).copied() {
        family.extend(children(parent));
        index += 1;
    }
    family.split_off(1)
}

/// The children of a process, where the system tells.
pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    let lists = threads.into_iter().flatten().flatten().map(|thread| {
        let children = std::fs::read_to_string(thread.path().join("children"));
        children.unwrap_or_default()
    });
    let parse = |list: String| -> Vec<Pid> {
        let numbers = list.split_whitespace().filter_map(|child| child.parse().ok());
        numbers.filter_map(Pid::from_raw).collect()
    };
    lists.flat_map(parse).collect()
}
