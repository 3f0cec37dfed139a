use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::entry::Model;
use crate::entry::testing::{alt, any_work, job, number, par, repeat, seq, task};

fn task_by(name: &str, model: Model) -> Work {
    Work::Ref { task_id: name.to_owned(), work_id_in_job: 0, model_override: Some(model) }
}

fn chart_of(mut work: Work) -> (Chart, u32) {
    let mut count = 0;
    number(&mut work, &mut count);
    (Chart::of(&job(work)), count)
}

/// A node as a line: its id, its hint, its label, its ways out.
fn shown(node: &ChartNode) -> String {
    let mut parts = vec![node.id.to_string(), node.hint.name().to_owned()];
    parts.extend(node.hint.work_id().map(|id| id.to_string()));
    parts.extend(node.label.as_ref().map(|label| format!("{label:?}")));
    for arrow in &node.arrows {
        let back = if arrow.loop_back { "^" } else { "" };
        let label = arrow.label.as_ref().map(|label| format!("={label}")).unwrap_or_default();
        parts.push(format!("{back}>{}{label}", arrow.to));
    }
    parts.join(" ")
}

#[track_caller]
fn assert_chart(work: Work, lines: &[&str]) {
    let chart = chart_of(work).0;
    assert_eq!(chart.nodes.iter().map(shown).collect::<Vec<_>>(), lines);
}

