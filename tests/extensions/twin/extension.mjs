// Wants a name that another extension has.
import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({ tools: [{ name: "greet_someone", description: "", handler: () => "from the twin" }] });
