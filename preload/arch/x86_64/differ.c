/* Comparing the words of a deep stack. A word takes three loads, of its address, of what it was and
 * of what it is, and they are what it costs. Vectors load the first two of several words at once,
 * and gather the third: whether that is faster depends on the processor (some split a gather into
 * slow steps), so the tracer tries what there is when it starts. All its other code leaves vector
 * registers alone (-mgeneral-regs-only): the dynamic linker may call malloc for code that keeps
 * values there, and under its calls words are compared one by one. */
#include "preload/base/tracer.h"

#include <immintrin.h>

#define TRIES 8
#define TRY_CALLS 4
#define TRY_WORDS 64

static uint64_t by_one(const uint64_t *const *at, const uint64_t *was, size_t count)
{
	return mt_arch_differ_few(at, was, count);
}

__attribute__((target("avx2"))) static uint64_t by_four(const uint64_t *const *at,
	const uint64_t *was, size_t count)
{
	__m256i differ[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};

	for (; count >= 8; count -= 8, at += 8, was += 8)
		for (int i = 0; i < 2; i++) {
			__m256i where = _mm256_loadu_si256((const void *)(at + 4 * i));
			__m256i is = _mm256_i64gather_epi64(NULL, where, 1);

			is = _mm256_xor_si256(is, _mm256_loadu_si256((const void *)(was + 4 * i)));
			differ[i] = _mm256_or_si256(differ[i], is);
		}
	differ[0] = _mm256_or_si256(differ[0], differ[1]);
	return mt_arch_differ_few(at, was, count) | !_mm256_testz_si256(differ[0], differ[0]);
}

__attribute__((target("avx512f"))) static uint64_t by_eight(const uint64_t *const *at,
	const uint64_t *was, size_t count)
{
	__m512i differ = _mm512_setzero_si512();

	for (; count >= 8; count -= 8, at += 8, was += 8) {
		__m512i is = _mm512_i64gather_epi64(_mm512_loadu_si512(at), NULL, 1);

		is = _mm512_xor_si512(is, _mm512_loadu_si512(was));
		differ = _mm512_or_si512(differ, is);
	}
	return _mm512_test_epi64_mask(differ, differ) | mt_arch_differ_few(at, was, count);
}

/* The first is on every processor. CPUID, leaf 7: EBX bit 5 AVX2, bit 16 AVX512F; ECX bit 6
 * AVX512_VBMI2, which came with the first processors that wide vectors do not slow down. XCR0 says
 * which registers the kernel keeps. */
unsigned mt_arch_differ_ways(mt_arch_differ_way *out[MT_ARCH_DIFFER_WAYS])
{
	struct mt_arch_cpuid basic = mt_arch_cpuid(0), first = mt_arch_cpuid(1), seventh;
	uint32_t kept = 0, high;
	unsigned count = 0;

	out[count++] = by_one;
	if (basic.a < 7 || !(first.c >> 27 & 1))
		return count;
	__asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
	seventh = mt_arch_cpuid(7);
	if ((kept & 0x06) == 0x06 && seventh.b >> 5 & 1)
		out[count++] = by_four;
	if ((kept & 0xe6) == 0xe6 && seventh.b >> 16 & 1 && seventh.c >> 6 & 1)
		out[count++] = by_eight;
	return count;
}

static uint64_t ticks_of(mt_arch_differ_way *way, const uint64_t *const *at, const uint64_t *was)
{
	uint64_t began = mt_arch_ticks();

	for (int i = 0; i < TRY_CALLS; i++)
		way(at, was, TRY_WORDS);
	return mt_arch_ticks() - began;
}

/* The fewest ticks of several tries count: an interruption can only add to them, and the processor
 * may have to wake what has not been used for a while. */
void mt_arch_differ_choose(void)
{
	uint64_t fewest[MT_ARCH_DIFFER_WAYS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	mt_arch_differ_way *ways[MT_ARCH_DIFFER_WAYS];
	const uint64_t *at[TRY_WORDS];
	uint64_t words[TRY_WORDS];
	unsigned found, best = 0;

	if (mt_load(&mt_arch_differ_many) != by_one) /* before a fork */
		return;
	found = mt_arch_differ_ways(ways);
	for (unsigned i = 0; i < TRY_WORDS; i++) {
		words[i] = i;
		at[i] = &words[i];
	}
	for (unsigned i = 0; i < TRIES * found; i++) {
		uint64_t ticks = ticks_of(ways[i % found], at, words);

		if (ticks < fewest[i % found])
			fewest[i % found] = ticks;
	}
	for (unsigned i = 1; i < found; i++)
		if (fewest[i] < fewest[best])
			best = i;
	mt_store(&mt_arch_differ_many, ways[best]);
}

mt_arch_differ_way *mt_arch_differ_many = by_one;
