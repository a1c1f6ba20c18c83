// Preloaded into the SDK's example agent: the second it takes to "think" is a twentieth of one, so that tests are quick.
const { setTimeout: original } = globalThis;
globalThis.setTimeout = (run, ms, ...args) => original(run, ms === 1000 ? 50 : ms, ...args);
