/* Tensors between a trainer, its endpoint and those who pull beside it: as memory where that can be, as
 * chunks where it can't, byte for byte the same; and what a peer that lies, or dies, can do to others. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "proto/device/hand_over.h"
#include "proto/device/sealed.h"
#include "proto/wire/chunk.h"
#include "tests/support/client.h"
#include "tests/support/raw.h"
#include "tests/support/scene.h"
#include "tests/support/test.h"

#define MIB  (1u << 20)
#define SIZE (33 * MIB + 12345) /* three runs, and blocks that don't fill it */

#define TENSORS_MAX 150

static struct bench b;
static sw_client *beside; /* over the Unix socket */
static struct sockaddr_un hand_over;

static sw_client *connect_to(const char *endpoint) {
    sw_client *client;
    sw_error error;
    cr_assert_eq(sw_client_open(endpoint, NULL, &client, &error), SW_OK, "%s", error.message);
    return client;
}

static void set_up(void) {
    static const char *const more[] = {"--store-bytes", "1g", NULL};
    bench_open(&b, more);
    beside = connect_to(b.socket);
    cr_assert(hand_over_address(b.socket + strlen("unix:"), &hand_over));
}

static void tear_down(void) {
    sw_client_close(beside);
    bench_close(&b);
}

TestSuite(shared_memory, .init = set_up, .fini = tear_down, .timeout = 120);

/* ---- short words ---- */

static sw_hand_over_info counts_of(sw_client *client) {
    sw_info *info;
    bench_ok(&b, sw_client_info(client, 0, &info, &b.error));
    sw_hand_over_info ret = info->hand_over;
    sw_info_destroy(info);
    return ret;
}
static sw_hand_over_info counts(void) {
    return counts_of(b.client);
}

/* Block by block, since sanitizers take long over bytes: the same noise, and at its start the seed and where
 * it lies. */
#define NOISE 65536u

static size_t make_block(uint8_t *block, uint64_t seed, size_t at, size_t size) {
    uint64_t mark[2] = {seed, at};
    size_t left = size - at < NOISE ? size - at : NOISE;
    if (block[NOISE - 1] == 0)
        for (size_t i = 0; i < NOISE; i++) block[i] = (uint8_t)((i * 2654435761u >> 9) | 1);
    memcpy(block, mark, sizeof mark);
    return left;
}

static void fill_with(uint8_t *data, size_t size, uint64_t seed) {
    static uint8_t block[NOISE];
    for (size_t at = 0; at < size; at += NOISE) memcpy(data + at, block, make_block(block, seed, at, size));
}

static bool is_filled(const uint8_t *data, size_t size, uint64_t seed) {
    static uint8_t block[NOISE];
    for (size_t at = 0; at < size; at += NOISE) {
        size_t left = make_block(block, seed, at, size);
        if (memcmp(data + at, block, left) != 0) return false;
    }
    return true;
}

static sw_buffer *fill(size_t size, uint64_t seed) {
    sw_buffer *buffer;
    void *data;
    bench_ok(&b, sw_buffer_create(size, &buffer, &data, &b.error));
    fill_with(data, size, seed);
    return buffer;
}

/* `count` tensors "0", "1", … of these sizes; the bytes of each follow the step and its own number. */
static void publish(uint64_t step, const size_t *sizes, uint32_t count) {
    static sw_named_tensor tensors[TENSORS_MAX];
    static int64_t shapes[TENSORS_MAX];
    static char names[TENSORS_MAX][12];
    for (uint32_t i = 0; i < count; i++) {
        shapes[i] = (int64_t)sizes[i];
        snprintf(names[i], sizeof names[i], "%u", i);
        tensors[i] = (sw_named_tensor){names[i], {SW_U8, 1, &shapes[i], NULL, 0}, fill(sizes[i], step + i)};
    }
    sw_address address = {.channel = "t", .step = step};
    bench_ok(&b,
             sw_publish_tensors(sw_client_publisher(beside), &address, tensors, count, 0, NULL, &b.error));
    for (uint32_t i = 0; i < count; i++) sw_buffer_unref(tensors[i].buffer);
}

static sw_tensors *pull(sw_client *client, uint64_t step, const sw_tensor_request *requests, uint32_t count) {
    sw_tensors *tensors;
    sw_pull asked = {.address = {.channel = "t", .step = step}, .timeout_ms = 30000};
    bench_ok(&b, sw_client_get_tensors(client, &asked, requests, count, &tensors, &b.error));
    return tensors;
}

