//! What the tools of all agents do, by their names.

use super::ToolIcon;

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) icon: ToolIcon,
    /// While it runs, or if it did not come to it.
    pub(super) verb: &'static str,
    /// Once it is done.
    pub(super) past: &'static str,
}

/// What a tool of this name does: one of the portal's own, of the Copilot CLI, or one that other
/// agents call so. Their spelling (`readFile`, `read_file`, `Read`) does not matter.
pub(super) fn kind_of(name: &str) -> Kind {
    // Servers of tools put their own names in front.
    let name = name.rsplit("__").next().unwrap_or(name);
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| char::from(letter.to_ascii_lowercase())).collect();
    let (icon, verb, past) = match &*name {
        "readfiles" | "readfile" | "read" | "view" | "viewfile" | "viewimage" | "openfile"
        | "cat" | "readtextfile" | "notebookread" => (ToolIcon::Read, "Read", "Read"),
        "listfiles" | "list" | "ls" | "listdir" | "listdirectory" | "glob" | "findfiles"
        | "filesearch" => (ToolIcon::Search, "List", "Listed"),
        "searchfiles" | "search" | "grep" | "rg" | "find" | "grepsearch" | "searchtext"
        | "codebasesearch" | "semanticcodesearch" => (ToolIcon::Search, "Search", "Searched"),
        "editfile"
        | "applydiff"
        | "edit"
        | "multiedit"
        | "applypatch"
        | "strreplace"
        | "strreplaceeditor"
        | "strreplacebasededittool"
        | "replace"
        | "insert"
        | "insertedit"
        | "notebookedit" => (ToolIcon::Edit, "Edit", "Edited"),
        "createfile" | "create" => (ToolIcon::Edit, "Create", "Created"),
        "write" | "writefile" | "writetextfile" => (ToolIcon::Edit, "Write", "Wrote"),
        "deletefile" | "delete" | "remove" => (ToolIcon::Edit, "Delete", "Deleted"),
        "movefile" | "move" | "rename" => (ToolIcon::Edit, "Move", "Moved"),
        "runcommand" | "bash" | "shell" | "powershell" | "execute" | "exec" | "execcommand"
        | "localshell" | "terminal" | "runinterminal" | "runterminalcmd" | "runshellcommand" => {
            (ToolIcon::Run, "Run", "Ran")
        }
        "readbash" | "listbash" | "readpowershell" | "listpowershell" | "bashoutput" => {
            (ToolIcon::Run, "Look at shell", "Looked at shell")
        }
        "writebash" | "writepowershell" | "writestdin" => {
            (ToolIcon::Run, "Type into shell", "Typed into shell")
        }
        "stopbash" | "stoppowershell" | "killbash" | "killshell" => {
            (ToolIcon::Run, "Stop shell", "Stopped shell")
        }
        "webfetch" | "fetch" | "fetchurl" => (ToolIcon::Web, "Fetch", "Fetched"),
        "websearch" => (ToolIcon::Web, "Search the web for", "Searched the web for"),
        "askuser" | "askuserquestion" | "ask" => (ToolIcon::Ask, "Ask", "Asked"),
        "task" | "agent" | "subagent" | "spawnagent" | "delegate" => {
            (ToolIcon::Agent, "Delegate", "Delegated")
        }
        "readagent" | "listagents" | "writeagent" => {
            (ToolIcon::Agent, "Turn to agent", "Turned to agent")
        }
        _ => (ToolIcon::Other, "Call", "Called"),
    };
    Kind { icon, verb, past }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_action_has_one_icon_whatever_an_agent_calls_it() {
        for (icon, verb, past, names) in [
            (ToolIcon::Read, "Read", "Read", &["readFiles", "read_file", "Read", "view"][..]),
            (ToolIcon::Search, "List", "Listed", &["listFiles", "glob", "LS"]),
            (ToolIcon::Search, "Search", "Searched", &["searchFiles", "grep", "mcp__fs__search"]),
            (ToolIcon::Edit, "Edit", "Edited", &["editFile", "applyDiff", "edit", "MultiEdit"]),
            (ToolIcon::Edit, "Create", "Created", &["createFile", "create"]),
            (ToolIcon::Run, "Run", "Ran", &["runCommand", "bash", "Bash", "execute"]),
            (ToolIcon::Web, "Fetch", "Fetched", &["web_fetch", "WebFetch", "fetch"]),
            (ToolIcon::Ask, "Ask", "Asked", &["ask_user", "AskUserQuestion"]),
            (ToolIcon::Agent, "Delegate", "Delegated", &["task", "Task"]),
            (ToolIcon::Other, "Call", "Called", &["job_boolean_true", "sql", "", "__"]),
        ] {
            for name in names {
                assert_eq!(kind_of(name), Kind { icon, verb, past }, "{name}");
            }
        }
    }
}
