// Does not want to end, and has a child that does not, either.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { joinSession } from "@github/copilot-sdk/extension";

process.on("SIGTERM", () => {});
const child = spawn("sh", ["-c", "trap '' TERM; while :; do sleep 1; done"], { stdio: "ignore" });
await joinSession({});
writeFileSync("processes", `${process.pid} ${child.pid}`);
