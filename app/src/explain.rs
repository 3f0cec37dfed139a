//! The sentences that people read for domain errors. The API returns only a name; the sentence is
//! built here, from the name and from what the page asked for.

use wire::ErrorName;

/// What the page knows about the request that was refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// The model that was selected in the form.
    pub(crate) model: Option<&'a str>,
    /// The working directory that was entered or given.
    pub(crate) folder: Option<&'a str>,
    /// The text of the header `Portal-Message`.
    pub(crate) details: Option<&'a str>,
}

impl<'a> Known<'a> {
    /// For a session or a job that was to be started in a folder.
    pub(crate) fn of_start(model: Option<&'a str>, folder: &'a str) -> Self {
        Self { model, folder: Some(folder), details: None }
    }
}

/// A domain error as one or two sentences.
pub(crate) fn explain(name: ErrorName, known: &Known<'_>) -> String {
    let folder = known.folder.filter(|folder| !folder.is_empty());
    let model = known.model.filter(|model| !model.is_empty());
    match (name, folder, model, known.details) {
        (ErrorName::ModelIdNotFound, _, Some(model), _) => {
            format!("The model {model} is no longer available. Refresh the list.")
        }
        (ErrorName::ModelNotAvailable | ErrorName::BudgetNotSupported, _, _, Some(details)) => {
            format!("{} The server says: {details}", sentence(name))
        }
        (ErrorName::WorkingDirectoryNotAbsolutePath, Some(folder), ..) => {
            format!(
                "{folder} is not an absolute path. Start with the root, as in /home/me/project."
            )
        }
        (ErrorName::WorkingDirectoryNotExists, Some(folder), ..) => {
            format!("There is no such folder on the server's machine: {folder}")
        }
        _ => sentence(name).to_owned(),
    }
}

/// The sentence for an error without further context. One arm per name, so that a new name does not
/// compile without its sentence.
fn sentence(name: ErrorName) -> &'static str {
    match name {
        ErrorName::ModelIdNotFound => "This model is no longer available. Refresh the list.",
        ErrorName::ModelNotAvailable => "The model's provider could not start a session.",
        ErrorName::WorkingDirectoryNotAbsolutePath => {
            "This is not an absolute path. Start with the root, as in /home/me/project."
        }
        ErrorName::WorkingDirectoryNotExists => "There is no such folder on the server's machine.",
        ErrorName::SessionNotFound | ErrorName::SessionClosed => "This session has ended.",
        ErrorName::TaskNotFound => "There is no such task, or it no longer exists.",
        ErrorName::TaskClosed => "This task has ended.",
        ErrorName::TaskCannotClose => "This task ends with the turns of its session.",
        ErrorName::JobNotFound => "There is no such job, or it no longer exists.",
        ErrorName::JobsClosed => "This job has ended.",
        ErrorName::EntryNotInstalled => "No tasks or jobs are installed.",
        ErrorName::UserInputRequired => "This job needs input: say what it is about.",
        ErrorName::HttpRequestTimeout => "Nothing happened for a while.",
        ErrorName::ParallelCallNotSupported => "Another call of this reader is still pending.",
        ErrorName::TooManySessions => "Too many sessions are open. Close one first.",
        ErrorName::TooManyJobs => "Too many jobs are running. Wait for one to end.",
        ErrorName::TooManyQueries => "Too many prompts are waiting in this session.",
        ErrorName::TooManyReaders | ErrorName::TooManyPendingCalls => {
            "Too many windows follow this server."
        }
        ErrorName::PermissionNotPending | ErrorName::NotPending => {
            "Too late: already answered or withdrawn."
        }
        ErrorName::NotQueued => "Too late: the turn of this prompt has begun, or it was removed.",
        ErrorName::SteerNotSupported => "This model takes no prompts while it works.",
        ErrorName::NotWorking => "Too late: the turn is over. Send it as a prompt.",
        ErrorName::SessionBusy => "The session is working. Wait until it is idle.",
        ErrorName::InvalidAnswer => "This answer does not fit the question.",
        ErrorName::InvalidPermissionDecision => "The server does not know this answer.",
        ErrorName::InvalidPermissionMode => "The server does not know this permission mode.",
        ErrorName::InvalidExtensionTrust => "The server does not know this decision on extensions.",
        ErrorName::StillRunning => "It is still running. Stop it first.",
        ErrorName::NothingToRetry => {
            "There is nothing to retry: nothing failed, or the job never came here."
        }
        ErrorName::WorkNotFound => "The job has no such task.",
        ErrorName::AttachmentNotSupported => {
            "Only text, and images (PNG, JPEG, GIF, WebP) where the model takes them, can be attached."
        }
        ErrorName::TooManyAttachments => "This session has too many attachments.",
        ErrorName::AttachmentNotFound => "There is no such attachment.",
        ErrorName::InvalidTitle => "A title is one line with something in it.",
        ErrorName::InvalidBudget => "This is not a budget: every limit is a number above 0.",
        ErrorName::BudgetNotSupported => {
            "This budget has a limit that the model's provider reports no figures for."
        }
        ErrorName::BudgetExceeded => {
            "This session has used up its budget. Raise the budget to go on."
        }
        ErrorName::StoreUnavailable => {
            "The server can't keep anything at the moment. Its disk may be full."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_knows_is_in_the_sentence() {
        let nothing = Known::default();
        let all = Known { model: Some("m-1"), folder: Some("src"), details: Some("no login") };
        for (name, known, text) in [
            (
                ErrorName::ModelIdNotFound,
                nothing,
                "This model is no longer available. Refresh the list.",
            ),
            (
                ErrorName::ModelIdNotFound,
                all,
                "The model m-1 is no longer available. Refresh the list.",
            ),
            (
                ErrorName::ModelNotAvailable,
                nothing,
                "The model's provider could not start a session.",
            ),
            (
                ErrorName::ModelNotAvailable,
                all,
                "The model's provider could not start a session. The server says: no login",
            ),
            (
                ErrorName::WorkingDirectoryNotAbsolutePath,
                all,
                "src is not an absolute path. Start with the root, as in /home/me/project.",
            ),
            (
                ErrorName::WorkingDirectoryNotExists,
                all,
                "There is no such folder on the server's machine: src",
            ),
            (
                ErrorName::WorkingDirectoryNotExists,
                Known { folder: Some(""), ..nothing },
                "There is no such folder on the server's machine.",
            ),
            (ErrorName::TaskNotFound, all, "There is no such task, or it no longer exists."),
            (ErrorName::TooManySessions, all, "Too many sessions are open. Close one first."),
        ] {
            assert_eq!(explain(name, &known), text, "{name}");
        }
    }
}