static void pull_and_check(sw_client *client, uint64_t step, const size_t *sizes, uint32_t count) {
    sw_tensors *tensors = pull(client, step, NULL, 0);
    cr_assert_eq(sw_tensors_count(tensors), count);
    for (uint32_t i = 0; i < count; i++) {
        const sw_tensor_view *view = sw_tensors_view(tensors, i);
        cr_assert_eq(view->size, sizes[i]);
        cr_assert(is_filled(view->data, sizes[i], step + i), "tensor %u", i);
    }
    sw_tensors_destroy(tensors);
}

static const size_t one[] = {SIZE};

/* ---- both ways ---- */

Test(shared_memory, what_the_library_gave_out_goes_in_and_out_as_it_is) {
    publish(1, one, 1);
    cr_assert_eq(counts().tensors_in, 1);
    cr_assert_eq(counts().bytes_in, SIZE);
    pull_and_check(b.client, 1, one, 1);
    cr_assert_eq(counts().tensors_out, 0, "over TCP come chunks");
    pull_and_check(beside, 1, one, 1);
    cr_assert_eq(counts().tensors_out, 1);
    cr_assert_eq(counts().bytes_out, SIZE);
    cr_assert_eq(counts().waiting, 0);
}

Test(shared_memory, info_says_who_reaches_it) {
    cr_assert(counts().is_open);
    cr_assert_not(counts().is_reached, "this one is reached over TCP");
    cr_assert(counts_of(beside).is_reached);
}

Test(shared_memory, it_is_copied_once_into_memory_of_the_callers) {
    publish(1, one, 1);
    uint8_t *own = calloc(1, SIZE + 1);
    sw_tensors *tensors = pull(beside, 1, &(sw_tensor_request){"0", own, SIZE}, 1);
    cr_assert_eq(sw_tensors_view(tensors, 0)->data, own);
    sw_tensors_destroy(tensors);
    cr_assert(is_filled(own, SIZE, 1));
    cr_assert_eq(own[SIZE], 0);
    cr_assert_eq(counts().tensors_out, 1);
    free(own);
}

Test(shared_memory, empty_small_and_many_tensors_arrive_beside_large_ones) {
    enum { MANY = TENSORS_MAX }; /* more than may wait at the endpoint, and than it holds so */
    static size_t sizes[MANY];
    for (uint32_t i = 0; i < MANY; i++) sizes[i] = i % 10 == 0 ? 0 : i % 10 == 1 ? 1000 + i : MIB + i;
    publish(1, sizes, MANY);
    cr_assert_geq(counts().tensors_in, LIMIT_HANDED_OVER);
    pull_and_check(beside, 1, sizes, MANY);
    cr_assert_geq(counts().tensors_out, LIMIT_HANDED_OVER);
    pull_and_check(b.client, 1, sizes, MANY);
}

Test(shared_memory, memory_of_the_callers_own_goes_as_chunks) {
    uint8_t *own = malloc(2 * MIB);
    fill_with(own, 2 * MIB, 1);
    const int64_t shape[] = {2 * MIB};
    const sw_named_tensor tensor = {"0", {SW_U8, 1, shape, own, 2 * MIB}, NULL};
    sw_address address = {.channel = "t", .step = 1};
    bench_ok(&b, sw_publish_tensors(sw_client_publisher(beside), &address, &tensor, 1, 0, NULL, &b.error));
    free(own);
    cr_assert_eq(counts().tensors_in, 0);
    pull_and_check(beside, 1, (const size_t[]){2 * MIB}, 1);
}

