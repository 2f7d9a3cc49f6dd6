#!/usr/bin/env node
// grpc-js, which knows nothing of us but stage.proto, is a client of the daemon: every call and every reason of
// scenes.json, and what a client of its own making does: give up, be in a hurry, read slowly, read metadata.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, describe, test } from "node:test";

import { Daemon, PublisherService, StageService, grpc, inSeconds, reasonOf, start } from "../support/grpcjs.mjs";

const scenes = JSON.parse(fs.readFileSync(new URL("scenes.json", import.meta.url)));
const seen = new Set();

// {"$zeros": N} stands for so many bytes, as base64.
const expand = (value) =>
  Array.isArray(value) ? value.map(expand)
    : value === null || typeof value !== "object" ? value
      : "$zeros" in value ? Buffer.alloc(value.$zeros).toString("base64")
        : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expand(inner)]));

// Whether all that is wanted is there.
const has = (got, wanted) =>
  wanted === null || typeof wanted !== "object" ? got === wanted
    : got !== null && typeof got === "object" && Object.entries(wanted).every(([key, inner]) => has(got[key], inner));

const brief = (value) => JSON.stringify(value)?.slice(0, 2000);

function assertHas(got, wanted) {
  assert.ok(has(got, wanted), `wanted ${brief(wanted)}\ngot ${brief(got)}`);
}

async function assertRefused(promise, [code, reason, metadata = {}]) {
  const error = await promise.then((got) => assert.fail(`wanted ${reason}, got ${brief(got)}`), (failure) => failure);
  const [gotCode, gotReason, gotMetadata] = reasonOf(error);
  assert.deepEqual([gotCode, gotReason], [code, reason], error.message);
  assertHas(gotMetadata, metadata);
  seen.add(gotReason);
}

async function until(daemon, wanted) {
  for (;;) {
    const [info] = await start(daemon.stage, "GetStageInfo", [{}], inSeconds(10)).done;
    if (has(info, wanted)) return;
  }
}

const begin = (daemon, step) => {
  const client = step.call in PublisherService.service ? daemon.publisher : daemon.stage;
  return start(client, step.call, expand(step.requests ?? [step.request]), { halfOpen: step.half_open });
};

async function assertAnswered(under, step) {
  if (step.refused) return assertRefused(under.done, step.refused);
  if (step.first) {
    while (under.responses.length < step.first.length)
      await Promise.race([new Promise((resolve) => under.call.once("data", resolve)), under.done]);
    assertHas(under.responses.slice(0, step.first.length), expand(step.first));
    return under.call.cancel();
  }
  const responses = await under.done;
  const wanted = expand(step.responses ?? [step.response ?? {}]);
  assert.equal(responses.length, wanted.length);
  assertHas(responses, wanted);
}

async function play(daemon, steps) {
  const open = {};
  for (const step of steps) {
    if (step.until) await until(daemon, step.until);
    else if (step.terminate) daemon.terminate();
    else if (step.cancel) open[step.cancel].call.cancel();
    else if (step.finish) await assertAnswered(open[step.finish], step);
    else if (step.start) open[step.start] = begin(daemon, step);
    else if (step.hold) {
      open[step.hold] = begin(daemon, step);
      assertHas(await open[step.hold].first, step.response);
    } else await assertAnswered(begin(daemon, step), step);
  }
}

