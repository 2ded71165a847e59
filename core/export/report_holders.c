#include "core/export/report_holders.h"
#include "core/export/report_parts.h"
#include "core/export/verdict_words.h"
#include "core/leakcheck/describe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINES 40u /* of a way, in text */

struct holders_report {
	const struct mt_report *report;
	const struct mt_leakcheck *check;
	const struct mt_holders_question *question;
	struct mt_verdict_sum sums[MT_VERDICT_COUNT]; /* of the blocks that are asked for */
	struct mt_verdict_sum retained;
	uint32_t *blocks, block_count;  /* that are shown */
	struct mt_describer *describer; /* NULL: the check is a recording's */
	struct mt_backtrace backtrace;
	struct mt_json json;
};

/* ---- what is shown --------------------------------------------------------------------------- */

static bool is_asked(const struct holders_report *r, uint32_t block)
{
	const struct mt_holders_question *q = r->question;

	return q->block == MT_BLOCK_NONE ? r->check->blocks.items[block].group == q->group
					 : block == q->block;
}

/* Behind which of those that are shown so far it comes: they are few. */
static void show_block(struct holders_report *r, uint32_t block, uint32_t most)
{
	const struct mt_held_block *items = r->check->blocks.items;
	uint32_t at = r->block_count < most ? r->block_count++ : most - 1;

	if (r->block_count == most && at == most - 1 && r->blocks[at] != MT_BLOCK_NONE
		&& items[r->blocks[at]].size >= items[block].size)
		return;
	for (; at && items[r->blocks[at - 1]].size < items[block].size; at--)
		r->blocks[at] = r->blocks[at - 1];
	r->blocks[at] = block;
}

static void choose(struct holders_report *r)
{
	uint64_t most = r->report->count ? r->report->count : 1;

	if (most > r->check->blocks.count)
		most = r->check->blocks.count;
	r->blocks = mt_alloc((most + 1) * sizeof *r->blocks);
	memset(r->blocks, 0xff, (most + 1) * sizeof *r->blocks);
	for (uint32_t i = 0; i < r->check->blocks.count; i++) {
		const struct mt_held_block *b = &r->check->blocks.items[i];

		if (!is_asked(r, i))
			continue;
		r->sums[b->verdict].count++;
		r->sums[b->verdict].bytes += b->size;
		show_block(r, i, (uint32_t)most);
	}
	if (r->check->recorded)
		return; /* only the process itself tells */
	r->retained = r->question->block == MT_BLOCK_NONE
		? mt_leakcheck_retained(r->check, r->question->group, MT_BLOCK_NONE)
		: mt_leakcheck_retained(r->check, MT_NO_GROUP, r->question->block);
}

/* The way from its beginning, and how long it is; the caller frees it. */
static struct mt_holder_step *way_of(const struct holders_report *r, uint32_t block,
	uint32_t *count)
{
	struct mt_holder_step *steps;

	*count = mt_leakcheck_way(r->check, block, NULL, 0);
	steps = mt_alloc((*count + 1ull) * sizeof *steps);
	mt_leakcheck_way(r->check, block, steps, *count);
	for (uint32_t i = 0; i < *count / 2; i++) {
		struct mt_holder_step step = steps[i];

		steps[i] = steps[*count - 1 - i];
		steps[*count - 1 - i] = step;
	}
	return steps;
}

static bool is_root(const struct mt_holder_step *step)
{
	return step->holder & MT_HOLDER_ROOT;
}

static const struct mt_held_block *block_of(const struct holders_report *r,
	const struct mt_holder_step *step)
{
	return &r->check->blocks.items[step->holder];
}

static uint64_t offset_in(const struct holders_report *r, const struct mt_holder_step *step)
{
	return step->address - block_of(r, step)->address;
}

/* ---- text: roots ----------------------------------------------------------------------------- */

