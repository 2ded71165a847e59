/* A finished file gets its name. */
#ifndef MT_BASE_RENAME_H
#define MT_BASE_RENAME_H

/* Never over a file that is there: 0, or a negative errno (-EEXIST), and nothing is changed. On a
 * file system that knows neither renaming without replacing nor hard links an empty file has the
 * name for a moment; who can be ended by a signal then blocks it. */
int mt_rename_new(const char *from, const char *to);

#endif
