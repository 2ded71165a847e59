/* Index of one file's DWARF: units by address at first, the functions of a unit when an address
 * falls into it, what is inlined into a function when an address falls into that. libdw alone would
 * walk the unit for every address. Terms and attributes are those of the DWARF 5 standard
 * (dwarfstd.org), sections 2.17 and 3.3. */
#include "core/symbol/internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 100u
#define NAME_MAX_LEN 4096u
#define NAMELESS_CLASS "(anonymous class)"

/* Where a function's DIE stands: its namespaces and classes. */
struct place {
	Dwarf_Off offset;
	uint32_t prefix; /* string id */
};

struct unit {
	Dwarf_Die skeleton; /* has ranges and lines */
	Dwarf_Die die;      /* has the functions: the .dwo's, or the same */
	bool loaded, deep, cplusplus, placed;
	Dwarf_Files *files;
	size_t file_count;
	struct mt_function *functions;
	uint32_t function_count, function_capacity;
	struct mt_ranges ranges; /* of functions */
	struct place *places;    /* by offset; only when deep */
	uint32_t place_count, place_capacity;
};

struct mt_dwarf {
	Dwarf *dwarf;
	struct unit *units;
	uint32_t unit_count, unit_capacity;
	struct mt_ranges ranges; /* of units */
	struct mt_strings strings;
	unsigned split, split_missing;
	const struct mt_dwarf_places *places;
};

struct mt_dwarf *mt_dwarf_new(Dwarf *dwarf, const struct mt_dwarf_places *places)
{
	struct mt_dwarf *d = mt_alloc(sizeof *d);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	Dwarf_Off last = 0;

	d->dwarf = dwarf;
	d->places = places;
	mt_strings_init(&d->strings);
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		Dwarf_Off offset = dwarf_dieoffset(&die);

		/* type units come last, in a section of their own */
		if (d->unit_count && offset <= last)
			break;
		last = offset;
		MT_GROW(d->units, d->unit_count, d->unit_capacity);
		d->units[d->unit_count] = (struct unit){.skeleton = die};
		mt_die_ranges(&die, &d->ranges, d->unit_count++);
	}
	mt_ranges_sort(&d->ranges);
	return d;
}

void mt_dwarf_free(struct mt_dwarf *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->unit_count; i++) {
		struct unit *u = &d->units[i];

		for (uint32_t k = 0; k < u->function_count; k++)
			mt_function_free(&u->functions[k]);
		free(u->functions);
		free(u->places);
		mt_ranges_free(&u->ranges);
	}
	free(d->units);
	mt_ranges_free(&d->ranges);
	mt_strings_free(&d->strings);
	free(d);
}

unsigned mt_dwarf_split_missing(const struct mt_dwarf *d)
{
	return d->split_missing;
}

unsigned mt_dwarf_split(const struct mt_dwarf *d)
{
	return d->split;
}

/* ---- functions of a unit ---- */

static const char *own_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return mt_dwarf_text(dwarf_attr(die, DW_AT_name, &attribute));
}

/* The prefix of what stands inside a namespace, class or function. */
static uint32_t inner_prefix(struct mt_dwarf *d, uint32_t prefix, Dwarf_Die *die)
{
	const char *outer = mt_strings_get(&d->strings, prefix), *name = own_name(die);
	int tag = dwarf_tag(die);

	if (!name)
		name = tag == DW_TAG_namespace ? "(anonymous namespace)" : NAMELESS_CLASS;
	if (strlen(outer) + strlen(name) > NAME_MAX_LEN)
		return prefix;
	char *text = mt_format("%s%s::", outer, name);
	uint32_t id = mt_strings_add(&d->strings, text);

	free(text);
	return id;
}

static void add_function(struct unit *u, Dwarf_Die *die)
{
	if (!mt_die_ranges(die, &u->ranges, u->function_count))
		return;
	MT_GROW(u->functions, u->function_count, u->function_capacity);
	u->functions[u->function_count++] = (struct mt_function){.die = *die};
}

static bool holds_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module: return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block: return deep;
	default: return false;
	}
}

struct walk {
	struct mt_dwarf *d;
	struct unit *u;
	bool deep; /* also within classes and functions, noting where each function's DIE stands */
};

/* known: only namespaces are around, so that the shallow walk has been here */
static void walk(const struct walk *w, Dwarf_Die *outer, uint32_t prefix, bool known,
	unsigned depth)
{
	struct unit *u = w->u;
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(outer, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram) {
			if (w->deep && prefix) {
				MT_GROW(u->places, u->place_count, u->place_capacity);
				u->places[u->place_count++] =
					(struct place){dwarf_dieoffset(&die), prefix};
			}
			if (!w->deep || !known)
				add_function(u, &die);
		}
		if (holds_functions(tag, w->deep) && dwarf_haschildren(&die) == 1)
			walk(w, &die,
				w->deep && tag != DW_TAG_lexical_block
					? inner_prefix(w->d, prefix, &die)
					: prefix,
				known && holds_functions(tag, false), depth + 1);
	} while (mt_die_next(&die));
}

