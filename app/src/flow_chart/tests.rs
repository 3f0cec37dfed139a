use proptest::prelude::*;
use wire::chart::{Arrow, Chart, ChartNode, Hint};
use wire::entry::Work;
use wire::entry::testing::{alt, any_work, job, par, repeat, seq, task};

use super::layout::{Layout, Link, Place, Point, lay_out};
use super::text;

fn laid_out(work: Work) -> (Chart, Layout) {
    let chart = Chart::of(&job(work));
    let layout = lay_out(&chart);
    (chart, layout)
}

/// Whether a line overlaps a node in more than a point of its border.
fn crosses((x1, y1): Point, (x2, y2): Point, place: Place) -> bool {
    x1.max(x2) > place.left()
        && x1.min(x2) < place.right()
        && y1.max(y2) > place.top()
        && y1.min(y2) < place.bottom()
}

fn overlap(a: Place, b: Place) -> bool {
    a.left() < b.right() && b.left() < a.right() && a.top() < b.bottom() && b.top() < a.bottom()
}

/// The box of an arrow's label, if it has one.
fn label_box(link: &Link) -> Option<Place> {
    let width = text::width(link.label.as_ref()?);
    let ((x, y), ends) = link.label_place();
    let x = if ends { x - width / 2 } else { x + width / 2 };
    Some(Place { x, y: y - 4, width, height: 12 })
}

/// The problems of a layout.
fn problems(layout: &Layout) -> Vec<String> {
    let mut problems = Vec::new();
    let inside =
        |(x, y): Point| (0..=layout.width).contains(&x) && (0..=layout.height).contains(&y);
    for (index, &node) in layout.nodes.iter().enumerate() {
        if !inside((node.left(), node.top())) || !inside((node.right(), node.bottom())) {
            problems.push(format!("{index} is outside"));
        }
        let others = layout.nodes.iter().enumerate().skip(index + 1);
        for (other, _) in others.filter(|&(_, &other)| overlap(node, other)) {
            problems.push(format!("{index} and {other} overlap"));
        }
    }
    for link in &layout.links {
        let name = format!("{} to {}", link.from, link.to);
        let (Some(start), Some(end)) = (link.points.first(), link.points.last()) else {
            problems.push(format!("{name} is missing"));
            continue;
        };
        if !link.points.iter().all(|&point| inside(point)) {
            problems.push(format!("{name} is outside"));
        }
        if !link.loop_back && end.1 <= start.1 {
            problems.push(format!("{name} does not go down"));
        }
        for line in link.points.windows(2) {
            if (line[0].0 == line[1].0) == (line[0].1 == line[1].1) {
                problems.push(format!("{name} is not of straight lines"));
            }
            let crossed = layout.nodes.iter().position(|&node| crosses(line[0], line[1], node));
            problems.extend(crossed.map(|node| format!("{name} runs through {node}")));
        }
    }
    let labels: Vec<Place> = layout.links.iter().filter_map(label_box).collect();
    for (index, &label) in labels.iter().enumerate() {
        if !inside((label.left(), label.top())) || !inside((label.right(), label.bottom())) {
            problems.push(format!("label {index} is outside"));
        }
        if layout.nodes.iter().chain(&labels[index + 1..]).any(|&other| overlap(label, other)) {
            problems.push(format!("label {index} overlaps"));
        }
        let mut lines = layout.links.iter().flat_map(|link| link.points.windows(2));
        if lines.any(|line| crosses(line[0], line[1], label)) {
            problems.push(format!("a line runs through label {index}"));
        }
    }
    problems
}

proptest! {
    #[test]
    fn every_layout_is_clean(
        work in any_work("[a-z]{1,40}".prop_map(|name| task(&name)), 40, 4)
    ) {
        let (chart, layout) = laid_out(work);
        prop_assert_eq!(layout.nodes.len(), chart.nodes.len());
        let arrows = chart.nodes.iter().map(|node| node.arrows.len()).sum::<usize>();
        prop_assert_eq!(layout.links.len(), arrows);
        prop_assert_eq!(problems(&layout), Vec::<String>::new());
    }

    #[test]
    fn any_chart_has_a_layout(nodes in prop::collection::vec(any_node(), 0..12)) {
        let count = nodes.len();
        let layout = lay_out(&Chart { nodes });
        prop_assert_eq!(layout.nodes.len(), count);
        prop_assert!(layout.links.iter().all(|link| link.points.len() > 1));
    }
}

