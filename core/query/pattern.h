/* One regular expression of a user: smart case, and limits so that no pattern hangs the screen. */
#ifndef MT_QUERY_PATTERN_H
#define MT_QUERY_PATTERN_H

#include "core/base/err.h"

struct mt_pattern;

/* name: of the field, for messages. NULL on error: err says where and what was expected. */
struct mt_pattern *mt_pattern_new(const char *text, const char *name, struct mt_err *err);
/* A pass over many strings begins: its time is limited too. */
void mt_pattern_begin(struct mt_pattern *);
/* 1, 0, or a negative errno when the pattern is too expensive. */
int mt_pattern_match(struct mt_pattern *, const char *text, struct mt_err *err);
void mt_pattern_free(struct mt_pattern *);

#endif
