use WorkState::{
    Canceled, Failed, False, Interrupted, NotReached, Queued, Running, Skipped, Succeeded, True,
    Waiting,
};
use wire::chart::Chart;
use wire::entry::Work;
use wire::entry::testing::{alt, job, number, par, repeat, seq, task};

use super::keys::{Move, neighbour};
use super::tree::read_tree;
use super::*;

const UNKNOWN: WorkFacts = WorkFacts {
    state: NotReached,
    span: Span { start: None, end: None },
    rounds: 0,
    attempts: Some(0),
};

fn facts(state: WorkState, start: Millis, end: impl Into<Option<Millis>>) -> WorkFacts {
    let span = Span { start: Some(start * 1000), end: end.into().map(|end| end * 1000) };
    WorkFacts { state, span, rounds: 1, attempts: Some(1) }
}

fn tree(mut work: Work) -> Vec<Tree> {
    number(&mut work, &mut 0);
    read_tree(&Chart::of(&job(work)))
}

fn tasks(from: u32, to: u32) -> Vec<Work> {
    (from..to).map(|number| task(&format!("task-{number:02}"))).collect()
}

/// Sixty tasks: 8 at once, 3 rows of 6, 14 in a row, 20 at once.
fn sixty() -> Vec<Tree> {
    let rows = [8, 14, 20].map(|from| seq(tasks(from, from + 6)));
    let mut works = vec![par(tasks(0, 8)), par(rows)];
    works.extend(tasks(26, 40));
    works.push(par(tasks(40, 60)));
    tree(seq(works))
}

/// The run in the picture, after 12 seconds.
fn after_a_while(work: u32) -> WorkFacts {
    match work {
        0..8 => facts(Succeeded, 0, 4),
        8 | 14 | 20 => facts(Succeeded, 4, 7),
        9 | 15 | 21 => facts(Succeeded, 7, 10),
        10 | 16 => facts(Running, 11, None),
        22 => facts(Waiting, 10, None),
        _ => UNKNOWN,
    }
}

fn outline<'a>(tree: &'a [Tree], facts: &'a dyn Fn(u32) -> WorkFacts) -> Outline<'a> {
    let job = Some(Span { start: Some(0), end: None });
    Outline { tree, facts, job, now: 12_000, filter: None, choices: &[] }
}

/// Rows as text: indent, `>` if folded, label, state, note.
fn show(rows: &[Row]) -> Vec<String> {
    let show = |row: &Row| {
        let indent = "  ".repeat(row.depth as usize);
        let fold = match (row.has_parts(), row.folded) {
            (true, true) => "> ",
            (true, false) => "v ",
            (false, _) => "",
        };
        format!("{indent}{fold}{} {} {}", row.label, row.state, row.note).trim_end().to_owned()
    };
    rows.iter().map(show).collect()
}

#[test]
fn sixty_tasks_fit_on_a_screen() {
    let tree = sixty();
    assert_eq!(
        show(&outline(&tree, &after_a_while).rows()),
        [
            "> 8 at once succeeded 0:04",
            "v 3 rows of 6 waiting 0:08",
            "  v row 1 running 2 of 6",
            "    task-08 succeeded 0:03",
            "    task-09 succeeded 0:03",
            "    task-10 running 0:01",
            "    > 3 more, not reached notReached",
            "  v row 2 running 2 of 6",
            "    task-14 succeeded 0:03",
            "    task-15 succeeded 0:03",
            "    task-16 running 0:01",
            "    > 3 more, not reached notReached",
            "  v row 3 waiting 2 of 6",
            "    task-20 succeeded 0:03",
            "    task-21 succeeded 0:03",
            "    task-22 waiting asks",
            "    > 3 more, not reached notReached",
            "> 14 in a row notReached",
            "> 20 at once notReached",
        ]
    );
}

#[test]
fn a_row_knows_what_it_hides_and_when_it_ran() {
    let tree = sixty();
    let rows = outline(&tree, &after_a_while).rows();
    let at = |label: &str| rows.iter().find(|row| row.label == label).expect(label);
    assert_eq!((at("8 at once").hidden, at("8 at once").bar), (8, Some((0, 333))));
    assert_eq!((at("row 1").hidden, at("row 1").bar), (0, Some((333, 1000))));
    assert_eq!(at("task-10").bar, Some((916, 1000)));
    assert_eq!((at("3 more, not reached").hidden, at("3 more, not reached").bar), (3, None));
    assert_eq!((at("14 in a row").hidden, at("14 in a row").bar), (14, None));
}

