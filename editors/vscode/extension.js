// Starts `ptokit lsp` and connects it with .pto files, and with Python files for the kernels in them.

const { workspace, window, commands } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function options() {
  const settings = workspace.getConfiguration("ptokit");
  const target = settings.get("target");
  const selector = [{ scheme: "file", language: "pto" }, { scheme: "untitled", language: "pto" }];
  if (settings.get("checkCpp")) selector.push({ scheme: "file", language: "cpp" });
  if (settings.get("checkPython")) selector.push({ scheme: "file", language: "python" });
  const [command, ...args] = settings.get("command");
  return {
    server: { command, args: [...args, "lsp"] },
    client: {
      documentSelector: selector,
      initializationOptions: target ? { target } : {},
    },
  };
}

async function start() {
  const { server, client: how } = options();
  client = new LanguageClient("ptokit", "ptokit", server, how);
  try {
    await client.start();
  } catch (error) {
    const command = [server.command, ...server.args].join(" ");
    window.showErrorMessage(`ptokit: "${command}" does not start (${error.message}). pip install '.[lsp]' in a clone of ptokit, or set ptokit.command.`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) await running.stop().catch(() => undefined);
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("ptokit.restart", restart),
    workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("ptokit") && restart()),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
