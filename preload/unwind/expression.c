/* DWARF expressions as unwinding needs them (DWARF 5, section 2.5): constants, the three followed
 * registers, stack operations, arithmetic, comparison, memory. */
#include "preload/unwind/cfi.h"

#define STACK_MAX 24
#define MAX_OPERATIONS 1000

struct evaluation {
	const struct mt_cfi_machine *machine;
	struct mt_bytes b;
	uint64_t stack[STACK_MAX];
	int depth;
};

static bool push(struct evaluation *e, uint64_t value)
{
	if (e->depth == STACK_MAX)
		return false;
	e->stack[e->depth++] = value;
	return true;
}

static bool push_register(struct evaluation *e, unsigned reg, int64_t offset)
{
	const struct mt_cfi_machine *m = e->machine;

	switch (reg) {
	case MT_DWARF_FP: return push(e, m->fp + (uint64_t)offset);
	case MT_DWARF_SP: return push(e, m->sp + (uint64_t)offset);
	case MT_DWARF_PC: return push(e, m->pc + (uint64_t)offset);
	}
	return false;
}

/* Operations 0x08 to 0x11: constants. */
static bool push_constant(struct evaluation *e, uint8_t op)
{
	static const uint8_t size[] = {1, 1, 2, 2, 4, 4, 8, 8};
	unsigned len;

	if (op == 0x10)
		return push(e, mt_bytes_uleb(&e->b));
	if (op == 0x11)
		return push(e, (uint64_t)mt_bytes_sleb(&e->b));
	len = size[op - 0x08];
	return push(e,
		op & 1 ? (uint64_t)mt_bytes_signed(&e->b, len) : mt_bytes_number(&e->b, len));
}

/* Operations of two operands. */
static bool combine(struct evaluation *e, uint8_t op)
{
	uint64_t b, a;

	if (e->depth < 2)
		return false;
	b = e->stack[--e->depth];
	a = e->stack[--e->depth];
	switch (op) {
	case 0x1a: return push(e, a & b);
	case 0x1c: return push(e, a - b);
	case 0x1e: return push(e, a * b);
	case 0x21: return push(e, a | b);
	case 0x22: return push(e, a + b);
	case 0x24: return push(e, b < 64 ? a << b : 0);
	case 0x25: return push(e, b < 64 ? a >> b : 0);
	case 0x26: return push(e, (uint64_t)((int64_t)a >> (b < 64 ? b : 63)));
	case 0x27: return push(e, a ^ b);
	case 0x29: return push(e, a == b);
	case 0x2a: return push(e, (int64_t)a >= (int64_t)b);
	case 0x2b: return push(e, (int64_t)a > (int64_t)b);
	case 0x2c: return push(e, (int64_t)a <= (int64_t)b);
	case 0x2d: return push(e, (int64_t)a < (int64_t)b);
	case 0x2e: return push(e, a != b);
	}
	return false;
}

/* Operations on the top of the stack. */
static bool change_top(struct evaluation *e, uint8_t op)
{
	uint64_t *top = e->stack + e->depth - 1;

	if (e->depth < 1)
		return false;
	switch (op) {
	case 0x06: return e->machine->read(e->machine->context, *top, top); /* deref */
	case 0x12: return push(e, *top);
	case 0x13: e->depth--; return true;
	case 0x19: *top = (int64_t)*top < 0 ? -*top : *top; return true;
	case 0x1f: *top = -*top; return true;
	case 0x20: *top = ~*top; return true;
	case 0x23: *top += mt_bytes_uleb(&e->b); return true; /* plus_uconst */
	case 0x14: /* over */ return e->depth > 1 && push(e, top[-1]);
	case 0x15: { /* pick */
		uint64_t index = mt_bytes_number(&e->b, 1);

		return index < (uint64_t)e->depth && push(e, *(top - index));
	}
	case 0x16: { /* swap */
		uint64_t value = *top;

		if (e->depth < 2)
			return false;
		top[0] = top[-1];
		top[-1] = value;
		return true;
	}
	}
	return combine(e, op);
}

bool mt_cfi_evaluate(const struct mt_cfi_machine *machine, struct mt_bytes expression,
	const uint64_t *initial, uint64_t *result)
{
	struct evaluation e = {.machine = machine, .b = expression};

	if (initial)
		push(&e, *initial);
	for (int i = 0; mt_bytes_left(&e.b); i++) {
		uint8_t op = (uint8_t)mt_bytes_number(&e.b, 1);
		bool ok;

		if (op >= 0x30 && op <= 0x4f) /* lit */
			ok = push(&e, op - 0x30);
		else if (op >= 0x70 && op <= 0x8f) /* breg */
			ok = push_register(&e, op - 0x70, mt_bytes_sleb(&e.b));
		else if (op >= 0x08 && op <= 0x11)
			ok = push_constant(&e, op);
		else
			ok = op == 0x96 || change_top(&e, op); /* 0x96: nop */
		if (!ok || i == MAX_OPERATIONS)
			return false;
	}
	if (e.depth == 0 || mt_bytes_failed(&e.b))
		return false;
	*result = e.stack[e.depth - 1];
	return true;
}

bool mt_cfi_is_simple(struct mt_bytes b, unsigned reg, bool load, int64_t *offset)
{
	if (mt_bytes_number(&b, 1) != 0x70 + reg)
		return false;
	*offset = mt_bytes_sleb(&b);
	if (load && mt_bytes_number(&b, 1) != 0x06)
		return false;
	return !mt_bytes_failed(&b) && mt_bytes_left(&b) == 0;
}
