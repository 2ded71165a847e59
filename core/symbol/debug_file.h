/* The separate file with the symbols of a file that was stripped. */
#ifndef MT_SYMBOL_DEBUG_FILE_H
#define MT_SYMBOL_DEBUG_FILE_H

#include <sys/types.h>

/* Looks for it by build-id and by debug link, as for names in backtraces: in /usr/lib/debug, beside
 * the file and in .debug there. fd: the stripped file, borrowed; opened: the name by which it was;
 * path: its name for the process (0: for us), below whose root is looked first. Returns a
 * descriptor, or -1: the file has symbols of its own, or there is no other. */
int mt_debug_file_open(int fd, const char *opened, const char *path, pid_t pid);

#endif
