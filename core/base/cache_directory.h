/* A directory of files that can be made again, below the user's cache. It is used only when it is
 * ours and nobody else can write to it. A file is written aside and renamed: who reads sees the old
 * or the new one. What was not used for the longest time goes when all becomes too much. */
#ifndef MT_BASE_CACHE_DIRECTORY_H
#define MT_BASE_CACHE_DIRECTORY_H

#include <stdint.h>

struct mt_cache_directory;
/* Nothing is opened or made before it is needed. Files have hexadecimal digits before the suffix
 * (".names"), which is borrowed; together at most so many bytes. path NULL or empty: NULL, which
 * all functions take. */
struct mt_cache_directory *mt_cache_directory_new(const char *path, const char *suffix,
	uint64_t bytes_most);
void mt_cache_directory_free(struct mt_cache_directory *);
/* Descriptor of a regular file of ours that is not empty, and its bytes; -1: there is none. */
int mt_cache_directory_open(struct mt_cache_directory *, const char *name, uint64_t *bytes);
/* It turned out to be good: it is not removed soon. */
void mt_cache_directory_note_use(int fd);
/* A new file beside the others, to be written; *aside: its name, which the caller frees. -1:
 * refused. */
int mt_cache_directory_begin(struct mt_cache_directory *, const char *name, char **aside);
/* It is closed. whole: it takes the place of the file of this name, and the oldest ones go; else it
 * is removed. */
void mt_cache_directory_end(struct mt_cache_directory *, const char *aside, const char *name,
	int whole);

#endif
