/* Blocks that define what events and totals refer to. Each begins with the index of its first entry
 * and their number, and continues what the blocks of its type before it defined. */
#include "core/model/blind.h"
#include "core/model/load.h"
#include "core/model/named.h"
#include "core/model/payload.h"
#include "core/sampler.h"

#define ENTRIES_MAX (1u << 18) /* per block */
#define STRING_BYTES_MAX (16u << 20)

/* ---- writing ---- */

typedef void write_entry(struct mt_buffer *, const struct mt_profile *, uint32_t index);

static void write_string(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	const char *text = mt_strings_get(&p->strings, i);
	size_t len = strlen(text);

	mt_varint_add(b, len);
	mt_buffer_add(b, text, len);
}

static void write_module(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	const struct mt_module *m = &p->modules[i];

	mt_varint_add(b, m->start);
	mt_varint_add(b, m->end - m->start);
	mt_varint_add(b, m->bias);
	mt_varint_add(b, m->path);
	mt_varint_add(b, m->epoch);
	mt_varint_add(b, m->build_id_len);
	mt_buffer_add(b, m->build_id, m->build_id_len);
}

static void write_thread(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	mt_varint_add(b, p->threads[i].tid);
	mt_varint_add(b, p->threads[i].name);
}

static void write_domain(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	mt_varint_add(b, p->domains[i].name);
	mt_varint_add(b, p->domains[i].address_bits);
	mt_varint_add(b, p->domains[i].flags);
}

static void write_function(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	mt_varint_add(b, p->functions[i].name);
	mt_varint_add(b, p->functions[i].domain);
	mt_varint_add(b, p->functions[i].role);
	mt_varint_add(b, p->functions[i].family);
}

static void write_pc(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	mt_varint_add(b, mt_zigzag(p->pcs[i].address - p->pcs[i - 1].address));
	mt_varint_add(b, p->pcs[i].module == MT_NO_MODULE ? 0 : (uint64_t)p->pcs[i].module + 1);
	mt_varint_add(b, p->pcs[i].flags);
}

static void write_node(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	mt_varint_add(b, i - p->nodes[i].parent);
	mt_varint_add(b, p->nodes[i].pc);
}

static void write_group(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	mt_varint_add(b, p->groups[i].node);
}

static void write_log(struct mt_buffer *b, const struct mt_profile *p, uint32_t i)
{
	const struct mt_log_entry *e = &p->log[i];

	mt_varint_add(b, e->type);
	mt_varint_add(b, mt_zigzag(e->time_ns - (i ? p->log[i - 1].time_ns : 0)));
	mt_varint_add(b, e->thread == MT_NO_THREAD ? 0 : (uint64_t)e->thread + 1);
	mt_varint_add(b, e->node);
	mt_varint_add(b, e->text);
	for (int v = 0; v < 4; v++)
		mt_varint_add(b, e->values[v]);
}

static int write_entries(struct mt_trace_writer *w, const struct mt_profile *p,
	enum mt_block_type type, uint32_t *written, uint32_t first, uint32_t count,
	write_entry *write, struct mt_err *err)
{
	struct mt_buffer head = {0}, body = {0};
	uint32_t from = *written > first ? *written : first;
	int result = 0;

	while (from < count && !result) {
		uint32_t i = from;

		body.len = head.len = 0;
		for (; i < count && i - from < ENTRIES_MAX && body.len < STRING_BYTES_MAX; i++)
			write(&body, p, i);
		mt_varint_add(&head, from);
		mt_varint_add(&head, i - from);
		if (body.len)
			mt_buffer_add(&head, body.data, body.len);
		result = mt_trace_writer_block(w, type, head.data, head.len, err);
		if (!result)
			*written = from = i;
	}
	mt_buffer_free(&head);
	mt_buffer_free(&body);
	return result;
}

/* ---- who it was, and on what machine ---- */

#define FIELD(name, most) \
	{ \
#name, offsetof(struct mt_info, name), sizeof(((struct mt_info *)0)->name), most \
	}

static const struct mt_named process_fields[] = {
	FIELD(pid, UINT32_MAX),
	FIELD(start_unix_ns, UINT64_MAX),
	FIELD(parent, UINT32_MAX),
	FIELD(root, UINT32_MAX),
	FIELD(origin, MT_ORIGIN_ATTACHED),
	FIELD(images_before, UINT32_MAX),
	FIELD(clock, UINT32_MAX),
	FIELD(usable_rule, MT_USABLE_ALWAYS),
	FIELD(sample_bytes, MT_SAMPLER_MOST),
	FIELD(sample_every, MT_SAMPLER_EVERY_MOST),
	FIELD(record_min, UINT64_MAX),
	FIELD(record_max, UINT64_MAX),
	FIELD(page_bytes, UINT32_MAX),
	FIELD(pointer_bits, UINT32_MAX),
	FIELD(address_bits, 64),
	FIELD(big_endian, UINT32_MAX),
	FIELD(tag_mask, UINT64_MAX),
};
#define PROCESS_FIELDS (sizeof process_fields / sizeof *process_fields)