#[test]
fn a_task_is_one_node_and_names_what_runs_it() {
    assert_chart(task("a"), &[r#"0 TaskNode 0 "a""#]);
    let category = Model::Category("planning".to_owned());
    assert_chart(task_by("a", category), &[r#"0 TaskNode 0 "a (planning)""#]);
    let id = Model::Id("gpt-5.2".to_owned());
    assert_chart(task_by("a", id), &[r#"0 TaskNode 0 "a (gpt-5.2)""#]);
}

#[test]
fn a_sequence_is_a_chain() {
    assert_chart(
        seq(vec![task("a"), task("b"), task("c")]),
        &[r#"0 TaskNode 0 "a" >1"#, r#"1 TaskNode 1 "b" >2"#, r#"2 TaskNode 2 "c""#],
    );
}

#[test]
fn parallel_works_lie_between_two_bars() {
    assert_chart(
        par(vec![task("a"), seq(vec![task("b"), task("c")])]),
        &[
            "0 ParBegin >1 >2",
            r#"1 TaskNode 0 "a" >4"#,
            r#"2 TaskNode 1 "b" >3"#,
            r#"3 TaskNode 2 "c" >4"#,
            "4 ParEnd",
        ],
    );
}

#[test]
fn a_loop_goes_back_from_its_postcondition_and_past_its_body_from_its_precondition() {
    assert_chart(
        repeat(Some((true, task("pre"))), task("body"), Some((false, task("post")))),
        &[
            r#"0 CondNode 0 "pre" >1=true >3=false"#,
            r#"1 TaskNode 2 "body" >2"#,
            r#"2 CondNode 1 "post" ^>0=false >3=true"#,
            "3 LoopEnd",
        ],
    );
    assert_chart(
        repeat(Some((false, task("pre"))), task("body"), None),
        &[r#"0 CondNode 0 "pre" >1=false >2=true"#, r#"1 TaskNode 1 "body" >2"#, "2 LoopEnd"],
    );
    assert_chart(
        repeat(None, seq(vec![task("a"), task("b")]), Some((true, task("post")))),
        &[
            r#"0 TaskNode 1 "a" >1"#,
            r#"1 TaskNode 2 "b" >2"#,
            r#"2 CondNode 0 "post" ^>0=true >3=false"#,
            "3 LoopEnd",
        ],
    );
    assert_chart(repeat(None, task("a"), None), &[r#"0 TaskNode 0 "a" >1"#, "1 LoopEnd"]);
}

#[test]
fn a_missing_branch_leads_straight_to_the_end() {
    assert_chart(
        alt(task("if"), Some(task("then")), Some(task("else"))),
        &[
            r#"0 CondNode 0 "if" >1=true >2=false"#,
            r#"1 TaskNode 1 "then" >3"#,
            r#"2 TaskNode 2 "else" >3"#,
            "3 AltEnd",
        ],
    );
    assert_chart(
        alt(task("if"), Some(task("then")), None),
        &[r#"0 CondNode 0 "if" >1=true >2=false"#, r#"1 TaskNode 1 "then" >2"#, "2 AltEnd"],
    );
    assert_chart(
        alt(task("if"), None, Some(task("else"))),
        &[r#"0 CondNode 0 "if" >2=true >1=false"#, r#"1 TaskNode 1 "else" >2"#, "2 AltEnd"],
    );
    assert_chart(
        alt(task("if"), None, None),
        &[r#"0 CondNode 0 "if" >1=true >1=false"#, "1 AltEnd"],
    );
}

#[test]
fn a_condition_of_several_works_is_framed() {
    assert_chart(
        alt(seq(vec![task("a"), task("b")]), Some(task("c")), None),
        &[
            "0 CondBegin >1",
            r#"1 TaskNode 0 "a" >2"#,
            r#"2 TaskNode 1 "b" >3"#,
            "3 CondEnd >4=true >5=false",
            r#"4 TaskNode 2 "c" >5"#,
            "5 AltEnd",
        ],
    );
    assert_chart(
        repeat(
            Some((true, par(vec![task("a"), task("b")]))),
            task("c"),
            Some((true, seq(vec![task("d"), task("e")]))),
        ),
        &[
            "0 CondBegin >1",
            "1 ParBegin >2 >3",
            r#"2 TaskNode 0 "a" >4"#,
            r#"3 TaskNode 1 "b" >4"#,
            "4 ParEnd >5",
            "5 CondEnd >6=true >11=false",
            r#"6 TaskNode 4 "c" >7"#,
            "7 CondBegin >8",
            r#"8 TaskNode 2 "d" >9"#,
            r#"9 TaskNode 3 "e" >10"#,
            "10 CondEnd ^>0=true >11=false",
            "11 LoopEnd",
        ],
    );
}

#[test]
fn a_condition_that_is_a_sequence_of_one_is_that_one() {
    assert_chart(
        alt(seq(vec![task("if")]), None, None),
        &[r#"0 CondNode 0 "if" >1=true >1=false"#, "1 AltEnd"],
    );
}

#[test]
fn loops_and_branches_nest() {
    assert_chart(
        seq(vec![
            task("plan"),
            repeat(
                None,
                repeat(None, alt(task("if"), None, Some(task("fix"))), Some((false, task("ok")))),
                Some((true, alt(task("more"), Some(task("ask")), None))),
            ),
        ]),
        &[
            r#"0 TaskNode 0 "plan" >1"#,
            r#"1 CondNode 4 "if" >3=true >2=false"#,
            r#"2 TaskNode 5 "fix" >3"#,
            "3 AltEnd >4",
            r#"4 CondNode 3 "ok" ^>1=false >5=true"#,
            "5 LoopEnd >6",
            "6 CondBegin >7",
            r#"7 CondNode 1 "more" >8=true >9=false"#,
            r#"8 TaskNode 2 "ask" >9"#,
            "9 AltEnd >10",
            "10 CondEnd ^>1=true >11=false",
            "11 LoopEnd",
        ],
    );
}

#[test]
fn charts_are_spelt_as_the_api_says() {
    let (chart, _) = chart_of(repeat(None, task("a"), Some((true, task("b")))));
    let json = concat!(
        r#"{"nodes":[{"id":0,"hint":["TaskNode",1],"label":"a","#,
        r#""arrows":[{"to":1,"loopBack":false}]},"#,
        r#"{"id":1,"hint":["CondNode",0],"label":"b","#,
        r#""arrows":[{"to":0,"label":"true","loopBack":true},"#,
        r#"{"to":2,"label":"false","loopBack":false}]},"#,
        r#"{"id":2,"hint":"LoopEnd"}]}"#
    );
    assert_eq!(serde_json::to_string(&chart).expect("json"), json);
    assert_eq!(serde_json::from_str::<Chart>(json).expect("a chart"), chart);
}

#[test]
fn every_hint_is_read_as_it_is_written_and_nothing_else() {
    use Hint::*;
    for hint in [TaskNode(0), CondNode(7), ParBegin, ParEnd, CondBegin, CondEnd, LoopEnd, AltEnd] {
        let json = serde_json::to_string(&hint).expect("json");
        assert_eq!(serde_json::from_str::<Hint>(&json).expect(&json), hint);
    }
    for json in [
        r#""TaskNode""#,
        r#"["TaskNode"]"#,
        r#"["TaskNode",-1]"#,
        r#"["TaskNode",1,2]"#,
        r#"["ParEnd",1]"#,
        r#""Unheard""#,
        "[]",
        "3",
    ] {
        assert!(serde_json::from_str::<Hint>(json).is_err(), "{json}");
    }
}

proptest! {
    #[test]
    fn every_chart_is_sound(
        work in any_work("[a-z]{1,8}".prop_map(|name| task(&name)), 48, 4)
    ) {
        let (chart, count) = chart_of(work);
        let mut works = HashSet::new();
        let mut reached = vec![false; chart.nodes.len()];
        reached[0] = true;
        for (index, node) in chart.nodes.iter().enumerate() {
            prop_assert_eq!(node.id as usize, index);
            prop_assert_eq!(node.label.is_some(), node.hint.work_id().is_some());
            if let Some(id) = node.hint.work_id() {
                prop_assert!(works.insert(id), "twice: {}", id);
            }
            // Arrows lead to higher numbers but for loops, so one pass reaches everything.
            prop_assert!(reached[index], "not reached: {}", index);
            for arrow in &node.arrows {
                prop_assert!((arrow.to as usize) < chart.nodes.len());
                prop_assert_eq!(arrow.loop_back, arrow.to <= node.id);
                reached[arrow.to as usize] = true;
            }
        }
        prop_assert_eq!(works, (0..count).collect::<HashSet<_>>());
        let ends = chart.nodes.iter().filter(|node| node.arrows.is_empty());
        prop_assert_eq!(ends.map(|node| node.id as usize).collect::<Vec<_>>(), [reached.len() - 1]);
        let json = serde_json::to_string(&chart).expect("json");
        prop_assert_eq!(serde_json::from_str::<Chart>(&json).expect("a chart"), chart);
    }
}
