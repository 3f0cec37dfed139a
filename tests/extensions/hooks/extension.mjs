// Every hook, and every way to answer. Words in prompts and arguments choose the way.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { approveAll } from "@github/copilot-sdk";
import { joinSession } from "@github/copilot-sdk/extension";

const never = () => new Promise(() => {});

await joinSession({
  onPermissionRequest: approveAll,
  hooks: {
    onUserPromptSubmitted: async ({ prompt, cwd }) => {
      if (cwd !== process.cwd()) return { modifiedPrompt: `say the folder is wrong: ${cwd}` };
      if (prompt.includes("@throw")) throw new Error("a broken hook");
      if (prompt.includes("@hang")) return never();
      if (prompt.includes("@change")) return { modifiedPrompt: "say something else" };
      if (prompt.includes("@add")) return { additionalContext: "say a secret" };
    },
    onPreToolUse: async ({ toolArgs }) => {
      switch (toolArgs?.who) {
        case "nobody":
          return { permissionDecision: "deny", permissionDecisionReason: "nobody is greeted" };
        case "asked":
          return { permissionDecision: "ask" };
        case "allowed":
          return { permissionDecision: "allow" };
        case "changed":
          return { modifiedArgs: { who: "somebody else" } };
        case "explained":
          return { additionalContext: "a greeting is coming" };
      }
    },
    onPostToolUse: async ({ toolArgs, toolResult }) => {
      switch (toolArgs?.who) {
        case "rewritten":
          return {
            modifiedResult: {
              textResultForLlm: toolResult.textResultForLlm.toUpperCase(),
              resultType: "success",
            },
          };
        case "remarked":
          return { additionalContext: `it was a ${toolResult.resultType}` };
      }
    },
    onSessionStart: async ({ source, cwd }) => {
      if (existsSync(join(cwd, "with-context"))) return { additionalContext: `say it is ${source}` };
    },
    onSessionEnd: async ({ reason, finalMessage, cwd }) => {
      writeFileSync(join(cwd, "ended"), `${reason}: ${finalMessage}`);
    },
    onErrorOccurred: async ({ error, errorContext, recoverable }) => {
      const userNotification = `${errorContext} ${recoverable}: ${error}`;
      if (error.includes("retry")) return { errorHandling: "retry", retryCount: 2, userNotification };
      if (error.includes("skip")) return { errorHandling: "skip" };
    },
  },
});