#[test]
fn what_a_person_opens_or_folds_stays_so() {
    let tree = sixty();
    let of = |label: &str| {
        let rows = outline(&tree, &after_a_while).rows();
        rows.iter().find(|row| row.label == label).expect(label).key
    };
    let (eight, rows_of_six) = (of("8 at once"), of("3 rows of 6"));
    let choices = [(eight, true), (rows_of_six, true), (rows_of_six, false)];
    let rows = Outline { choices: &choices, ..outline(&tree, &after_a_while) }.rows();
    assert_eq!(rows.len(), 1 + 8 + 3);
    assert_eq!(rows[8].label, "task-07");
    assert_eq!((rows[9].key, rows[9].hidden), (rows_of_six, 18));

    let rest = of("3 more, not reached");
    let rows = Outline { choices: &[(rest, true)], ..outline(&tree, &after_a_while) }.rows();
    let at = rows.iter().position(|row| row.key == rest).expect("the rest");
    assert!(!rows[at].folded);
    assert_eq!((&*rows[at + 1].label, rows[at + 1].depth), ("task-11", rows[at].depth + 1));
    assert_eq!(&*rows[at + 4].label, "row 2");
}

#[test]
fn every_row_has_a_key_of_its_own() {
    let tree =
        tree(seq([vec![task("a")], tasks(1, 3), vec![par(tasks(3, 5))], tasks(5, 8)].concat()));
    let reached =
        |work| if work < 4 && work != 1 && work != 2 { facts(Failed, 0, 1) } else { UNKNOWN };
    let rows = outline(&tree, &reached).rows();
    let labels: Vec<_> = rows.iter().map(|row| &*row.label).collect();
    assert_eq!(labels[1], "2 more, not reached");
    assert_eq!(labels[labels.len() - 1], "3 more, not reached");
    let keys: std::collections::HashSet<_> = rows.iter().map(|row| row.key).collect();
    assert_eq!(keys.len(), rows.len());
}

#[test]
fn a_filter_leaves_what_it_takes_and_what_leads_there() {
    let tree = sixty();
    let outline = outline(&tree, &after_a_while);
    let filtered = |filter| show(&Outline { filter: Some(filter), ..outline }.rows());
    assert_eq!(
        filtered(Filter::Waiting),
        ["v 3 rows of 6 waiting 0:08", "  v row 3 waiting 2 of 6", "    task-22 waiting asks"]
    );
    assert_eq!(filtered(Filter::Running).len(), 5);
    assert_eq!(filtered(Filter::Failed), [""; 0]);
    let counts = [Filter::Failed, Filter::Waiting, Filter::Running].map(|it| outline.count(it));
    assert_eq!(counts, [0, 1, 2]);
}

#[test]
fn a_preview_is_wholly_open() {
    let tree = sixty();
    let rows = Outline { job: None, ..outline(&tree, &|_| UNKNOWN) }.rows();
    assert_eq!(rows.iter().filter(|row| !row.has_parts()).count(), 60);
    assert!(rows.iter().all(|row| !row.folded && row.bar.is_none() && row.note.is_empty()));
}

#[test]
fn the_most_urgent_state_is_that_of_the_group() {
    let tree = tree(seq([par(tasks(0, 3)), task("end")]));
    for (states, has_ended, state, folded) in [
        ([Succeeded, Succeeded, Succeeded], false, Succeeded, true),
        ([True, False, Skipped], false, Succeeded, true),
        ([NotReached, NotReached, NotReached], false, NotReached, true),
        ([Skipped, Skipped, Skipped], false, Skipped, true),
        ([Succeeded, Queued, NotReached], false, Queued, false),
        ([Failed, Running, Succeeded], false, Running, false),
        ([Failed, Running, Waiting], false, Waiting, false),
        ([Failed, Canceled, Interrupted], true, Failed, false),
        ([Succeeded, Canceled, Interrupted], true, Interrupted, false),
        ([Succeeded, Canceled, NotReached], true, Canceled, false),
        // Between two tasks, and stopped there.
        ([Succeeded, NotReached, NotReached], false, Running, false),
        ([Succeeded, NotReached, NotReached], true, NotReached, true),
    ] {
        let facts = |work| WorkFacts {
            state: *states.get(work as usize).unwrap_or(&NotReached),
            ..UNKNOWN
        };
        let job = Some(Span { start: Some(0), end: has_ended.then_some(9) });
        let rows = Outline { job, ..outline(&tree, &facts) }.rows();
        assert_eq!((rows[0].state, rows[0].folded), (state, folded), "{states:?}");
    }
}

