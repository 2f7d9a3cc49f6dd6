#include "client/cli/whole_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

static char folder[64], path[128];
static struct whole_file file;
static sw_error error;

static void enter(void) {
    strcpy(folder, "/tmp/stagewire-file-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
}

static void leave(void) {
    unlink(path);
    rmdir(folder);
}

TestSuite(whole_file, .init = enter, .fini = leave);

static unsigned files_in_folder(void) {
    unsigned count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; (entry = readdir(list));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(list);
    return count;
}

static void expect_content(const char *expected) {
    char content[16] = "";
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    cr_assert_eq(fread(content, 1, sizeof content - 1, in), strlen(expected));
    cr_assert_str_eq(content, expected);
    fclose(in);
}

static void begin(const char *content) {
    cr_assert_eq(whole_file_open(path, strlen(content), &file, &error), SW_OK, "%s", error.message);
    cr_assert_eq(pwrite(file.fd, content, strlen(content), 0), (ssize_t)strlen(content));
}

/* As on a file system that knows no files without a name. */
static void give_hidden_name(void) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file.fd);
    snprintf(file.hidden, sizeof file.hidden, "%s/.out.part", folder);
    cr_assert_eq(linkat(AT_FDCWD, self, AT_FDCWD, file.hidden, AT_SYMLINK_FOLLOW), 0);
}

Test(whole_file, is_absent_until_it_is_whole) {
    begin("new");
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(whole_file_commit(&file, &error), SW_OK);
    expect_content("new");
    cr_assert_eq(files_in_folder(), 1);
}

Test(whole_file, takes_the_place_of_the_one_before_at_once) {
    begin("old");
    cr_assert_eq(whole_file_commit(&file, &error), SW_OK);
    begin("newer");
    expect_content("old");
    cr_assert_eq(whole_file_commit(&file, &error), SW_OK);
    expect_content("newer");
    cr_assert_eq(files_in_folder(), 1);
}

Test(whole_file, given_up_it_leaves_nothing) {
    begin("new");
    whole_file_abandon(&file);
    cr_assert_eq(files_in_folder(), 0);
    begin("new");
    give_hidden_name();
    cr_assert_eq(files_in_folder(), 1);
    whole_file_abandon(&file);
    cr_assert_eq(files_in_folder(), 0);
}

Test(whole_file, under_a_hidden_name_it_gets_its_own_in_the_end) {
    begin("new");
    give_hidden_name();
    cr_assert_eq(whole_file_commit(&file, &error), SW_OK);
    expect_content("new");
    cr_assert_eq(files_in_folder(), 1);
}

Test(whole_file, has_room_from_the_beginning) {
    struct stat info;
    cr_assert_eq(whole_file_open(path, 100000, &file, &error), SW_OK);
    cr_assert_eq(fstat(file.fd, &info), 0);
    cr_assert_eq(info.st_size, 100000);
    cr_assert_geq(info.st_blocks * 512, 100000);
    whole_file_abandon(&file);
}

Test(whole_file, a_folder_that_went_away_is_an_error) {
    begin("new");
    rmdir(folder);
    cr_assert_neq(whole_file_commit(&file, &error), SW_OK);
    cr_assert(strstr(error.message, path));
}
