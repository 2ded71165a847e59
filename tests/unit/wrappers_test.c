/* Which functions are wrappers of malloc, and where a backtrace's own frame is. */
#include "core/query/wrappers.h"
#include "query_fixture.h"

#include <errno.h>
#include <stdio.h>

#define RUST "_ZN5alloc5alloc5alloc17h0123456789abcdefE"

static void test_usual(void **state)
{
	static const char *const wrappers[] = {"xmalloc", "do_xmalloc", "sh_xmalloc", "g_malloc0_n",
		"CRYPTO_zalloc", "Perl_safesysmalloc", "_PyObject_Malloc", "PyMem_RawCalloc",
		"_PyObject_GC_New", "sqlite3DbMallocRawNN", "luaM_realloc_",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"v8::internal::Malloced::operator new(unsigned long)",
		"std::__new_allocator<int>::allocate(unsigned long, void const*)",
		"void std::vector<Order, std::allocator<Order> >::_M_realloc_insert<Order "
		"const&>(__gnu_cxx::__normal_iterator<Order*, int>)",
		"std::basic_ostream<char>& std::operator<< "
		"<char>(std::basic_ostream<char>&, char const*)",
		"node::NodeArrayBufferAllocator::Allocate(unsigned long)",
		"base_pool_allocator<memory_block_pool>::allocate()", "Perl_more_bodies",
		"strbuf_grow", "xrealloc.part.0", "xstrdup.cold", "sqlite3_malloc@@SQLITE_3",
		"newImpl", "zmalloc_usable", "zrealloc_usable", "zcalloc_num",
		"ztrymalloc_usable_internal", "sdsMakeRoomForNonGreedy",
		"AllocateHeap(unsigned long, MEMFLAGS, AllocFailStrategy::AllocFailEnum)",
		"ReallocateHeap(char*, unsigned long, MEMFLAGS, AllocFailStrategy::AllocFailEnum)",
		"os::malloc(unsigned long, MEMFLAGS)",
		"Arena::grow(unsigned long, AllocFailStrategy::AllocFailEnum)",
		"ChunkPool::allocate(unsigned long, AllocFailStrategy::AllocFailEnum)",
		"CHeapObj<(MEMFLAGS)7>::operator new(unsigned long)", "mem_pool_alloc",
		"runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_CString",
		"github.com/a/b._C2func_open", "main._cgo_cmalloc", "_cgo_8a62a329f330_Cfunc_leak"};
	static const char *const none[] = {"", "main", "malloc_server_init", "page_alloc",
		"take(std::allocator<int>&)", "Pool<Allocator<int> >::grow(int)",
		"void take<std::string>(std::string)", "Order::operator=(Order const&)",
		"core::Engine::start()", "alloc::Table::grow(int)", "prog+0x1234",
		"(anonymous namespace)::load(char const*)", "PyList_New",
		"stdlike::vector::push_back()", "Order::Order(std::vector<int>)",
		"allocator_of_seats", "zmalloc_get_rss", "sdsnew", "os::print_register_info",
		"runtime.goexit", "main.handle", "_cgo_sys_thread_start"};

	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
		if (!mt_is_usual_wrapper(wrappers[i], wrappers[i]))
			fail_msg("%s is a wrapper", wrappers[i]);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		if (mt_is_usual_wrapper(none[i], none[i]))
			fail_msg("%s is no wrapper", none[i]);
	(void)state;
}

static void test_rust(void **state)
{
	static const char *const wrappers[] = {"alloc::alloc::alloc",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		"hashbrown::raw::RawTable<T,A>::reserve",
		"<&mut alloc::string::String as core::fmt::Write>::write_str",
		"<T as alloc::slice::hack::ConvertVec>::to_vec",
		"core::iter::traits::iterator::Iterator::collect"};

	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
		assert_true(mt_is_usual_wrapper(wrappers[i], RUST));
		assert_true(mt_is_usual_wrapper(wrappers[i], "_RNvCs1234_7mycrate3foo"));
	}
	/* C++ */
	assert_false(mt_is_usual_wrapper("alloc::alloc::alloc", "_ZN5alloc5alloc5allocEv"));
	assert_false(mt_is_usual_wrapper("mycrate::core::run", RUST));
	assert_false(mt_is_usual_wrapper("<mycrate::Table as core::clone::Clone>::clone", RUST));
	(void)state;
}

