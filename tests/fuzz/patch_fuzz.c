/* Bytes of a function as a process may have them: any. Each is refused with a sentence, or becomes
 * a patch that keeps to its bounds. The input is 8 bytes of circumstances, then the function. */
#include "core/patch/patch.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 8u
#define LOW 0x7f0000000000ull
#define HIGH 0x7f0000400000ull

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_patch(const struct mt_patch *p, const struct mt_patch_function *f)
{
	uint64_t offset = p->entry - f->address;

	must(offset == 0 || offset == 4);
	must(p->size == 5 && p->moved > 0 && p->moved < 20 && offset + p->moved <= f->len);
	must(offset + p->size <= f->len);
	must(p->entry / 4096 == (p->entry + p->size - 1) / 4096);
	must(!memcmp(p->before, f->memory + offset, p->size) && p->after[0] == 0xe9);
	must(p->stub_size > 20 && p->stub_size <= MT_PATCH_STUB);
	must(p->original == p->stub_address + 16);
	for (uint32_t i = p->stub_size; i < MT_PATCH_STUB; i++)
		must(p->stub[i] == 0xcc);
}

static void check_failure(int code, const struct mt_patch *p, const struct mt_patch_function *f,
	const struct mt_err *err)
{
	must(!strncmp(err->text, "f ", 2) && err->code == code);
	if (code == -EAGAIN)
		must(!f->stays && p->next - f->module_low < f->module_high - f->module_low
			&& p->next - f->address >= f->len);
	else if (code == -EINVAL)
		must(!p->refusal);
	else
		must(p->refusal > 0 && p->refusal < MT_PATCH_REFUSED_ALL);
}

static void make(const uint8_t *head, const struct mt_patch_function *f)
{
	struct mt_patch *p = malloc(sizeof *p);
	struct mt_err err = {0}, other;
	uint64_t stub = f->address + (uint64_t)((int64_t)(int8_t)head[4] << 24);
	int code;

	must(p != NULL);
	stub &= head[5] & 4 ? ~0ull : ~(uint64_t)(MT_PATCH_STUB - 1);
	code = mt_patch_make(p, f, stub, 0x123456789abcdef0, &err);
	if (code)
		check_failure(code, p, f, &err);
	else
		check_patch(p, f);
	must(code || !mt_patch_check(p, 1, f, &other)); /* its own branches have been seen */
	free(p);
}

/* Ranges that are taken, in order. The place that is found is free, and within reach. */
static void place(const uint8_t *data, size_t size)
{
	struct mt_patch_range taken[64];
	struct mt_err err = {0};
	uint64_t at = 0, low, high, wanted = data[0] << 12, end = (uint64_t)data[1] << 39;
	size_t count = 0;

	low = (uint64_t)data[1] << 39;
	for (size_t i = 2; i + 2 <= size && count < 64; i += 2) {
		low = end + ((uint64_t)data[i] << 20);
		end = low + ((uint64_t)data[i + 1] << 23) + 1;
		taken[count++] = (struct mt_patch_range){low, end};
	}
	low = count ? taken[count / 2].low : 0x400000;
	high = low + 0x123456;
	if (mt_patch_place(&at, taken, count, low, high, wanted, &err)) {
		must(*err.text);
		return;
	}
	must(at % 4096 == 0 && at >= 0x10000 && at + wanted <= 0x7ffffffff000);
	must(at + wanted <= low || at >= high);
	must((at + wanted > high ? at + wanted : high) - (at < low ? at : low) < 1ull << 31);
	for (size_t i = 0; i < count; i++)
		must(at + wanted <= taken[i].low || at >= taken[i].high);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_patch_function f = {.name = "f", .module_low = LOW, .module_high = HIGH};
	uint8_t *memory, *file;

	if (size < HEAD)
		return 0;
	f.len = size - HEAD;
	f.address = LOW + data[0] + ((uint64_t)data[1] << 8) + ((uint64_t)data[2] << 14);
	if (data[3] == 0xff)
		f.address = UINT64_MAX - data[0];
	f.stays = data[5] & 1;
	/* Of exactly that size, so that a read behind them is noticed. */
	memory = malloc(f.len ? f.len : 1);
	file = malloc(f.len ? f.len : 1);
	must(memory && file);
	memcpy(memory, data + HEAD, f.len);
	memcpy(file, data + HEAD, f.len);
	if (data[6] < f.len)
		file[data[6]] ^= data[7];
	f.memory = memory;
	f.file = data[5] & 2 ? file : NULL;
	make(data, &f);
	place(data, size);
	free(file);
	free(memory);
	return 0;
}
