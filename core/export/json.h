/* A JSON writer: commas, and strings as MT_TEXT_JSON has them. */
#ifndef MT_EXPORT_JSON_H
#define MT_EXPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mt_json {
	FILE *out;  /* borrowed; look at ferror when done */
	bool comma; /* the next value follows another */
};

/* Name of the next value, inside an object. */
void mt_json_key(struct mt_json *, const char *name);
void mt_json_open(struct mt_json *, char bracket);  /* '{' or '[' */
void mt_json_close(struct mt_json *, char bracket); /* '}' or ']' */
void mt_json_string(struct mt_json *, const char *text);
void mt_json_number(struct mt_json *, uint64_t);
void mt_json_integer(struct mt_json *, int64_t);
void mt_json_real(struct mt_json *, double);
void mt_json_seconds(struct mt_json *, uint64_t ns);
void mt_json_bool(struct mt_json *, bool);
void mt_json_null(struct mt_json *);
/* A name and its value. */
void mt_json_put_string(struct mt_json *, const char *name, const char *text);
void mt_json_put_number(struct mt_json *, const char *name, uint64_t);
void mt_json_put_seconds(struct mt_json *, const char *name, uint64_t ns);
void mt_json_put_bool(struct mt_json *, const char *name, bool);
/* Line break before the next value, for the eyes of those who look into the file. */
void mt_json_line(struct mt_json *);

#endif
