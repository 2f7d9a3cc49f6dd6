// stage.proto through Node's grpc-js, which shares no code with gRPC core and none with us, and a daemon to talk to.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import fsp from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const require = createRequire(new URL("../npm/", import.meta.url));
export const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");
const protobuf = require("protobufjs");

const options = { keepCase: true, longs: String, enums: String, bytes: String, defaults: true, oneofs: true };
export const { StageService, PublisherService } = grpc.loadPackageDefinition(
  loader.loadSync(process.env.STAGE_PROTO, options)).stagewire.v1;

const { root } = protobuf.parse(`syntax = "proto3";
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }`, { keepCase: true });
const Status = root.lookupType("Status");
const ErrorInfo = root.lookupType("ErrorInfo");
const INFO_URL = "type.googleapis.com/google.rpc.ErrorInfo";

// [code's name, reason, metadata] of what a call failed with, as any client may read it.
export function reasonOf(error) {
  const name = grpc.status[error.code];
  const [bytes] = error.metadata ? error.metadata.get("grpc-status-details-bin") : [];
  if (!bytes) return [name, "", {}];
  const detail = Status.decode(bytes).details.find((any) => any.type_url === INFO_URL);
  const info = ErrorInfo.decode(detail.value);
  return info.domain === "stagewire" ? [name, info.reason, { ...info.metadata }] : [name, "", {}];
}

// What a server sends along with an error, so that reasonOf finds it.
export function detailsOf(code, message, reason, metadata, domain = "stagewire") {
  const value = ErrorInfo.encode(ErrorInfo.create({ reason, domain, metadata })).finish();
  const status = Status.create({ code, message, details: [{ type_url: INFO_URL, value }] });
  const trailers = new grpc.Metadata();
  trailers.set("grpc-status-details-bin", Buffer.from(Status.encode(status).finish()));
  return trailers;
}

// stagewired as a user starts it: on loopback, with a port file that is written whole.
export class Daemon {
  static async start(...args) {
    const daemon = new Daemon();
    daemon.folder = fs.mkdtempSync(path.join(os.tmpdir(), "stagewire-daemon-"));
    const portFile = path.join(daemon.folder, "ports");
    const written = new AbortController();
    const changes = fsp.watch(daemon.folder, { signal: written.signal });
    daemon.process = spawn(process.env.STAGEWIRED, ["--listen", "127.0.0.1:0", "--port-file", portFile,
      "--run-id", "run-a", "--stage", "3", "--stages", "4", "--publish-on-loopback", ...args],
      { stdio: ["ignore", "ignore", "inherit"] });
    daemon.ended = once(daemon.process, "exit");
    daemon.ended.then(() => written.abort());
    for await (const { filename } of changes) if (filename === "ports" && fs.existsSync(portFile)) break;
    daemon.target = fs.readFileSync(portFile, "utf8").split("\n")[0];
    daemon.stage = daemon.client(StageService);
    daemon.publisher = daemon.client(PublisherService);
    return daemon;
  }

  client(Service, more = {}) {
    return new Service(this.target, grpc.credentials.createInsecure(),
      { "grpc.enable_http_proxy": 0, "grpc.use_local_subchannel_pool": 1, ...more });
  }

  terminate() {
    this.process.kill("SIGTERM");
  }

  async close() {
    this.stage.close();
    this.publisher.close();
    this.process.kill("SIGKILL");
    await this.ended;
    fs.rmSync(this.folder, { recursive: true });
  }
}

export const inSeconds = (seconds) => ({ deadline: Date.now() + 1000 * seconds });

// A call, whatever its kind, under way: `responses` grows, `first` is there with the first of them, `done` once it is
// over, with all of them, or with the error. `requests` are sent; `halfOpen` leaves the sending side open.
export function start(client, method, requests, { halfOpen = false, metadata = new grpc.Metadata(), ...more } = {}) {
  const { requestStream, responseStream } = client[method];
  const under = { responses: [] };
  const settings = { ...inSeconds(60), ...more };
  under.done = new Promise((resolve, reject) => {
    const answered = (error, response) => (error ? reject(error) : (under.responses.push(response), resolve(under.responses)));
    const given = requestStream ? [metadata, settings] : [requests[0], metadata, settings];
    under.call = client[method](...given, ...(responseStream ? [] : [answered]));
    under.call.on("metadata", (initial) => (under.initial = initial));
    under.call.on("status", (status) => (under.status = status));
    if (responseStream) {
      under.first = new Promise((told) => under.call.on("data", (part) => (under.responses.push(part), told(part))));
      under.call.on("error", reject);
      under.call.on("end", () => resolve(under.responses));
    }
  });
  under.done.catch(() => {});
  if (requestStream) {
    for (const part of requests) under.call.write(part);
    if (!halfOpen) under.call.end();
  }
  return under;
}
