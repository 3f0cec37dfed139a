// Finds the package that extensions import without having installed it, and keeps them to their own
// folder: trust was given to what is in there.
let places;
// What the package imports, and what that imports.
const lent = new Set();

export const initialize = (data) => {
  places = data;
  for (const place of [data.index, data.extension, data.join]) lent.add(place);
};

export const resolve = async (specifier, context, next) => {
  const found = (url) => ({ url, shortCircuit: true });
  switch (specifier) {
    case "@github/copilot-sdk":
      return found(places.index);
    case "@github/copilot-sdk/extension":
      return found(context.parentURL === places.join ? places.extension : places.join);
  }
  const resolved = await next(specifier, context);
  if (lent.has(context.parentURL)) {
    lent.add(resolved.url);
    return resolved;
  }
  // What is imported from a text is checked in its turn.
  if (["node:", "data:", places.folder].some((start) => resolved.url.startsWith(start))) {
    return resolved;
  }
  throw new Error(`an extension can't import what is outside of its folder: ${specifier}`);
};
