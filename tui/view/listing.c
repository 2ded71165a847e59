#include "tui/view/listing.h"
#include "core/base/buffer.h"

#include <stdlib.h>

struct request {
	char *filter;
	uint32_t group;
	enum mt_allocation_order order;
	bool ascending;
};

static int list_blocks(const struct mt_source *source, const void *request, void *result,
	struct mt_err *err)
{
	const struct request *r = request;
	struct mt_filter *filter = mt_filter_new_of(source->profile);
	int status = mt_filter_parse(filter, r->filter, err);

	if (!status)
		status = mt_allocations_of(result, source, filter, r->group, r->order, r->ascending,
			MT_LISTING_MAX, err);
	mt_filter_free(filter);
	return status;
}

static void free_request(void *request)
{
	struct request *r = request;

	free(r->filter);
	free(r);
}

static void free_list(void *list)
{
	mt_allocations_free(list);
}

struct mt_worker *mt_listing_new(void)
{
	static const struct mt_worker_kind work = {.words = "to list blocks in",
		.result_size = sizeof(struct mt_allocation_list),
		.run = list_blocks,
		.free_request = free_request,
		.free_result = free_list};

	return mt_worker_new(&work);
}

void mt_listing_start(struct mt_worker *worker, const struct mt_generation *of, const char *filter,
	uint32_t group, enum mt_allocation_order order, bool ascending)
{
	struct request *r = mt_alloc(sizeof *r);

	*r = (struct request){mt_strdup(filter), group, order, ascending};
	mt_worker_start(worker, of, r);
}
