// What extensions import as "@github/copilot-sdk/extension": the package's own module, in front of
// which later versions are made to behave as the authoring guide says.
import { joinSession as join } from "@github/copilot-sdk/extension";

export * from "@github/copilot-sdk/extension";

export const joinSession = (config = {}) =>
  join({
    ...config,
    ...(config.hooks && { hooks: mapFunctions(config.hooks, guardHook) }),
    ...(config.tools && { tools: config.tools.map(completeTool) }),
  });

const mapFunctions = (object, change) =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name,
      typeof value === "function" ? change(value.bind(object)) : value,
    ]),
  );

// The package renames `cwd`, and says nothing of hooks that fail.
const guardHook = (hook) => async (input, invocation) => {
  try {
    return await hook({ cwd: input?.workingDirectory, ...input }, invocation);
  } catch (error) {
    return { hookError: String(error?.message ?? error) };
  }
};

// `resultType` may be left out.
const completeTool = (tool) =>
  typeof tool?.handler !== "function"
    ? tool
    : {
        ...tool,
        handler: async (...call) => {
          const result = await tool.handler(...call);
          return typeof result?.textResultForLlm === "string"
            ? { resultType: "success", ...result }
            : result;
        },
      };
