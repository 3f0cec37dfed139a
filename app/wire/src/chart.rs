//! The flow chart of a job: what the server says of a job's shape, and what the page draws.
//!
//! Nodes are numbered in the order in which they are listed, so every arrow leads to a node of a
//! higher number, unless it goes back to the start of a loop.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::entry::{Job, Work};
use crate::json::{FromJson, Value};

/// A flow chart. Apart from arrows back to the start of a loop, only the first node has no incoming
/// arrow, and only the last has no outgoing one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct Chart {
    /// Nodes in the order of their ids.
    pub nodes: Vec<ChartNode>,
}

/// A node of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct ChartNode {
    /// Index of the node in the list.
    pub id: u32,
    /// What the node stands for.
    pub hint: Hint,
    /// Text to show in the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Outgoing arrows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrows: Vec<Arrow>,
}

/// An arrow from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Arrow {
    /// Id of the node that the arrow leads to.
    pub to: u32,
    /// Text beside the arrow: when this way is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether the arrow goes back to the start of a loop.
    pub loop_back: bool,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// The task of the work with this id.
    TaskNode(u32),
    /// The task of the work with this id, whose result decides which way to go.
    CondNode(u32),
    /// The start of concurrent works.
    ParBegin,
    /// The end of concurrent works.
    ParEnd,
    /// The start of a condition that consists of several works.
    CondBegin,
    /// The end of such a condition, whose result decides which way to go.
    CondEnd,
    /// The end of a loop.
    LoopEnd,
    /// The end of a branch, where both ways meet.
    AltEnd,
}

impl Hint {
    /// Id of the work whose task the node stands for, if it stands for one.
    pub fn work_id(self) -> Option<u32> {
        match self {
            Self::TaskNode(id) | Self::CondNode(id) => Some(id),
            _ => None,
        }
    }

    /// As it is spelt in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaskNode(_) => "TaskNode",
            Self::CondNode(_) => "CondNode",
            Self::ParBegin => "ParBegin",
            Self::ParEnd => "ParEnd",
            Self::CondBegin => "CondBegin",
            Self::CondEnd => "CondEnd",
            Self::LoopEnd => "LoopEnd",
            Self::AltEnd => "AltEnd",
        }
    }

    fn parse(name: &str, work_id: Option<u32>) -> Option<Self> {
        Some(match (name, work_id) {
            ("TaskNode", Some(id)) => Self::TaskNode(id),
            ("CondNode", Some(id)) => Self::CondNode(id),
            ("ParBegin", None) => Self::ParBegin,
            ("ParEnd", None) => Self::ParEnd,
            ("CondBegin", None) => Self::CondBegin,
            ("CondEnd", None) => Self::CondEnd,
            ("LoopEnd", None) => Self::LoopEnd,
            ("AltEnd", None) => Self::AltEnd,
            _ => return None,
        })
    }
}

impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.work_id() {
            Some(id) => (self.name(), id).serialize(serializer),
            None => serializer.serialize_str(self.name()),
        }
    }
}

impl FromJson for Hint {
    fn from_json(value: Value<'_>) -> Self {
        let hint = if value.is_text() {
            Self::parse(&value.text(), None)
        } else {
            let mut items = value.items();
            let (name, id) = (items.next(), items.next());
            let id = id.filter(|_| items.next().is_none()).map(u32::from_json);
            name.zip(id).and_then(|(name, id)| Self::parse(&name.text(), Some(id)))
        };
        hint.unwrap_or_else(|| {
            value.fail("a node's hint");
            Self::AltEnd
        })
    }
}

impl<'de> Deserialize<'de> for Hint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HintVisitor)
    }
}

/// Reads both shapes of a hint as they come; a derived enum would copy them into a tree first.
struct HintVisitor;

impl<'de> de::Visitor<'de> for HintVisitor {
    type Value = Hint;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a node's hint")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Hint, E> {
        Hint::parse(name, None).ok_or_else(|| E::custom("unknown hint"))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Hint, A::Error> {
        let name: Option<String> = items.next_element()?;
        let work_id = items.next_element()?;
        name.and_then(|name| work_id.and_then(|id| Hint::parse(&name, Some(id))))
            .ok_or_else(|| de::Error::custom("unknown hint"))
    }
}

impl Chart {
    /// Builds the chart of a job.
    pub fn of(job: &Job) -> Self {
        let mut chart = Self::default();
        chart.add_work(&job.work);
        chart
    }

    fn add_node(&mut self, hint: Hint, label: Option<String>) -> u32 {
        let id = u32::try_from(self.nodes.len()).expect("an entry has fewer works");
        self.nodes.push(ChartNode { id, hint, label, arrows: Vec::new() });
        id
    }

