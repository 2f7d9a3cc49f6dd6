/* Folders for a test's sockets and files. Whatever fails ends the program. */
#ifndef STAGEWIRE_TESTS_FOLDER_H
#define STAGEWIRE_TESTS_FOLDER_H

/* `name` is mkdtemp's template, and then the folder's name. */
void folder_make(char *name);
/* With the files in it, but no folder: there must be none. */
void folder_remove(const char *name);

#endif