Test(shared_memory, the_same_again_is_a_duplicate_and_another_a_conflict) {
    bool duplicate;
    const int64_t shape[] = {SIZE};
    sw_named_tensor tensor = {"0", {SW_U8, 1, shape, NULL, 0}, fill(SIZE, 1)};
    sw_address address = {.channel = "t", .step = 1};
    publish(1, one, 1);
    bench_ok(&b,
             sw_publish_tensors(sw_client_publisher(beside), &address, &tensor, 1, 0, &duplicate, &b.error));
    cr_assert(duplicate);
    sw_buffer_unref(tensor.buffer);
    tensor.buffer = fill(SIZE, 2);
    bench_fails(&b, sw_publish_tensors(sw_client_publisher(beside), &address, &tensor, 1, 0, NULL, &b.error),
                SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    sw_buffer_unref(tensor.buffer);
}

Test(shared_memory, a_pulled_tensor_outlives_its_item_and_its_endpoint) {
    publish(1, one, 1);
    sw_tensors *tensors = pull(beside, 1, NULL, 0);
    publish(2, one, 1);
    bench_down(&b);
    cr_assert(is_filled(sw_tensors_view(tensors, 0)->data, SIZE, 1));
    sw_tensors_destroy(tensors);
}

Test(shared_memory, what_was_pulled_and_written_to_is_published_as_it_is_now) {
    publish(1, one, 1);
    sw_tensors *tensors = pull(beside, 1, NULL, 0);
    const int64_t shape[] = {SIZE};
    sw_named_tensor tensor = {"0", {SW_U8, 1, shape, NULL, 0}, sw_tensors_buffer(tensors, 0)};
    fill_with((uint8_t *)sw_buffer_data(tensor.buffer), SIZE, 2);
    const sw_address address = {.channel = "t", .step = 2};
    bench_ok(&b, sw_publish_tensors(sw_client_publisher(beside), &address, &tensor, 1, 0, NULL, &b.error));
    sw_buffer_unref(tensor.buffer);
    sw_tensors_destroy(tensors);
    pull_and_check(b.client, 2, one, 1);
}

/* ---- where it can't be ---- */

static const char *path(void) {
    return hand_over.sun_path;
}

static void goes_as_chunks(void) {
    cr_assert_not(counts_of(beside).is_reached);
    publish(1, one, 1);
    pull_and_check(beside, 1, one, 1);
    cr_assert_eq(counts().tensors_in, 0);
    cr_assert_eq(counts().tensors_out, 0);
}

Test(shared_memory, without_the_socket_all_goes_as_chunks) {
    unlink(path());
    goes_as_chunks();
}

Test(shared_memory, where_nobody_listens_all_goes_as_chunks) {
    int deaf = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    unlink(path());
    cr_assert_eq(bind(deaf, (struct sockaddr *)&hand_over, sizeof hand_over), 0);
    goes_as_chunks();
    close(deaf);
}

/* A folder for all, where somebody else made the file first. */
Test(shared_memory, nothing_is_handed_to_who_is_not_the_endpoint) {
    if (geteuid() != 0) return;
    cr_assert_eq(chown(b.socket + strlen("unix:"), 65534, 65534), 0);
    goes_as_chunks();
}

Test(shared_memory, what_a_forked_child_may_write_to_goes_as_chunks) {
    int ends[2];
    char byte;
    cr_assert_eq(pipe(ends), 0);
    const int64_t shape[] = {SIZE};
    sw_named_tensor tensor = {"0", {SW_U8, 1, shape, NULL, 0}, fill(SIZE, 1)};
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) < 0);
    }
    sw_address address = {.channel = "t", .step = 1};
    bench_ok(&b, sw_publish_tensors(sw_client_publisher(beside), &address, &tensor, 1, 0, NULL, &b.error));
    sw_buffer_unref(tensor.buffer);
    close(ends[1]);
    close(ends[0]);
    waitpid(child, NULL, 0);
    cr_assert_eq(counts().tensors_in, 0);
    pull_and_check(b.client, 1, one, 1);
}

Test(shared_memory, it_goes_on_with_an_endpoint_that_was_started_anew) {
    publish(1, one, 1);
    pull_and_check(beside, 1, one, 1);
    bench_down(&b);
    bench_up(&b);
    publish(1, one, 1);
    pull_and_check(beside, 1, one, 1);
    sw_hand_over_info now = counts_of(beside);
    cr_assert_eq(now.tensors_in, 1);
    cr_assert_eq(now.tensors_out, 1);
}

/* ---- the socket ---- */

Test(shared_memory, the_socket_is_for_owner_and_group_only_and_goes_with_the_endpoint) {
    struct stat there;
    cr_assert_eq(lstat(path(), &there), 0);
    cr_assert(S_ISSOCK(there.st_mode));
    cr_assert_eq(there.st_mode & 0777, 0660);
    cr_assert_eq(daemon_stop(b.daemon), 0);
    cr_assert_eq(lstat(path(), &there), -1);
}

/* ---- peers that lie ---- */

static int speak(void) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&hand_over, sizeof hand_over), 0);
    return fd;
}

static int sealed_memory(size_t size) {
    int fd = sealed_create(size);
    cr_assert(sealed_seal(fd));
    return fd;
}

