/* client/examples/publish_and_pull.c as C++ has it. */
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <stagewire/client.h>
#include <stagewire/endpoint.h>

namespace {

sw_error error;

void check(sw_status status) {
    if (status != SW_OK) throw std::runtime_error(error.message);
}

std::unique_ptr<sw_endpoint, void (*)(sw_endpoint *)> open_endpoint() {
    const char *const listen[] = {"127.0.0.1:0"};
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    options.run_id = "example";
    options.listen = listen;
    options.listen_count = 1;
    sw_endpoint *endpoint;
    check(sw_endpoint_open(&options, &endpoint, &error));
    return {endpoint, [](sw_endpoint *gone) { sw_endpoint_close(gone, 0); }};
}

double pull_loss(const char *endpoint, const sw_address &address) {
    sw_client *client;
    check(sw_client_open(endpoint, nullptr, &client, &error));
    std::unique_ptr<sw_client, void (*)(sw_client *)> client_owner(client, sw_client_close);
    sw_pull pull{};
    pull.address = address;
    pull.timeout_ms = 5000;
    sw_metrics *metrics;
    check(sw_client_get_metrics(client, &pull, &metrics, &error));
    std::unique_ptr<sw_metrics, void (*)(sw_metrics *)> metrics_owner(metrics, sw_metrics_destroy);
    return sw_dict_get(sw_metrics_value(metrics), "loss")->number;
}

} // namespace

int main() {
    try {
        auto endpoint = open_endpoint();
        sw_address step_7{};
        step_7.channel = "train";
        step_7.step = 7;
        const sw_entry entries[] = {{sw_text_of("loss"), sw_number(0.25)}};
        const sw_value metrics = sw_dict(entries, 1);
        check(sw_publish_metrics(sw_endpoint_publisher(endpoint.get()), &step_7, &metrics, 0, nullptr, &error));
        std::printf("loss at step 7: %g\n", pull_loss(sw_endpoint_address(endpoint.get(), 0), step_7));
        return 0;
    } catch (const std::exception &failed) {
        std::fprintf(stderr, "%s\n", failed.what());
        return 1;
    }
}
