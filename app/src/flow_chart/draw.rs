//! A chart as SVG. Its nodes have their initial look.
//!
//! Text rather than views: it is smaller to download, needs no hydration, and only a few attributes
//! change later.

use std::fmt::Write;

use wire::chart::{Chart, ChartNode, Hint};
use wire::html::push_escaped;

use super::layout::{Layout, Link, Place};
use super::{path, text};

/// The drawing as SVG. Interactive nodes can be selected.
pub(crate) fn draw(chart: &Chart, layout: &Layout, interactive: bool) -> String {
    let mut svg = String::new();
    let Layout { width, height, .. } = layout;
    // Here and below: writing to a string cannot fail.
    let _ = write!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">"#
    );
    for link in &layout.links {
        draw_link(&mut svg, link);
    }
    for (node, &place) in chart.nodes.iter().zip(&layout.nodes) {
        draw_node(&mut svg, node, place, interactive);
    }
    svg.push_str("</svg>");
    svg
}

/// The classes that a node always has.
pub(crate) fn class(hint: Hint) -> &'static str {
    match hint {
        Hint::TaskNode(_) => "node task",
        Hint::CondNode(_) | Hint::CondBegin | Hint::CondEnd => "node cond",
        Hint::ParBegin | Hint::ParEnd => "node par",
        Hint::LoopEnd => "node loop-end",
        Hint::AltEnd => "node alt-end",
    }
}

fn draw_link(svg: &mut String, link: &Link) {
    let class = if link.loop_back { "arrow loop-back" } else { "arrow" };
    let (way, tip) = (path::line(&link.points), path::tip(&link.points));
    let _ = write!(
        svg,
        r#"<g class="{class}"><path class="line" d="{way}"/><path class="tip" d="{tip}"/>"#
    );
    if let Some(label) = &link.label {
        let ((x, y), ends) = link.label_place();
        let anchor = if ends { "end" } else { "start" };
        let _ = write!(svg, r#"<text x="{x}" y="{y}" text-anchor="{anchor}">"#);
        push_escaped(svg, label);
        svg.push_str("</text>");
    }
    svg.push_str("</g>");
}

fn draw_node(svg: &mut String, node: &ChartNode, place: Place, interactive: bool) {
    let Place { x, y, width, height } = place;
    let class = class(node.hint);
    let _ = write!(svg, r#"<g class="{class}" transform="translate({x} {y})""#);
    let Some(id) = node.hint.work_id() else {
        svg.push('>');
        draw_shape(svg, node.hint, place);
        svg.push_str("</g>");
        return;
    };
    let role = if interactive {
        r#"role="button" aria-pressed="false" tabindex="0""#
    } else {
        r#"role="img""#
    };
    let label = node.label.as_deref().unwrap_or_default();
    let _ = write!(svg, r#" data-work-id="{id}" {role} aria-label=""#);
    push_escaped(svg, label);
    svg.push_str(r#""><title>"#);
    push_escaped(svg, label);
    let (left, top) = (-width / 2, -height / 2);
    let _ = write!(
        svg,
        r#"</title><rect class="ring" x="{}" y="{}" width="{}" height="{}" rx="12"/>"#,
        left - 6,
        top - 6,
        width + 12,
        height + 12,
    );
    draw_shape(svg, node.hint, place);
    // Assistive technology reads the whole label, so the truncated texts are hidden from it.
    // The inset keeps them inside the left border; a hexagon is narrower there.
    let inset = if matches!(node.hint, Hint::CondNode(_)) { 21 } else { 16 };
    let _ = write!(
        svg,
        r#"<path class="mark" transform="translate({} 0)"/><path class="past-mark" transform="translate({} 0)"/><text class="label" aria-hidden="true">"#,
        left + inset,
        -left - inset
    );
    push_escaped(svg, &text::shorten(label));
    svg.push_str(r#"</text><text class="elapsed" aria-hidden="true"></text></g>"#);
}

fn draw_shape(svg: &mut String, hint: Hint, place: Place) {
    let Place { width, height, .. } = place;
    let (right, bottom) = (width / 2, height / 2);
    let _ = match hint {
        Hint::CondNode(_) => {
            let inner = right - 16;
            write!(
                svg,
                r#"<polygon class="shape" points="-{right},0 -{inner},-{bottom} {inner},-{bottom} {right},0 {inner},{bottom} -{inner},{bottom}"/>"#
            )
        }
        Hint::CondEnd => write!(
            svg,
            r#"<polygon class="shape" points="-{right},0 0,-{bottom} {right},0 0,{bottom}"/>"#
        ),
        Hint::LoopEnd => write!(svg, r#"<circle class="shape" r="{right}"/>"#),
        _ => {
            let round = bottom.min(7);
            write!(
                svg,
                r#"<rect class="shape" x="-{right}" y="-{bottom}" width="{width}" height="{height}" rx="{round}"/>"#
            )
        }
    };
}

#[cfg(test)]
mod tests {
    use wire::entry::Work;
    use wire::entry::testing::{alt, job, par, repeat, seq};

    use super::super::layout::lay_out;
    use super::*;

    fn drawn(interactive: bool) -> String {
        let task = |name: &str, work_id_in_job| Work::Ref {
            task_id: name.to_owned(),
            work_id_in_job,
            model_override: None,
        };
        let long = "a-name-that-is-far-too-long-for-a-node";
        let body = par([task("<\"one\">", 2), task(long, 3)]);
        let body = alt(seq([task("a", 1), task("b", 4)]), Some(body), None);
        let chart = Chart::of(&job(repeat(None, body, Some((true, task("again", 0))))));
        draw(&chart, &lay_out(&chart), interactive)
    }

    #[test]
    fn every_kind_of_node_has_its_shape_and_every_task_its_work() {
        let svg = drawn(true);
        for (part, count) in [
            ("<g class=\"node ", 11),
            ("<g class=\"node task\"", 4),
            ("<g class=\"node cond\"", 3),
            ("<g class=\"node par\"", 2),
            ("<g class=\"node alt-end\"", 1),
            ("<circle class=\"shape\"", 1),
            ("<polygon class=\"shape\"", 2),
            ("<rect class=\"shape\"", 8),
            ("class=\"arrow\"", 12),
            ("class=\"arrow loop-back\"", 1),
            ("role=\"button\"", 5),
            ("data-work-id=\"3\"", 1),
            ("<title>a-name-that-is-far-too-long-for-a-node</title>", 1),
            (">a-name-that-is-far-too-long-f…</text>", 1),
            ("aria-label=\"&lt;&quot;one&quot;&gt;\"", 1),
            ("style=", 0),
        ] {
            assert_eq!(svg.matches(part).count(), count, "{part} in {svg}");
        }
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }

    #[test]
    fn a_preview_has_nothing_to_press() {
        let svg = drawn(false);
        assert!(!svg.contains("button") && !svg.contains("aria-pressed"), "{svg}");
        assert!(!svg.contains("tabindex"), "{svg}");
    }
}