/* Publishes one tensor of `size` bytes at `step` with one run that names the token. */
static sw_status publish_run(uint64_t step, uint64_t size, const struct shared_run *run) {
    const int64_t shape[] = {(int64_t)size};
    const struct tensor_info info = {"0", SW_U8, 1, shape, size, 0};
    const struct manifest manifest = {.address = {.channel = "lies", .step = step},
                                      .tensor_count = 1,
                                      .tensors = &info,
                                      .block_bytes = LIMIT_BLOCK_BYTES};
    struct raw *raw = raw_open(b.socket);
    sw_buffer *first, *second;
    uint8_t data[SHARED_RUN_MAX];
    void *bytes;
    size_t length = shared_run_encode(run, data);
    cr_assert_eq(manifest_encode(&manifest, &first, NULL), SW_OK);
    cr_assert_eq(sw_buffer_create(length, &second, &bytes, NULL), SW_OK);
    memcpy(bytes, data, length);
    struct raw_call *call = raw_start(raw, RAW_PUBLISHER("PublishTensors"), first, false, 30000);
    raw_send(call, second);
    raw_half_close(call);
    sw_status status = raw_finish(call, &b.error);
    raw_close(raw);
    return status;
}

static void is_refused_and_others_are_served(sw_status status, sw_status code, sw_reason reason) {
    cr_assert_eq(status, code, "%s", b.error.message);
    cr_assert_eq(b.error.reason, reason, "%s", b.error.message);
    publish(1, one, 1);
    pull_and_check(beside, 1, one, 1);
    cr_assert_eq(counts().tensors_in, 1);
}

static void hand_in_and_be_refused(int fd, sw_reason reason) {
    int peer = speak();
    cr_assert(hand_over_send(peer, HAND_OVER_MEMORY, 5, fd));
    const struct shared_run run = {.byte_length = MIB, .token = 5};
    is_refused_and_others_are_served(publish_run(1, MIB, &run), sw_reason_status(reason), reason);
    close(peer);
}

Test(shared_memory, memory_that_a_peer_may_still_write_to_is_refused) {
    int fd = sealed_create(MIB);
    hand_in_and_be_refused(fd, SW_REASON_MALFORMED);
    close(fd);
}

Test(shared_memory, memory_that_is_shorter_than_said_is_refused) {
    int fd = sealed_memory(MIB - 1);
    hand_in_and_be_refused(fd, SW_REASON_MALFORMED);
    close(fd);
}

Test(shared_memory, a_pipe_is_refused) {
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    hand_in_and_be_refused(ends[0], SW_REASON_MALFORMED);
    close(ends[0]);
    close(ends[1]);
}

Test(shared_memory, a_token_that_was_never_handed_over_is_a_limit) {
    const struct shared_run run = {.byte_length = MIB, .token = 6};
    is_refused_and_others_are_served(publish_run(1, MIB, &run), SW_RESOURCE_EXHAUSTED, SW_REASON_LIMIT);
}

/* More than the tensor would count for: so it is not held. */
Test(shared_memory, memory_that_is_larger_than_its_tensor_does_not_stay) {
    int peer = speak(), fd = sealed_memory(64 * MIB);
    cr_assert(hand_over_send(peer, HAND_OVER_MEMORY, 5, fd));
    const struct shared_run run = {.byte_length = MIB, .token = 5, .offset = 7 * MIB};
    cr_assert_eq(publish_run(1, MIB, &run), SW_OK, "%s", b.error.message);
    close(fd);
    close(peer);
    sw_pull asked = {.address = {.channel = "lies", .step = 1}};
    sw_tensors *tensors;
    bench_ok(&b, sw_client_get_tensors(beside, &asked, NULL, 0, &tensors, &b.error));
    cr_assert_eq(counts().tensors_out, 0, "it is the endpoint's own copy");
    sw_tensors_destroy(tensors);
}

/* Each look is a call, and the test's timeout ends what never comes. */
static void await_waiting(uint64_t pieces) {
    while (counts().waiting < pieces) continue;
}

static void await_nothing_waits(uint64_t connections) {
    sw_hand_over_info now;
    do now = counts();
    while (now.waiting > 0 || now.connections > connections);
    cr_assert_eq(now.connections, connections);
}

static unsigned descriptors_of(pid_t pid) {
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    DIR *open = opendir(folder);
    unsigned count = 0;
    while (readdir(open)) count++;
    closedir(open);
    return count;
}

/* Memory is given back while nobody waits for it. */
static void await_descriptors(pid_t pid, unsigned most) {
    while (descriptors_of(pid) > most) sched_yield();
}