/// A node of a chart that no job produces.
fn any_node() -> impl Strategy<Value = ChartNode> {
    use Hint::*;
    let hints = [TaskNode(0), CondNode(0), ParBegin, ParEnd, CondBegin, CondEnd, LoopEnd, AltEnd];
    let arrow = (0..14_u32, any::<bool>());
    let arrow = arrow.prop_map(|(to, loop_back)| Arrow { to, label: None, loop_back });
    (prop::sample::select(hints.to_vec()), prop::collection::vec(arrow, 0..4))
        .prop_map(|(hint, arrows)| ChartNode { id: 0, hint, label: None, arrows })
}

#[test]
fn a_chain_is_a_column() {
    let (_, layout) = laid_out(seq(vec![task("a"), task("a-much-longer-name"), task("c")]));
    let [a, b, c] = layout.nodes[..] else { panic!("{layout:?}") };
    assert_eq!((a.x, b.x, c.x), (layout.width / 2, layout.width / 2, layout.width / 2));
    assert_eq!(b.top() - a.bottom(), c.top() - b.bottom());
    assert!(b.width > a.width);
}

#[test]
fn works_side_by_side_are_centred_below_their_beginning() {
    let (_, layout) = laid_out(par(vec![task("a"), task("b"), task("c")]));
    let [begin, a, b, c, end] = layout.nodes[..] else { panic!("{layout:?}") };
    assert_eq!((begin.x, b.x, end.x), (layout.width / 2, layout.width / 2, layout.width / 2));
    assert_eq!((a.y, c.y), (b.y, b.y));
    assert_eq!(b.x - a.x, c.x - b.x);
    // The outer arrows leave and arrive at the sides.
    let points = |from, to| {
        let link = layout.links.iter().find(|link| (link.from, link.to) == (from, to));
        link.map(|link| link.points.clone()).unwrap_or_default()
    };
    assert_eq!(points(0, 1), [(begin.left(), begin.y), (a.x, begin.y), (a.x, a.top())]);
    assert_eq!(points(0, 2), [(begin.x, begin.bottom()), (b.x, b.top())]);
    assert_eq!(points(3, 4), [(c.x, c.bottom()), (c.x, end.y), (end.right(), end.y)]);
}

#[test]
fn a_loop_goes_back_on_the_left_and_past_its_body_on_the_right() {
    let (pre, post) = (Some((true, task("more"))), Some((true, task("again"))));
    let (_, layout) = laid_out(repeat(pre, task("a-task-with-a-name"), post));
    let (left, right) = layout.nodes.iter().fold((i32::MAX, 0), |(left, right), node| {
        (left.min(node.left()), right.max(node.right()))
    });
    for link in &layout.links {
        let lane_left = link.points.iter().any(|point| point.0 < left);
        let lane_right = link.points.iter().any(|point| point.0 > right);
        assert_eq!(lane_left, link.loop_back, "{link:?}");
        assert_eq!(lane_right, (link.from, link.to) == (0, 3), "{link:?}");
    }
    // From above, where no other arrow leaves the start.
    let back = layout.links.iter().find(|link| link.loop_back).expect("a way back");
    let start = layout.nodes[0];
    assert_eq!(back.points.last(), Some(&(start.x, start.top())));
}

#[test]
fn true_is_on_the_left_and_a_missing_branch_is_passed() {
    let both = laid_out(alt(task("if"), Some(task("then")), Some(task("else")))).1;
    assert!(both.nodes[1].x < both.nodes[0].x && both.nodes[0].x < both.nodes[2].x);
    assert_eq!(both.nodes[0].x, both.nodes[3].x);
    let one = laid_out(alt(task("if"), None, Some(task("else")))).1;
    assert_eq!(one.nodes[1].x, one.nodes[0].x);
    let passes = |link: &&Link| link.label.as_deref() == Some("true");
    let link = one.links.iter().find(passes).expect("a way past");
    assert!(link.points[1].0 < one.nodes[1].left(), "{link:?}");
}

#[test]
fn large_jobs_are_laid_out_cleanly() {
    let chains = (0..20).map(|_| {
        let tasks = seq((0..24).map(|_| task("a-task")));
        repeat(None, alt(task("if"), Some(tasks), None), Some((true, task("again"))))
    });
    let chains: Vec<Work> = chains.collect();
    let (chart, layout) = laid_out(seq(vec![par(chains.clone()), seq(chains)]));
    assert!(chart.nodes.len() > 1000);
    assert_eq!(problems(&layout), Vec::<String>::new());
}