static bool is_cplusplus(Dwarf_Die *die)
{
	switch (dwarf_srclang(die)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2a: /* DW_LANG_C_plus_plus_17 and _20: later than this dwarf.h */
	case 0x2b: return true;
	default: return false;
	}
}

/* Returns whether libdw may open what it takes for dir/file of a file at beside. */
static bool may_open(const struct mt_dwarf *d, const char *beside, const char *dir,
	const char *file)
{
	const struct mt_naming *by = &d->places->naming;
	int len = (int)(mt_base_name(beside) - beside);
	char *path;
	bool may;

	if (*file == '/')
		path = mt_strdup(file);
	else if (*dir == '/')
		path = mt_format("%s/%s", dir, file);
	else
		path = mt_format("%.*s%s/%s", len, beside, dir, file);
	may = mt_symbol_may_open(path, &by->rights, by->refused);
	free(path);
	return may;
}

/* False if the unit's directory is no text, which libdw reads when it looks for files. */
static bool is_placed(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;

	return !dwarf_attr(unit, DW_AT_comp_dir, &attribute) || mt_dwarf_text(&attribute);
}

/* libdw opens a .dwo file by its name alone, beside its file or in the directory of its unit, or a
 * .dwp, and would wait for a FIFO: what stands there is looked at first. */
static bool may_split(const struct mt_dwarf *d, Dwarf_Die *skeleton)
{
	Dwarf_Attribute attribute;
	const char *name = mt_dwarf_text(dwarf_attr(skeleton, DW_AT_dwo_name, &attribute));
	const char *dir = mt_dwarf_text(dwarf_attr(skeleton, DW_AT_comp_dir, &attribute));
	bool may;

	if (!name)
		name = mt_dwarf_text(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute));
	may = name && is_placed(skeleton);
	for (unsigned i = 0; i < 2 && may; i++) {
		const char *beside = d->places->files[i];
		char *package = beside ? mt_format("%s.dwp", mt_base_name(beside)) : NULL;

		if (beside)
			may = may_open(d, beside, ".", name)
				&& may_open(d, beside, dir ? dir : ".", name)
				&& may_open(d, beside, ".", package);
		free(package);
	}
	return may;
}

static bool open_split(const struct mt_dwarf *d, Dwarf_Die *skeleton, Dwarf_Die *split)
{
	struct mt_rights_before before;

	memset(split, 0, sizeof *split);
	if (!may_split(d, skeleton))
		return false;
	mt_rights_take(&d->places->naming.rights, &before);
	dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, split, NULL, NULL, NULL);
	mt_rights_give_back(&before);
	return split->addr != NULL;
}

static void load(struct mt_dwarf *d, struct unit *u)
{
	Dwarf_Die split;
	uint8_t type = 0;

	u->loaded = true;
	u->die = u->skeleton;
	if (dwarf_cu_info(u->skeleton.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) == 0
		&& type == DW_UT_skeleton) {
		d->split++;
		if (open_split(d, &u->skeleton, &split))
			u->die = split;
		else
			d->split_missing++;
	}
	u->cplusplus = is_cplusplus(&u->die);
	u->placed = is_placed(&u->skeleton) && is_placed(&u->die);
	if (!u->placed || dwarf_getsrcfiles(&u->die, &u->files, &u->file_count) != 0)
		u->files = NULL;
	walk(&(struct walk){d, u, false}, &u->die, 0, true, 0);
	mt_ranges_sort(&u->ranges);
}

static void load_deep(struct mt_dwarf *d, struct unit *u)
{
	u->deep = true;
	walk(&(struct walk){d, u, true}, &u->die, 0, true, 0);
	mt_ranges_sort(&u->ranges);
}

/* ---- names ---- */

/* The declaration that names the function: along abstract_origin and specification. */
static Dwarf_Die declaration(Dwarf_Die die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;

	for (int i = 0; i < 16; i++) {
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute)
			&& !dwarf_attr(&die, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		die = next;
	}
	return die;
}

static int compare_place(const void *a, const void *b)
{
	Dwarf_Off x = *(const Dwarf_Off *)a, y = ((const struct place *)b)->offset;

	return x < y ? -1 : x > y;
}

