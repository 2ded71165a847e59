/* Collapsed stacks: 'main;parse;read 4096'. Names may hold blanks: the number stands behind the
 * last one. */
#include "core/export/export_parts.h"

#include <errno.h>
#include <stdlib.h>

static void put_line(const struct mt_report *report, const struct mt_buffer *path,
	const struct mt_group *self)
{
	uint64_t value = mt_metric_value(report->profile, self, report->sort);

	if (value) {
		fwrite(path->data, 1, path->len, report->out);
		fprintf(report->out, " %llu\n", (unsigned long long)value);
	}
}

int mt_export_collapsed(const struct mt_report *report, struct mt_err *err)
{
	struct mt_tree *tree = mt_export_tree(report, NULL, err);
	struct mt_buffer path = {0};
	size_t *lengths = NULL; /* of the path before each frame */
	uint32_t depth = 0, capacity = 0;

	if (!tree)
		return -EINVAL;
	mt_buffer_add(&path, MT_EXPORT_NO_STACK, sizeof MT_EXPORT_NO_STACK - 1);
	put_line(report, &path, &mt_tree_get(tree, mt_tree_root(tree))->self);
	path.len = 0;
	for (struct mt_tree_walk walk = mt_tree_walk_begin(tree); mt_tree_walk_next(&walk);) {
		if (!walk.down) {
			path.len = lengths[--depth];
			continue;
		}
		char *name = mt_export_node_name(tree, walk.node);

		MT_GROW(lengths, depth, capacity);
		lengths[depth++] = path.len;
		if (path.len)
			mt_buffer_add(&path, ";", 1);
		mt_text_add(&path, MT_TEXT_FOLDED, name);
		free(name);
		put_line(report, &path, &mt_tree_get(tree, walk.node)->self);
	}
	free(lengths);
	mt_buffer_free(&path);
	mt_tree_free(tree);
	return 0;
}
