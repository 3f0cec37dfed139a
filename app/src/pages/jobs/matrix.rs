//! `#matrix-part`: all jobs as buttons, row by row.

use leptos::prelude::*;
use wire::entry::{GridCell, GridRow};

use super::{Draft, Field};
use crate::components::stop_server::StopServer;
use crate::html::{Html, html};
use crate::load::Load;

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
                <thead>
                    <tr>
                        <td class="matrix-head" colspan=columns>
                            <div class="matrix-title-row">
                                <h1 class="matrix-title">"Available Jobs"</h1>
                                <StopServer on_stopped=on_stopped failure=failure />
                            </div>
                        </td>
                    </tr>
                </thead>
                <tbody>{move || rows(draft, &grid())}</tbody>
            </table>
            {move || empty().map(|text| html! { <p class="empty">{text}</p> })}
        </section>
    }
}

/// The number of columns: the keyword's and those of the longest row.
fn columns(grid: &[GridRow]) -> usize {
    1 + grid.iter().map(|row| row.jobs.len()).max().unwrap_or(0)
}

fn rows(draft: Draft, grid: &[GridRow]) -> Vec<Html> {
    let columns = columns(grid);
    let rows = grid.iter().map(|row| {
        let jobs = row.jobs.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let cells: Vec<_> = jobs.take(columns - 1).map(|job| cell(draft, job)).collect();
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

fn cell(draft: Draft, job: Option<&GridCell>) -> Html {
    let button = job.map(|job| {
        let selected = draft.selected;
        let name = StoredValue::new(job.job_name.clone());
        let is_selected = move || {
            name.with_value(|name| selected.with(|selected| selected.as_ref() == Some(name)))
        };
        let toggle = move |_| {
            let again = untrack(is_selected);
            selected.set((!again).then(|| name.get_value()));
            draft.failure.set(None);
        };
        html! {
            <button
                type="button"
                class="matrix-job-btn"
                class:selected=is_selected
                data-job-name=job.job_name.clone()
                aria-pressed=move || if is_selected() { "true" } else { "false" }
                on:click=toggle
            >
                {job.name.clone()}
            </button>
        }
    });
    html! { <td>{button}</td> }
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
}
