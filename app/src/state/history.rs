//! What the page of the history shows, as plain data: the filter, which is the address of the page;
//! what can be done with an item, where it leads, and which of its words were found.

use wire::{EntityKind, EntityState, HistoryItem, LiveId};

use crate::links::{session_url, tracking_url};
use crate::router::encode;

/// The page itself.
pub(crate) const PAGE: &str = "/history.html";

/// Milliseconds in a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// How far back the history goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Span {
    #[default]
    Any,
    Day,
    Week,
    Month,
}

impl Span {
    /// All of them, with their words in the address and for people.
    pub(crate) const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Any, "", "Any time"),
        (Self::Day, "day", "Last 24 hours"),
        (Self::Week, "week", "Last 7 days"),
        (Self::Month, "month", "Last 30 days"),
    ];

    fn of_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|(_, known, _)| *known == word).map_or(Self::Any, |it| it.0)
    }

    pub(crate) fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|it| it.0 == self).map_or("", |it| it.1)
    }

    /// When it begins, given the time, in milliseconds since 1970.
    pub(crate) fn begins(self, now: i64) -> Option<i64> {
        let days = match self {
            Self::Any => return None,
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 30,
        };
        Some(now - days * DAY)
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) words: String,
    pub(crate) kind: Option<EntityKind>,
    pub(crate) state: Option<EntityState>,
    pub(crate) folder: String,
    pub(crate) span: Span,
    /// Whether what jobs ran is wanted, even if nothing is searched for.
    pub(crate) parts: bool,
}

impl Filter {
    /// Reads the arguments of an address. What they do not say well counts as not said.
    pub(crate) fn read(argument: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| argument(name).unwrap_or_default();
        Self {
            words: text("q"),
            kind: text("kind").parse().ok(),
            state: text("state").parse().ok(),
            folder: text("folder"),
            span: Span::of_word(&text("time")),
            parts: text("parts") == "1",
        }
    }

    /// The address of the page with this filter.
    pub(crate) fn url(&self) -> String {
        let mut url = PAGE.to_owned();
        self.write(&mut url, "time", self.span.word());
        add(&mut url, "parts", if self.parts { "1" } else { "" });
        url
    }

    /// The arguments of the request. `since` is when its [span](Span::begins) begins, as the API
    /// writes times.
    pub(crate) fn query(&self, since: &str, before: Option<u64>) -> String {
        let mut query = String::new();
        self.write(&mut query, "since", since);
        add(&mut query, "parts", if self.leaves_parts_out() { "false" } else { "" });
        add(&mut query, "before", &before.map(|before| before.to_string()).unwrap_or_default());
        query
    }

    /// Adds the arguments that page and API share, and the one about time.
    fn write(&self, to: &mut String, time: &str, value: &str) {
        add(to, "q", self.words.trim());
        add(to, "kind", self.kind.map_or("", EntityKind::as_str));
        add(to, "state", self.state.map_or("", EntityState::as_str));
        add(to, "folder", &self.folder);
        add(to, time, value);
    }

    /// Whether it takes all kinds of things, of which the parts of jobs would be most.
    pub(crate) fn is_broad(&self) -> bool {
        self.words.trim().is_empty() && self.kind.is_none()
    }

    /// Whether only what people started is shown.
    pub(crate) fn leaves_parts_out(&self) -> bool {
        self.is_broad() && !self.parts
    }

    /// Whether nothing is looked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.url() == PAGE
    }
}

/// Adds an argument, unless it is empty.
fn add(to: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        to.push(if to.contains('?') { '&' } else { '?' });
        to.push_str(name);
        to.push('=');
        to.push_str(&encode(value));
    }
}

/// A text around a hit, and the hit, which the server encloses in marks that occur nowhere else in it.
pub(crate) fn split_hit(snippet: &str) -> (&str, Option<&str>, &str) {
    let hit = snippet.split_once('«').and_then(|(before, rest)| {
        let (hit, after) = rest.split_once('»')?;
        Some((before, Some(hit), after))
    });
    hit.unwrap_or((snippet, None, ""))
}

/// The title of an item; sessions without a prompt have none.
pub(crate) fn title_of(item: &HistoryItem) -> String {
    match (item.title.is_empty(), item.kind) {
        (false, _) => item.title.clone(),
        (true, EntityKind::Session) => "Session without a prompt".to_owned(),
        (true, EntityKind::Task) => "Task".to_owned(),
        (true, EntityKind::Job) => "Job".to_owned(),
    }
}

/// What an item is, and what it belongs to: `session`, `task of ship-change`.
pub(crate) fn describe_kind(item: &HistoryItem) -> String {
    let kind = item.kind.as_str();
    match (&item.parent_title, item.parent) {
        (Some(parent), Some(LiveId::Task(_))) => format!("{kind} of task {parent}"),
        (Some(parent), _) => format!("{kind} of {parent}"),
        (None, _) => kind.to_owned(),
    }
}

