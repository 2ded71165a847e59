/* The entry of a function of x86-64: what is moved, and the stub that repeats it.
 *
 * stub + 0   jmp *2(%rip)              the entry leads here
 *        6   int3, int3
 *        8   the hook's address        aligned, so that one write changes it
 *       16   endbr64                   `original`: the hook calls it by a pointer
 *       20   the moved instructions
 *            jmp to what follows them  unless the last one never goes on
 *
 * A call is always the last that moves, since it is as long as the jump. It becomes a push of the
 * address to which it would have returned, and a jump: so it returns into the function itself. */
#include "core/base/assert.h"
#include "core/patch/arch.h"
#include "core/patch/x86_64/branches.h"
#include "core/patch/x86_64/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define JUMP 5u /* jmp rel32 */
#define JUMP_OPCODE 0xe9
#define BREAKPOINT 0xcc
#define HOOK_AT 8u
#define ORIGINAL_AT 16u
#define LONGEST 15u /* of all instructions */
static const uint8_t to_hook[HOOK_AT] = {0xff, 0x25, 2, 0, 0, 0, BREAKPOINT, BREAKPOINT};
static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
#define CALL_OPCODE 0xe8
#define CALL 5u /* call rel32 */
/* lea -8(%rsp),%rsp; movl $low,(%rsp); movl $high,4(%rsp): flags stay as they are */
static const uint8_t push_address[] = {0x48, 0x8d, 0x64, 0x24, 0xf8, 0xc7, 0x04, 0x24, 0, 0, 0, 0,
	0xc7, 0x44, 0x24, 0x04, 0, 0, 0, 0};
#define LOW_AT 8u
#define HIGH_AT 16u
/* Two jumps of two bytes grow to six. The instruction behind them is the last. */
_Static_assert(ORIGINAL_AT + sizeof landing + 2 * 6 + LONGEST + JUMP <= MT_PATCH_STUB
		&& ORIGINAL_AT + sizeof landing + 2 * 6 + sizeof push_address + JUMP
			<= MT_PATCH_STUB,
	"the longest entry has room");

struct work {
	struct mt_patch *patch;
	const struct mt_patch_function *function;
	const uint8_t *code; /* of the file, if it is known: what the function is meant to be */
	struct mt_err *err;
};

/* Puts the distance from `end`, which is the address behind a field of four bytes (and what
 * follows it), to the target. False: it is too far. */
static bool put_distance(uint8_t *field, uint64_t end, uint64_t target)
{
	int64_t distance = (int64_t)(target - end);
	int32_t narrow = (int32_t)distance;

	if (narrow != distance)
		return false;
	memcpy(field, &narrow, sizeof narrow);
	return true;
}

static bool put_jump(uint8_t *to, uint64_t at, uint64_t target)
{
	to[0] = JUMP_OPCODE;
	return put_distance(to + 1, at + JUMP, target);
}

static bool is_direct_call(const struct mt_x86_instruction *i)
{
	return i->kind == MT_X86_CALL && i->opcode == CALL_OPCODE && i->len == CALL;
}

static int refuse_kind(const struct work *w, size_t at, const struct mt_x86_instruction *i)
{
	switch (i->kind) {
	case MT_X86_CALL:
		if (is_direct_call(i))
			return 0;
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_CALL,
			"the indirect call at +0x%zx among its first bytes would return into the "
			"copy",
			at);
	case MT_X86_NARROW:
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_NARROW,
			"the instruction at +0x%zx has no form that reaches from the copy", at);
	case MT_X86_TRAP:
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_TRAP,
			"the instruction at +0x%zx enters the kernel, which would see the address "
			"of the copy",
			at);
	case MT_X86_BREAKPOINT:
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_BREAKPOINT,
			"there is a breakpoint at +0x%zx (a debugger's, a uprobe's, or its own)",
			at);
	default: return 0;
	}
}

/* The next instruction that moves, at an offset of the function. */
static int take(const struct work *w, size_t at, struct mt_x86_instruction *i)
{
	const struct mt_patch_function *f = w->function;
	int code = mt_x86_decode(w->code + at, f->len - at, f->address + at, i);

	if (code == -ENODATA)
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_SHORT,
			"it ends at +0x%zx, before there is room for a jump", f->len);
	if (code)
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_UNDECODED,
			"the bytes at +0x%zx are no known instruction", at);
	return refuse_kind(w, at, i);
}

size_t mt_patch_arch_padding(const uint8_t *code, size_t len)
{
	struct mt_x86_instruction i;
	size_t at = 0;

	while (at < len && !mt_x86_decode(code + at, len - at, at, &i)
		&& (i.kind == MT_X86_PADDING || i.kind == MT_X86_BREAKPOINT))
		at += i.len;
	return at;
}

/* Behind an instruction that ends the flow, only padding may be overwritten. */
static int check_padding(const struct work *w, size_t at, size_t end)
{
	const struct mt_patch_function *f = w->function;
	size_t free_to = at + mt_patch_arch_padding(w->code + at, f->len - at);

	if (free_to >= end)
		return 0;
	return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_SHORT,
		"it ends at +0x%zx, before there is room for a jump", free_to);
}

static uint8_t put_call(uint8_t *to, uint64_t at, uint64_t returns_to, uint64_t target)
{
	uint32_t low = (uint32_t)returns_to, high = (uint32_t)(returns_to >> 32);

	memcpy(to, push_address, sizeof push_address);
	memcpy(to + LOW_AT, &low, sizeof low);
	memcpy(to + HIGH_AT, &high, sizeof high);
	return put_jump(to + sizeof push_address, at + sizeof push_address, target)
		? sizeof push_address + JUMP
		: 0;
}

