/* Two programs of one library that may be built for different machines: one publishes values and tensors of
 * every type, the other pulls them and has made the same itself, bit for bit.
 *
 *     meet serve           prints its endpoint; ends with its standard input
 *     meet pull ENDPOINT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stagewire/client.h>
#include <stagewire/endpoint.h>

#define LARGE_COUNT ((3 << 20) + 5) /* floats: more than one chunk, and a last one that is not full */
#define SMALL_BYTES 48              /* of a small tensor: a multiple of every element */

static const sw_address place = {.channel = "train", .step = 7};
static const int64_t large_shape[] = {LARGE_COUNT};

static void check(sw_status status, const sw_error *error) {
    if (status == SW_OK) return;
    fprintf(stderr, "%s: %s\n", sw_status_name(status), error->message);
    exit(1);
}

static void expect(bool is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "%s differs\n", what);
    exit(1);
}

/* ---- what both make ---- */

static double of_bits(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static sw_value blob(const char *data, size_t size) {
    sw_value value = sw_value_of(SW_VALUE_BLOB);
    value.bytes = (sw_bytes){data, size};
    return value;
}

static sw_value small_tensor(sw_dtype dtype, const int64_t *shape, const void *data, size_t size) {
    sw_value value = sw_value_of(SW_VALUE_TENSOR);
    value.tensor = (sw_tensor_view){dtype, 1, shape, data, size};
    return value;
}

static sw_value make_metrics(void) {
    static const int64_t three[] = {3};
    static const uint8_t words[] = {1, 2, 255, 128, 0, 7}; /* little-endian on every machine */
    static sw_value items[4];
    static sw_entry inner[1], entries[10];
    items[0] = sw_number(-0.0);
    items[1] = sw_integer(-1);
    items[2] = sw_null();
    items[3] = sw_text("\xc3\xa9");
    inner[0] = (sw_entry){sw_text_of("deep"), sw_list(items, 4)};
    const sw_entry all[] = {
        {sw_text_of("loss"), sw_number(0.1)},
        {sw_text_of("nan"), sw_number(of_bits(0x7ff8dead00beef01))},
        {sw_text_of("infinity"), sw_number(of_bits(0xfff0000000000000))},
        {sw_text_of("tiny"), sw_number(of_bits(1))},
        {sw_text_of("least"), sw_integer(INT64_MIN)},
        {sw_text_of("most"), sw_integer(INT64_MAX)},
        {sw_text_of("yes"), sw_boolean(true)},
        {sw_text_of("blob"), blob("\0\x80\xff", 3)},
        {sw_text_of("tensor"), small_tensor(SW_U16, three, words, sizeof words)},
        {sw_text_of("dict"), sw_dict(inner, 1)},
    };
    memcpy(entries, all, sizeof all);
    return sw_dict(entries, sizeof all / sizeof *all);
}

static void fill(unsigned char *bytes, size_t size, uint32_t seed) {
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(seed >> 24);
    }
}

#define COUNT_ONE(name, number, size) +1
#define SMALL_COUNT                   (0 SW_DTYPE_MAP(COUNT_ONE))

