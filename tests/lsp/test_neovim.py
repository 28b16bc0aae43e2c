"""Neovim, with the lines of docs/editors.md: its own client speaks with the server."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lsp.scenes import MODEL, SERVICE

PAGE = (Path(__file__).parents[2] / "docs" / "editors.md").read_text()
SETUPS = re.findall(r"```lua\n(.*?)```", PAGE, re.DOTALL)
NVIM = shutil.which("nvim")
SCRIPT = """\
local seen = {}
local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then error("no " .. what) end
end
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 60000)
  for _, answer in pairs(answers) do return answer.result end
end
local function shown()
  local texts = {}
  for _, finding in ipairs(vim.diagnostic.get(0)) do
    table.insert(texts, {finding.lnum, finding.severity, finding.code, finding.message})
  end
  return texts
end
vim.cmd("edit model.yaml")
wait("findings", function() return #shown() > 0 end)
seen.findings = shown()
vim.api.nvim_win_set_cursor(0, {8, 5})
local here = vim.lsp.util.make_position_params(0, "utf-16")
seen.hover = ask("textDocument/hover", here).contents.value
local range = vim.lsp.util.make_range_params(0, "utf-16")
range.context = {diagnostics = {}}
local actions = ask("textDocument/codeAction", range)
seen.action = actions[1].title
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
wait("repair", function() return #shown() == 0 end)
seen.line = vim.api.nvim_buf_get_lines(0, 7, 8, false)[1]
vim.api.nvim_win_set_cursor(0, {4, 9})
local renamed = vim.lsp.util.make_position_params(0, "utf-16")
renamed.newName = "mistral"
vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", renamed), "utf-16")
vim.cmd("silent wall")
vim.fn.writefile({vim.json and vim.json.encode(seen) or vim.fn.json_encode(seen)}, "seen.json")
vim.cmd("qall!")
"""


def version():
    said = subprocess.run([NVIM, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r"v(\d+)\.(\d+)", said).groups()))


@pytest.mark.skipif(NVIM is None, reason="needs Neovim (Debian: apt-get install neovim)")
def test_neovim_shows_findings_repairs_and_renames(tmp_path):
    setup = SETUPS[0] if version() >= (0, 11) else SETUPS[1]
    (tmp_path / ".git").mkdir()
    (tmp_path / "init.lua").write_text(f'vim.cmd("filetype on")\n{setup}')
    (tmp_path / "script.lua").write_text(SCRIPT)
    (tmp_path / "model.yaml").write_text(MODEL.replace("accelerator", "acelerator"))
    (tmp_path / "service.yaml").write_text(SERVICE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [NVIM, "--headless", "-u", "init.lua", "-c", "luafile script.lua", "-c", "cquit"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert [finding[:3] for finding in seen["findings"]] == [[7, 1, "unknown-field"]]
    assert seen["hover"].startswith("**error unknown-field**")
    assert (seen["action"], seen["line"]) == ("Replace acelerator by accelerator", "    accelerator: cuda")
    assert "name: mistral" in (tmp_path / "model.yaml").read_text()
    assert "modelRef: mistral" in (tmp_path / "service.yaml").read_text()