/* GCC's closures are nameless classes. */
static char *qualified(const char *prefix, const char *name)
{
	static const char nameless[] = NAMELESS_CLASS "::";
	size_t len = strlen(prefix), tail = sizeof nameless - 1;

	if (!strncmp(name, "operator()", 10) && len >= tail
		&& !strcmp(prefix + len - tail, nameless))
		return mt_format("%.*s{lambda}::%s", (int)(len - tail), prefix, name);
	return mt_format("%s%s", prefix, name);
}

static void name_node(struct mt_dwarf *d, struct unit *u, struct mt_inline *node)
{
	Dwarf_Attribute attribute;
	Dwarf_Die named;
	const char *name;

	node->named = true;
	node->linkage =
		mt_dwarf_text(dwarf_attr_integrate(&node->die, DW_AT_linkage_name, &attribute));
	if (!node->linkage)
		node->linkage = mt_dwarf_text(
			dwarf_attr_integrate(&node->die, DW_AT_MIPS_linkage_name, &attribute));
	name = mt_dwarf_text(dwarf_attr_integrate(&node->die, DW_AT_name, &attribute));
	if (!name || !*name)
		return;
	if (node->linkage || !u->cplusplus) {
		node->name = mt_strings_add(&d->strings, name);
		return;
	}
	/* Static functions of C++ have no linkage name: put together what it would say but for the
	 * parameters */
	named = declaration(node->die);
	if (!u->deep)
		load_deep(d, u);
	Dwarf_Off offset = dwarf_dieoffset(&named);
	const struct place *place = named.cu == u->die.cu && u->place_count
		? bsearch(&offset, u->places, u->place_count, sizeof *u->places, compare_place)
		: NULL;
	char *full = qualified(place ? mt_strings_get(&d->strings, place->prefix) : "", name);

	node->name = mt_strings_add(&d->strings, full);
	free(full);
}

/* ---- an address ---- */

static void add_line(struct unit *u, uint64_t address, struct mt_dwarf_frame *frame)
{
	Dwarf_Line *line = u->placed ? dwarf_getsrc_die(&u->skeleton, address) : NULL;
	int number;

	if (!line)
		return;
	frame->source = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

static uint32_t find_function(struct unit *u, uint64_t address)
{
	ssize_t at = mt_ranges_find(&u->ranges, address, -1);

	return at < 0 ? UINT32_MAX : u->ranges.items[at].index;
}

static unsigned frames_of(struct mt_dwarf *d, struct unit *u, uint32_t function, uint64_t address,
	struct mt_dwarf_frame *frames)
{
	struct mt_function *f = &u->functions[function];
	unsigned count = 0;

	if (!f->nodes)
		mt_function_expand(f, u->files, u->file_count);
	uint32_t at = mt_function_find(f, address), chain[MT_DWARF_FRAMES_MAX];

	/* naming may load functions and so move them: f is not used beyond this loop but by its
	 * number */
	for (uint32_t node = at;; node = f->nodes[node].parent) {
		chain[count++] = node;
		if (!node || count == MT_DWARF_FRAMES_MAX)
			break;
	}
	memset(frames, 0, count * sizeof *frames);
	add_line(u, address, &frames[0]);
	for (unsigned i = 0; i < count; i++) {
		struct mt_inline *node = &u->functions[function].nodes[chain[i]];

		if (!node->named)
			name_node(d, u, node);
		frames[i].linkage = node->linkage;
		if (i + 1 < count) {
			frames[i + 1].source = node->call_file;
			frames[i + 1].line = node->call_line;
		}
	}
	for (unsigned i = 0; i < count; i++) { /* the texts have stopped moving */
		uint32_t name = u->functions[function].nodes[chain[i]].name;

		frames[i].name = name ? mt_strings_get(&d->strings, name) : NULL;
	}
	return count;
}

unsigned mt_dwarf_frames(struct mt_dwarf *d, uint64_t address,
	struct mt_dwarf_frame frames[MT_DWARF_FRAMES_MAX])
{
	struct unit *line_only = NULL;

	for (ssize_t at = -1; (at = mt_ranges_find(&d->ranges, address, at)) >= 0;) {
		struct unit *u = &d->units[d->ranges.items[at].index];
		uint32_t function;

		if (!u->loaded)
			load(d, u);
		function = find_function(u, address);
		if (function == UINT32_MAX && !u->deep) { /* a function within a function? */
			load_deep(d, u);
			function = find_function(u, address);
		}
		if (function != UINT32_MAX)
			return frames_of(d, u, function, address, frames);
		if (!line_only)
			line_only = u;
	}
	if (!line_only)
		return 0;
	memset(frames, 0, sizeof *frames);
	add_line(line_only, address, frames);
	return frames->source ? 1 : 0;
}
