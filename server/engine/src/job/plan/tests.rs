//! Works to plan, and the rules in tables of exact orders. What holds for any work stands in
//! `random`.

mod random;
mod rules;

use wire::entry::Work;

use super::*;

fn task(id: u32) -> Work {
    Work::Ref { task_id: "t".to_owned(), work_id_in_job: id, model_override: None }
}

fn seq(works: impl IntoIterator<Item = Work>) -> Work {
    Work::Seq { works: works.into_iter().collect() }
}

fn par(works: impl IntoIterator<Item = Work>) -> Work {
    Work::Par { works: works.into_iter().collect() }
}

fn alt(condition: Work, true_work: Option<Work>, false_work: Option<Work>) -> Work {
    Work::Alt {
        condition: Box::new(condition),
        true_work: true_work.map(Box::new),
        false_work: false_work.map(Box::new),
    }
}

type Condition = Option<(bool, Work)>;

fn repeat(pre_condition: Condition, body: Work, post_condition: Condition) -> Work {
    let boxed = |condition: Condition| condition.map(|(result, work)| (result, Box::new(work)));
    Work::Loop {
        pre_condition: boxed(pre_condition),
        body: Box::new(body),
        post_condition: boxed(post_condition),
    }
}

fn stop(work_id: u32, succeeded: bool) -> WorkStopped {
    WorkStopped { work_id, succeeded }
}