/// The page that shows the item as it looked. Tasks have none of their own: they are shown by their
/// job, or in the session in which somebody started them.
pub(crate) fn page_of(item: &HistoryItem) -> Option<String> {
    match (item.id, item.parent) {
        (LiveId::Session(id), _) => Some(session_url(id)),
        (LiveId::Job(id), _) => Some(tracking_url(&item.title, Some(id))),
        (LiveId::Task(_), Some(LiveId::Job(job))) => {
            Some(tracking_url(item.parent_title.as_deref().unwrap_or_default(), Some(job)))
        }
        (id @ LiveId::Task(_), _) => {
            item.session_id.map(|session| format!("{}&task={id}", session_url(session)))
        }
        _ => None,
    }
}

/// Something that can be done with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Goes on in a new session that knows this one.
    Continue,
    /// Runs what failed again, as a new run.
    Retry,
    /// Opens the page on which the job can be started again.
    RunAgain,
    Rename,
    ExportMarkdown,
    ExportJson,
    Delete,
}

impl Action {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Continue => "Continue in a new session",
            Self::Retry => "Retry what failed",
            Self::RunAgain => "Run again …",
            Self::Rename => "Rename",
            Self::ExportMarkdown => "Export as Markdown",
            Self::ExportJson => "Export as JSON",
            Self::Delete => "Delete …",
        }
    }
}

/// What can be done with an item, in the order of the menu. Tasks go with their job or session.
pub(crate) fn actions(item: &HistoryItem) -> Vec<Action> {
    use Action::{Continue, Delete, ExportJson, ExportMarkdown, Rename, Retry, RunAgain};
    let has_ended = item.ended_at.is_some();
    match item.kind {
        EntityKind::Session => {
            let first = has_ended.then_some(Continue);
            first.into_iter().chain([Rename, ExportMarkdown, ExportJson, Delete]).collect()
        }
        EntityKind::Job if has_ended => {
            let retry = (item.state != EntityState::Succeeded).then_some(Retry);
            retry.into_iter().chain([RunAgain, Delete]).collect()
        }
        EntityKind::Job => vec![Delete],
        EntityKind::Task => Vec::new(),
    }
}

/// What is asked before an item is deleted.
pub(crate) fn question_of(item: &HistoryItem) -> String {
    let title = title_of(item);
    match item.kind {
        EntityKind::Job => format!(
            "Delete this run of {title}, with its tasks and their sessions? It can't be undone. \
             Files in its folder stay."
        ),
        _ => format!(
            "Delete “{title}” with everything that was said? It can't be undone. Files in its \
             folder stay."
        ),
    }
}

/// Removes an item with all that belongs to it.
pub(crate) fn remove(items: &mut Vec<HistoryItem>, id: LiveId) {
    let mut gone = vec![id];
    // A job, its tasks, and their sessions.
    for _ in 0..2 {
        let children = items.iter().filter(|item| item.parent.is_some_and(|id| gone.contains(&id)));
        let children: Vec<_> = children.map(|item| item.id).collect();
        gone.extend(children);
    }
    items.retain(|item| !gone.contains(&item.id));
}

