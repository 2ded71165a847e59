/* The only way by which symbol code opens a file that somebody else has named. */
#ifndef MT_SYMBOL_OPEN_H
#define MT_SYMBOL_OPEN_H

#include <stdbool.h>
#include <sys/types.h>

struct stat;

/* With whose rights a file is opened: root's memtui takes those of the user whose file names it.
 * Zeroed: its own. */
struct mt_rights {
	bool limited;
	uid_t uid;
	gid_t gid;
};
/* The rights of a file's owner. They are limited only if memtui is root's and the file is not. */
struct mt_rights mt_rights_of(const struct stat *);
struct mt_rights mt_rights_of_path(const char *path);
struct mt_rights mt_rights_of_process(pid_t);
/* a, or if these are memtui's own, b. */
struct mt_rights mt_rights_least(struct mt_rights a, struct mt_rights b);

/* This thread takes the rights, and gets its own back. Between the two it only opens files. */
struct mt_rights_before {
	bool taken;
	int group_count;
	gid_t groups[64];
	gid_t gid;
};
void mt_rights_take(const struct mt_rights *, struct mt_rights_before *);
void mt_rights_give_back(const struct mt_rights_before *);

/* Opens a regular file for reading. Nothing else is opened, so that nothing waits and no device is
 * touched. Returns the descriptor, or -1: *refused is set if there is something that may not be
 * opened, and left alone if there is nothing. */
int mt_symbol_open(const char *path, const struct mt_rights *, bool *refused);
/* False if something stands there that must not be opened. A missing file is true. */
bool mt_symbol_may_open(const char *path, const struct mt_rights *, bool *refused);

#endif