/* Returns what of it cannot be read, or NULL. */
static const char *get_process(struct mt_cursor *c, struct mt_info *info)
{
	mt_named_get(c, process_fields, PROCESS_FIELDS, info);
	if (c->bad)
		return "a number about the process is out of range";
	if (info->big_endian)
		return "the machine says that it is big-endian, but this memtui reads only "
		       "recordings of little-endian machines";
	if (info->pointer_bits && info->pointer_bits != 64)
		return "the program's addresses do not have 64 bits, but this memtui reads only "
		       "recordings of 64-bit programs";
	if (info->page_bytes & (info->page_bytes - 1))
		return "the size of a page is not a power of two";
	if (info->tag_mask)
		return "the program's addresses have tag bits, which this memtui cannot take off; "
		       "use a newer memtui";
	return NULL;
}

static int write_start(struct mt_definitions *d, struct mt_trace_writer *w,
	const struct mt_profile *p, struct mt_err *err)
{
	struct mt_buffer b = {0};

	if (d->started && d->arguments == p->argument_count
		&& (d->described || !p->info.page_bytes))
		return 0;
	mt_varint_add(&b, d->arguments);
	mt_varint_add(&b, p->argument_count - d->arguments);
	for (uint32_t i = d->arguments; i < p->argument_count; i++)
		mt_varint_add(&b, p->arguments[i]);
	mt_named_add(&b, process_fields, PROCESS_FIELDS, &p->info);
	int result = mt_trace_writer_block(w, MT_BLOCK_START, b.data, b.len, err);

	if (!result) {
		d->started = true;
		d->described = p->info.page_bytes;
		d->arguments = p->argument_count;
	}
	mt_buffer_free(&b);
	return result;
}

/* The list is short and entries change in place: it is written as a whole when it has changed. */
static int write_blind(struct mt_definitions *d, struct mt_trace_writer *w,
	const struct mt_profile *p, struct mt_err *err)
{
	struct mt_buffer b = {0};

	if (d->blind_changes == p->blind_changes)
		return 0;
	mt_varint_add(&b, 0);
	mt_varint_add(&b, p->blind_count);
	for (uint32_t i = 0; i < p->blind_count; i++) {
		const struct mt_blind *e = &p->blind[i];

		mt_varint_add(&b, e->reason);
		mt_varint_add(&b, e->pid);
		mt_varint_add(&b, e->path);
		mt_varint_add(&b, e->detail);
		mt_varint_add(&b, e->count);
		mt_varint_add(&b, e->bytes);
	}
	int result = mt_trace_writer_block(w, MT_BLOCK_BLIND, b.data, b.len, err);

	if (!result)
		d->blind_changes = p->blind_changes;
	mt_buffer_free(&b);
	return result;
}

void mt_definitions_restart(struct mt_definitions *d)
{
	d->started = false;
	d->arguments = 0;
}

int mt_definitions_write(struct mt_definitions *d, struct mt_trace_writer *w,
	const struct mt_profile *p, struct mt_err *err)
{
	int result = write_entries(w, p, MT_BLOCK_STRINGS, &d->strings, 1, p->strings.count,
		write_string, err);

	if (!result)
		result = write_start(d, w, p, err);
	if (!result)
		result = write_entries(w, p, MT_BLOCK_MODULES, &d->modules, 0, p->module_count,
			write_module, err);
	if (!result)
		result = write_entries(w, p, MT_BLOCK_THREADS, &d->threads, 0, p->thread_count,
			write_thread, err);
	if (!result)
		result = write_entries(w, p, MT_BLOCK_DOMAINS, &d->domains, MT_DOMAIN_FIRST,
			p->domain_count, write_domain, err);
	if (!result)
		result = write_entries(w, p, MT_BLOCK_FUNCTIONS, &d->functions, MT_FUNCTION_FIRST,
			p->function_count, write_function, err);
	if (!result)
		result = write_entries(w, p, MT_BLOCK_PCS, &d->pcs, MT_PC_FIRST, p->pc_count,
			write_pc, err);
	if (!result)
		result = write_entries(w, p, MT_BLOCK_NODES, &d->nodes, 1, p->node_count,
			write_node, err);
	if (!result)
		result = write_entries(w, p, MT_BLOCK_GROUPS, &d->groups, 0, p->group_count,
			write_group, err);
	if (!result)
		result =
			write_entries(w, p, MT_BLOCK_LOG, &d->log, 0, p->log_count, write_log, err);
	if (!result)
		result = write_blind(d, w, p, err);
	return result;
}

