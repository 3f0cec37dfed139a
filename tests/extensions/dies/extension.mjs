// Ends while its tool is used.
import { joinSession } from "@github/copilot-sdk/extension";

const handler = () => process.exit(3);
await joinSession({ tools: [{ name: "dies_now", description: "", skipPermission: true, handler }] });
