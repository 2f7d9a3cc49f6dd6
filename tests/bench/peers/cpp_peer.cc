// C++ with its synchronous gRPC and ordinary protobuf: a server process that streams chunks of 512 KiB, and a
// client that puts them together in memory of its own. A line with how many bytes to move comes in, the
// microseconds that it took go out.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "pull.grpc.pb.h"

namespace {

constexpr size_t kChunk = 512 << 10;

class Server final : public peer::Pull::Service {
    grpc::Status Stream(grpc::ServerContext *, const peer::Request *request,
                        grpc::ServerWriter<peer::Chunk> *writer) override {
        const std::string bytes(kChunk, 'Z');
        peer::Chunk chunk;
        for (uint64_t at = 0; at < request->size(); at += kChunk) {
            chunk.set_offset(at);
            chunk.set_data(bytes.data(), std::min<uint64_t>(kChunk, request->size() - at));
            if (!writer->Write(chunk)) break;
        }
        return grpc::Status::OK;
    }
};

[[noreturn]] void Serve(int answer) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int port = 0;
    Server service;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (write(answer, &port, sizeof port) != sizeof port) std::exit(1);
    server->Wait();
    std::exit(0);
}

double Move(peer::Pull::Stub &stub, std::vector<char> &into) {
    const auto begun = std::chrono::steady_clock::now();
    grpc::ClientContext context;
    peer::Request request;
    request.set_size(into.size());
    auto reader = stub.Stream(&context, request);
    for (peer::Chunk chunk; reader->Read(&chunk);)
        std::memcpy(into.data() + chunk.offset(), chunk.data().data(), chunk.data().size());
    if (!reader->Finish().ok()) std::exit(1);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
}

} // namespace

int main() {
    int pipes[2], port = 0;
    if (pipe(pipes) != 0) return 1;
    const pid_t server = fork();
    if (server == 0) Serve(pipes[1]);
    if (read(pipes[0], &port, sizeof port) != sizeof port) return 1;
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    peer::Pull::Stub stub(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                                    grpc::InsecureChannelCredentials(), arguments));
    std::vector<char> into;
    for (uint64_t size; std::cin >> size;) {
        into.resize(size);
        std::printf("%.1f\n", Move(stub, into));
        std::fflush(stdout);
    }
    kill(server, SIGKILL);
    return 0;
}