/* ---- reading: each entry is read and added; NULL or what is wrong ---- */

static const char *read_string(struct mt_cursor *c, struct mt_profile *p)
{
	uint64_t len = mt_cursor_varint(c);
	const uint8_t *text = mt_cursor_bytes(c, len);

	if (!text || memchr(text, 0, len))
		return "a string is cut or holds a zero byte";
	uint32_t expected = p->strings.count;

	return mt_strings_add_len(&p->strings, (const char *)text, len) == expected
		? NULL
		: "a string occurs twice";
}

static const char *read_module(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_module m = {.start = mt_cursor_varint(c)};

	m.end = m.start + mt_cursor_varint(c);
	m.bias = mt_cursor_varint(c);
	m.path = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	m.epoch = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	m.build_id_len = (uint32_t)mt_cursor_bounded(c, MT_BUILD_ID_MAX);
	const uint8_t *id = mt_cursor_bytes(c, m.build_id_len);

	if (!id || m.end < m.start)
		return "a module's range, path or build-id is out of range";
	memcpy(m.build_id, id, m.build_id_len);
	mt_profile_add_module(p, &m);
	return NULL;
}

static const char *read_thread(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_thread t = {.tid = (uint32_t)mt_cursor_bounded(c, UINT32_MAX)};

	t.name = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	mt_profile_add_thread(p, &t);
	return c->bad ? "a thread's id or name is out of range" : NULL;
}

static const char *read_domain(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_domain d = {.name = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1)};

	d.address_bits = (uint16_t)mt_cursor_bounded(c, 64);
	d.flags = (uint16_t)mt_cursor_bounded(c, UINT16_MAX);
	if (c->bad || !mt_profile_is_name(p, d.name) || !d.address_bits)
		return "a domain has a name, address bits or flags that it cannot have";
	if (p->domain_count == MT_DOMAINS_MAX)
		return "it defines more domains than there can be";
	mt_profile_add_domain(p, &d);
	return NULL;
}

static const char *read_function(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_allocator_function f = {
		.name = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1)};

	f.domain = (uint16_t)mt_cursor_bounded(c, p->domain_count - 1);
	f.role = (uint8_t)mt_cursor_bounded(c, MT_CALLS - 1);
	f.family = (uint8_t)mt_cursor_bounded(c, UINT8_MAX);
	if (c->bad || !mt_profile_is_name(p, f.name) || !mt_profile_has_domain(p, f.domain))
		return "an allocator function has a name, domain, role or family "
		       "that it cannot have";
	if (p->function_count == MT_FUNCTIONS_MAX)
		return "it defines more allocator functions than there can be";
	mt_profile_add_function(p, &f);
	return NULL;
}

static const char *read_pc(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_pc pc = {
		.address = p->pcs[p->pc_count - 1].address + mt_unzigzag(mt_cursor_varint(c))};

	pc.module = (uint32_t)mt_cursor_bounded(c, p->module_count) - 1; /* 0: MT_NO_MODULE */
	pc.flags = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	if (pc.flags & MT_PC_FLAG_FUNCTION
		&& (pc.module != MT_NO_MODULE || !mt_profile_has_function(p, &pc)))
		return "a call refers to an undefined allocator function";
	mt_profile_add_pc(p, &pc);
	return c->bad ? "a program address refers to an undefined module" : NULL;
}

static const char *read_node(struct mt_cursor *c, struct mt_profile *p)
{
	uint64_t up = mt_cursor_bounded(c, p->node_count);
	uint32_t pc = (uint32_t)mt_cursor_bounded(c, p->pc_count - 1);

	if (c->bad || !up)
		return "a call-tree node refers to an undefined parent or program address";
	mt_profile_add_node(p, p->node_count - (uint32_t)up, pc);
	return NULL;
}

static const char *read_group(struct mt_cursor *c, struct mt_profile *p)
{
	uint32_t node = (uint32_t)mt_cursor_bounded(c, p->node_count - 1);

	if (c->bad || !mt_profile_is_marker(p, p->nodes[node].pc))
		return "a group refers to a call-tree node that is undefined or is not a call "
		       "of an "
		       "allocator";
	mt_profile_add_group(p, node);
	return NULL;
}