/// How much is shown.
pub(crate) fn summary(shown: usize, has_more: bool) -> String {
    match (shown, has_more) {
        (1, false) => "1 entry".to_owned(),
        (shown, false) => format!("{shown} entries"),
        (shown, true) => format!("The newest {shown} entries"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: EntityKind, number: u32) -> LiveId {
        format!("{}-00000000-0000-4000-8000-{number:012}", kind.as_str()).parse().expect("an id")
    }

    fn item(kind: EntityKind, number: u32, state: EntityState) -> HistoryItem {
        let is_open = matches!(state, EntityState::Idle | EntityState::Running);
        HistoryItem {
            id: id(kind, number),
            kind,
            title: format!("t{number}"),
            folder: "/src".to_owned(),
            model: None,
            state,
            reason: None,
            started_at: String::new(),
            ended_at: (!is_open).then(String::new),
            usage: None,
            parent: None,
            parent_title: None,
            session_id: None,
            continued_from: None,
            snippet: None,
        }
    }

    fn under(parent: &HistoryItem, child: HistoryItem) -> HistoryItem {
        let parent_title = Some(parent.title.clone());
        HistoryItem { parent: Some(parent.id), parent_title, ..child }
    }

    #[test]
    fn the_address_is_the_filter() {
        let filter = Filter {
            words: " a&b «c» ".to_owned(),
            kind: Some(EntityKind::Job),
            state: Some(EntityState::Failed),
            folder: "/my src".to_owned(),
            span: Span::Week,
            parts: true,
        };
        let url = filter.url();
        let rest = "q=a%26b%20%C2%ABc%C2%BB&kind=job&state=failed&folder=%2Fmy%20src";
        assert_eq!(url, format!("/history.html?{rest}&time=week&parts=1"));
        let query = filter.query("2026-01-02T03:04:05.678Z", Some(7));
        assert_eq!(query, format!("?{rest}&since=2026-01-02T03%3A04%3A05.678Z&before=7"));
        assert!(!filter.is_empty());

        let arguments = [("q", "x"), ("kind", "job"), ("state", "asleep"), ("time", "day")];
        let read = Filter::read(|name| {
            arguments.iter().find(|(key, _)| *key == name).map(|it| it.1.to_owned())
        });
        let kind = Some(EntityKind::Job);
        let expected = Filter { words: "x".to_owned(), kind, span: Span::Day, ..Filter::default() };
        assert_eq!(read, expected, "an unknown state is none");
        assert!(Filter::default().is_empty());
        assert_eq!(
            (Filter::default().url(), Filter::default().query("", None)),
            (PAGE.to_owned(), "?parts=false".to_owned())
        );
    }

    #[test]
    fn parts_of_jobs_are_left_out_unless_something_is_looked_for() {
        let by_words = Filter { words: "x".to_owned(), ..Filter::default() };
        let by_kind = Filter { kind: Some(EntityKind::Task), ..Filter::default() };
        let by_state = Filter { state: Some(EntityState::Failed), ..Filter::default() };
        for (filter, query) in [
            (by_words, "?q=x"),
            (by_kind, "?kind=task"),
            (by_state, "?state=failed&parts=false"),
            (Filter { parts: true, ..Filter::default() }, ""),
            (Filter { words: "  ".to_owned(), ..Filter::default() }, "?parts=false"),
        ] {
            assert_eq!(filter.query("", None), query);
        }
        let all = Filter::read(|name| (name == "parts").then(|| "1".to_owned()));
        assert_eq!(all, Filter { parts: true, ..Filter::default() });
    }

    #[test]
    fn a_span_ends_now() {
        let begins = Span::ALL.map(|(span, ..)| span.begins(40 * DAY));
        assert_eq!(begins, [None, Some(39 * DAY), Some(33 * DAY), Some(10 * DAY)]);
        for (span, word, _) in Span::ALL {
            assert_eq!((Span::of_word(word), span.word()), (span, word));
        }
    }

    #[test]
    fn a_hit_is_found_in_its_marks() {
        for (snippet, parts) in [
            ("a «ripe» banana", ("a ", Some("ripe"), " banana")),
            ("«ripe»", ("", Some("ripe"), "")),
            ("<b> no hit", ("<b> no hit", None, "")),
            ("» odd «", ("» odd «", None, "")),
        ] {
            assert_eq!(split_hit(snippet), parts);
        }
    }

    #[test]
    fn an_item_leads_to_where_it_is_shown() {
        use EntityKind::{Job, Session, Task};
        let job = HistoryItem { title: "a b".to_owned(), ..item(Job, 1, EntityState::Failed) };
        let task = under(&job, item(Task, 2, EntityState::Failed));
        let session = under(&task, item(Session, 3, EntityState::Closed));
        let of_job = format!("/jobTracking.html?jobName=a%20b&jobId={}", job.id);
        assert_eq!(page_of(&job), Some(of_job.clone()));
        assert_eq!(page_of(&task), Some(of_job));
        assert_eq!(page_of(&session), Some(format!("/index.html?session={}", session.id)));
        let mut alone = item(Task, 4, EntityState::Failed);
        assert_eq!(page_of(&alone), None);
        let LiveId::Session(own) = session.id else { panic!("a session") };
        alone.session_id = Some(own);
        let url = format!("/index.html?session={own}&task={}", alone.id);
        assert_eq!(page_of(&alone), Some(url));
        assert_eq!(
            [&job, &task, &session].map(describe_kind),
            ["job", "task of a b", "session of task t2"]
        );
    }

    #[test]
    fn what_can_be_done_depends_on_the_state() {
        use EntityKind::{Job, Session, Task};
        use EntityState::{Closed, Failed, Idle, Running, Succeeded};
        let count = |kind, state| actions(&item(kind, 1, state)).len();
        assert_eq!(actions(&item(Session, 1, Closed))[0], Action::Continue);
        assert_eq!(actions(&item(Session, 1, Idle))[0], Action::Rename);
        assert_eq!(
            actions(&item(Job, 1, Failed)),
            [Action::Retry, Action::RunAgain, Action::Delete]
        );
        assert_eq!(actions(&item(Job, 1, Succeeded)), [Action::RunAgain, Action::Delete]);
        assert_eq!(actions(&item(Job, 1, Running)), [Action::Delete]);
        assert_eq!(count(Task, Failed), 0);
    }

    #[test]
    fn what_belongs_to_a_job_goes_with_it() {
        use EntityKind::{Job, Session, Task};
        let job = item(Job, 1, EntityState::Failed);
        let task = under(&job, item(Task, 2, EntityState::Failed));
        let session = under(&task, item(Session, 3, EntityState::Closed));
        let other = item(Session, 4, EntityState::Closed);
        let mut items = vec![other.clone(), session, task, job.clone()];
        remove(&mut items, job.id);
        assert_eq!(items, [other]);
        assert!(question_of(&job).starts_with("Delete this run of t1, with its tasks"));
    }

    #[test]
    fn the_summary_says_whether_there_is_more() {
        assert_eq!(summary(1, false), "1 entry");
        assert_eq!(summary(0, false), "0 entries");
        assert_eq!(summary(50, true), "The newest 50 entries");
    }
}
