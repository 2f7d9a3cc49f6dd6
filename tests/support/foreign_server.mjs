#!/usr/bin/env node
// A server of stage.proto by grpc-js that holds nothing: how it behaves says the channel that it is asked for.
// foreign_server.py behaves the same; tests/integration/test_foreign_server.c is their client.
//
//   foreign_server.mjs --port-file FILE
import fs from "node:fs";

import { PublisherService, StageService, detailsOf, grpc } from "./grpcjs.mjs";

const { status } = grpc;
const BLOCK = 4096, MIB = 1 << 20;
const bytes = Buffer.from(Array.from({ length: 6000 }, (_, i) => i % 251));
// XXH3-64 of the two blocks, and of these two numbers.
const HASHES = ["8157707384269159537", "1624244542206642382"];
const DIGEST = "3918222240079804594";

const resolved = (address) => ({ ...address, run_id: "run-f", generation: 1, stage: 3, owner: "stage" });
const metricsOf = (value) => ({ single: { values: { v: value } } });
const refusal = (code, message, ...details) =>
  Object.assign(new Error(message), { code, details: message, metadata: details.length ? detailsOf(code, message, ...details) : new grpc.Metadata() });

const asked = {};
const isFirst = (what) => (asked[what] = (asked[what] ?? 0) + 1) === 1;

// ---- metrics ----

const waiting = [];
const getMetrics = {
  refused: (_, answer) => answer(refusal(status.ABORTED, "it is over", "SUPERSEDED", { generation: "7" })),
  bare: (_, answer) => answer(refusal(status.NOT_FOUND, "nothing here")),
  "of-another-domain": (_, answer) => answer(refusal(status.NOT_FOUND, "nothing here", "EVICTED", {}, "somebody.else")),
  once: (address, answer) =>
    isFirst("once") ? answer(refusal(status.UNAVAILABLE, "not now")) : answer(null, { address, metrics: metricsOf({ integer: 1 }) }),
  silent: () => {},
  slow: (address, answer) => waiting.push(() => answer(null, { address, metrics: metricsOf({ integer: 2 }) })),
  nudge: (address, answer) => {
    for (const go of waiting.splice(0)) go();
    answer(null, { address, metrics: metricsOf({ integer: 3 }) });
  },
  another: (address, answer) => answer(null, { address: { ...address, step: 99 }, metrics: metricsOf({ integer: 4 }) }),
  unreadable: (address, answer) => answer(null, { address, metrics: metricsOf({}) }),
  consumer: (address, answer, { consumer }) => answer(null, { address, metrics: metricsOf({ text: consumer.id }) }),
};

// ---- tensors ----

const chunk = (block, xxh3 = HASHES[block]) =>
  ({ chunk: { tensor: 0, block, xxh3, data: bytes.subarray(block * BLOCK, (block + 1) * BLOCK) } });
const largeChunk = (block) => ({ chunk: { tensor: 0, block, xxh3: "0", data: Buffer.alloc(MIB, block) } });
const streams = {
  whole: (stream) => (stream.write(chunk(1)), stream.write(chunk(0)), stream.end()),
  unhashed: (stream) => (stream.write(chunk(0, 0)), stream.write(chunk(1, 0)), stream.end()),
  wrong: (stream) => (stream.write(chunk(0)), stream.write(chunk(1, "12345")), stream.end()),
  // the first stream breaks after a block, and the next one is asked for the other alone
  cut: (stream, { ranges }) => {
    if (isFirst("cut")) return stream.write(chunk(0)), stream.emit("error", refusal(status.UNAVAILABLE, "gone"));
    for (const { first_block } of ranges.length ? ranges : [{ first_block: "9" }]) stream.write(chunk(Number(first_block)));
    stream.end();
  },
  short: (stream) => (stream.write(chunk(0)), stream.end()),
  stuck: (stream) => stream.write(chunk(0)),
  // knows of no byte_limit: who is asked for all goes on until he is told to end
  endless: (stream, { ranges }) => {
    if (!ranges.length) return [0, 1, 2, 3, 4].forEach((block) => stream.write(largeChunk(block)));
    for (const { first_block, block_count } of ranges)
      for (let i = 0; i < Number(block_count); i++) stream.write(largeChunk(Number(first_block) + i));
    stream.end();
  },
};