static const char *read_log(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_log_entry e = {.type = (uint32_t)mt_cursor_bounded(c, MT_LOG_TYPES - 1)};

	e.time_ns = (p->log_count ? p->log[p->log_count - 1].time_ns : 0)
		+ mt_unzigzag(mt_cursor_varint(c));
	e.thread = (uint32_t)mt_cursor_bounded(c, p->thread_count) - 1; /* 0: MT_NO_THREAD */
	e.node = (uint32_t)mt_cursor_bounded(c, p->node_count - 1);
	e.text = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	for (int v = 0; v < 4; v++)
		e.values[v] = mt_cursor_varint(c);
	if (c->bad || !mt_profile_is_marker(p, p->nodes[e.node].pc) || p->log_count == MT_LOG_MAX)
		return "an entry of the log refers to something undefined";
	mt_profile_add_log(p, &e);
	return NULL;
}

/* A reason that this version does not know stands for itself: the entry still says that something
 * was not seen. */
static const char *read_blind(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_blind b = {.reason = (uint32_t)mt_cursor_bounded(c, UINT32_MAX)};

	b.pid = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	b.path = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	b.detail = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	b.count = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	b.bytes = mt_cursor_varint(c);
	if (c->bad || p->blind_count == MT_BLIND_MAX + MT_BLIND_COUNT)
		return "a blind spot is out of range";
	MT_GROW(p->blind, p->blind_count, p->blind_capacity);
	p->blind[p->blind_count++] = b;
	p->blind_changes++;
	return NULL;
}

/* Behind the arguments, in versions 4 to 7. */
static const char *read_origin(struct mt_cursor *c, struct mt_info *info)
{
	if (!mt_cursor_left(c)) /* as the first versions wrote it */
		return NULL;
	info->parent = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	info->root = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	info->origin = (uint32_t)mt_cursor_bounded(c, MT_ORIGIN_FORKED);
	if (mt_cursor_left(c))
		info->images_before = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	return c->bad ? "its parent, root or origin is out of range" : NULL;
}

static const char *read_start(struct mt_cursor *c, unsigned version, struct mt_profile *p)
{
	uint64_t first = mt_cursor_varint(c), count = mt_cursor_bounded(c, mt_cursor_left(c));

	if (version < 8) {
		/* the keys of pools are shown as they are */
		p->domains[MT_DOMAIN_POOL].address_bits = 64;
		p->info.pid = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
		p->info.start_unix_ns = mt_cursor_varint(c);
	}
	if (!first)
		p->argument_count = 0;
	if (first != p->argument_count)
		return "its arguments do not continue those before";
	for (uint64_t i = 0; i < count && !c->bad; i++) {
		uint32_t id = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);

		MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
		p->arguments[p->argument_count++] = id;
	}
	if (c->bad)
		return "an argument refers to an undefined string";
	return version < 8 ? read_origin(c, &p->info) : get_process(c, &p->info);
}

const char *mt_definitions_read(struct mt_profile *p, unsigned version, enum mt_block_type type,
	const struct mt_buffer *payload)
{
	const struct {
		uint32_t there;
		const char *(*read)(struct mt_cursor *, struct mt_profile *);
	} kinds[] = {
		[MT_BLOCK_STRINGS] = {p->strings.count, read_string},
		[MT_BLOCK_MODULES] = {p->module_count, read_module},
		[MT_BLOCK_THREADS] = {p->thread_count, read_thread},
		[MT_BLOCK_DOMAINS] = {p->domain_count, read_domain},
		[MT_BLOCK_FUNCTIONS] = {p->function_count, read_function},
		[MT_BLOCK_PCS] = {p->pc_count, read_pc},
		[MT_BLOCK_NODES] = {p->node_count, read_node},
		[MT_BLOCK_GROUPS] = {p->group_count, read_group},
		[MT_BLOCK_LOG] = {p->log_count, read_log},
		[MT_BLOCK_BLIND] = {0, read_blind},
	};
	struct mt_cursor c = {payload->data, payload->data + payload->len, false};
	const char *fault = NULL;

	if (type == MT_BLOCK_START) {
		fault = read_start(&c, version, p);
	} else {
		uint64_t first = mt_cursor_varint(&c);
		uint64_t count = mt_cursor_bounded(&c, ENTRIES_MAX);

		if (c.bad || first != kinds[type].there || first + count >= UINT32_MAX)
			return "its entries do not continue those before";
		if (type == MT_BLOCK_BLIND)
			p->blind_count = 0; /* it takes the place of the one before */
		for (uint64_t i = 0; i < count && !fault; i++)
			fault = kinds[type].read(&c, p);
	}
	return fault || c.at == c.end ? fault : "it is longer than it states";
}
