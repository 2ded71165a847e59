#include "core/export/export_parts.h"

#include <string.h>

char *mt_export_node_name(const struct mt_tree *tree, uint32_t node)
{
	struct mt_backtrace_frame frame;

	mt_tree_label(tree, node, &frame);
	return mt_report_frame_name(&frame);
}

struct mt_tree *mt_export_tree(const struct mt_report *report, struct mt_group *sum,
	struct mt_err *err)
{
	struct mt_selection selection = {0};
	struct mt_tree *tree = NULL;

	if (mt_select(&selection, report->profile, report->symbols, report->filter, report->sort,
		    false, err)
		>= 0) {
		tree = mt_tree_new(report->profile, report->symbols, &selection, MT_TREE_TOP_DOWN,
			report->sort);
		mt_tree_expand_all(tree);
		if (sum) /* its columns are the tree's */
			*sum = mt_tree_get(tree, mt_tree_root(tree))->total;
	}
	mt_selection_free(&selection);
	return tree;
}

const char *mt_export_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *mt_export_program(const struct mt_profile *p)
{
	return mt_export_base_name(
		p->argument_count ? mt_strings_get(&p->strings, p->arguments[0]) : "");
}
