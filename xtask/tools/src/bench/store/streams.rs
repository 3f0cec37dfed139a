//! Sessions that stream, kept and not kept: does a reader notice the store?

use anyhow::Context;

use super::{Place, Subject};
use crate::bench::figures::{Goal, Outcome, Sample, Unit};
use crate::bench::load::streams::{Streamed, Streams};

/// How often both are measured. What else happens on the machine changes from minute to minute, so
/// the two of a pair are compared, and the median of the pairs counts.
const PAIRS: usize = 5;

pub(super) async fn run(subject: &Subject<'_>) -> anyhow::Result<Outcome> {
    let [mut later, mut dearer] = [Vec::new(), Vec::new()];
    let mut pairs = Vec::new();
    for pair in 0..PAIRS {
        // Alternately first, as the second one might find the machine warmer.
        let [kept, not_kept] = if pair % 2 == 0 {
            let not_kept = measure(subject, Place::Memory, &Streams::HUNDRED).await?;
            [measure(subject, Place::Sqlite, &Streams::HUNDRED).await?, not_kept]
        } else {
            let kept = measure(subject, Place::Sqlite, &Streams::HUNDRED).await?;
            [kept, measure(subject, Place::Memory, &Streams::HUNDRED).await?]
        };
        let ages = [&not_kept, &kept].map(|streamed| streamed.ages.percentile(99));
        let [cpu_without, cpu] = [not_kept.cpu, kept.cpu]
            .map(|cpu| cpu.context("the system does not provide the CPU time"));
        let (cpu_without, cpu) = (cpu_without?, cpu?);
        later.push(ages[1] - ages[0]);
        dearer.push(cpu / cpu_without);
        pairs
            .push(format!("{:.1} → {:.1} ms, {cpu_without:.2} → {cpu:.2} CPU s", ages[0], ages[1]));
    }
    let many = measure(subject, Place::Sqlite, &Streams::FIVE_HUNDRED).await?;
    let median = |values: Vec<f64>| Sample::new(values).percentile(50);
    let goals = vec![
        Goal::new("age p99 more than in memory", Unit::Milliseconds, 2.0).measured(median(later)),
        Goal::new("CPU, times that in memory", Unit::Times, 1.15).measured(median(dearer)),
        Goal::new("age p99 of 500 sessions", Unit::Milliseconds, 100.0)
            .measured(many.ages.percentile(99)),
    ];
    let details = format!("{}; 500 sessions: age {}", pairs.join("; "), many.ages.spread());
    Ok(Outcome { goals, details })
}

async fn measure(
    subject: &Subject<'_>,
    place: Place,
    streams: &Streams,
) -> anyhow::Result<Streamed> {
    let data = tempfile::tempdir()?;
    let mut server = subject.serve(place, &data, &[])?;
    let streamed = streams.measure(&server).await;
    let stopped = server.stop().await;
    let streamed = streamed?;
    stopped?;
    Ok(streamed)
}
