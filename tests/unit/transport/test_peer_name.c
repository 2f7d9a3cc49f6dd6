/* What a name must be to be taken for somebody's. */
#include <string.h>

#include "proto/transport/peer_name.h"
#include "tests/support/test.h"

static bool spiffe(const char *text) {
    return !spiffe_id_wrong(text, strlen(text));
}

Test(peer_name, a_spiffe_id_names_a_trust_domain_and_a_workload) {
    cr_assert(spiffe("spiffe://job.example/stage/3"));
    cr_assert(spiffe("spiffe://job.example/a"));
    cr_assert(spiffe("spiffe://1_2-3.x/A.b_c-9/..."));
    cr_assert(spiffe("spiffe://a/.b/c."));
}

Test(peer_name, what_the_specification_forbids_is_no_spiffe_id) {
    const char *const wrong[] = {
        "",
        "spiffe://",
        "spiffe:///a",
        "spiffe:///a/../b",
        "spiffe://job.example",
        "spiffe://job.example/",
        "spiffe://job.example/a/",
        "spiffe://job.example//a",
        "spiffe://job.example/a/./b",
        "spiffe://job.example/a/..",
        "spiffe://job.example/a?b",
        "spiffe://job.example/a#b",
        "spiffe://job.example/a%2fb",
        "spiffe://job.example/a b",
        "spiffe://job.example:80/a",
        "spiffe://user@job.example/a",
        "spiffe://Job.example/a",
        "SPIFFE://job.example/a",
        "spiffe:/job.example/a",
        "https://job.example/a",
        "spiffe://job.example/\xc3\xa4",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) cr_assert_not(spiffe(wrong[i]), "%s", wrong[i]);
    cr_assert_not_null(spiffe_id_wrong("spiffe://job.example/a\0b", 24), "a NUL is no end");
}

Test(peer_name, a_spiffe_id_has_at_most_2048_bytes_and_its_trust_domain_255) {
    char text[2100] = "spiffe://d/";
    memset(text + 11, 'p', 2037);
    cr_assert(spiffe(text));
    text[2048] = 'p';
    cr_assert_not(spiffe(text));
    char domain[300] = "spiffe://";
    memset(domain + 9, 'd', 255);
    strcpy(domain + 9 + 255, "/a");
    cr_assert(spiffe(domain));
    memset(domain + 9, 'd', 256);
    strcpy(domain + 9 + 256, "/a");
    cr_assert_not(spiffe(domain));
}

static bool dns(const char *text) {
    return !dns_name_wrong(text, strlen(text));
}

Test(peer_name, a_dns_name_is_labels_of_letters_digits_hyphens_and_underscores) {
    cr_assert(dns("localhost"));
    cr_assert(dns("stage-3.job.svc.cluster.local"));
    cr_assert(dns("_x.Y"));
    const char *const wrong[] = {"",   ".",   "a.",  ".a",       "a..b", "-a",
                                 "a-", "*.a", "a b", "\xc3\xa4", "a/b",  "a:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) cr_assert_not(dns(wrong[i]), "%s", wrong[i]);
    char label[80] = "";
    memset(label, 'a', 63);
    cr_assert(dns(label));
    label[63] = 'a';
    cr_assert_not(dns(label));
}

Test(peer_name, a_certificates_name_covers_the_host_without_case) {
    cr_assert(dns_name_covers("stage-3.example", "stage-3.example"));
    cr_assert(dns_name_covers("Stage-3.example", "stage-3.EXAMPLE."));
    cr_assert_not(dns_name_covers("stage-3.example", "stage-33.example"));
    cr_assert_not(dns_name_covers("stage-3.example", "x.stage-3.example"));
    cr_assert_not(dns_name_covers("example", ""));
}

Test(peer_name, a_wildcard_is_the_whole_first_label_and_no_more) {
    cr_assert(dns_name_covers("*.job.example", "stage-3.job.example"));
    cr_assert_not(dns_name_covers("*.job.example", "job.example"));
    cr_assert_not(dns_name_covers("*.job.example", "a.b.job.example"));
    cr_assert_not(dns_name_covers("*.example", "job.example"), "it would cover a whole registry");
    cr_assert_not(dns_name_covers("*", "localhost"));
    cr_assert_not(dns_name_covers("s*.job.example", "stage.job.example"));
    cr_assert_not(dns_name_covers("a.*.example", "a.job.example"));
    cr_assert_not(dns_name_covers("*.*.example", "a.b.example"));
}

Test(peer_name, addresses_compare_by_what_they_are) {
    cr_assert(ip_address_same("127.0.0.1", "127.0.0.1"));
    cr_assert(ip_address_same("::1", "[0:0::1]"));
    cr_assert_not(ip_address_same("127.0.0.1", "127.0.0.2"));
    cr_assert_not(ip_address_same("::1", "0.0.0.1"));
    cr_assert_not(ip_address_same("localhost", "localhost"));
    cr_assert(is_ip_address("[fe80::1]"));
    cr_assert_not(is_ip_address("1.2.3"));
    cr_assert_not(is_ip_address("[127.0.0.1"));
}

Test(peer_name, the_host_of_a_target_is_without_port_and_brackets) {
    char host[64];
    cr_assert(peer_name_host("stage-3.example:4317", host, sizeof host));
    cr_assert_str_eq(host, "stage-3.example");
    cr_assert(peer_name_host("[::1]:4317", host, sizeof host));
    cr_assert_str_eq(host, "::1");
    cr_assert(peer_name_host("::1", host, sizeof host));
    cr_assert_str_eq(host, "::1");
    cr_assert(peer_name_host("localhost", host, sizeof host));
    cr_assert_str_eq(host, "localhost");
    cr_assert_not(peer_name_host(":1", host, sizeof host));
    cr_assert_not(peer_name_host("[::1", host, sizeof host));
    cr_assert_not(peer_name_host("stage-3.example:1", host, 15));
}
