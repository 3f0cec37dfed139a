//! The history of a project: what its events come to.

use wire::bridge::{
    ApprovalRequest, AskedApproval, Draft, Event, HistoryMessage, Inbound, Role, RunEnd,
};

/// The size of a history, in messages and bytes. The oldest messages are left out first.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How much of the history a model gets with a prompt, in messages and bytes.
const MAX_CONTEXT_MESSAGES: usize = 40;
const MAX_CONTEXT: usize = 32 * 1024;
const MAX_CONTEXT_EACH: usize = 4 * 1024;

/// The messages of a project, each with its answer, in the order in which they were received.
#[derive(Debug, Default)]
pub(super) struct History {
    runs: Vec<Run>,
    /// The questions that wait for an answer.
    pub(super) approvals: Vec<ApprovalRequest>,
    /// The messages that wait until a person sends them. Clearing leaves them alone.
    pub(super) drafts: Vec<Draft>,
}

/// A message and its answer.
#[derive(Debug)]
struct Run {
    question: HistoryMessage,
    answer: HistoryMessage,
}

impl Run {
    fn new(message: Inbound) -> Self {
        let question = HistoryMessage {
            id: message.id,
            role: Role::User,
            text: message.text,
            at: message.at,
            mode: message.mode,
            model: None,
            reason: None,
            error: None,
            approvals: Vec::new(),
        };
        let answer =
            HistoryMessage { role: Role::Assistant, text: String::new(), ..question.clone() };
        Self { question, answer }
    }

    fn bytes(&self) -> usize {
        self.question.text.len() + self.answer.text.len()
    }
}

impl History {
    /// Applies the next event of the project.
    pub(super) fn apply(&mut self, event: Event) {
        match event {
            Event::Inbound(message) => self.runs.push(Run::new(message)),
            Event::Fragment(piece) => {
                if let Some(answer) = self.answer(piece.id) {
                    answer.text.push_str(&piece.fragment);
                    answer.model = Some(piece.model);
                }
            }
            Event::Done(done) => {
                if let Some(answer) = self.answer(done.id) {
                    answer.model = done.model.or_else(|| answer.model.take());
                    answer.reason = Some(done.reason);
                    answer.error = done.error;
                }
            }
            Event::ApprovalRequest(request) => {
                if let Some(answer) = self.answer(request.id) {
                    let (offset, request) = (answer.text.len(), request.clone());
                    answer.approvals.push(AskedApproval { request, offset, outcome: None });
                }
                self.approvals.push(request);
            }
            Event::ApprovalDecision(decision) => {
                let id = decision.approval_id;
                self.approvals.retain(|request| request.approval_id != id);
                let asked = self.answer(decision.id).map(|answer| &mut answer.approvals);
                let asked = asked.into_iter().flatten();
                for asked in asked.filter(|asked| asked.request.approval_id == id) {
                    asked.outcome = Some(decision.outcome);
                }
            }
            Event::HistoryCleared(_) => self.runs.retain(|run| run.answer.reason.is_none()),
            // Told again when the history was cleared.
            Event::Draft(draft) => {
                if !self.drafts.iter().any(|known| known.id == draft.id) {
                    self.drafts.push(draft);
                }
            }
            Event::DraftTaken(taken) => self.drafts.retain(|draft| draft.id != taken.id),
            Event::Missed(_) => {}
        }
    }

    fn answer(&mut self, id: wire::MessageId) -> Option<&mut HistoryMessage> {
        let run = self.runs.iter_mut().rev().find(|run| run.question.id == id);
        run.map(|run| &mut run.answer)
    }

    /// The newest messages, oldest first, each followed by its answer; and what waits.
    pub(super) fn into_messages(
        mut self,
    ) -> (Vec<HistoryMessage>, Vec<ApprovalRequest>, Vec<Draft>) {
        let (mut kept, mut bytes) = (0, 0);
        for run in self.runs.iter().rev() {
            bytes += run.bytes();
            if 2 * (kept + 1) > MAX_MESSAGES || (bytes > MAX_BYTES && kept > 0) {
                break;
            }
            kept += 1;
        }
        let newest = self.runs.split_off(self.runs.len() - kept);
        let messages = newest.into_iter().flat_map(|run| [run.question, run.answer]).collect();
        (messages, self.approvals, self.drafts)
    }

