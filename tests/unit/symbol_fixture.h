/* Profiles made by hand for what resolves their pcs: a module at BIAS and some of its addresses. */
#ifndef MT_TESTS_SYMBOL_FIXTURE_H
#define MT_TESTS_SYMBOL_FIXTURE_H

#include "core/symbol/symbol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BIAS 0x555555554000ull
static char work[256];

/* ---- helpers ---- */

__attribute__((format(printf, 1, 2))) static inline void run(const char *format, ...)
{
	char command[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	if (system(command))
		fail_msg("failed: %s", command);
}

__attribute__((format(printf, 1, 2))) static inline char *at(const char *format, ...)
{
	static char text[4][512];
	static unsigned next;
	char name[256];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof name, format, args);
	va_end(args);
	next = (next + 1) % 4;
	snprintf(text[next], sizeof text[next], "%s/%s", work, name);
	return text[next];
}

struct fixture {
	struct mt_profile profile;
	struct mt_symbols symbols;
	uint64_t *addresses;
	uint32_t count, capacity;
};

static inline void add_pc(struct mt_profile *p, uint64_t address, uint32_t module)
{
	MT_GROW(p->pcs, p->pc_count, p->pc_capacity);
	p->pcs[p->pc_count++] = (struct mt_pc){address, module, 0};
}

static inline void add_module(struct mt_profile *p, const char *path, const uint8_t *id,
	uint32_t len)
{
	struct mt_module m = {
		.start = BIAS,
		.end = BIAS + (1ull << 40),
		.bias = BIAS,
		.build_id_len = len,
	};

	m.path = mt_strings_add(&p->strings, path);
	if (len)
		memcpy(m.build_id, id, len);
	MT_GROW(p->modules, p->module_count, p->module_capacity);
	p->modules[p->module_count++] = m;
}

static inline void fixture_new(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	mt_strings_init(&f->profile.strings);
	for (uint32_t i = 0; i < MT_PC_FIRST; i++)
		add_pc(&f->profile, 0, 0);
	mt_symbols_init(&f->symbols);
}

static inline void fixture_free(struct fixture *f)
{
	mt_strings_free(&f->profile.strings);
	free(f->profile.modules);
	free(f->profile.pcs);
	free(f->addresses);
	mt_symbols_free(&f->symbols);
}

static inline void add_address(struct fixture *f, uint64_t address)
{
	MT_GROW(f->addresses, f->count, f->capacity);
	f->addresses[f->count++] = address;
	add_pc(&f->profile, address + BIAS, 0);
}

/* Every step-th byte of every function in nm's list. */
static inline void sample(struct fixture *f, const char *binary, unsigned step, uint32_t max)
{
	char command[600], line[4096];
	FILE *nm;

	snprintf(command, sizeof command, "nm -S --defined-only %s", binary);
	nm = popen(command, "r");
	while (fgets(line, sizeof line, nm)) {
		unsigned long long low, size;
		char type;

		if (sscanf(line, "%llx %llx %c", &low, &size, &type) != 3 || !strchr("tTwW", type))
			continue;
		for (uint64_t a = low; a < low + size && f->count < max; a += step)
			add_address(f, a);
	}
	pclose(nm);
	assert_true(f->count > 0);
}

static inline uint64_t symbol_address(const char *binary, const char *name)
{
	char command[600];
	unsigned long long address = 0;
	FILE *nm;

	snprintf(command, sizeof command, "nm %s | grep ' %s$'", binary, name);
	nm = popen(command, "r");
	assert_int_equal(fscanf(nm, "%llx", &address), 1);
	pclose(nm);
	return address;
}

static inline uint32_t resolve(struct fixture *f, const struct mt_resolver_options *options,
	char **missing)
{
	struct mt_resolver *r = mt_resolver_new(options);

	mt_resolver_module(r, &f->profile, 0);
	for (uint32_t i = MT_PC_FIRST; i < f->profile.pc_count; i++) {
		mt_resolver_pc(r, &f->profile, i, &f->symbols);
		assert_true(f->symbols.pcs[i].count > 0);
	}
	if (missing)
		*missing = mt_resolver_missing(r) ? mt_strdup(mt_resolver_missing(r)) : NULL;
	mt_resolver_free(r);
	return f->profile.pc_count;
}

static inline const struct mt_frame *frame_of(const struct fixture *f, uint32_t i, uint32_t frame)
{
	struct mt_pc_symbols p = f->symbols.pcs[MT_PC_FIRST + i];

	return frame < p.count ? &f->symbols.frames[p.first + frame] : NULL;
}

static inline const char *function_of(const struct fixture *f, uint32_t i, uint32_t frame)
{
	const struct mt_frame *x = frame_of(f, i, frame);

	return x ? mt_strings_get(&f->symbols.strings, x->function) : "";
}

#endif