describe("scenes", () => {
  for (const { promise, daemon: args = [], steps } of scenes)
    test(promise, async () => {
      const daemon = await Daemon.start(...args);
      try {
        await play(daemon, steps);
      } finally {
        await daemon.close();
      }
    });

  test("every reason that an endpoint can give was given", () => {
    const header = fs.readFileSync(new URL("../../proto/include/stagewire/status.h", import.meta.url), "utf8");
    const clients = ["ENDPOINT_LOST", "OUT_OF_STEP"];
    const all = [...header.matchAll(/^ {4}X\(([A-Z_]+), [A-Z_]+, "/gm)].map(([, reason]) => reason);
    assert.ok(all.length > 20);
    assert.deepEqual(all.filter((reason) => !clients.includes(reason) && !seen.has(reason)), []);
  });
});

describe("a client of its own making", () => {
  let daemon;
  before(async () => {
    daemon = await Daemon.start();
  });
  after(() => daemon.close());

  const get = (channel, more) => start(daemon.stage, "GetLossMetrics", [{ address: { channel } }], more);
  const publish = (channel, step, values, more) =>
    start(daemon.publisher, "PublishLossMetrics", [{ address: { channel, step }, metrics: { single: { values } } }], more);

  test("calls that are cancelled leave nothing behind", async () => {
    const pulls = Array.from({ length: 20 }, () => get("never"));
    const watch = start(daemon.stage, "WatchLossMetrics", [{}]);
    await until(daemon, { load: { waiting: "20", watches: "1" } });
    for (const { call } of [...pulls, watch]) call.cancel();
    for (const { done } of pulls) assert.equal((await done.catch((error) => error)).code, grpc.status.CANCELLED);
    await until(daemon, { load: { waiting: "0", watches: "0", open_calls: "1" } });
  });

  test("a pull is answered shortly before its deadline, so that the reason arrives", async () => {
    let reason = "";
    for (let tries = 0; tries < 5 && reason !== "NOT_YET"; tries++)
      reason = await get("never", inSeconds(0.6)).done.catch((error) => reasonOf(error)[1]);
    assert.equal(reason, "NOT_YET");
  });

  test("a deadline that has passed is the client's own answer, and nothing waits", async () => {
    const error = await get("never", { deadline: Date.now() - 1 }).done.catch((failure) => failure);
    assert.equal(error.code, grpc.status.DEADLINE_EXCEEDED);
    await until(daemon, { load: { waiting: "0" } });
  });

  test("every response tells the incarnation, errors too, and metadata of the caller's is no harm", async () => {
    const metadata = new grpc.Metadata();
    metadata.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    metadata.set("anything-bin", Buffer.from([0, 255]));
    const info = start(daemon.stage, "GetStageInfo", [{}], { metadata });
    const [{ incarnation }] = await info.done;
    assert.equal(info.initial.get("stagewire-incarnation")[0], incarnation);
    const watch = start(daemon.stage, "WatchLossMetrics", [{}], { metadata });
    await new Promise((resolve) => watch.call.once("metadata", resolve));
    assert.equal(watch.initial.get("stagewire-incarnation")[0], incarnation);
    watch.call.cancel();
  });

  test("doubles keep their bits, integers and bytes theirs", async () => {
    const values = {
      tiny: { number: 5e-324 }, minus: { number: -0 }, most: { integer: "9223372036854775807" },
      least: { integer: "-9223372036854775808" }, bytes: { blob: Buffer.from([0, 255, 128]) },
      list: { list: { items: [{ boolean: true }, { text: "損失" }] } }, extension: { extension: { type: "py.int", value: { text: "1" } } },
    };
    await publish("kinds", 1, values).done;
    const [{ metrics: { single: { values: got } } }] = await get("kinds", { deadline: Date.now() + 10000 }).done.catch(() =>
      start(daemon.stage, "GetLossMetrics", [{ address: { channel: "kinds", step: 1 } }]).done);
    assert.ok(Object.is(got.minus.number, -0) && got.tiny.number === 5e-324);
    assert.deepEqual([got.most.integer, got.least.integer], ["9223372036854775807", "-9223372036854775808"]);
    assert.equal(got.bytes.blob, Buffer.from([0, 255, 128]).toString("base64"));
    assertHas(got.list, values.list);
    assertHas(got.extension, values.extension);
  });

  test("a client that reads slowly gets a large tensor whole, and holds nobody up", async () => {
    const block = 512 << 10, blocks = 32, size = block * blocks - 5;
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; at += 4093) bytes[at] = at % 251;
    const info = { name: "x", dtype: "DATA_TYPE_BF16", shape: [1, size], byte_length: size };
    const parts = [{ manifest: { address: { channel: "t" }, tensors: [{ ...info, dtype: "DATA_TYPE_U8" }] } }];
    for (let b = 0; b < blocks; b++) parts.push({ chunk: { block: b, data: bytes.subarray(b * block, (b + 1) * block) } });
    await start(daemon.publisher, "PublishTensors", parts).done;
    const stream = daemon.stage.StreamTensors({ address: { channel: "t" } }, inSeconds(60));
    const got = Buffer.alloc(size);
    for await (const part of stream) {
      if (!part.chunk) continue;
      Buffer.from(part.chunk.data, "base64").copy(got, Number(part.chunk.block) * block);
      await publish("beside", Number(part.chunk.block), {}).done;
    }
    assert.ok(got.equals(bytes));
  });

  test("a client that reads only messages of 4 MiB gets the largest that there is", async () => {
    const small = daemon.client(StageService, { "grpc.max_receive_message_length": 4 << 20 });
    await publish("large", 0, { b: { blob: Buffer.alloc((4 << 20) - (4 << 10) - 40) } }).done;
    const [{ metrics }] = await start(small, "GetLossMetrics", [{ address: { channel: "large" } }]).done;
    assert.equal(Buffer.from(metrics.single.values.b.blob, "base64").length, (4 << 20) - (4 << 10) - 40);
    small.close();
  });

  test("a request beyond what the server reads at all is refused, and the connection goes on", async () => {
    const error = await publish("large", 1, { b: { blob: Buffer.alloc(7 << 20) } }).done.catch((failure) => failure);
    assert.equal(error.code, grpc.status.RESOURCE_EXHAUSTED);
    await publish("large", 1, {}).done;
  });

  test("an unknown method is unimplemented", async () => {
    const error = await new Promise((resolve) => daemon.stage.makeUnaryRequest(
      "/stagewire.v1.StageService/Nonsense", (b) => b, (b) => b, Buffer.alloc(0), inSeconds(10), resolve));
    assert.equal(error.code, grpc.status.UNIMPLEMENTED);
  });
});
