/* Values as strict JSON, straight to a file.
 *
 *     null, bool, integer, text    as such
 *     number                       the shortest that reads back as the same double, always with a point or an
 *                                  exponent; "NaN", "Infinity", "-Infinity"
 *     list, tuple                  an array
 *     dict                         an object, in its own order
 *     blob                         {"$blob": BASE64}
 *     tensor                       {"$tensor": {"dtype": "F32", "shape": [2, 3], "min": …, "max": …, "mean":
 * …}} extension                    {"$extension": TYPE, "value": …}
 */
#ifndef STAGEWIRE_CLIENT_CLI_JSON_WRITE_H
#define STAGEWIRE_CLIENT_CLI_JSON_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include <stagewire/value.h>

void json_write_value(FILE *out, const sw_value *value);
void json_write_text(FILE *out, sw_bytes text);
void json_write_string(FILE *out, const char *text);
void json_write_member(FILE *out, const char *name, const char *text); /* , "name": "text", or null */
void json_write_number(FILE *out, double number);
void json_write_shape(FILE *out, const sw_tensor_view *view); /* [2, 3] */

/* Of a tensor that has bytes and elements that are numbers: false otherwise. NaN if any element is. */
struct tensor_summary {
    double min, max, mean;
};
bool tensor_summarize(const sw_tensor_view *view, struct tensor_summary *ret_summary);

#endif
