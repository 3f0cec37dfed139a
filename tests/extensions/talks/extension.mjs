// Everything that the session object can do.
import { joinSession } from "@github/copilot-sdk/extension";

const seen = [];

const session = await joinSession({
  tools: [
    {
      name: "tells_what_it_saw",
      description: "Tells which events were seen.",
      skipPermission: true,
      handler: () => seen.join(" "),
    },
    {
      name: "tells_the_history",
      description: "Tells which events are remembered.",
      skipPermission: true,
      handler: async () => (await session.getEvents()).map((event) => event.type).join(" "),
    },
  ],
});

session.on((event) => {
  if (!event.type.startsWith("external_tool.")) seen.push(event.type);
});

let isToAsk = false;

const ask = async () => {
  const answer = await session.sendAndWait({ prompt: "say pong" });
  await session.log(`heard: ${answer?.data.content}`);
};

session.on("session.idle", () => {
  // Not within the handler: who asks there hears of this very event first.
  if (isToAsk) setTimeout(ask, 0);
  isToAsk = false;
});

session.on("user.message", async ({ data }) => {
  if (data.content.includes("@ask")) isToAsk = true;
  if (data.content.includes("@send")) {
    await session.send({ prompt: "say what is attached", attachments: [{ type: "file", path: "a.md" }] });
  }
  if (data.content.includes("@abort")) await session.abort();
  if (data.content.includes("@unknown")) {
    await session.rpc.mode.get().catch((error) => session.log(`${error.code}: ${error.message}`));
  }
});

await session.log(`in ${session.workspacePath}`, { level: "warning" });
await session.log("for a moment", { ephemeral: true });
console.error("to standard error");