Test(shared_memory, a_peer_that_hands_over_a_thousand_is_cut_off) {
    unsigned before = descriptors_of(daemon_pid(b.daemon));
    int peer = speak(), fd = sealed_memory(MIB);
    unsigned sent = 0;
    fcntl(peer, F_SETFL, 0);
    while (sent < 1000 && hand_over_send(peer, HAND_OVER_MEMORY, sent + 1, fd)) sent++;
    await_nothing_waits(0);
    cr_assert_not(hand_over_send(peer, HAND_OVER_MEMORY, 1, fd), "nobody is there any more");
    close(peer);
    close(fd);
    publish(1, one, 1);
    cr_assert_eq(counts().tensors_in, 1);
    await_descriptors(daemon_pid(b.daemon), before + 9);
}

Test(shared_memory, many_peers_that_hand_over_all_they_may_leave_others_their_chunks) {
    enum { PEERS = 4 };
    int peers[PEERS], fd = sealed_memory(MIB);
    for (int i = 0; i < PEERS; i++) {
        peers[i] = speak();
        for (unsigned k = 0; k < LIMIT_HANDED_OVER; k++)
            cr_assert(hand_over_send(peers[i], HAND_OVER_MEMORY, k + 1, fd));
    }
    await_waiting(LIMIT_HANDED_OVER_ALL);
    publish(1, one, 1);
    cr_assert_eq(counts().tensors_in, 0);
    pull_and_check(b.client, 1, one, 1);
    for (int i = 0; i < PEERS; i++) close(peers[i]);
    close(fd);
    publish(2, one, 1);
    cr_assert_eq(counts().tensors_in, 1);
}

Test(shared_memory, what_a_peer_that_was_killed_had_handed_over_goes_with_it) {
    unsigned before = descriptors_of(daemon_pid(b.daemon));
    int ends[2];
    char byte;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        int peer = speak();
        for (uint64_t i = 0; i < 20; i++) hand_over_send(peer, HAND_OVER_MEMORY, i + 1, sealed_memory(MIB));
        if (write(ends[1], "x", 1) == 1) pause();
        _exit(1);
    }
    cr_assert_eq(read(ends[0], &byte, 1), 1);
    await_waiting(20);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    await_nothing_waits(0);
    await_descriptors(daemon_pid(b.daemon), before + 2);
}

Test(shared_memory, what_speaks_another_language_is_cut_off) {
    static const char words[] = "GET / HTTP/1.1\r\n\r\n";
    char answer;
    int peer = speak();
    cr_assert_eq(send(peer, words, strlen(words), MSG_NOSIGNAL), (ssize_t)strlen(words));
    cr_assert_eq(recv(peer, &answer, 1, 0), 0);
    close(peer);
    peer = speak();
    cr_assert(hand_over_send(peer, (enum hand_over_kind)9, 1, -1));
    cr_assert_eq(recv(peer, &answer, 1, 0), 0);
    close(peer);
}

/* Nobody but who is in on the call knows the name; a wrong one is as none. */
Test(shared_memory, a_pull_under_a_name_that_nobody_said_comes_as_chunks) {
    publish(1, one, 1);
    struct pull_request request = {.address = {.channel = "t", .step = 1}, .hand_over = 12345};
    struct raw *raw = raw_open(b.socket);
    sw_buffer *bytes;
    cr_assert_eq(stream_tensors_request_encode(&request, &bytes, NULL), SW_OK);
    struct raw_call *call = raw_start(raw, RAW_STAGE("StreamTensors"), bytes, true, 30000);
    sw_buffer *message;
    unsigned count = 0;
    while ((message = raw_read(call))) {
        count++;
        sw_buffer_unref(message);
    }
    cr_assert_eq(raw_finish(call, &b.error), SW_OK);
    raw_close(raw);
    cr_assert_eq(count, 1 + (SIZE + LIMIT_BLOCK_BYTES - 1) / LIMIT_BLOCK_BYTES);
    cr_assert_eq(counts().tensors_out, 0);
}

/* What has gone lives on for its pin, which has no room here. */
Test(shared_memory, fifty_steps_leave_nothing_behind) {
    static const size_t sizes[] = {MIB, MIB, MIB};
    bench_down(&b);
    b.more = (const char *const[]){"--pinned-bytes", "1", NULL};
    bench_up(&b);
    publish(1, sizes, 3);
    pull_and_check(beside, 1, sizes, 3);
    unsigned before = descriptors_of(daemon_pid(b.daemon)), own = descriptors_of(getpid());
    for (uint64_t step = 2; step <= 50; step++) {
        publish(step, sizes, 3);
        pull_and_check(beside, step, sizes, 3);
    }
    sw_hand_over_info now = counts_of(beside);
    cr_assert_eq(now.tensors_in, 150);
    cr_assert_eq(now.tensors_out, 150);
    await_descriptors(daemon_pid(b.daemon), before + 3);
    await_descriptors(getpid(), own + 3);
}
