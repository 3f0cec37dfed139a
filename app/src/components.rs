//! Components shared by several pages, one file each.

pub(crate) mod attachment;
pub(crate) mod budget_meters;
pub(crate) mod confirm;
pub(crate) mod diff;
pub(crate) mod flow_chart;
pub(crate) mod folder_field;
pub(crate) mod frame;
pub(crate) mod icon;
pub(crate) mod log_line;
pub(crate) mod message_block;
pub(crate) mod page_header;
pub(crate) mod permission_card;
pub(crate) mod permission_select;
pub(crate) mod resize_bar;
pub(crate) mod reveal;
pub(crate) mod session_responses;
pub(crate) mod sidebar;
pub(crate) mod split;
pub(crate) mod stop_server;
pub(crate) mod theme_button;
pub(crate) mod verdicts;
pub(crate) mod work_mark;
