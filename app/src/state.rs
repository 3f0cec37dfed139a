//! The state of pages. [`transcript`], [`bridge`] and [`job`] are plain data and functions, built
//! on [`blocks`] and [`spending`], and so is [`budget`]; [`feed`], [`project`] and [`tracking`] put
//! them into signals.
//!
//! What pages decide without signals stands by itself: [`tool_summary`] and [`grouping`] (tool
//! calls), [`height`], [`live_markdown`] and [`following`] (long and growing texts), [`outline`]
//! (jobs), [`composer`], [`palette`], [`session_head`], [`folders`], [`drafts`], [`history`], and the
//! wording of [`duration`], [`title`], [`question`] and [`stop_question`].

pub(crate) mod alive;
pub(crate) mod blocks;
pub(crate) mod bridge;
pub(crate) mod budget;
pub(crate) mod composer;
pub(crate) mod drafts;
pub(crate) mod duration;
pub(crate) mod feed;
pub(crate) mod folders;
pub(crate) mod following;
pub(crate) mod grouping;
pub(crate) mod height;
pub(crate) mod history;
pub(crate) mod inbox;
pub(crate) mod job;
pub(crate) mod live_markdown;
pub(crate) mod outline;
pub(crate) mod palette;
pub(crate) mod project;
pub(crate) mod question;
pub(crate) mod session_head;
mod signals;
pub(crate) mod spending;
pub(crate) mod stop_question;
pub(crate) mod stored_run;
pub(crate) mod title;
pub(crate) mod tool_summary;
pub(crate) mod tracking;
pub(crate) mod transcript;
