// Every kind of result that a tool may have.
import { writeFileSync } from "node:fs";
import { joinSession } from "@github/copilot-sdk/extension";

const tool = (name, handler, more = {}) => ({
  name,
  description: `The tool ${name}.`,
  skipPermission: true,
  handler,
  ...more,
});

await joinSession({
  tools: [
    tool("greet_someone", ({ who }) => `Hello, ${who}!`, {
      parameters: {
        type: "object",
        properties: { who: { type: "string", minLength: 1 } },
        required: ["who"],
        additionalProperties: false,
      },
    }),
    tool("asks_first", () => "allowed", { skipPermission: false }),
    tool("fails_softly", () => ({ textResultForLlm: "not today", resultType: "failure" })),
    tool("is_rejected", () => ({ textResultForLlm: "rather not", resultType: "rejected" })),
    tool("is_denied", () => ({ textResultForLlm: "never", resultType: "denied" })),
    tool("leaves_out_the_type", () => ({ textResultForLlm: "fine" })),
    tool("throws_up", () => {
      throw new Error("it broke");
    }),
    tool("says_nothing", () => undefined),
    tool("tells_its_call", (_, { sessionId, toolCallId, toolName }) =>
      [sessionId === process.env.SESSION_ID, toolCallId, toolName].join(" "),
    ),
    tool("tells_its_surroundings", () =>
      JSON.stringify({ names: Object.keys(process.env), folder: process.cwd() }),
    ),
    tool("waits_to_be_aborted", (_, { signal }) => {
      writeFileSync("waiting", "");
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          writeFileSync("aborted", "");
          resolve("aborted");
        }),
      );
    }),
  ],
});
