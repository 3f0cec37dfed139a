//! The icons of the pages, as the inside of an SVG element.
//!
//! From Lucide 1.18.0 (<https://lucide.dev>), under the ISC licence, some of it from Feather under the
//! MIT licence; both are in `public/lucide-licence.txt`, which the server delivers. All shapes of
//! an icon are joined into one path: that is shorter, and one element instead of up to eight.

/// An icon, named by what it stands for. It is drawn in a view box of 24 × 24 with a stroke of 2 in
/// the colour of the text, and without a fill (class `icon`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// Starts something new, or adds to it.
    Plus,
    /// The inbox.
    Inbox,
    /// The history.
    History,
    /// The bridge between projects.
    Bridge,
    /// At work; the only one that turns.
    Working,
    /// Waits for a person.
    Waiting,
    /// Nothing to do.
    Idle,
    /// Waits for its turn.
    Queued,
    /// Passed by.
    Skipped,
    /// Not reached.
    NotReached,
    /// Succeeded, or chosen.
    Check,
    /// Failed.
    Failed,
    /// Canceled, or denied.
    Canceled,
    /// Cut off by the end of the server.
    Interrupted,
    /// The outcome of a condition.
    Split,
    /// Searches, or did.
    Search,
    /// Edits, or did.
    Pencil,
    /// A command.
    Terminal,
    /// A file.
    File,
    /// Something from the network.
    Globe,
    /// A sub-agent, or a model.
    Bot,
    /// Any other tool.
    Wrench,
    /// A question of the agent.
    Question,
    /// Folded.
    ChevronRight,
    /// Open, or opens a list.
    ChevronDown,
    /// Makes something larger.
    Expand,
    /// Makes it smaller again.
    Shrink,
    /// Closes, or removes.
    Close,
    /// Opens the side bar.
    Menu,
    /// More actions.
    More,
    /// Makes the side bar narrow or wide.
    Sidebar,
    /// The light theme.
    Sun,
    /// The dark theme.
    Moon,
    /// The system's theme.
    Monitor,
    /// Copies.
    Copy,
    /// Exports.
    Download,
    /// A git branch.
    Branch,
    /// A folder.
    Folder,
    /// Notifications.
    Bell,
    /// Jumps to the latest.
    ArrowDown,
    /// Attaches a file.
    Attach,
    /// Sends.
    Send,
    /// Stops.
    Stop,
    /// Tries again.
    Retry,
    /// Choices.
    Settings,
    /// The outline of a job.
    Outline,
    /// The chart of a job.
    Chart,
    /// The definition of a job.
    Code,
}

