// Loads the extension with stand-ins for the editor's modules, activates it, and prints what it would start.

const Module = require("module");
const settings = JSON.parse(process.argv[3]);
const shown = [];
let made;

class LanguageClient {
  constructor(id, name, server, how) {
    made = { id, name, server, how };
  }
  async start() {
    if (settings.fails) throw new Error("no such file");
  }
  async stop() {}
}

const vscode = {
  workspace: {
    getConfiguration: () => ({ get: (key) => settings[key] }),
    onDidChangeConfiguration: () => ({ dispose() {} }),
  },
  window: { showErrorMessage: (text) => shown.push(text) },
  commands: { registerCommand: (name) => ({ name, dispose() {} }) },
};
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);

const extension = require(process.argv[2]);
const context = { subscriptions: [] };
extension
  .activate(context)
  .then(() => extension.deactivate())
  .then(() => console.log(JSON.stringify({ ...made, shown, commands: context.subscriptions.map((s) => s.name) })));