/* The inverted tree of a group begins where the group is. */
static void check_tree(const struct fixture *f, const char *own)
{
	struct mt_selection selection = {0};
	struct mt_backtrace_frame label;

	mt_select(&selection, &f->profile, &f->symbols, NULL, MT_METRIC_SIZE, false, NULL);
	struct mt_tree *tree =
		mt_tree_new(&f->profile, &f->symbols, &selection, MT_TREE_FROM_OWN, MT_METRIC_SIZE);
	uint32_t first = mt_tree_get(tree, mt_tree_root(tree))->first_child;

	if (!own) {
		assert_int_equal(MT_NO_NODE, first);
	} else {
		assert_int_not_equal(MT_NO_NODE, first);
		mt_tree_label(tree, first, &label);
		assert_string_equal(own, label.function);
		assert_int_equal(8, mt_tree_get(tree, first)->self.allocated_bytes);
	}
	mt_tree_free(tree);
	mt_selection_free(&selection);
}

/* A group with this stack, innermost first, "module!function" or a function of the program, "^" if
 * it is inlined into the next one; where it is. */
static const char *own_of(struct mt_wrappers *w, bool judged, const char *const *stack)
{
	static char answer[64];
	struct mt_backtrace b = {0};
	struct fixture f;
	uint32_t count = 0, node = MT_NODE_ROOT;

	fixture_init(&f);
	while (stack[count])
		count++;
	while (count) {
		const char *const *outer = &stack[--count];
		const char *sign = strchr(*outer, '!');
		char *module = sign ? strndup(*outer, (size_t)(sign - *outer)) : strdup("prog");
		uint32_t pc = fixture_bare_pc(&f, fixture_module(&f, module, 0), 16 * count);

		while (count && *stack[count - 1] == '^')
			count--;
		for (const char *const *at = &stack[count]; at < outer; at++)
			fixture_frame(&f, pc, *at + 1, "", 0, true);
		fixture_frame(&f, pc, sign ? sign + 1 : *outer, "", 0, false);
		node = fixture_node(&f, node, pc);
		free(module);
	}
	node = fixture_node(&f, node, MT_FUNCTION_MALLOC);
	uint32_t group = mt_profile_add_group(&f.profile, node);

	f.profile.groups[group].allocated_count = 1;
	f.profile.groups[group].allocated_bytes = 8;
	if (judged)
		mt_wrappers_judge(w, &f.symbols);
	mt_backtrace_of(&b, &f.profile, &f.symbols, node);
	const struct mt_backtrace_frame *own = mt_backtrace_own(&b);

	snprintf(answer, sizeof answer, "%s%s%s", own ? own->function : "nothing",
		own && own->caller ? " in " : "", own && own->caller ? own->caller : "");
	check_tree(&f, own ? own->function : NULL);
	mt_backtrace_free(&b);
	fixture_free(&f);
	return answer;
}
#define FRAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_own(void **state)
{
	struct mt_wrappers *w = mt_wrappers_new();

	for (int judged = 0; judged < 2; judged++) {
		assert_string_equal("load",
			own_of(w, judged, FRAMES("xmalloc", "do_xmalloc", "load", "main")));
		assert_string_equal("load",
			own_of(w, judged,
				FRAMES("/lib/libc.so.6!strdup", "xstrdup", "load", "xmalloc",
					"main")));
		/* Without names: what a wrapper calls is a part of it. */
		assert_string_equal("PyList_New",
			own_of(w, judged,
				FRAMES("prog+0x1", "prog+0x2", "_PyObject_GC_New", "PyList_New",
					"main")));
		/* A static function of a stripped library says which exported one it is a part
		 * of. */
		assert_string_equal(judged ? "prog+0x1 in PyDict_SetDefault" : "prog+0x1",
			own_of(w, judged, FRAMES("prog+0x1", "PyDict_SetDefault", "main")));
		assert_string_equal(judged ? "prog+0x1 in load" : "prog+0x1",
			own_of(w, judged, FRAMES("prog+0x1", "prog+0x2", "load", "main")));
		assert_string_equal("prog+0x1",
			own_of(w, judged,
				FRAMES("prog+0x1", "libx.so!libx.so+0x2", "load", "main")));
		assert_string_equal("prog+0x1", own_of(w, judged, FRAMES("prog+0x1", "main")));
		assert_string_equal("libx.so+0x1",
			own_of(w, judged, FRAMES("/lib/libx.so!libx.so+0x1", "load", "main")));
		assert_string_equal("libx.so+0x1",
			own_of(w, judged, FRAMES("/lib/libx.so!libx.so+0x1", "xmalloc", "load")));
		/* Nothing but libraries' and wrappers. */
		assert_string_equal("_dl_new_object",
			own_of(w, judged,
				FRAMES("/lib/ld-linux.so!calloc", "/lib/ld-linux.so!_dl_new_object",
					"/lib/libc.so.6!dlopen", "_start")));
		assert_string_equal("xcalloc", own_of(w, judged, FRAMES("xmalloc", "xcalloc")));
		assert_string_equal("nothing", own_of(w, judged, (const char *const[]){NULL}));
	}
	mt_wrappers_free(w);
	(void)state;
}