    /// The answered messages and their answers, oldest first, truncated to the context budget.
    pub(super) fn context(&self) -> Vec<(Role, String)> {
        let answered = self.runs.iter().filter(|run| run.answer.reason == Some(RunEnd::Done));
        let messages = answered.flat_map(|run| [&run.question, &run.answer]);
        let messages: Vec<_> = messages.collect();
        let (mut told, mut bytes) = (Vec::new(), 0);
        for message in messages.into_iter().rev().take(MAX_CONTEXT_MESSAGES) {
            let mut text = message.text.clone();
            if text.len() > MAX_CONTEXT_EACH {
                text.truncate(text.floor_char_boundary(MAX_CONTEXT_EACH));
                text.push('…');
            }
            bytes += text.len();
            if bytes > MAX_CONTEXT {
                break;
            }
            told.push((message.role, text));
        }
        told.reverse();
        told
    }
}

#[cfg(test)]
mod tests {
    use wire::bridge::{Done, Fragment, HistoryCleared, Mode};

    use super::*;

    fn id(number: u32) -> wire::MessageId {
        format!("message-00000000-0000-4000-8000-{number:012}").parse().expect("an id")
    }

    fn ask(history: &mut History, number: u32, text: &str) {
        history.apply(Event::Inbound(Inbound {
            id: id(number),
            text: text.to_owned(),
            source: String::new(),
            session_id: String::new(),
            mode: Mode::Prompt,
            at: String::new(),
        }));
    }

    fn answer(history: &mut History, number: u32, text: &str) {
        let (fragment, model, session_id) = (text.to_owned(), String::new(), String::new());
        history.apply(Event::Fragment(Fragment { id: id(number), fragment, model, session_id }));
    }

    fn end(history: &mut History, number: u32, reason: RunEnd) {
        let (model, session_id, error) = (None, String::new(), None);
        history.apply(Event::Done(Done { id: id(number), model, session_id, reason, error }));
    }

    fn texts(history: History) -> Vec<String> {
        history.into_messages().0.into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn each_answer_follows_its_question_also_when_several_waited() {
        let mut history = History::default();
        ask(&mut history, 1, "one");
        ask(&mut history, 2, "two");
        answer(&mut history, 1, "first");
        end(&mut history, 1, RunEnd::Done);
        answer(&mut history, 2, "second");
        assert_eq!(texts(history), ["one", "first", "two", "second"]);
    }

    #[test]
    fn clearing_leaves_what_has_not_ended() {
        let mut history = History::default();
        ask(&mut history, 1, "one");
        end(&mut history, 1, RunEnd::Done);
        ask(&mut history, 2, "two");
        let (session_id, at) = (String::new(), String::new());
        history.apply(Event::HistoryCleared(HistoryCleared { session_id, at }));
        assert_eq!(texts(history), ["two", ""]);
    }

    #[test]
    fn the_oldest_messages_are_left_out_first() {
        let mut history = History::default();
        for number in 0..505 {
            ask(&mut history, number, "x");
        }
        let (messages, ..) = history.into_messages();
        assert_eq!((messages.len(), messages[0].id), (MAX_MESSAGES, id(5)));

        let mut history = History::default();
        for number in 0..3 {
            ask(&mut history, number, &"x".repeat(MAX_BYTES / 2));
        }
        assert_eq!(history.into_messages().0.len(), 4);
    }

    #[test]
    fn a_model_is_told_what_was_answered_and_not_more_than_it_can_bear() {
        let mut history = History::default();
        ask(&mut history, 1, "one");
        answer(&mut history, 1, "first");
        end(&mut history, 1, RunEnd::Done);
        ask(&mut history, 2, "two");
        answer(&mut history, 2, "no answer");
        end(&mut history, 2, RunEnd::Failed);
        ask(&mut history, 3, "not answered yet");
        let expected = [(Role::User, "one".to_owned()), (Role::Assistant, "first".to_owned())];
        assert_eq!(history.context(), expected);

        let long = "x".repeat(100_000);
        for number in 10..40 {
            ask(&mut history, number, &long);
            answer(&mut history, number, &long);
            end(&mut history, number, RunEnd::Done);
        }
        let told = history.context();
        assert!(told.len() > 4, "{}", told.len());
        assert!(told.iter().map(|(_, text)| text.len()).sum::<usize>() <= MAX_CONTEXT);
    }
}
