/* What is the same on all processors: arguments, refusals, the page. */
#include "core/patch/arch.h"

#include "core/base/assert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *mt_patch_refusal_words(enum mt_patch_refusal refusal)
{
	static const char *const words[] = {"patched",
#define WORDS(name, words) words,
		MT_PATCH_REFUSALS(WORDS)
#undef WORDS
	};

	mt_assert(refusal < MT_PATCH_REFUSED_ALL);
	return words[refusal];
}

static int code_of(enum mt_patch_refusal refusal)
{
	switch (refusal) {
	case MT_PATCH_REFUSED_REACH: return -ERANGE;
	case MT_PATCH_REFUSED_BREAKPOINT:
	case MT_PATCH_REFUSED_DIFFERS:
	case MT_PATCH_REFUSED_LEAVES: return -EBUSY;
	default: return -ENOTSUP;
	}
}

int mt_patch_refuse(struct mt_patch *p, struct mt_err *err, enum mt_patch_refusal refusal,
	const char *why, ...)
{
	char text[256];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof text, why, args);
	va_end(args);
	p->refusal = refusal;
	return mt_fail(err, code_of(refusal), "%.200s cannot be patched: %s", p->name, text);
}

#ifndef __x86_64__
int mt_patch_arch_make(struct mt_patch *p, const struct mt_patch_function *f, uint64_t hook,
	struct mt_err *err)
{
	(void)f, (void)hook;
	return mt_patch_refuse(p, err, MT_PATCH_REFUSED_MACHINE,
		"memtui knows the instructions of x86-64 only");
}

unsigned mt_patch_arch_check(struct mt_patch *p, size_t count, const struct mt_patch_function *code,
	struct mt_err *err)
{
	(void)p, (void)count, (void)code, (void)err;
	return 0;
}

size_t mt_patch_arch_padding(const uint8_t *code, size_t len)
{
	(void)code, (void)len;
	return 0;
}
#endif

static int check_range(const struct mt_patch_function *f, struct mt_err *err)
{
	if (f->len <= UINT64_MAX - f->address)
		return 0;
	return mt_fail(err, -EINVAL, "%.200s cannot be patched: it would end behind all addresses",
		f->name);
}

int mt_patch_make(struct mt_patch *p, const struct mt_patch_function *f, uint64_t stub_address,
	uint64_t hook, struct mt_err *err)
{
	uint64_t offset;
	int code = check_range(f, err);

	memset(p, 0, sizeof *p);
	p->name = f->name;
	p->stub_address = stub_address;
	if (!code && stub_address % MT_PATCH_STUB)
		code = mt_fail(err, -EINVAL,
			"%.200s cannot be patched: its stub at 0x%" PRIx64 " is not aligned",
			f->name, stub_address);
	if (!code)
		code = mt_patch_arch_make(p, f, hook, err);
	if (code)
		return code;
	mt_assert(p->size && p->size <= MT_PATCH_ENTRY && p->stub_size <= MT_PATCH_STUB);
	offset = p->entry - f->address;
	if (p->entry % MT_PATCH_PAGE + p->size > MT_PATCH_PAGE)
		return mt_patch_refuse(p, err, MT_PATCH_REFUSED_PAGE,
			"its %" PRIu32 " bytes at +0x%" PRIx64
			" lie in two pages, so that they cannot be written at once",
			p->size, offset);
	memcpy(p->before, f->memory + offset, p->size);
	return 0;
}

unsigned mt_patch_check(struct mt_patch *patches, size_t count,
	const struct mt_patch_function *code, struct mt_err *err)
{
	return mt_patch_arch_check(patches, count, code, err);
}

size_t mt_patch_padding(const uint8_t *code, size_t len)
{
	return mt_patch_arch_padding(code, len);
}
