//! `#matrix-part`: all jobs as buttons, row by row.

use wire::JobList;
use wire::entry::{GridCell, GridRow};

use super::{Draft, Field};
use crate::components::stop_server::StopServer;
use crate::html::{Html, html};
use crate::load::Load;
use crate::reactive::prelude::*;

/// The matrix. At most one job is selected.
#[component]
pub(super) fn Matrix(draft: Draft, stopped: RwSignal<bool>) -> Html {
    let failure = RwSignal::new(None::<String>);
    // Errors of the list are shown in the same place as those of a start.
    Effect::new(move |_| {
        if let Some(reason) = failure.get() {
            draft.failure.set(Some((Field::Form, reason)));
        }
    });
    let grid = move || match draft.list.state.get() {
        Load::Ready(list) => list.grid,
        _ => Vec::new(),
    };
    let empty = move || match draft.list.state.get() {
        Load::Pending => Some("Loading …".to_owned()),
        Load::Failed(error) => Some(error.to_string()),
        Load::Ready(list) if list.grid.is_empty() => {
            Some("No jobs are installed on this server.".to_owned())
        }
        Load::Ready(_) => None,
    };
    let columns = move || columns(&grid());
    let on_stopped = Callback::new(move |()| stopped.set(true));
    html! {
        <section id="matrix-part" class="part">
            <table id="matrix-table">
                <colgroup>
                    <col class="matrix-keywords" />
                </colgroup>
                <thead>
                    <tr>
                        <td class="matrix-head" colspan=columns>
                            <div class="matrix-title-row">
                                <h2 class="matrix-title">"Available Jobs"</h2>
                                <StopServer on_stopped=on_stopped failure=failure />
                            </div>
                        </td>
                    </tr>
                </thead>
                <tbody>{move || draft.list.state.with(|list| rows(draft, list))}</tbody>
            </table>
            {move || empty().map(|text| html! { <p class="empty">{text}</p> })}
        </section>
    }
}

/// The number of columns: the keyword's and those of the longest row.
fn columns(grid: &[GridRow]) -> usize {
    1 + grid.iter().map(|row| row.jobs.len()).max().unwrap_or(0)
}

fn rows(draft: Draft, list: &Load<JobList>) -> Vec<Html> {
    let Load::Ready(list) = list else { return Vec::new() };
    let columns = columns(&list.grid);
    let mut number = 0;
    let rows = list.grid.iter().map(|row| {
        let jobs = row.jobs.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let cells = jobs.take(columns - 1).map(|job| {
            number += 1;
            html! { <td>{job.map(|job| draw_job(draft, job, number, list))}</td> }
        });
        let cells = cells.collect::<Html>();
        html! {
            <tr>
                <th class="matrix-keyword" scope="row">
                    {row.keyword.clone()}
                </th>
                {cells}
            </tr>
        }
    });
    rows.collect()
}

/// The button of a job, which fills its cell, and what is known about the job.
fn draw_job(draft: Draft, job: &GridCell, number: usize, list: &JobList) -> Html {
    let selected = draft.selected;
    let name = StoredValue::new(job.job_name.clone());
    let is_selected =
        move || name.with_value(|name| selected.with(|selected| selected.as_ref() == Some(name)));
    let toggle = move |_| {
        let again = untrack(is_selected);
        selected.set((!again).then(|| name.get_value()));
        draft.failure.set(None);
    };
    let description = list.jobs.get(&job.job_name).and_then(|facts| facts.description.clone());
    let description =
        description.map(|text| html! { <span class="matrix-job-description">{text}</span> });
    let facts = describe(list, &job.job_name);
    let facts =
        (!facts.is_empty()).then(|| html! { <span class="matrix-job-facts">{facts}</span> });
    let about = format!("job-about-{number}");
    html! {
        <button
            type="button"
            class="matrix-job-btn"
            class:selected=is_selected
            data-job-name=job.job_name.clone()
            aria-pressed=move || if is_selected() { "true" } else { "false" }
            aria-describedby=about.clone()
            on:click=toggle
        >
            {job.name.clone()}
        </button>
        <span class="matrix-job-about" id=about>
            {description}
            {facts}
        </span>
    }
}

/// How large a job is, and whether it has to be told something.
fn describe(list: &JobList, name: &str) -> String {
    let tasks = list
        .chart
        .get(name)
        .map_or(0, |chart| chart.nodes.iter().filter(|node| node.hint.work_id().is_some()).count());
    let tasks = match tasks {
        0 => None,
        1 => Some("1 task".to_owned()),
        count => Some(format!("{count} tasks")),
    };
    let needs_input = list.jobs.get(name).is_some_and(|facts| facts.require_user_input);
    let input = needs_input.then(|| "needs input".to_owned());
    [tasks, input].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_columns_as_the_longest_row_needs() {
        let row = |jobs: usize| GridRow { keyword: String::new(), jobs: vec![None; jobs] };
        assert_eq!(columns(&[]), 1);
        assert_eq!(columns(&[row(1), row(3), row(0)]), 4);
    }

    #[test]
    fn a_job_says_how_large_it_is_and_what_it_needs() {
        let list: JobList = serde_json::from_str(
            r#"{"grid":[],"jobs":{
                "one":{"requireUserInput":true},
                "two":{"requireUserInput":false},
                "none":{"requireUserInput":false}
            },"chart":{
                "one":{"nodes":[{"id":0,"hint":["TaskNode",1]}]},
                "two":{"nodes":[
                    {"id":0,"hint":["TaskNode",1]},{"id":1,"hint":"ParEnd"},
                    {"id":2,"hint":["CondNode",2]}
                ]}
            }}"#,
        )
        .expect("a list");
        for (name, facts) in [("one", "1 task · needs input"), ("two", "2 tasks"), ("none", "")] {
            assert_eq!(describe(&list, name), facts);
        }
    }
}
