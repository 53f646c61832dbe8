import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as module from "../countersign.js";

test("the types name what the module has", async () => {
  const types = await readFile(new URL("../countersign.d.ts", import.meta.url), "utf8");
  const classes = [...types.matchAll(/^export class (\w+)[^{]*\{(.*?)^\}/gms)];
  assert.deepEqual(classes.map(([, name]) => name).sort(), Object.keys(module).sort());
  for (const [, name, members] of classes) {
    const declared = [...members.matchAll(/^  (\w+)\(/gm)].map(([, member]) => member).sort();
    const own = Object.getOwnPropertyNames(module[name].prototype).sort();
    assert.deepEqual(name === "MemoryStore" ? [...declared, "constructor"].sort() : declared, own, name);
  }
});
