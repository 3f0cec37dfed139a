//! A sample of each type that the browser reads, with all its fields.

use super::compare;
use crate::bridge::{
    Acknowledged, ApprovalDecision, ApprovalRequest, AskedApproval, Draft, DraftTaken, Fragment,
    HistoryCleared, HistoryMessage, Inbound, MessageAccepted, Missed, Mode, ProjectDraft,
    ProjectDraftTaken, ProjectMessage, ProjectMessageEnd, Role, RunEnd, SessionHistory,
    SessionSummary,
};
use crate::chart::{Arrow, Chart, ChartNode, Hint};
use crate::entry::{GridCell, GridRow, OnInterrupted};
use crate::server::{ConfigReply, InstallResult, Refusal, TestReply};
use crate::*;

macro_rules! samples {
    ($($name:ident: $($sample:literal),*;)*) => {
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

        pub(super) fn compare_all() {
            $($(compare::<$name>($sample);)*)*
        }
    };
}

// Spelt as the macros name them.
type BridgeDone = bridge::Done;

samples! {
    Acknowledged: r#"{"ok":true}"#;
    Alive: r#"{"items":[]}"#;
    AliveItem: r#"{"id":"job-UUID","kind":"session","title":"t","folder":"f","model":"m",
        "state":"working","since":1,"startedAt":2,"parent":"job-UUID","label":"l","done":1,
        "total":2,"waiting":0}"#;
    AliveResponse: r#"{"callback":"aliveGone","id":"alive"}"#,
        r#"{"callback":"aliveChanged","item":{"id":"inbox","kind":"job","title":"","folder":"",
            "state":"idle","since":1,"startedAt":2,"waiting":0}}"#;
    AliveState: r#""interrupted""#;
    AnsweredInbox: r#"{"items":[],"next":7}"#;
    AnsweredItem: r#"{"id":"permission-UUID","kind":"budget","title":"t","path":"p","askedAt":"a",
        "answeredAt":"b","decision":"timed-out","by":"b","text":"t","sessionId":"session-UUID",
        "jobId":"job-UUID","folder":"f"}"#;
    ApprovalDecision: r#"{"approvalId":"permission-UUID","approved":true,"outcome":"deny",
        "id":"message-UUID","sessionId":"s"}"#;
    ApprovalRequest: r#"{"approvalId":"permission-UUID","id":"message-UUID","sessionId":"s",
        "model":"m","action":"a","kind":"url","title":"t","path":"p","diff":"d",
        "contentPreview":"c","eachTime":true}"#;
    Arrow: r#"{"to":1,"label":"l","loopBack":true}"#;
    AskedApproval: r#"{"request":{"approvalId":"permission-UUID","id":"message-UUID",
        "sessionId":"s","model":"m","action":"a","kind":"url","title":"t","path":"p"},"offset":3,
        "outcome":"approve-always"}"#;
    Attached: r#"{"attachmentId":"file-UUID","kind":"text","reference":"r"}"#;
    AttachmentKind: r#""image""#;
    BridgeDone: r#"{"id":"message-UUID","model":"m","sessionId":"s","reason":"maxSteps",
        "error":"e"}"#;
    Budget: r#"{"minutes":1.5,"turns":2,"tokens":3,"cost":0.25}"#;
    BudgetLimit: r#""minutes""#;
    Chart: r#"{"nodes":[{"id":0,"hint":["TaskNode",1],"label":"l","arrows":[]}]}"#;
    ChartNode: r#"{"id":0,"hint":"ParEnd","label":"l","arrows":[{"to":1,"loopBack":false}]}"#;
    Closed: r#""Closed""#;
    ConfigReply: r#"{"repoRoot":"r","version":"v","permissions":"approve-all","locked":true,
        "lasting":true,"notices":["n"]}"#;
    Criterion: r#""toolExecuted""#;
    Decision: r#"{"kind":"SessionStarted","role":"driving","model":"m","sessionId":"session-UUID"}"#,
        r#"{"kind":"Criteria","attempt":1,"met":false,"criterion":"condition","condition":"c",
            "argument":"a"}"#,
        r#"{"kind":"Criteria","attempt":1,"met":false,"criterion":"toolExecuted","required":["a"],
            "missing":["a"]}"#,
        r#"{"kind":"Decision","usedUp":"tries","role":"task","crashes":1,"failedTurns":2}"#,
        r#"{"kind":"Failed","cause":"budget","limit":"cost","allowed":1.5,"used":2}"#,
        r#"{"kind":"Failed","cause":"turnFailed","role":"task","error":"e","failedTurns":2}"#,
        r#"{"kind":"Interrupted","recovery":"sentAgain"}"#,
        r#"{"kind":"Misc","event":"stopped"}"#;
    Done: "{}";
    Draft: r#"{"id":"message-UUID","text":"t","source":"s","sessionId":"s","mode":"agent","at":"a"}"#;
    DraftTaken: r#"{"id":"message-UUID","sessionId":"s"}"#;
    EntityKind: r#""task""#;
    EntityState: r#""closed""#;
    ErrorName: r#""TaskCannotClose""#, r#""StoreUnavailable""#;
    ErrorReply: r#"{"error":"SessionBusy"}"#;
    ExtensionInfo: r#"{"name":"n","source":"user","path":"p","state":"needs-node","reason":"r",
        "tools":["t"],"hooks":true,"log":[{"level":"info","message":"m","at":"a"}]}"#;
    ExtensionLine: r#"{"level":"warning","message":"m","at":"a"}"#;
    ExtensionSource: r#""project""#;
    ExtensionState: r#""needs-sdk""#;
    ExtensionTrust: r#""forbid""#;
    Extensions: r#"{"folder":"f","trusted":true,"extensions":[]}"#;
    FailedTurn: r#""aborted""#;
    FallbackModels: r#"{"fallback":["a","b"]}"#;
    Files: r#"{"files":["a"]}"#;
    Folders: r#"{"folders":["a"]}"#;
    Fragment: r#"{"id":"message-UUID","fragment":"f","model":"m","sessionId":"s"}"#;
    GridCell: r#"{"name":"n","jobName":"j"}"#;
    GridRow: r#"{"keyword":"k","jobs":[null,{"name":"n","jobName":"j"}]}"#;
    Hint: r#""LoopEnd""#, r#"["CondNode",7]"#;
    History: r#"{"items":[],"next":7}"#;
    HistoryCleared: r#"{"sessionId":"s","at":"a"}"#;
    HistoryItem: r#"{"id":"task-UUID","kind":"task","title":"t","folder":"f","model":"m",
        "state":"failed","reason":"r","startedAt":"a","endedAt":"b",
        "usage":{"inputTokens":1,"outputTokens":2},"parent":"job-UUID","parentTitle":"p",
        "sessionId":"session-UUID","continuedFrom":"session-UUID","snippet":"s"}"#;
    HistoryMessage: r#"{"id":"message-UUID","role":"user","text":"t","at":"a","mode":"prompt",
        "model":"m","reason":"done","error":"e","approvals":[]}"#;
    Inbound: r#"{"id":"message-UUID","text":"t","source":"s","sessionId":"s","mode":"agent",
        "at":"a"}"#;
    Inbox: r#"{"items":[]}"#;
    InboxAnswer: r#"{"id":"permission-UUID","decision":"withdrawn","by":"b"}"#;
    InboxChoice: r#""approve-always""#;
    InboxDecision: r#""redo""#;
    InboxItem: r#"{"id":"permission-UUID","kind":"question","title":"t","detail":"d","path":"p",
        "diff":"d","options":[{"id":"raise","label":"l"}],"askedAt":"a","expiresAt":"e",
        "sessionId":"session-UUID","taskId":"task-UUID","jobId":"job-UUID","workId":7,
        "folder":"f"}"#;
    InboxKind: r#""conflict""#;
    InboxOption: r#"{"id":"leave","label":"l"}"#;
    InboxResponse: r#"{"callback":"inboxResolved","id":"permission-UUID","decision":"deny","by":"b"}"#,
        r#"{"callback":"inboxAdded","id":"permission-UUID","kind":"budget","title":"t",
            "options":[],"askedAt":"a","folder":"f"}"#;
    InstallResult: r#""OK""#, r#""InvalidatePath""#;
    JobFacts: r#"{"description":"d","requireUserInput":true}"#;
    JobId: r#""job-UUID""#;
    JobInfo: r#"{"jobId":"job-UUID","jobName":"n","startTime":"s","status":"Canceled",
        "state":"canceled","reason":"r"}"#;
    JobList: r#"{"grid":[],"jobs":{"b":{"requireUserInput":true},"a":{"requireUserInput":false}},
        "chart":{"b":{"nodes":[]}}}"#;
    JobResponse: r#"{"callback":"workStarted","workId":7,"taskId":"task-UUID"}"#,
        r#"{"callback":"workStopped","workId":7,"succeeded":true}"#,
        r#"{"callback":"jobSucceeded"}"#, r#"{"jobError":"e"}"#;
    JobStarted: r#"{"jobId":"job-UUID"}"#;
    JobStatus: r#""Running""#;
    JobStatusReply: r#"{"jobId":"job-UUID","jobName":"n","startTime":"s","endTime":"e",
        "serverTime":"t","status":"Failed","state":"failed","reason":"r","reasonWorkId":1,
        "usage":{"inputTokens":1,"outputTokens":2},"folder":"f","userInput":"u",
        "retriedFrom":"job-UUID","retries":["job-UUID"],"budget":{"turns":2},"spent":{"turns":1},
        "tasks":[]}"#;
    JobTask: r#"{"workIdInJob":1,"taskId":"task-UUID","name":"n","status":"Running",
        "state":"notReached","carried":true,"recovery":"judgedAgain","reason":"r","startTime":"s",
        "endTime":"e","usage":{"inputTokens":1,"outputTokens":2}}"#;
    JobVerdicts: r#"{"verdicts":[]}"#;
    Judge: r#"{"sessionId":"session-UUID","model":"m"}"#;
    LiveId: r#""inbox""#, r#""session-UUID""#;
    LogLevel: r#""error""#;
    Met: r#""unknown""#;
    MessageAccepted: r#"{"accepted":true,"id":"message-UUID","sessionId":"s"}"#;
    Missed: r#"{"oldest":"o"}"#;
    Mode: r#""agent""#;
    ModelInfo: r#"{"name":"n","id":"i","multiplier":0.33,"provider":"p"}"#;
    Models: r#"{"models":[],"problems":[{"provider":"p","message":"m"}]}"#;
    OnInterrupted: r#""fail""#;
    PendingPermission: r#"{"requestId":"permission-UUID","kind":"create","title":"t","path":"p",
        "detail":"d","diff":"d","eachTime":true}"#;
    PermissionDecision: r#""deny""#;
    PermissionKind: r#""command""#;
    PermissionMode: r#""ask""#;
    PermissionOutcome: r#""timed-out""#;
    PermissionRequest: r#"{"kind":"write","title":"t","path":"p","detail":"d","diff":"d",
        "eachTime":true}"#;
    ProjectDraft: r#"{"id":"message-UUID","text":"t","source":"s","mode":"prompt"}"#;
    ProjectDraftTaken: r#"{"id":"message-UUID"}"#;
    ProjectMessage: r#"{"id":"message-UUID","text":"t","mode":"agent","maxSteps":3,"model":"m"}"#;
    ProjectMessageEnd: r#"{"id":"message-UUID","reason":"failed","error":"e"}"#;
    PromptQueue: r#"{"queue":[{"id":1,"prompt":"p"}]}"#;
    ProviderProblem: r#"{"provider":"p","message":"m"}"#;
    Recovery: r#""countedAsDone""#;
    Refusal: r#"{"error":"e","message":"m"}"#;
    Role: r#""assistant""#;
    RunEnd: r#""cancelled""#;
    RunningJobs: r#"{"jobs":[]}"#;
    SessionBudget: r#"{"budget":{},"spent":{"minutes":1.5,"turns":2,"tokens":3,"cost":4}}"#;
    SessionHead: r#"{"sessionId":"session-UUID","title":"t","modelId":"m","workingDirectory":"w",
        "branch":"b","state":"idle","permissions":"deny","startedAt":"s",
        "continuedFrom":"session-UUID","parent":"job-UUID","takesImages":true}"#;
    SessionHistory: r#"{"id":"i","name":"n","messages":[],"approvals":[],
        "drafts":[{"id":"message-UUID","text":"t","source":"s","sessionId":"s","at":"a"}],
        "lastEventId":"l"}"#;
    SessionInfo: r#"{"sessionId":"session-UUID","title":"t","modelId":"m","workingDirectory":"w",
        "permissions":"ask","busy":true,"queued":1,"canSteer":true,"takesImages":true}"#;
    SessionResponse: r#"{"callback":"onMessage","messageId":"m","delta":"a\"\u00e9\n"}"#,
        r#"{"callback":"onStartToolExecution","toolCallId":"t","parentToolCallId":"p",
            "toolName":"n","toolArguments":""}"#,
        r#"{"callback":"onEndToolExecution","toolCallId":"t",
            "result":{"content":"c","detailedContent":"d"},"error":{"message":"m","code":"c"}}"#,
        r#"{"callback":"onTurnEnd","turnId":"t","outcome":"aborted"}"#,
        r#"{"callback":"onIdle"}"#,
        r#"{"callback":"onQueueChanged","queue":[{"id":1,"prompt":"p"}]}"#,
        r#"{"callback":"onPermissionRequest","requestId":"permission-UUID","kind":"tool",
            "title":"t"}"#,
        r#"{"callback":"onPermissionResolved","requestId":"permission-UUID","decision":"deny"}"#,
        r#"{"callback":"onUsage","model":"m","inputTokens":1,"outputTokens":2,"cost":0.5}"#,
        r#"{"callback":"onExtensionLog","extension":"e","level":"info","message":"m",
            "ephemeral":true}"#,
        r#"{"callback":"onProjectDraftTaken","id":"message-UUID"}"#,
        r#"{"sessionError":"e"}"#;
    SessionRole: r#""task""#;
    SessionStarted: r#"{"sessionId":"session-UUID"}"#;
    SessionSummary: r#"{"id":"i","name":"n","created":"c","count":3}"#;
    Sessions: r#"{"sessions":[]}"#;
    Setback: r#""turnFailed""#;
    Spent: r#"{"minutes":1.5,"turns":2,"tokens":3,"cost":4}"#;
    StopReply: r#"{"result":"Closed"}"#;
    TaskInfo: r#"{"name":"n","requireUserInput":true,"description":"d"}"#;
    TaskResponse: r#"{"callback":"taskDecision","reason":"r","kind":"Operation","attempt":1,
            "retries":2}"#,
        r#"{"callback":"taskVerdict","attempt":1,"criterion":"tool:t","met":"yes","reason":"r",
            "evidence":"e","judge":{"sessionId":"session-UUID","model":"m"}}"#,
        r#"{"callback":"taskSessionStarted","sessionId":"session-UUID","isDriving":true}"#,
        r#"{"taskError":"e"}"#;
    TaskStarted: r#"{"taskId":"task-UUID"}"#;
    Tasks: r#"{"tasks":[]}"#;
    TestReply: r#"{"message":"m"}"#;
    TokenReply: r#"{"token":"t"}"#;
    ToolError: r#"{"message":"m","code":"c"}"#;
    ToolResult: r#"{"content":"c","detailedContent":"d"}"#;
    TurnEnding: r#""interrupted""#;
    Usage: r#"{"inputTokens":1,"outputTokens":2,"cachedTokens":3,"reasoningTokens":4,"cost":1e-3}"#;
    Verdict: r#"{"attempt":1,"criterion":"availability","met":"no","reason":"r","evidence":"e",
        "judge":{"sessionId":"session-UUID","model":"m"}}"#;
    WaitingPrompt: r#"{"id":1,"prompt":"p"}"#;
    WorkState: r#""notReached""#;
    WorkStatus: r#""Succeeded""#;
    WorkVerdict: r#"{"workId":1,"taskId":"task-UUID","at":"a","attempt":1,"criterion":"condition",
        "met":"unknown","reason":"r","evidence":"e","judge":{"sessionId":"session-UUID","model":"m"}}"#;
}
