/* What is missing of a recording, or may mislead: each sum that says so, with its words. */
#ifndef MT_EXPORT_LOSSES_H
#define MT_EXPORT_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/profile.h"

enum mt_loss_kind {
	MT_LOSS_NONE, /* a sum of something else, or one that the totals hold already */
	MT_LOSS_LOST,
	MT_LOSS_NOTE,   /* counted, as it may matter, but nothing is missing for it */
	MT_LOSS_DOUBTS, /* the same, of the order of events alone */
};
/* Sums are numbered from 0, in the order in which they are listed. */
uint32_t mt_loss_count(void);
enum mt_loss_kind mt_loss_kind(uint32_t loss);
uint64_t mt_loss_value(uint32_t loss, const struct mt_info *);
/* "1 stack that could not be followed to the end", "1,234 stacks that …" */
#define MT_LOSS_LEN 192
/* Of a recording that began in a process that ran already. */
#define MT_BEFORE_ATTACH "what it allocated before is not in the totals"
void mt_loss_text(char out[MT_LOSS_LEN], uint32_t loss, const struct mt_info *);

#endif