static char *root_words(const struct holders_report *r, const struct mt_holder_step *step)
{
	struct mt_root_description d;
	char *words;

	if (r->check->recorded)
		return mt_strdup(r->check->recorded->roots[step->holder & ~MT_HOLDER_ROOT].words);
	mt_root_describe(r->describer, step->holder & ~MT_HOLDER_ROOT, step->index, &d);
	words = mt_root_words(&d);
	mt_root_description_free(&d);
	return words;
}

static void put_root(const struct holders_report *r, const struct mt_holder_step *step)
{
	char *words = root_words(r, step);

	mt_text_put(r->report->out, MT_TEXT_LINE, words);
	fputc('\n', r->report->out);
	free(words);
}

/* ---- text: blocks ---------------------------------------------------------------------------- */

static const struct mt_backtrace_frame *site_of(struct holders_report *r, uint32_t group)
{
	mt_backtrace_get(&r->backtrace, r->report->profile, r->report->symbols, group);
	return r->backtrace.count ? mt_backtrace_own(&r->backtrace) : NULL;
}

static void put_site(struct holders_report *r, uint32_t group, uint32_t before)
{
	const struct mt_backtrace_frame *site = site_of(r, group);

	if (site)
		mt_report_put_frame(r->report, before, site, "");
	else
		fputs("?\n", r->report->out);
}

/* Steps of one group that lead on by the same word, as those through a list do: how many. */
static uint32_t alike(const struct holders_report *r, const struct mt_holder_step *steps,
	uint32_t count)
{
	uint32_t n = 1;

	while (n < count && block_of(r, &steps[n])->group == block_of(r, steps)->group
		&& block_of(r, &steps[n])->size == block_of(r, steps)->size
		&& offset_in(r, &steps[n]) == offset_in(r, steps))
		n++;
	return n;
}

static void put_step(struct holders_report *r, const struct mt_holder_step *step, uint32_t n)
{
	const struct mt_held_block *b = block_of(r, step);
	char size[MT_NUMBER_EXACT_LEN], count[MT_NUMBER_EXACT_LEN];
	FILE *out = r->report->out;

	mt_report_number(size, r->report, MT_UNIT_BYTES, b->size);
	mt_report_number(count, r->report, MT_UNIT_COUNT, n);
	if (n > 1)
		fprintf(out, "     %s blocks of %s each at +%" PRIu64 "  ", count, size,
			offset_in(r, step));
	else
		fprintf(out, "     block of %s at %#" PRIx64 "+%" PRIu64 "  ", size, b->address,
			offset_in(r, step));
	put_site(r, b->group, 40);
}

static void put_way(struct holders_report *r, uint32_t block)
{
	uint32_t count, at = 0, lines = 0;
	struct mt_holder_step *steps = way_of(r, block, &count);
	FILE *out = r->report->out;

	if (count && is_root(&steps[0])) {
		fputs("     ", out);
		put_root(r, &steps[0]);
		at = 1;
	}
	while (at < count && lines++ < LINES) {
		uint32_t n = alike(r, steps + at, count - at);

		put_step(r, &steps[at], n);
		at += n;
	}
	if (at < count)
		fprintf(out, "     %u more blocks; --format json shows all\n", count - at);
	free(steps);
}

static const char *held_words(const struct mt_held_block *b)
{
	switch (b->verdict) {
	case MT_VERDICT_LOST: return "definitely lost: no pointer to it is left";
	case MT_VERDICT_INDIRECT: return "indirectly lost, with the first of";
	case MT_VERDICT_POSSIBLE: return "possibly lost: pointers into the middle hold it, of";
	default: return "still reachable, held by";
	}
}

static void put_block(struct holders_report *r, uint32_t block)
{
	const struct mt_held_block *b = &r->check->blocks.items[block];
	char size[MT_NUMBER_EXACT_LEN];

	mt_report_number(size, r->report, MT_UNIT_BYTES, b->size);
	fprintf(r->report->out, "\nblock of %s at %#" PRIx64 "  ", size, b->address);
	put_site(r, b->group, 30);
	fprintf(r->report->out, "   %s\n", held_words(b));
	put_way(r, block);
}

