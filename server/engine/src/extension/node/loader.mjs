// Finds the package that extensions import without having installed it.
let places;

export const initialize = (data) => {
  places = data;
};

export const resolve = (specifier, context, next) => {
  const found = (url) => ({ url, shortCircuit: true });
  switch (specifier) {
    case "@github/copilot-sdk":
      return found(places.index);
    case "@github/copilot-sdk/extension":
      return found(context.parentURL === places.join ? places.extension : places.join);
    default:
      return next(specifier, context);
  }
};
