import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession({
  tools: [
    {
      name: "NAME_hello",
      description: "Greets somebody. Replace it by what your extension is for.",
      parameters: {
        type: "object",
        properties: { who: { type: "string", description: "Whom to greet." } },
        required: ["who"],
      },
      handler: async ({ who }) => `Hello, ${who}!`,
    },
  ],
  hooks: {
    // onUserPromptSubmitted, onPreToolUse, onPostToolUse, onSessionStart, onSessionEnd,
    // onErrorOccurred
  },
});

// Standard output is reserved: use the log, not console.log.
await session.log("NAME is ready");