static void put_sums(const struct holders_report *r)
{
	FILE *out = r->report->out;
	const char *separator = "";
	char bytes[MT_NUMBER_EXACT_LEN], count[MT_NUMBER_EXACT_LEN];

	for (int v = 0; v < MT_VERDICT_COUNT; v++) {
		if (!r->sums[v].count)
			continue;
		mt_report_number(bytes, r->report, MT_UNIT_BYTES, r->sums[v].bytes);
		mt_report_number(count, r->report, MT_UNIT_COUNT, r->sums[v].count);
		fprintf(out, "%s%s in %s %s %s", separator, bytes, count, MT_PLURAL(count, "block"),
			mt_verdict_words((enum mt_verdict)v));
		separator = ", ";
	}
	fputc('\n', out);
}

static void put_retained(const struct holders_report *r)
{
	char bytes[MT_NUMBER_EXACT_LEN], count[MT_NUMBER_EXACT_LEN];

	if (r->check->recorded) {
		fputs("what it retains, only the running process tells\n", r->report->out);
		return;
	}
	mt_report_number(bytes, r->report, MT_UNIT_BYTES, r->retained.bytes);
	mt_report_number(count, r->report, MT_UNIT_COUNT, r->retained.count);
	fprintf(r->report->out, "retains %s in %s %s: so much would be unreachable without %s\n",
		bytes, count, MT_PLURAL(count, "block"),
		r->question->block == MT_BLOCK_NONE ? "the group" : "the block");
}

