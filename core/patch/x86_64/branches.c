#include "core/patch/x86_64/branches.h"

#include "core/patch/arch.h"
#include "core/patch/x86_64/decode.h"

#include <inttypes.h>

static bool leads_to_code(const struct mt_x86_instruction *i)
{
	return i->is_relative
		&& (i->kind == MT_X86_JUMP || i->kind == MT_X86_CALL || i->kind == MT_X86_NARROW
			|| i->takes_address);
}

/* At the entry itself, the hook is reached as it should be. */
static bool is_inside(const struct mt_patch *p, uint64_t target)
{
	return target - p->entry > 0 && target - p->entry < p->size;
}

/* A jump to the very entry, from within the function, may close a loop: then registers hold more
 * than arguments, and the hook would clobber them. If the jump is to an endbr64 before the entry,
 * it is a call of the function by itself, since no compiler puts a loop there. Calls are calls. */
static bool may_be_loop(const struct mt_patch *p, const struct mt_x86_instruction *i)
{
	return i->target == p->entry && i->kind != MT_X86_CALL && !i->takes_address;
}

static const uint8_t *meant(const struct mt_patch_function *f)
{
	return f->file ? f->file : f->memory;
}

int mt_x86_branches(struct mt_patch *p, const struct mt_patch_function *f, struct mt_err *err)
{
	struct mt_x86_instruction i;

	for (size_t at = 0; at < f->len; at += i.len) {
		uint64_t address = f->address + at;

		if (mt_x86_decode(meant(f) + at, f->len - at, address, &i))
			return mt_patch_refuse(p, err, MT_PATCH_REFUSED_UNDECODED,
				"the bytes at +0x%zx are no known instruction, so not all of its "
				"branches are known",
				at);
		if (leads_to_code(&i) && (is_inside(p, i.target) || may_be_loop(p, &i)))
			return mt_patch_refuse(p, err, MT_PATCH_REFUSED_BRANCH,
				"the instruction at +0x%zx leads to +0x%" PRIx64
				", among the bytes that change",
				at, i.target - f->address);
		if (i.kind == MT_X86_LANDING && address - p->entry < p->size)
			return mt_patch_refuse(p, err, MT_PATCH_REFUSED_BRANCH,
				"pointers may lead to +0x%zx, which would change", at);
	}
	return 0;
}

unsigned mt_patch_arch_check(struct mt_patch *patches, size_t count,
	const struct mt_patch_function *code, struct mt_err *err)
{
	struct mt_x86_instruction i;
	unsigned refused = 0;

	for (size_t at = 0; at < code->len; at += i.len) {
		if (mt_x86_decode(meant(code) + at, code->len - at, code->address + at, &i))
			i.len = 1;
		else if (leads_to_code(&i))
			for (size_t n = 0; n < count; n++) {
				struct mt_patch *p = patches + n;

				if (p->refusal || !is_inside(p, i.target))
					continue;
				mt_patch_refuse(p, err, MT_PATCH_REFUSED_BRANCH,
					"the instruction at %.100s+0x%zx leads to the bytes that "
					"change, %" PRIu64 " behind the entry",
					code->name, at, i.target - p->entry);
				refused++;
			}
	}
	return refused;
}
