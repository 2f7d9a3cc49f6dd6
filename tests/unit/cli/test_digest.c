#include "client/cli/demo/digest.h"

#include <math.h>

#include "tests/support/test.h"

static sw_entry ab[] = {{{"a", 1}, {.kind = SW_VALUE_INTEGER, .integer = 1}},
                        {{"b", 1}, {.kind = SW_VALUE_NUMBER, .number = 0.0}}};
static sw_entry ba[] = {{{"b", 1}, {.kind = SW_VALUE_NUMBER, .number = 0.0}},
                        {{"a", 1}, {.kind = SW_VALUE_INTEGER, .integer = 1}}};
static float zeros[4], one_differs[4] = {0, 0, -0.0f, 0};

static void digest_of(const sw_entry *entries, const float *elements, int64_t rows,
                      char text[DIGEST_TEXT_SIZE]) {
    struct running_digest *digest = running_digest_create();
    sw_value dict = sw_dict(entries, 2);
    int64_t shape[] = {rows, 4 / rows};
    sw_tensor_view view = {SW_F32, 2, shape, elements, sizeof zeros};
    running_digest_metrics(digest, 0, &dict);
    running_digest_tensor(digest, 0, &view);
    running_digest_text(digest, text);
    running_digest_destroy(digest);
}

Test(digest, is_of_values_to_the_bit_whatever_the_order_of_keys) {
    char first[DIGEST_TEXT_SIZE], second[DIGEST_TEXT_SIZE];
    digest_of(ab, zeros, 2, first);
    digest_of(ba, zeros, 2, second);
    cr_assert_str_eq(first, second);
    digest_of(ab, one_differs, 2, second);
    cr_assert_str_neq(first, second);
    digest_of(ab, zeros, 4, second);
    cr_assert_str_neq(first, second);
    ab[1].value.number = -0.0;
    digest_of(ab, zeros, 2, second);
    cr_assert_str_neq(first, second);
}