/* A small tensor of every type, and a large one. */
static void make_tensors(sw_named_tensor tensors[SMALL_COUNT + 1]) {
    static unsigned char small[SMALL_COUNT][SMALL_BYTES];
    static int64_t shapes[SMALL_COUNT];
    size_t count = 0;
#define MAKE_ONE(name_of, number, element)                                                                   \
    fill(small[count], SMALL_BYTES, number);                                                                 \
    for (size_t i = 0; SW_##name_of == SW_BOOL && i < SMALL_BYTES; i++) small[count][i] &= 1;                \
    shapes[count] = SMALL_BYTES / (element);                                                                 \
    tensors[count] =                                                                                         \
        (sw_named_tensor){#name_of, {SW_##name_of, 1, &shapes[count], small[count], SMALL_BYTES}, NULL};     \
    count++;
    SW_DTYPE_MAP(MAKE_ONE)
    unsigned char *large = malloc(LARGE_COUNT * sizeof(float));
    expect(large != NULL, "memory");
    fill(large, LARGE_COUNT * sizeof(float), 7);
    tensors[count] =
        (sw_named_tensor){"large", {SW_F32, 1, large_shape, large, LARGE_COUNT * sizeof(float)}, NULL};
}

/* ---- the two sides ---- */

static bool same_tensor(const sw_tensor_view *a, const sw_tensor_view *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0 && a->size == b->size &&
           memcmp(a->data, b->data, a->size) == 0;
}

static bool same_bytes(sw_bytes a, sw_bytes b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static bool same(const sw_value *a, const sw_value *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case SW_VALUE_BOOL:
        return a->boolean == b->boolean;
    case SW_VALUE_INTEGER:
        return a->integer == b->integer;
    case SW_VALUE_NUMBER:
        return memcmp(&a->number, &b->number, sizeof a->number) == 0;
    case SW_VALUE_TEXT:
    case SW_VALUE_BLOB:
        return same_bytes(a->bytes, b->bytes);
    case SW_VALUE_TENSOR:
        return same_tensor(&a->tensor, &b->tensor);
    case SW_VALUE_LIST:
        for (size_t i = 0; a->list.count == b->list.count && i < a->list.count; i++)
            if (!same(&a->list.items[i], &b->list.items[i])) return false;
        return a->list.count == b->list.count;
    case SW_VALUE_DICT:
        for (size_t i = 0; a->dict.count == b->dict.count && i < a->dict.count; i++)
            if (!same_bytes(a->dict.entries[i].key, b->dict.entries[i].key) ||
                !same(&a->dict.entries[i].value, &b->dict.entries[i].value))
                return false;
        return a->dict.count == b->dict.count;
    default:
        return a->kind == SW_VALUE_NULL;
    }
}

static void serve(void) {
    sw_error error;
    sw_endpoint *endpoint;
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    options.run_id = "machines";
    options.listen = (const char *const[]){"127.0.0.1:0"};
    options.listen_count = 1;
    check(sw_endpoint_open(&options, &endpoint, &error), &error);
    sw_publisher *publisher = sw_endpoint_publisher(endpoint);
    const sw_value metrics = make_metrics();
    check(sw_publish_metrics(publisher, &place, &metrics, 0, NULL, &error), &error);
    sw_named_tensor tensors[SMALL_COUNT + 1];
    make_tensors(tensors);
    check(sw_publish_tensors(publisher, &place, tensors, SMALL_COUNT + 1, 0, NULL, &error), &error);
    printf("%s\n", sw_endpoint_address(endpoint, 0));
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    sw_endpoint_close(endpoint, 0);
    free((void *)tensors[SMALL_COUNT].view.data);
}

static void pull(const char *endpoint) {
    sw_error error;
    sw_client *client;
    sw_metrics *metrics;
    sw_tensors *pulled;
    const sw_pull what = {.address = place};
    check(sw_client_open(endpoint, NULL, &client, &error), &error);
    check(sw_client_get_metrics(client, &what, &metrics, &error), &error);
    const sw_value expected = make_metrics();
    expect(same(sw_metrics_value(metrics), &expected), "the metrics");
    check(sw_client_get_tensors(client, &what, NULL, 0, &pulled, &error), &error);
    sw_named_tensor tensors[SMALL_COUNT + 1];
    make_tensors(tensors);
    for (size_t i = 0; i < SMALL_COUNT + 1; i++) {
        const sw_tensor_view *view = sw_tensors_find(pulled, tensors[i].name);
        expect(view && same_tensor(view, &tensors[i].view), tensors[i].name);
    }
    expect(sw_tensors_count(pulled) == SMALL_COUNT + 1, "the number of tensors");
    sw_tensors_destroy(pulled);
    sw_metrics_destroy(metrics);
    sw_client_close(client);
    free((void *)tensors[SMALL_COUNT].view.data);
    printf("%d tensors and all metrics are the same\n", SMALL_COUNT + 1);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "serve") == 0) {
        serve();
    } else if (argc == 3 && strcmp(argv[1], "pull") == 0) {
        pull(argv[2]);
    } else {
        fprintf(stderr, "meet serve, or meet pull ENDPOINT\n");
        return 2;
    }
    return 0;
}