function streamTensors(stream) {
  const { address, manifest_only, pin } = stream.request;
  if (address.channel === "refused")
    return stream.emit("error", refusal(status.NOT_FOUND, "no such tensor", "NO_SUCH_TENSOR", { tensors: '["x"]' }));
  const digest = address.channel === "unhashed" ? "0" : DIGEST;
  const small = { name: "x", dtype: "DATA_TYPE_U8", shape: [2, 3000], byte_length: 6000, digest };
  const large = { name: "x", dtype: "DATA_TYPE_U8", shape: [8, MIB], byte_length: 8 * MIB, digest: "0" };
  const isLarge = address.channel === "endless";
  stream.write({ manifest: { address: resolved(address), block_bytes: isLarge ? MIB : BLOCK, pin: pin === "0" ? "77" : pin,
    tensors: [isLarge ? large : small] } });
  if (manifest_only) return stream.end();
  streams[address.channel](stream, stream.request);
}

// ---- the rest ----

function watch(stream) {
  const at = (step) => resolved({ channel: "train", step });
  stream.sendMetadata(new grpc.Metadata());
  stream.write({ published: { address: at(1), metrics: metricsOf({ number: 0.5 }) } });
  stream.write({ heartbeat: { unix_ns: 1 } });
  stream.write({ failed: { address: at(2), message: "nan" } });
  stream.write({ gap: { first_missing: at(3), next_held: at(5) } });
  stream.write({ closed: { last: at(6), kind: "ITEM_KIND_METRICS", reason: "CLOSE_REASON_ABORTED", message: "why", items: 4 } });
  stream.write({ generation: { generation: 2 } });
}

function publishTensors(call, answer) {
  let wanted = 0, got = 0;
  call.on("data", ({ manifest, chunk: part }) => {
    if (manifest) wanted = manifest.tensors.reduce((sum, { byte_length }) => sum + Number(byte_length), 0);
    else got += Buffer.from(part.data, "base64").length;
  });
  call.on("end", () =>
    got === wanted ? answer(null, { duplicate: true }) : answer(refusal(status.INVALID_ARGUMENT, `${got} bytes of ${wanted}`, "MALFORMED", {})));
}

const infoPages = [
  { run_id: "run-f", generation: 1, version: "9", features: ["x"], next_page_token: "second", incarnation: 5,
    channels: [{ latest: resolved({ channel: "a" }), oldest: resolved({ channel: "a" }), kind: "ITEM_KIND_METRICS", items: 1 }] },
  { run_id: "run-f", generation: 1, channels: [{ latest: resolved({ channel: "b" }), oldest: resolved({ channel: "b" }), kind: "ITEM_KIND_TENSORS", items: 2 }] },
];

const server = new grpc.Server();
server.addService(StageService.service, {
  GetStageInfo: ({ request }, answer) => answer(null, infoPages[request.page_token === "second" ? 1 : 0]),
  GetLossMetrics: ({ request }, answer) => getMetrics[request.address.channel](resolved(request.address), answer, request),
  StreamTensors: streamTensors,
  WatchLossMetrics: watch,
  Release: ({ request }, answer) =>
    request.consumers[0].release_below === "5" ? answer(null, {}) : answer(refusal(status.ABORTED, "it is over", "SUPERSEDED", { generation: "7" })),
  ExchangeObject: ({ request }, answer) => answer(null, { address: resolved(request.address), owners: [1], value: { text: "object" } }),
  Attach: (stream) => {
    stream.sendMetadata(new grpc.Metadata());
    stream.write({ generation: stream.request.generation });
  },
});
server.addService(PublisherService.service, {
  PublishLossMetrics: (_, answer) =>
    isFirst("publish") ? answer(refusal(status.RESOURCE_EXHAUSTED, "no room", "STORE_FULL", { consumers: "[]" })) : answer(null, { duplicate: true }),
  PublishTensors: publishTensors,
  PublishFailure: ({ request }, answer) => answer(null, { duplicate: request.message === "nan" }),
  CloseChannel: (_, answer) => answer(refusal(status.ALREADY_EXISTS, "closed otherwise", "CONFLICT", {})),
});
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  const file = process.argv[process.argv.indexOf("--port-file") + 1];
  fs.writeFileSync(`${file}.new`, `127.0.0.1:${port}\n`);
  fs.renameSync(`${file}.new`, file);
});