/* Writes a moved instruction to the stub; returns its new length, or 0 if it does not reach. */
static uint8_t put(uint8_t *to, uint64_t at, const uint8_t *from,
	const struct mt_x86_instruction *i)
{
	uint8_t len = i->prefixes;

	memcpy(to, from, i->len);
	if (i->kind != MT_X86_JUMP)
		return !i->is_relative || put_distance(to + i->field, at + i->len, i->target)
			? i->len
			: 0;
	if (i->ends) {
		to[len++] = JUMP_OPCODE;
	} else {
		to[len++] = 0x0f;
		to[len++] = 0x80 | (i->opcode & 0x0f); /* the condition */
	}
	len += 4;
	return put_distance(to + len - 4, at + len, i->target) ? len : 0;
}

/* Moves the instructions from `start` on, until a jump has room. Sets patch->moved, and the rest of
 * the stub. */
static int move(const struct work *w, size_t start)
{
	struct mt_patch *p = w->patch;
	struct mt_x86_instruction i = {0};
	size_t at = start;
	uint32_t to = p->stub_size;

	while (at - start < JUMP && !i.ends) {
		int code = take(w, at, &i);
		uint8_t len;

		if (code)
			return code;
		len = is_direct_call(&i)
			? put_call(p->stub + to, p->stub_address + to,
				w->function->address + at + i.len, i.target)
			: put(p->stub + to, p->stub_address + to, w->code + at, &i);
		if (!len)
			return mt_patch_refuse(p, w->err, MT_PATCH_REFUSED_REACH,
				"the target of the instruction at +0x%zx is too far from the stub",
				at);
		to += len;
		at += i.len;
		i.ends = i.ends || is_direct_call(&i);
	}
	p->moved = (uint32_t)(at - start);
	if (i.ends) {
		memset(p->stub + to, BREAKPOINT, sizeof p->stub - to);
		p->stub_size = to;
		return check_padding(w, at, start + JUMP);
	}
	if (!put_jump(p->stub + to, p->stub_address + to, w->function->address + at))
		return mt_patch_refuse(p, w->err, MT_PATCH_REFUSED_REACH,
			"the stub is too far away to jump back to +0x%zx", at);
	p->stub_size = to + JUMP;
	return 0;
}

/* Whether the process has the bytes of the file, as far as they are moved or overwritten. */
static int compare(const struct work *w, size_t start, size_t end)
{
	const struct mt_patch_function *f = w->function;
	struct mt_x86_instruction i;
	size_t at = 0;

	if (!f->file || !memcmp(f->file, f->memory, end))
		return 0;
	while (f->file[at] == f->memory[at])
		at++;
	if (f->memory[at] == BREAKPOINT)
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_BREAKPOINT,
			"memory has a breakpoint at +0x%zx that its file has not: a debugger's "
			"or a uprobe's",
			at);
	if (!mt_x86_decode(f->memory + start, f->len - start, f->address + start, &i)
		&& i.kind == MT_X86_JUMP
		&& (i.target < f->module_low || i.target >= f->module_high))
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_DIFFERS,
			"memory has a jump to 0x%" PRIx64
			" at +0x%zx that its file has not: another program's hook",
			i.target, start);
	return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_DIFFERS,
		"memory differs from its file at +0x%zx: another program has changed it", at);
}

/* An entry that is only a jump to another function: that one is meant. */
static int follow(const struct work *w, size_t start)
{
	const struct mt_patch_function *f = w->function;
	struct mt_x86_instruction i;
	int code;

	if (mt_x86_decode(w->code + start, f->len - start, f->address + start, &i)
		|| i.kind != MT_X86_JUMP || !i.ends || i.target - f->address < f->len)
		return 0;
	code = compare(w, start, start + i.len);
	if (code)
		return code;
	if (i.target < f->module_low || i.target >= f->module_high)
		return mt_patch_refuse(w->patch, w->err, MT_PATCH_REFUSED_LEAVES,
			"the jump at +0x%zx leads out of its module, to 0x%" PRIx64
			": probably another program's hook",
			start, i.target);
	if (f->stays)
		return 0;
	w->patch->next = i.target;
	return mt_fail(w->err, -EAGAIN,
		"%.200s is only a jump to 0x%" PRIx64 ": that function is the one to patch",
		f->name, i.target);
}

static void begin_stub(struct mt_patch *p, uint64_t hook)
{
	memset(p->stub, BREAKPOINT, sizeof p->stub);
	memcpy(p->stub, to_hook, sizeof to_hook);
	memcpy(p->stub + HOOK_AT, &hook, sizeof hook);
	memcpy(p->stub + ORIGINAL_AT, landing, sizeof landing);
	p->original = p->stub_address + ORIGINAL_AT;
	p->stub_size = ORIGINAL_AT + sizeof landing;
}

int mt_patch_arch_make(struct mt_patch *p, const struct mt_patch_function *f, uint64_t hook,
	struct mt_err *err)
{
	struct work w = {p, f, f->file ? f->file : f->memory, err};
	size_t start = f->len >= sizeof landing && !memcmp(w.code, landing, sizeof landing)
		? sizeof landing
		: 0;
	size_t end;
	int code = follow(&w, start);

	begin_stub(p, hook);
	p->entry = f->address + start;
	p->size = JUMP;
	if (!code)
		code = move(&w, start);
	end = start + (p->moved > JUMP ? p->moved : JUMP);
	if (!code)
		code = compare(&w, start, end);
	if (!code)
		code = mt_x86_branches(p, f, err);
	if (!code && !put_jump(p->after, p->entry, p->stub_address))
		code = mt_patch_refuse(p, err, MT_PATCH_REFUSED_REACH,
			"its stub at 0x%" PRIx64 " is too far away", p->stub_address);
	return code;
}
