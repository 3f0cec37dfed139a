// Writes where messages belong.
import { joinSession } from "@github/copilot-sdk/extension";

console.log("hello there");
await joinSession({});