/* All stacks of five of these frames: the tree finds the place by itself (check_tree). */
static void test_begins(void **state)
{
	static const char *const frames[] = {"xmalloc", "^xmalloc", "^load", "prog+0x1",
		"/lib/libc.so.6!strdup", "libx.so!libx.so+0x2", "libx.so!take"};
	enum { KINDS = sizeof frames / sizeof *frames, DEPTH = 5 };
	struct mt_wrappers *w = mt_wrappers_new();
	uint32_t count = 1;

	for (int i = 0; i < DEPTH; i++)
		count *= KINDS;
	for (uint32_t i = 0; i < count; i++) {
		const char *stack[DEPTH + 1] = {NULL};
		uint32_t rest = i;

		for (int k = 0; k < DEPTH; k++, rest /= KINDS)
			stack[k] = frames[rest % KINDS];
		if (*stack[DEPTH - 1] == '^')
			stack[DEPTH - 1]++;
		own_of(w, i % 2, stack);
	}
	mt_wrappers_free(w);
	(void)state;
}

static void test_users(void **state)
{
	struct mt_wrappers *w = mt_wrappers_new();
	struct mt_err err = {0};

	assert_string_equal("house_get", own_of(w, true, FRAMES("xmalloc", "house_get", "load")));
	assert_int_equal(-EINVAL, mt_wrappers_add(w, "(", "wrapper", &err));
	assert_non_null(strstr(err.text, "wrapper: "));
	assert_int_equal(0, mt_wrappers_add(w, "^house_", "wrapper", &err));
	assert_string_equal("load", own_of(w, true, FRAMES("xmalloc", "house_get", "load")));
	assert_string_equal("load", own_of(w, true, FRAMES("house_get", "xmalloc", "load")));
	/* places have names too */
	assert_int_equal(0, mt_wrappers_add(w, "prog.0x1$", "wrapper", &err));
	assert_string_equal("prog+0x2",
		own_of(w, true, FRAMES("prog+0x1", "prog+0x2", "prog+0x3")));
	mt_wrappers_clear(w);
	assert_string_equal("house_get", own_of(w, true, FRAMES("xmalloc", "house_get", "load")));
	mt_wrappers_free(w);
	(void)state;
}

/* Names come while a program runs, and settings change: each function is judged by what holds. */
static void test_again(void **state)
{
	struct mt_wrappers *w = mt_wrappers_new();
	struct mt_backtrace b = {0};
	struct fixture f;
	uint32_t node;

	fixture_init(&f);
	node = fixture_node(&f, MT_NODE_ROOT,
		fixture_pc(&f, fixture_module(&f, "prog", 0), "load", "", 0));
	mt_wrappers_judge(w, &f.symbols);
	node = fixture_node(&f, node, fixture_pc(&f, 0, "house_get", "", 0)); /* after that */
	node = fixture_node(&f, fixture_node(&f, node, fixture_pc(&f, 0, "xmalloc", "", 0)),
		MT_FUNCTION_MALLOC);
	for (int round = 0; round < 4; round++) {
		if (round == 1)
			assert_int_equal(0, mt_wrappers_add(w, "house", "wrapper", NULL));
		if (round == 2)
			mt_wrappers_clear(w);
		mt_wrappers_judge(round == 3 ? NULL : w, &f.symbols);
		mt_backtrace_of(&b, &f.profile, &f.symbols, node);
		assert_int_equal(MT_JUDGED_WRAPPER, b.frames[0].judged);
		assert_string_equal(round == 1 ? "load" : "house_get",
			mt_backtrace_own(&b)->function);
	}
	mt_backtrace_free(&b);
	fixture_free(&f);
	mt_wrappers_free(w);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_usual),
		cmocka_unit_test(test_rust), cmocka_unit_test(test_own),
		cmocka_unit_test(test_begins), cmocka_unit_test(test_users),
		cmocka_unit_test(test_again)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
