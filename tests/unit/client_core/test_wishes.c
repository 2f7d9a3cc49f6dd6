#include <string.h>

#include "client/core/wishes.h"
#include "tests/support/test.h"

static sw_error error;

static sw_status init(struct wishes *wishes, const sw_tensor_request *requests, uint32_t count) {
    return wishes_init(wishes, requests, count, &error);
}

Test(wishes, a_name_that_no_tensor_has_is_malformed_with_its_path) {
    char long_name[SW_TENSOR_NAME_MAX + 2];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    const char *const bad[] = {NULL, "", long_name, "first"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wishes wishes;
        sw_tensor_request requests[] = {{.name = "first"}, {.name = bad[i]}};
        cr_assert_eq(init(&wishes, requests, 2), SW_INVALID_ARGUMENT);
        cr_assert_eq(error.reason, SW_REASON_MALFORMED);
        const char *path = sw_error_metadata(&error, "path");
        cr_assert(strcmp(path, "tensors[1].name") == 0 || (i == 3 && strstr(path, ".name")), "%s", path);
    }
}

Test(wishes, none_at_all_is_every_tensor) {
    struct wishes wishes;
    sw_tensor_request request = {.name = "a"};
    cr_assert_eq(init(&wishes, NULL, 0), SW_OK);
    cr_assert_eq(wishes.count, 0);
    wishes_destroy(&wishes);
    cr_assert_eq(init(&wishes, &request, 0), SW_OK);
    cr_assert_eq(wishes.count, 0);
    wishes_destroy(&wishes);
}

static struct manifest two_tensors(void) {
    static const int64_t shape[] = {2, 3};
    static const struct tensor_info infos[] = {
        {.name = "weights", .dtype = SW_F32, .rank = 2, .shape = shape, .byte_length = 24},
        {.name = "bias", .dtype = SW_U8, .byte_length = 1},
    };
    return (struct manifest){
        .address = {.has_stage = true, .stage = 3, .channel = "train", .step = 7, .generation = 1},
        .tensor_count = 2,
        .tensors = infos,
        .block_bytes = 1024,
    };
}

Test(wishes, a_tensor_that_is_not_there_is_named_with_those_that_are) {
    struct wishes wishes;
    struct manifest manifest = two_tensors();
    cr_assert_eq(init(&wishes, (sw_tensor_request[]){{.name = "bias"}, {.name = "moments"}}, 2), SW_OK);
    cr_assert_eq(wishes_fit(&wishes, &manifest, &error), SW_NOT_FOUND);
    cr_assert_eq(error.reason, SW_REASON_NO_SUCH_TENSOR);
    cr_assert_str_eq(sw_error_metadata(&error, "tensors"), "[\"weights\",\"bias\"]");
    cr_assert_not_null(strstr(error.message, "moments"));
    cr_assert_not_null(strstr(error.message, "stage 3"));
    wishes_destroy(&wishes);
}

Test(wishes, memory_of_another_size_is_an_error_that_says_how) {
    struct wishes wishes;
    struct manifest manifest = two_tensors();
    char memory[24];
    cr_assert_eq(init(&wishes, (sw_tensor_request[]){{"weights", memory, 23}}, 1), SW_OK);
    cr_assert_eq(wishes_fit(&wishes, &manifest, &error), SW_INVALID_ARGUMENT);
    const char *const parts[] = {"weights", "23 bytes", "24", "F32", "[2, 3]", "step 7"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert_not_null(strstr(error.message, parts[i]), "%s", error.message);
    wishes_destroy(&wishes);
    cr_assert_eq(init(&wishes, (sw_tensor_request[]){{"weights", memory, 24}, {"bias", NULL, 77}}, 2), SW_OK);
    cr_assert_eq(wishes_fit(&wishes, &manifest, &error), SW_OK, "without memory the size says nothing");
    wishes_destroy(&wishes);
}