    fn add_arrow(&mut self, from: u32, to: u32, label: Option<bool>) {
        let label = label.map(|label| label.to_string());
        // A new node has the highest number, and only loops lead back to an earlier one.
        let arrow = Arrow { to, label, loop_back: to <= from };
        self.nodes[from as usize].arrows.push(arrow);
    }

    /// Adds the nodes of a work, and says which comes first and which last.
    fn add_work(&mut self, work: &Work) -> (u32, u32) {
        match work {
            Work::Ref { work_id_in_job, .. } => {
                let id = self.add_node(Hint::TaskNode(*work_id_in_job), label(work));
                (id, id)
            }
            Work::Seq { works } => self.add_chain(works).expect("a sequence is not empty"),
            Work::Par { works } => {
                let begin = self.add_node(Hint::ParBegin, None);
                let mut lasts = Vec::new();
                for work in works {
                    let (first, last) = self.add_work(work);
                    self.add_arrow(begin, first, None);
                    lasts.push(last);
                }
                let end = self.add_node(Hint::ParEnd, None);
                for last in lasts {
                    self.add_arrow(last, end, None);
                }
                (begin, end)
            }
            Work::Loop { pre_condition, body, post_condition } => {
                self.add_loop(pre_condition.as_ref(), body, post_condition.as_ref())
            }
            Work::Alt { condition, true_work, false_work } => {
                let (first, decision) = self.add_condition(condition);
                let ways = [(true, true_work), (false, false_work)]
                    .map(|(label, work)| (label, work.as_ref().map(|work| self.add_work(work))));
                let end = self.add_node(Hint::AltEnd, None);
                for (label, branch) in ways {
                    let to = branch.map_or(end, |(first, _)| first);
                    self.add_arrow(decision, to, Some(label));
                }
                for (_, last) in ways.into_iter().filter_map(|(_, branch)| branch) {
                    self.add_arrow(last, end, None);
                }
                (first, end)
            }
        }
    }

    fn add_chain(&mut self, works: &[Work]) -> Option<(u32, u32)> {
        let mut whole = None;
        for work in works {
            let (first, last) = self.add_work(work);
            whole = match whole {
                None => Some((first, last)),
                Some((start, previous)) => {
                    self.add_arrow(previous, first, None);
                    Some((start, last))
                }
            };
        }
        whole
    }

    fn add_loop(
        &mut self,
        pre_condition: Option<&(bool, Box<Work>)>,
        body: &Work,
        post_condition: Option<&(bool, Box<Work>)>,
    ) -> (u32, u32) {
        let pre = pre_condition.map(|(goes_on, work)| (*goes_on, self.add_condition(work)));
        let (body_first, body_last) = self.add_work(body);
        let start = pre.map_or(body_first, |(_, (first, _))| first);
        if let Some((goes_on, (_, decision))) = pre {
            self.add_arrow(decision, body_first, Some(goes_on));
        }
        let post = post_condition.map(|(goes_on, work)| {
            let (first, decision) = self.add_condition(work);
            self.add_arrow(body_last, first, None);
            self.add_arrow(decision, start, Some(*goes_on));
            (*goes_on, decision)
        });
        let end = self.add_node(Hint::LoopEnd, None);
        if let Some((goes_on, (_, decision))) = pre {
            self.add_arrow(decision, end, Some(!goes_on));
        }
        match post {
            Some((goes_on, decision)) => self.add_arrow(decision, end, Some(!goes_on)),
            None => self.add_arrow(body_last, end, None),
        }
        (start, end)
    }

    /// Adds a work whose result decides. Its last node is where the ways part.
    fn add_condition(&mut self, work: &Work) -> (u32, u32) {
        match work {
            Work::Ref { work_id_in_job, .. } => {
                let id = self.add_node(Hint::CondNode(*work_id_in_job), label(work));
                (id, id)
            }
            Work::Seq { works } if works.len() == 1 => self.add_condition(&works[0]),
            _ => {
                let begin = self.add_node(Hint::CondBegin, None);
                let (first, last) = self.add_work(work);
                self.add_arrow(begin, first, None);
                let end = self.add_node(Hint::CondEnd, None);
                self.add_arrow(last, end, None);
                (begin, end)
            }
        }
    }
}

/// The label of a task's node: the task's name, and the model if the work overrides it.
fn label(work: &Work) -> Option<String> {
    let Work::Ref { task_id, model_override, .. } = work else { return None };
    Some(match model_override {
        Some(model) => format!("{task_id} ({})", model.name()),
        None => task_id.clone(),
    })
}