static void put_report(struct holders_report *r)
{
	const struct mt_holders_question *q = r->question;
	FILE *out = r->report->out;

	if (q->block == MT_BLOCK_NONE) {
		fprintf(out, "group %u: ", q->group);
		put_sums(r);
	} else if (q->address != r->check->blocks.items[q->block].address) {
		fprintf(out, "%#" PRIx64 " is at +%" PRIu64 " of this block\n", q->address,
			q->address - r->check->blocks.items[q->block].address);
	}
	put_retained(r);
	for (uint32_t i = 0; i < r->block_count; i++)
		put_block(r, r->blocks[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json_text(struct mt_json *json, const char *name, const char *text)
{
	if (text && *text)
		mt_json_put_string(json, name, text);
}

static void put_json_map(struct holders_report *r, const struct mt_root_description *d)
{
	mt_json_put_number(&r->json, "map", d->map_address);
	mt_json_put_number(&r->json, "map_bytes", d->map_bytes);
	mt_backtrace_of(&r->backtrace, r->report->profile, r->report->symbols, d->map_node);
	mt_report_json_backtrace(&r->json, &r->backtrace);
}

static void put_json_description(struct holders_report *r, const struct mt_root_description *d)
{
	struct mt_json *json = &r->json;

	if (d->thread) {
		mt_json_put_number(json, "thread", (uint64_t)d->thread);
		put_json_text(json, "thread_name", d->thread_name);
	}
	put_json_text(json, "register", d->reg);
	put_json_text(json, "function", d->function);
	put_json_text(json, "source", d->source);
	if (d->line)
		mt_json_put_number(json, "line", d->line);
	put_json_text(json, "variable", d->variable);
	if (d->variable)
		mt_json_put_number(json, "variable_offset", d->variable_offset);
	put_json_text(json, "module", d->module);
	if (d->module)
		mt_json_put_number(json, "module_offset", d->module_offset);
	if (d->key >= 0)
		mt_json_put_number(json, "pthread_key", (uint64_t)d->key);
	if (d->map_bytes)
		put_json_map(r, d);
}

static void put_json_root(struct holders_report *r, const struct mt_holder_step *step)
{
	static const char *const kinds[] = {
#define X(id, name, words) name,
		MT_ROOT_KINDS(X)
#undef X
	};
	uint32_t root = step->holder & ~MT_HOLDER_ROOT, kind;
	struct mt_root_description d;
	char *words = root_words(r, step);

	if (!r->check->recorded)
		mt_root_describe(r->describer, root, step->index, &d);
	kind = r->check->recorded ? r->check->recorded->roots[root].kind : d.kind;
	mt_json_put_string(&r->json, "root", kind < MT_ROOT_KIND_COUNT ? kinds[kind] : "?");
	mt_json_put_string(&r->json, "words", words);
	free(words);
	if (r->check->recorded)
		return;
	put_json_description(r, &d);
	mt_root_description_free(&d);
}

static void put_json_step(struct holders_report *r, const struct mt_holder_step *step)
{
	struct mt_json *json = &r->json;
	const struct mt_backtrace_frame *site;

	mt_json_line(json);
	mt_json_open(json, '{');
	if (is_root(step)) {
		put_json_root(r, step);
	} else {
		mt_json_put_number(json, "address", block_of(r, step)->address);
		mt_json_put_number(json, "size", block_of(r, step)->size);
		mt_json_put_number(json, "group", block_of(r, step)->group);
		mt_json_put_number(json, "offset", offset_in(r, step));
		site = site_of(r, block_of(r, step)->group);
		mt_json_key(json, "site");
		if (site) {
			mt_json_open(json, '{');
			mt_report_json_frame(json, site);
			mt_json_close(json, '}');
		} else {
			mt_json_null(json);
		}
	}
	if (step->address)
		mt_json_put_number(json, "pointer_at", step->address);
	if (step->found)
		mt_json_put_number(json, "pointer", step->word);
	mt_json_close(json, '}');
}

static void put_json_block(struct holders_report *r, uint32_t block)
{
	const struct mt_held_block *b = &r->check->blocks.items[block];
	struct mt_json *json = &r->json;
	uint32_t count;
	struct mt_holder_step *steps = way_of(r, block, &count);

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_number(json, "address", b->address);
	mt_json_put_number(json, "size", b->size);
	mt_json_put_number(json, "group", b->group);
	mt_json_put_string(json, "verdict", mt_verdict_name((enum mt_verdict)b->verdict));
	mt_json_key(json, "path");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < count; i++)
		put_json_step(r, &steps[i]);
	mt_json_close(json, ']');
	mt_json_close(json, '}');
	free(steps);
}

static void put_json(struct holders_report *r)
{
	struct mt_json *json = &r->json;
	char *command = mt_report_command(r->report->profile);

	mt_json_open(json, '{');
	mt_json_put_number(json, "process", r->report->profile->info.pid);
	mt_json_put_string(json, "command", command);
	mt_json_put_number(json, "group", r->question->group);
	for (int v = 0; v < MT_VERDICT_COUNT; v++)
		mt_verdict_json_sum(json, (enum mt_verdict)v, &r->sums[v]);
	mt_json_key(json, "retained");
	if (r->check->recorded) {
		mt_json_null(json);
	} else {
		mt_json_open(json, '{');
		mt_json_put_number(json, "count", r->retained.count);
		mt_json_put_number(json, "bytes", r->retained.bytes);
		mt_json_close(json, '}');
	}
	mt_json_key(json, "blocks");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < r->block_count; i++)
		put_json_block(r, r->blocks[i]);
	mt_json_close(json, ']');
	mt_json_close(json, '}');
	fputc('\n', r->report->out);
	free(command);
}

void mt_report_holders(const struct mt_report *report, const struct mt_leakcheck *check,
	const struct mt_holders_question *question)
{
	struct holders_report r = {.report = report,
		.check = check,
		.question = question,
		.json = {.out = report->out}};

	choose(&r);
	if (!check->recorded)
		r.describer = mt_describer_new(check, report->profile, report->symbols);
	if (report->format == MT_FORMAT_JSON)
		put_json(&r);
	else
		put_report(&r);
	mt_describer_free(r.describer);
	free(r.blocks);
	mt_backtrace_free(&r.backtrace);
}
