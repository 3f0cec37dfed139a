// Runs one extension. What stands in front of this when it is started: the texts of loader.mjs and
// join.mjs, as LOADER and JOIN.
import { realpathSync } from "node:fs";
import Module, { isBuiltin, register } from "node:module";
import { dirname, join, sep } from "node:path";
import { pathToFileURL } from "node:url";

const { COPILOT_EXTENSION_PARENT_PID, COPILOT_SDK_PATH, EXTENSION_PATH } = process.env;
const address = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const packaged = (name) => pathToFileURL(realpathSync(join(COPILOT_SDK_PATH, `${name}.js`))).href;
const folder = realpathSync(dirname(EXTENSION_PATH)) + sep;

register(address(LOADER), {
  data: {
    index: packaged("index"),
    extension: packaged("extension"),
    join: address(JOIN),
    folder: pathToFileURL(folder).href,
  },
});

// `require` does not ask the loader. A module of the folder gets modules of the folder.
const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  const found = resolve.call(this, request, parent, ...rest);
  if (parent?.filename?.startsWith(folder) && !isBuiltin(found) && !found.startsWith(folder)) {
    throw new Error(`an extension can't import what is outside of its folder: ${request}`);
  }
  return found;
};

// Nobody is left to stop this process if its parent is killed.
const parent = Number(COPILOT_EXTENSION_PARENT_PID);
setInterval(() => process.ppid === parent || process.exit(1), 1000).unref();

await import(pathToFileURL(EXTENSION_PATH).href);
