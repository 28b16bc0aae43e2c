// The protocol library of VS Code's own client drives the server: a JSON object of what it gets goes to standard output.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, program, folder] = process.argv.slice(2);
const { createProtocolConnection, StreamMessageReader, StreamMessageWriter, ...lsp } = createRequire(`${modules}/`)(
  "vscode-languageserver-protocol/node",
);
const server = spawn(program, ["lsp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
const connection = createProtocolConnection(
  new StreamMessageReader(server.stdout),
  new StreamMessageWriter(server.stdin),
);
const seen = {};
const findings = new Promise((resolve) => {
  connection.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => resolve(params.diagnostics));
});
connection.onRequest(lsp.RegistrationRequest.type, (params) => {
  seen.watched = params.registrations.flatMap((each) => each.registerOptions.watchers.map((one) => one.globPattern));
});
connection.listen();

const uri = pathToFileURL(`${folder}/model.yaml`).href;
const text = readFileSync(`${folder}/model.yaml`, "utf-8");
const document = { uri };
const whole = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
const { capabilities } = await connection.sendRequest(lsp.InitializeRequest.type, {
  processId: process.pid,
  rootUri: pathToFileURL(folder).href,
  workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "w" }],
  capabilities: {
    general: { positionEncodings: ["utf-16"] },
    workspace: { applyEdit: true, didChangeWatchedFiles: { dynamicRegistration: true } },
    textDocument: {
      codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["", "quickfix", "source.fixAll"] } } },
      completion: { completionItem: { snippetSupport: true, documentationFormat: ["markdown", "plaintext"] } },
      hover: { contentFormat: ["markdown", "plaintext"] },
      documentSymbol: { hierarchicalDocumentSymbolSupport: true },
      publishDiagnostics: { versionSupport: true, codeDescriptionSupport: true, dataSupport: true },
    },
  },
});
seen.encoding = capabilities.positionEncoding;
await connection.sendNotification(lsp.InitializedNotification.type, {});
await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
  textDocument: { uri, languageId: "yaml", version: 1, text },
});
seen.findings = (await findings).map((each) => [each.range.start.line, each.severity, each.code]);
const context = { diagnostics: await findings, triggerKind: lsp.CodeActionTriggerKind.Invoked };
const actions = await connection.sendRequest(lsp.CodeActionRequest.type, { textDocument: document, range: whole, context });
seen.actions = actions.map((each) => each.title);
const saving = { diagnostics: [], only: ["source.fixAll.modelgate"] };
seen.saving = (
  await connection.sendRequest(lsp.CodeActionRequest.type, { textDocument: document, range: whole, context: saving })
).map((each) => each.kind);
const hints = await connection.sendRequest(lsp.InlayHintRequest.type, { textDocument: document, range: whole });
seen.hints = hints.length;
const symbols = await connection.sendRequest(lsp.DocumentSymbolRequest.type, { textDocument: document });
seen.symbols = symbols.map((each) => each.name);
await connection.sendRequest(lsp.ShutdownRequest.type);
await connection.sendNotification(lsp.ExitNotification.type);
server.on("exit", (code) => console.log(JSON.stringify({ ...seen, code })));
