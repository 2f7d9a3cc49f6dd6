/* Both sides of stagewire in one program: the last stage publishes into an endpoint of its own and goes on;
 * another stage pulls by name, with a deadline. In a real job the two are processes on different machines. */
#include <stdio.h>

#include <stagewire/client.h>
#include <stagewire/endpoint.h>

int main(void) {
    sw_error error;
    sw_endpoint *endpoint;
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    options.run_id = "example";
    options.listen = (const char *const[]){"127.0.0.1:0"};
    options.listen_count = 1;
    if (sw_endpoint_open(&options, &endpoint, &error)) goto failed;

    /* the last stage */
    sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("loss"), sw_number(0.25)}}, 1);
    sw_address step_7 = {.channel = "train", .step = 7};
    if (sw_publish_metrics(sw_endpoint_publisher(endpoint), &step_7, &metrics, 0, NULL, &error)) goto failed;

    /* any other stage */
    sw_client *client;
    sw_metrics *got;
    sw_pull pull = {.address = step_7, .timeout_ms = 5000};
    if (sw_client_open(sw_endpoint_address(endpoint, 0), NULL, &client, &error)) goto failed;
    if (sw_client_get_metrics(client, &pull, &got, &error)) goto failed;
    printf("loss at step 7: %g\n", sw_dict_get(sw_metrics_value(got), "loss")->number);

    sw_metrics_destroy(got);
    sw_client_close(client);
    sw_endpoint_close(endpoint, 0);
    return 0;
failed:
    fprintf(stderr, "%s\n", error.message);
    return 1;
}
