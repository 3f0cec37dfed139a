// Runs one extension. What stands in front of this when it is started: the texts of loader.mjs and
// join.mjs, as LOADER and JOIN.
import { register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { COPILOT_EXTENSION_PARENT_PID, COPILOT_SDK_PATH, EXTENSION_PATH } = process.env;
const address = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const packaged = (name) => pathToFileURL(join(COPILOT_SDK_PATH, `${name}.js`)).href;

register(address(LOADER), {
  data: { index: packaged("index"), extension: packaged("extension"), join: address(JOIN) },
});

// Nobody is left to stop this process if its parent is killed.
const parent = Number(COPILOT_EXTENSION_PARENT_PID);
setInterval(() => process.ppid === parent || process.exit(1), 1000).unref();

await import(pathToFileURL(EXTENSION_PATH).href);
