/* Private to core/convert: a text file, plain or compressed by gzip or zstd, line by line. It is
 * not believed. */
#ifndef MT_CONVERT_LINES_H
#define MT_CONVERT_LINES_H

#include "core/base/buffer.h"
#include "core/base/err.h"

#include <stdbool.h>

#define MT_LINE_MAX (1u << 20) /* bytes; a longer one is damage */

struct mt_lines;

/* path: a plain file. NULL on error. */
struct mt_lines *mt_lines_open(const char *path, struct mt_err *err);
/* The same of a descriptor, which is taken; name: for errors. */
struct mt_lines *mt_lines_open_fd(int fd, const char *name, struct mt_err *err);
void mt_lines_free(struct mt_lines *);
/* 1: *line, NUL-terminated, without its newline, valid until the next call; 0: the end, or damage:
 * see fault. */
int mt_lines_next(struct mt_lines *, char **line, size_t *len);
/* NULL, or what ended the text too early. A constant, or the decompressor's. */
const char *mt_lines_fault(const struct mt_lines *);
/* that fault is: its compressed data end too early */
bool mt_lines_cut(const struct mt_lines *);
bool mt_lines_broken(const struct mt_lines *); /* that fault is: they cannot be read or unpacked */
uint64_t mt_lines_read(const struct mt_lines *);       /* bytes of the file */
uint64_t mt_lines_file_bytes(const struct mt_lines *); /* its size */
double mt_lines_fraction(const struct mt_lines *);     /* of the file that was read */
const char *mt_lines_packing(const struct mt_lines *); /* "zstd", "gzip" or NULL */
const char *mt_lines_program(const struct mt_lines *); /* that unpacks such a file */

#endif
