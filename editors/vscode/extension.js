// Starts `modelgate lsp` and lets VS Code ask it. Everything else is the server's.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("modelgate").get("command");
  const run = { command, args, options: { env: process.env } };
  client = new LanguageClient("modelgate", "Modelgate", { run, debug: run }, {
    documentSelector: ["yaml", "json"].flatMap((language) => [
      { scheme: "file", language },
      { scheme: "untitled", language },
    ]),
  });
  return client.start().catch((error) => {
    const install = "pip install 'modelgate[lsp]', or set modelgate.command";
    vscode.window.showErrorMessage(`Modelgate: ${command} does not start: ${error.message}. ${install}`);
  });
}

function stop() {
  const stopping = client?.isRunning() ? client.stop() : undefined;
  client = undefined;
  return stopping;
}

async function restart() {
  await stop();
  await start();
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("modelgate.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("modelgate") && restart()),
  );
  return start();
};

exports.deactivate = stop;
