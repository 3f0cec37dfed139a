//! What becomes of a turn that was cut off when the server stopped.

use store::fold::INTERRUPTED;
use wire::entry::OnInterrupted;
use wire::{Decision, FailureCause, InboxChoice, Recovery, SessionRole as Role};

use super::asking::{Form, Interrupted};
use super::{Effect, Effects, Plan, Waiting, decide};

/// How often a turn is resumed before a person is asked.
const MOST_RESUMPTIONS: u32 = 5;

impl Plan {
    /// Whether an answer says how an interrupted work goes on.
    pub(super) fn is_way_on(choice: InboxChoice) -> bool {
        use InboxChoice::{Continue, Done, Fail, Redo};
        matches!(choice, Continue | Redo | Done | Fail)
    }

    /// The turn was cut off. Whatever happens to it now is reported.
    pub(super) fn cut_off(&mut self, policy: OnInterrupted, effects: &mut Effects) {
        match (policy, self.asking.role) {
            (OnInterrupted::Fail, _) => {
                decide_how(effects, Recovery::Failed);
                self.fail(FailureCause::Interrupted, effects);
            }
            // Whoever only judges changes nothing, so this costs no try.
            (_, Role::Driving) => {
                decide_how(effects, Recovery::JudgedAgain);
                self.close(false, effects);
                self.asking.interrupted = Interrupted::default();
                self.try_once(effects);
            }
            (OnInterrupted::Ask, Role::Task) => self.ask_person(effects),
            // In a borrowed session no tries are counted, but no turn is resumed for ever.
            (OnInterrupted::Resume, Role::Task)
                if self.asking.interrupted.turns > MOST_RESUMPTIONS =>
            {
                self.ask_person(effects);
            }
            (OnInterrupted::Resume, Role::Task) => {
                let Some(session_id) = self.session else { return };
                self.waits_for = Waiting::Agent;
                effects.push(Effect::Resume { session_id });
            }
        }
    }

    /// The agent whose turn was cut off is back, or will not be.
    pub(super) fn resumed(&mut self, is_resumed: bool, effects: &mut Effects) {
        if !is_resumed && self.asking.interrupted.may_have_changed {
            return self.ask_person(effects);
        }
        // An interruption takes a try, as a crash does. A borrowed session has not crashed, and there
        // is only one try in it.
        if self.definition.borrowed.is_none() {
            self.asking.crashed(INTERRUPTED.to_owned());
        }
        if self.model().is_none() {
            self.close(false, effects);
            self.exhausted(effects);
        } else if is_resumed {
            self.resume(effects);
        } else {
            self.send_again(effects);
        }
    }

    /// Somebody has decided, which takes no try.
    pub(super) fn go_on(&mut self, choice: InboxChoice, effects: &mut Effects) {
        match choice {
            InboxChoice::Done => {
                decide_how(effects, Recovery::CountedAsDone);
                self.succeed(effects);
            }
            InboxChoice::Redo => self.send_again(effects),
            InboxChoice::Continue => self.resume(effects),
            _ => {
                decide_how(effects, Recovery::CountedAsFailed);
                self.fail(FailureCause::CountedAsFailed, effects);
            }
        }
    }

    fn ask_person(&mut self, effects: &mut Effects) {
        decide_how(effects, Recovery::Asked);
        self.waits_for = Waiting::Person;
        effects.push(Effect::Ask);
    }

    /// Lets the same session finish its turn.
    fn resume(&mut self, effects: &mut Effects) {
        decide_how(effects, Recovery::Resumed);
        self.asking.form = Form::Resumed;
        self.send(effects);
    }

    /// Sends the prompt again, to a session that knows nothing of the turn, if there can be one.
    fn send_again(&mut self, effects: &mut Effects) {
        self.close(false, effects);
        decide_how(effects, Recovery::SentAgain);
        self.repeat(effects);
    }
}

fn decide_how(effects: &mut Effects, recovery: Recovery) {
    decide(effects, Decision::Interrupted { recovery });
}
