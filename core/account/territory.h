/* Whose the memory of a process is: the layers of what is known, and a row for each mapping. */
#ifndef MT_ACCOUNT_TERRITORY_H
#define MT_ACCOUNT_TERRITORY_H

#include "core/account/account.h"
#include "core/account/process.h"
#include "core/account/zones.h"

/* From the top: what is in an upper one is not looked for in lower ones. Blocks lie between the
 * first two. */
enum mt_account_layer {
	MT_LAYER_OWN,    /* memtui's */
	MT_LAYER_MALLOC, /* the arenas of malloc, and pages of mapped chunks */
	MT_LAYER_MAPPED, /* what the program has mapped */
	MT_LAYER_STACKS,
	MT_LAYER_COUNT,
};
#define MT_LAYERS_BELOW_BLOCKS MT_LAYER_MALLOC

struct mt_territory {
	struct mt_account *account;
	const struct mt_known *known;
	struct mt_smaps smaps;
	pid_t thread; /* by whose number the kernel shows the memory */
	struct mt_account_own own;
	uint32_t own_library; /* path of the tracer's library; 0: there is none */
	struct mt_zones layers[MT_LAYER_COUNT];
	uint32_t blocks, slack, malloc; /* rows */
	uint32_t row_before;            /* of the mapping before */
};

/* territory is zeroed. Errors as of mt_smaps_read. */
int mt_territory_survey(struct mt_territory *, struct mt_account *, const struct mt_known *,
	struct mt_err *);
void mt_territory_free(struct mt_territory *);
/* The row of what no layer has of a mapping. Mappings come in their order. */
uint32_t mt_territory_row(struct mt_territory *, uint32_t index);

#endif