#[test]
fn loops_tell_their_iteration() {
    let tree = tree(repeat(None, task("a"), Some((false, task("check")))));
    for (rounds, label) in [(0, "loop"), (1, "loop"), (2, "loop, iteration 2")] {
        let facts = |_| WorkFacts { rounds, ..facts(Running, 0, None) };
        assert_eq!(outline(&tree, &facts).rows()[0].label, label);
    }
}

#[test]
fn a_choice_shows_its_ways() {
    let tree = tree(alt(task("ok"), Some(task("ship")), Some(task("fix"))));
    let facts = |work| match work {
        0 => facts(False, 0, 2),
        1 => WorkFacts { state: Skipped, ..UNKNOWN },
        _ => facts(Running, 2, None),
    };
    assert_eq!(
        show(&outline(&tree, &facts).rows()),
        [
            "v if ok running 0:12",
            "  ok false 0:02",
            "  > if true skipped",
            "  v if false running 0:10",
            "    fix running 0:10",
        ]
    );
}

#[test]
fn one_task_that_was_not_reached_keeps_its_row() {
    let tree = tree(seq(tasks(0, 3)));
    let after = |reached| {
        let facts = move |work| if work < reached { facts(Running, 0, None) } else { UNKNOWN };
        outline(&tree, &facts).rows().into_iter().map(|row| row.label).collect::<Vec<_>>()
    };
    assert_eq!(after(0), ["task-00", "task-01", "task-02"]);
    assert_eq!(after(1), ["task-00", "2 more, not reached"]);
    assert_eq!(after(2), ["task-00", "task-01", "task-02"]);
}

#[test]
fn the_strip_has_a_cell_for_each_task() {
    let tree = sixty();
    let outline = outline(&tree, &after_a_while);
    let cells = outline.cells();
    assert_eq!(cells.len(), 60);
    for (work, state, title) in [
        (8, Succeeded, "task-08: succeeded after 3 seconds"),
        (10, Running, "task-10: running for 1 second"),
        (22, Waiting, "task-22: waiting for you, running for 2 seconds"),
        (59, NotReached, "task-59: not reached"),
    ] {
        let cell = &cells[work as usize];
        assert_eq!((cell.work, cell.state, &*cell.title), (work, state, title));
    }
}

#[test]
fn who_follows_sees_what_began_last() {
    let tree = sixty();
    assert_eq!(outline(&tree, &after_a_while).newest_running(), Some(16));
    assert_eq!(outline(&tree, &|_| UNKNOWN).newest_running(), None);
}

#[test]
fn arrows_walk_the_tree() {
    let tree = sixty();
    let rows = outline(&tree, &after_a_while).rows();
    for (current, key, step) in [
        (0, "ArrowDown", Some(Move::To(1))),
        (0, "ArrowUp", None),
        (0, "ArrowRight", Some(Move::Toggle)),
        (0, "ArrowLeft", None),
        (1, "ArrowRight", Some(Move::To(2))),
        (1, "ArrowLeft", Some(Move::Toggle)),
        (5, "ArrowRight", None),
        (5, "ArrowLeft", Some(Move::To(2))),
        (6, "ArrowLeft", Some(Move::To(2))),
        (7, "ArrowUp", Some(Move::To(6))),
        (18, "ArrowDown", None),
        (9, "Home", Some(Move::To(0))),
        (9, "End", Some(Move::To(18))),
        (18, "End", None),
        (5, "Enter", None),
        (99, "ArrowUp", None),
    ] {
        assert_eq!(neighbour(&rows, current, key), step, "{current} {key}");
    }
}
