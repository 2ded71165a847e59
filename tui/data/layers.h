/* The groups that have a colour: which they are, and how large each was over time. A group keeps
 * its colour while it is among the largest; the others together are drawn as one more layer. */
#ifndef MT_TUI_LAYERS_H
#define MT_TUI_LAYERS_H

#include "tui/data/ranking.h"

#define MT_LAYERS 5        /* groups with a colour: as many as can be told apart */
#define MT_LAYER_KEPT 8    /* a group keeps its colour while it is among so many largest ones */
#define MT_LAYER_POINTS 96 /* of a group; when there are more, every second one goes */

struct mt_layer_point {
	uint64_t ns, bytes; /* since the recording began; live */
};
struct mt_layer {
	uint32_t group; /* MT_NO_GROUP: the colour is free */
	uint32_t count;
	struct mt_layer_point points[MT_LAYER_POINTS]; /* in order of time */
	struct mt_layer_point now;                     /* as of the last update */
};
struct mt_layers {
	struct mt_layer layer[MT_LAYERS];
	bool begun;
	uint64_t step_ns;    /* between two points of a running recording */
	uint64_t changed_ns; /* when a colour was given last */
};

/* After each change of the profile. Sizes come from what the ranking has sampled: without samples
 * there are no layers. live: the recording goes on, at most one colour changes a second then. */
void mt_layers_update(struct mt_layers *, const struct mt_profile *, const struct mt_ranking *,
	bool live);
/* The number of the group's colour from 0, or -1. */
int mt_layers_of(const struct mt_layers *, uint32_t group);
/* The live bytes of a layer's group at that time: between two samples on the line from one to the
 * other, so an estimate. */
uint64_t mt_layers_at(const struct mt_layers *, int layer, uint64_t ns);

#endif