impl Icon {
    /// The markup inside of the icon's `<svg>`.
    #[expect(clippy::too_many_lines, reason = "a table")]
    pub fn body(self) -> &'static str {
        match self {
            Self::Plus => r#"<path d="M5 12h14M12 5v14"/>"#,
            Self::Inbox => {
                r#"<path d="M22 12L16 12 14 15 10 15 8 12 2 12M5.45 5.11 2 12v6a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2v-6l-3.45-6.89A2 2 0 0 0 16.76 4H7.24a2 2 0 0 0-1.79 1.11z"/>"#
            }
            Self::History => {
                r#"<path d="M3 12a9 9 0 1 0 9-9 9.75 9.75 0 0 0-6.74 2.74L3 8M3 3v5h5M12 7v5l4 2"/>"#
            }
            Self::Bridge => {
                r#"<path d="M17 16h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-4a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1zM3 16h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-4a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1zM10 2h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-4a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1zM5 16v-3a1 1 0 0 1 1-1h12a1 1 0 0 1 1 1v3M12 12V8"/>"#
            }
            Self::Working => r#"<path d="M21 12a9 9 0 1 1-6.219-8.56"/>"#,
            Self::Waiting => {
                r#"<path d="M18 11V6a2 2 0 0 0-2-2a2 2 0 0 0-2 2M14 10V4a2 2 0 0 0-2-2a2 2 0 0 0-2 2v2M10 10.5V6a2 2 0 0 0-2-2a2 2 0 0 0-2 2v8M18 8a2 2 0 1 1 4 0v6a8 8 0 0 1-8 8h-2c-2.8 0-4.5-.86-5.99-2.34l-3.6-3.6a2 2 0 0 1 2.83-2.82L7 15"/>"#
            }
            Self::Idle => r#"<path d="M11.1 12.1a1 1 0 1 0 2 0a1 1 0 1 0-2 0"/>"#,
            Self::Queued => r#"<path d="M2 12a10 10 0 1 0 20 0a10 10 0 1 0-20 0M12 6v6l4 2"/>"#,
            Self::Skipped => {
                r#"<path d="M21 4v16M6.029 4.285A2 2 0 0 0 3 6v12a2 2 0 0 0 3.029 1.715l9.997-5.998a2 2 0 0 0 .003-3.432z"/>"#
            }
            Self::NotReached => {
                r#"<path d="M10.1 2.182a10 10 0 0 1 3.8 0M13.9 21.818a10 10 0 0 1-3.8 0M17.609 3.721a10 10 0 0 1 2.69 2.7M2.182 13.9a10 10 0 0 1 0-3.8M20.279 17.609a10 10 0 0 1-2.7 2.69M21.818 10.1a10 10 0 0 1 0 3.8M3.721 6.391a10 10 0 0 1 2.7-2.69M6.391 20.279a10 10 0 0 1-2.69-2.7"/>"#
            }
            Self::Check => r#"<path d="M20 6 9 17l-5-5"/>"#,
            Self::Failed => {
                r#"<path d="M2 12a10 10 0 1 0 20 0a10 10 0 1 0-20 0M15 9l-6 6M9 9l6 6"/>"#
            }
            Self::Canceled => {
                r#"<path d="M2 12a10 10 0 1 0 20 0a10 10 0 1 0-20 0M4.929 4.929 19.07 19.071"/>"#
            }
            Self::Interrupted => {
                r#"<path d="M19 5l3-3M2 22l3-3M6.3 20.3a2.4 2.4 0 0 0 3.4 0L12 18l-6-6-2.3 2.3a2.4 2.4 0 0 0 0 3.4ZM7.5 13.5 10 11M10.5 16.5 13 14M12 6l6 6 2.3-2.3a2.4 2.4 0 0 0 0-3.4l-2.6-2.6a2.4 2.4 0 0 0-3.4 0Z"/>"#
            }
            Self::Split => {
                r#"<path d="M16 3h5v5M8 3H3v5M12 22v-8.3a4 4 0 0 0-1.172-2.872L3 3M15 9l6-6"/>"#
            }
            Self::Search => r#"<path d="M21 21l-4.34-4.34M3 11a8 8 0 1 0 16 0a8 8 0 1 0-16 0"/>"#,
            Self::Pencil => {
                r#"<path d="M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497zM15 5l4 4"/>"#
            }
            Self::Terminal => r#"<path d="M12 19h8M4 17l6-6-6-6"/>"#,
            Self::File => {
                r#"<path d="M6 22a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2h8a2.4 2.4 0 0 1 1.704.706l3.588 3.588A2.4 2.4 0 0 1 20 8v12a2 2 0 0 1-2 2zM14 2v5a1 1 0 0 0 1 1h5M10 9H8M16 13H8M16 17H8"/>"#
            }
            Self::Globe => {
                r#"<path d="M2 12a10 10 0 1 0 20 0a10 10 0 1 0-20 0M12 2a14.5 14.5 0 0 0 0 20 14.5 14.5 0 0 0 0-20M2 12h20"/>"#
            }
            Self::Bot => {
                r#"<path d="M12 8V4H8M6 8h12a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-12a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2zM2 14h2M20 14h2M15 13v2M9 13v2"/>"#
            }
            Self::Wrench => {
                r#"<path d="M14.7 6.3a1 1 0 0 0 0 1.4l1.6 1.6a1 1 0 0 0 1.4 0l3.106-3.105c.32-.322.863-.22.983.218a6 6 0 0 1-8.259 7.057l-7.91 7.91a1 1 0 0 1-2.999-3l7.91-7.91a6 6 0 0 1 7.057-8.259c.438.12.54.662.219.984z"/>"#
            }
            Self::Question => {
                r#"<path d="M2.992 16.342a2 2 0 0 1 .094 1.167l-1.065 3.29a1 1 0 0 0 1.236 1.168l3.413-.998a2 2 0 0 1 1.099.092 10 10 0 1 0-4.777-4.719M9.09 9a3 3 0 0 1 5.83 1c0 2-3 3-3 3M12 17h.01"/>"#
            }
            Self::ChevronRight => r#"<path d="M9 18l6-6-6-6"/>"#,
            Self::ChevronDown => r#"<path d="M6 9l6 6 6-6"/>"#,
            Self::Expand => r#"<path d="M15 3h6v6M21 3l-7 7M3 21l7-7M9 21H3v-6"/>"#,
            Self::Shrink => r#"<path d="M14 10l7-7M20 10h-6V4M3 21l7-7M4 14h6v6"/>"#,
            Self::Close => r#"<path d="M18 6 6 18M6 6l12 12"/>"#,
            Self::Menu => r#"<path d="M4 5h16M4 12h16M4 19h16"/>"#,
            Self::More => {
                r#"<path d="M11 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M18 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M4 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0"/>"#
            }
            Self::Sidebar => {
                r#"<path d="M5 3h14a2 2 0 0 1 2 2v14a2 2 0 0 1-2 2h-14a2 2 0 0 1-2-2v-14a2 2 0 0 1 2-2zM9 3v18"/>"#
            }
            Self::Sun => {
                r#"<path d="M8 12a4 4 0 1 0 8 0a4 4 0 1 0-8 0M12 2v2M12 20v2M4.93 4.93l1.41 1.41M17.66 17.66l1.41 1.41M2 12h2M20 12h2M6.34 17.66l-1.41 1.41M19.07 4.93l-1.41 1.41"/>"#
            }
            Self::Moon => {
                r#"<path d="M20.985 12.486a9 9 0 1 1-9.473-9.472c.405-.022.617.46.402.803a6 6 0 0 0 8.268 8.268c.344-.215.825-.004.803.401"/>"#
            }
            Self::Monitor => {
                r#"<path d="M4 3h16a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-16a2 2 0 0 1-2-2v-10a2 2 0 0 1 2-2zM8 21L16 21M12 17L12 21"/>"#
            }
            Self::Copy => {
                r#"<path d="M10 8h10a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-10a2 2 0 0 1-2-2v-10a2 2 0 0 1 2-2zM4 16c-1.1 0-2-.9-2-2V4c0-1.1.9-2 2-2h10c1.1 0 2 .9 2 2"/>"#
            }
            Self::Download => {
                r#"<path d="M12 15V3M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4M7 10l5 5 5-5"/>"#
            }
            Self::Branch => {
                r#"<path d="M15 6a9 9 0 0 0-9 9V3M15 6a3 3 0 1 0 6 0a3 3 0 1 0-6 0M3 18a3 3 0 1 0 6 0a3 3 0 1 0-6 0"/>"#
            }
            Self::Folder => {
                r#"<path d="M20 20a2 2 0 0 0 2-2V8a2 2 0 0 0-2-2h-7.9a2 2 0 0 1-1.69-.9L9.6 3.9A2 2 0 0 0 7.93 3H4a2 2 0 0 0-2 2v13a2 2 0 0 0 2 2Z"/>"#
            }
            Self::Bell => {
                r#"<path d="M10.268 21a2 2 0 0 0 3.464 0M3.262 15.326A1 1 0 0 0 4 17h16a1 1 0 0 0 .74-1.673C19.41 13.956 18 12.499 18 8A6 6 0 0 0 6 8c0 4.499-1.411 5.956-2.738 7.326"/>"#
            }
            Self::ArrowDown => r#"<path d="M12 5v14M19 12l-7 7-7-7"/>"#,
            Self::Attach => {
                r#"<path d="M16 6l-8.414 8.586a2 2 0 0 0 2.829 2.829l8.414-8.586a4 4 0 1 0-5.657-5.657l-8.379 8.551a6 6 0 1 0 8.485 8.485l8.379-8.551"/>"#
            }
            Self::Send => {
                r#"<path d="M14.536 21.686a.5.5 0 0 0 .937-.024l6.5-19a.496.496 0 0 0-.635-.635l-19 6.5a.5.5 0 0 0-.024.937l7.93 3.18a2 2 0 0 1 1.112 1.11zM21.854 2.147l-10.94 10.939"/>"#
            }
            Self::Stop => {
                r#"<path d="M5 3h14a2 2 0 0 1 2 2v14a2 2 0 0 1-2 2h-14a2 2 0 0 1-2-2v-14a2 2 0 0 1 2-2z"/>"#
            }
            Self::Retry => {
                r#"<path d="M3 12a9 9 0 1 0 9-9 9.75 9.75 0 0 0-6.74 2.74L3 8M3 3v5h5"/>"#
            }
            Self::Settings => {
                r#"<path d="M14 17H5M19 7h-9M14 17a3 3 0 1 0 6 0a3 3 0 1 0-6 0M4 7a3 3 0 1 0 6 0a3 3 0 1 0-6 0"/>"#
            }
            Self::Outline => {
                r#"<path d="M8 5h13M13 12h8M13 19h8M3 10a2 2 0 0 0 2 2h3M3 5v12a2 2 0 0 0 2 2h3"/>"#
            }
            Self::Chart => {
                r#"<path d="M5 3h4a2 2 0 0 1 2 2v4a2 2 0 0 1-2 2h-4a2 2 0 0 1-2-2v-4a2 2 0 0 1 2-2zM7 11v4a2 2 0 0 0 2 2h4M15 13h4a2 2 0 0 1 2 2v4a2 2 0 0 1-2 2h-4a2 2 0 0 1-2-2v-4a2 2 0 0 1 2-2z"/>"#
            }
            Self::Code => r#"<path d="M16 18l6-6-6-6M8 6l-6 6 6 6"/>"#,
        }
    }
}
