/* Names for pcs from the modules' files, by libdw. Each file is opened once, at the addresses of
 * its own headers, and never from the memory of a process: address - bias is what the file itself
 * calls it. */
#include "core/symbol/resolver.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_MAX 32 /* files that a library keeps */

struct mt_resolver *mt_resolver_new(const struct mt_resolver_options *options)
{
	struct mt_resolver *r = mt_alloc(sizeof *r);

	elf_version(EV_CURRENT);
	mt_finder_init(&r->finder, options);
	r->memory_max = options ? options->memory_max : 0;
	r->cache = mt_cache_new(options ? options->cache : NULL);
	mt_strings_init(&r->raw);
	return r;
}

static void close_file(struct file *file)
{
	mt_dwarf_free(file->dwarf);
	mt_elf_symbols_free(&file->symbols);
	if (file->dwfl)
		dwfl_end(file->dwfl);
	if (file->alt) {
		dwarf_end(file->alt);
		close(file->alt_fd);
	}
	if (file->fd >= 0)
		close(file->fd);
	file->dwarf = NULL;
	file->dwfl = NULL;
	file->module = NULL;
	file->alt = NULL;
	file->fd = -1;
}

static void free_file(struct file *file)
{
	if (file->state == FILE_OPEN)
		mt_file_keep(file);
	mt_cached_free(file->cached);
	close_file(file);
	free(file->path);
	free(file->opened);
	free(file->debug);
	free(file->places.files[0]);
	free(file->places.files[1]);
	free(file);
}

void mt_resolver_free(struct mt_resolver *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->file_count; i++)
		free_file(r->files[i]);
	for (uint32_t i = 0; i < r->demangled_count; i++)
		free(r->demangled[i]);
	free(r->demangled);
	free(r->files);
	free(r->modules);
	mt_strings_free(&r->raw);
	mt_finder_free(&r->finder);
	mt_cache_free(r->cache);
	free(r->missing);
	free(r);
}

/* ---- files ---- */

/* With the rights of the file's owner, or of whom the recording is. */
struct mt_naming mt_file_naming(const struct file *file, bool *refused)
{
	return (struct mt_naming){mt_rights_least(mt_rights_of(&file->opened_stat),
					  file->owner->finder.rights),
		refused};
}

static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	char **path, Elf **elf)
{
	(void)module, (void)data, (void)name, (void)base, (void)path, (void)elf;
	return -1;
}

/* The descriptor of a file with debug information, or -1: it is not to be unpacked. */
static int fitting(struct file *file, int fd)
{
	if (fd < 0 || mt_elf_fits(fd, file->owner->memory_max))
		return fd;
	close(fd);
	file->oversized = true;
	return -1;
}

static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	const char *path, const char *link, GElf_Word crc, char **found)
{
	struct file *file = *data;
	const unsigned char *bytes;
	GElf_Addr at;
	int fd, len = file ? dwfl_module_build_id(module, &bytes, &at) : 0;

	(void)name, (void)base;
	/* Without path it is the file of dwz that is looked for: libdw looks in the usual places,
	 * find_alt in others */
	if (!file || !path)
		return -1;
	struct mt_naming by = mt_file_naming(file, &file->refused);

	fd = fitting(file,
		mt_finder_debug(&file->owner->finder, &by, file->path, file->opened,
			(struct mt_build_id){bytes, len > 0 ? (uint32_t)len : 0}, link, crc,
			found));
	if (fd >= 0 && !file->debug)
		file->debug = mt_strdup(*found);
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static bool report(struct file *file, int fd)
{
	void **data;

	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (file->fd < 0 || fstat(file->fd, &file->opened_stat)
		|| !(file->dwfl = dwfl_begin(&callbacks))) {
		close(fd);
		return false;
	}
	dwfl_report_begin(file->dwfl);
	file->module = dwfl_report_elf(file->dwfl, "module", file->opened, fd, 0, true);
	if (!file->module) {
		close(fd);
		return false;
	}
	dwfl_module_info(file->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = file;
	dwfl_report_end(file->dwfl, NULL, NULL);
	return true;
}

static void open_file(struct mt_resolver *r, struct file *file)
{
	struct mt_build_id id = {file->build_id, file->build_id_len};
	int fd;

	file->fd = file->alt_fd = -1;
	file->owner = r;
	if (!*file->path || *file->path == '[' || !strncmp(file->path, "linux-vdso", 10)
		|| !strncmp(file->path, "linux-gate", 10)) {
		file->state = *file->path ? FILE_NONE : FILE_MISSING;
		return;
	}
	switch (mt_finder_module(&r->finder, file->path, id, &fd, &file->opened)) {
	case MT_FOUND:
		if (!mt_elf_fits(fd, r->memory_max)) {
			close(fd);
			file->state = FILE_OVERSIZED;
			break;
		}
		file->state = report(file, fd) ? FILE_OPEN : FILE_MISSING;
		if (file->state != FILE_OPEN)
			close_file(file);
		break;
	case MT_FOUND_NOT: file->state = FILE_MISSING; break;
	case MT_FOUND_OTHER: file->state = FILE_OTHER; break;
	case MT_FOUND_REFUSED: file->state = FILE_REFUSED; break;
	}
}

/* One file for all loads of a module. Without a build-id a later load may be of another file. */
static uint32_t file_of(struct mt_resolver *r, const struct mt_module *module, const char *path)
{
	uint32_t len = module->build_id_len <= MT_BUILD_ID_MAX ? module->build_id_len : 0;
	struct file *file;

	for (uint32_t i = 0; len && i < r->file_count; i++) {
		file = r->files[i];
		if (file->build_id_len == len && !memcmp(file->build_id, module->build_id, len)
			&& !strcmp(file->path, path))
			return i;
	}
	file = mt_alloc(sizeof *file);
	file->path = mt_strdup(path);
	file->build_id_len = len;
	memcpy(file->build_id, module->build_id, len);
	open_file(r, file);
	MT_GROW(r->files, r->file_count, r->file_capacity);
	r->files[r->file_count] = file;
	return r->file_count++;
}

void mt_resolver_module(struct mt_resolver *r, const struct mt_profile *profile, uint32_t module)
{
	if (module >= profile->module_count)
		return;
	while (r->module_count <= module) {
		MT_GROW(r->modules, r->module_count, r->module_capacity);
		r->modules[r->module_count++] = 0;
	}
	if (!r->modules[module]) {
		const struct mt_module *m = &profile->modules[module];

		r->modules[module] = file_of(r, m, mt_strings_get(&profile->strings, m->path)) + 1;
	}
}

static void leave_out(struct mt_resolver *r, uint32_t module)
{
	struct file *file = mt_alloc(sizeof *file);

	file->state = FILE_NONE;
	file->fd = file->alt_fd = -1;
	file->owner = r;
	file->path = mt_strdup("");
	MT_GROW(r->files, r->file_count, r->file_capacity);
	r->files[r->file_count++] = file;
	while (r->module_count <= module) {
		MT_GROW(r->modules, r->module_count, r->module_capacity);
		r->modules[r->module_count++] = 0;
	}
	r->modules[module] = r->file_count;
}

struct mt_resolver *mt_resolver_instead_of(struct mt_resolver *crashed, uint32_t module)
{
	struct mt_resolver *r = mt_alloc(sizeof *r);

	r->finder = crashed->finder;
	r->memory_max = crashed->memory_max;
	r->cache = crashed->cache;
	mt_strings_init(&r->raw);
	for (uint32_t i = 0; i < crashed->module_count; i++)
		if (crashed->modules[i]
			&& crashed->files[crashed->modules[i] - 1]->state == FILE_NONE)
			leave_out(r, i);
	leave_out(r, module);
	return r;
}

/* Files are mapped: one that is written over in place would be read as nonsense, or end the
 * process. */
static bool still_the_same(const struct file *file)
{
	struct stat st;

	return !fstat(file->fd, &st) && st.st_size == file->opened_stat.st_size
		&& st.st_mtim.tv_sec == file->opened_stat.st_mtim.tv_sec
		&& st.st_mtim.tv_nsec == file->opened_stat.st_mtim.tv_nsec;
}

/* ---- libraries ---- */

static bool same_file(const struct file *a, const struct file *b)
{
	return a->build_id_len && a->build_id_len == b->build_id_len
		&& !memcmp(a->build_id, b->build_id, a->build_id_len) && !strcmp(a->path, b->path);
}

static struct file *look_in(const struct mt_resolver *library, const struct file *wanted)
{
	for (uint32_t i = 0; i < library->file_count; i++)
		if (same_file(library->files[i], wanted) && library->files[i]->state == FILE_OPEN
			&& still_the_same(library->files[i]))
			return library->files[i];
	return NULL;
}

void mt_resolver_borrow(struct mt_resolver *r, struct mt_resolver *library)
{
	for (uint32_t i = 0; i < r->file_count; i++) {
		struct file *file = r->files[i], *known;

		if (file->state != FILE_OPEN || file->loaded || !(known = look_in(library, file)))
			continue;
		/* its path may lead through a process that has ended */
		char *opened = known->opened;

		known->opened = file->opened;
		file->opened = opened;
		free_file(file);
		known->borrowed = true;
		known->owner = r;
		r->files[i] = known;
	}
}

void mt_resolver_give_back(struct mt_resolver *r, struct mt_resolver *library)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < r->file_count; i++) {
		struct file *file = r->files[i];

		file->owner = library;
		if (file->borrowed) {
			file->borrowed = false;
		} else if (file->state == FILE_OPEN && (file->loaded || file->cached)
			&& file->build_id_len) {
			MT_GROW(library->files, library->file_count, library->file_capacity);
			library->files[library->file_count++] = file;
		} else {
			file->owner = r;
			r->files[left++] = file;
		}
	}
	r->file_count = left;
	r->module_count = 0;
	while (library->file_count > LIBRARY_MAX) {
		free_file(library->files[0]);
		library->file_count--;
		memmove(library->files, library->files + 1,
			library->file_count * sizeof *library->files);
	}
}

/* dwz: what several files share lies in one more. Found here, since libdw opens what it is told to,
 * and waits for a FIFO. False: it must not get to open it, so nothing of the debug information may
 * be used. */
static bool find_alt(struct file *file, Dwarf *dwarf)
{
	bool refused = false;
	struct mt_naming by = mt_file_naming(file, &refused);
	const char *name;
	const void *bytes;
	char *found = NULL;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);

	if (len <= 0)
		return true;
	if (len <= MT_BUILD_ID_MAX) {
		struct mt_build_id id = {bytes, (uint32_t)len};

		file->alt_fd = mt_finder_build_id(&file->owner->finder, id, &found);
		if (file->alt_fd < 0)
			file->alt_fd = mt_finder_alt(&by, file->debug ? file->debug : file->opened,
				name, id);
		file->alt_fd = fitting(file, file->alt_fd);
	}
	free(found);
	if (file->alt_fd >= 0 && (file->alt = dwarf_begin(file->alt_fd, DWARF_C_READ))) {
		dwarf_setalt(dwarf, file->alt);
		return true;
	}
	if (file->alt_fd >= 0)
		close(file->alt_fd);
	file->refused |= refused;
	return !refused && len <= MT_BUILD_ID_MAX;
}

static bool has_alt(Dwarf *dwarf)
{
	const char *name;
	const void *bytes;

	return dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes) > 0;
}

/* As libdw finds them, by its descriptors. */
static void find_places(struct file *file)
{
	char *link = mt_format("/proc/self/fd/%d", file->fd);

	file->places =
		(struct mt_dwarf_places){{realpath(link, NULL),
						 file->debug ? realpath(file->debug, NULL) : NULL},
			mt_file_naming(file, &file->refused)};
	free(link);
}

static void load(struct file *file)
{
	Dwarf *dwarf = dwfl_module_getdwarf(file->module, &file->dwarf_bias);

	file->loaded = true;
	mt_elf_symbols_load(&file->symbols, file->module);
	file->without_lines = !dwarf;
	if (dwarf && find_alt(file, dwarf)) {
		find_places(file);
		file->dwarf = mt_dwarf_new(dwarf, &file->places);
	}
	if (file->cached) /* a symbol table alone is read in a millisecond */
		file->cached->unfit = !dwarf || has_alt(dwarf);
}

/* The file of a module, open, or NULL. */
static struct file *open_module(struct mt_resolver *r, const struct mt_profile *profile,
	uint32_t module)
{
	if (module >= profile->module_count)
		return NULL;
	mt_resolver_module(r, profile, module);
	struct file *file = r->files[r->modules[module] - 1];

	file->asked = true;
	if (file->state == FILE_OPEN && !still_the_same(file)) {
		close_file(file);
		file->state = FILE_CHANGED;
	}
	if (file->state != FILE_OPEN)
		return NULL;
	return file;
}

/* ---- frames ---- */

/* The cache owns the text, which stays. */
static const char *demangled(struct mt_resolver *r, const char *raw)
{
	uint32_t id = mt_strings_add(&r->raw, raw);

	while (r->demangled_count <= id) {
		MT_GROW(r->demangled, r->demangled_count, r->demangled_capacity);
		r->demangled[r->demangled_count++] = NULL;
	}
	if (!r->demangled[id]) {
		size_t plain = strcspn(raw, "@"); /* symbol versions are not for people */

		if (plain && raw[plain]) {
			char *cut = mt_strdup(raw);

			cut[plain] = 0;
			r->demangled[id] = mt_demangle(cut);
			free(cut);
		} else {
			r->demangled[id] = mt_demangle(raw);
		}
	}
	return r->demangled[id];
}

void mt_resolver_add_frame(struct mt_symbols *s, const char *function, const char *raw,
	const char *source, uint32_t line)
{
	struct mt_frame frame = {.line = line};

	frame.function = mt_strings_add(&s->strings, function);
	frame.raw_function = raw && *raw ? mt_strings_add(&s->strings, raw) : frame.function;
	frame.source = source && *source ? mt_strings_add(&s->strings, source) : 0;
	mt_symbols_add_frame(s, &frame);
}

char *mt_resolver_unknown(const struct mt_profile *profile, const struct mt_pc *pc)
{
	const char *path = "", *base;

	if (pc->module < profile->module_count)
		path = mt_strings_get(&profile->strings, profile->modules[pc->module].path);
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	if (!*base)
		return mt_format("0x%llx", (unsigned long long)pc->address);
	return mt_format("%s+0x%llx", base,
		(unsigned long long)(pc->address - profile->modules[pc->module].bias));
}

void mt_resolver_add_unknown(const struct mt_profile *profile, const struct mt_pc *pc,
	struct mt_symbols *s, const char *source, uint32_t line)
{
	char *text = mt_resolver_unknown(profile, pc);

	mt_resolver_add_frame(s, text, NULL, source, line);
	free(text);
}

/* The symbol without the version that programs are linked with now; NULL: there is none. The caller
 * frees. offset: how far behind its beginning the address is, plus 1; 0: not known. */
static char *plain_symbol(const struct file *file, uint64_t address, uint32_t *offset)
{
	uint64_t start = 0;
	const char *symbol = mt_elf_symbols_find(&file->symbols, address, &start);
	const char *version = symbol ? strstr(symbol, "@@") : NULL;

	/* what compilers move out of a function has a symbol of its own, and shows the function's
	 * name */
	*offset = symbol && !strstr(symbol, ".cold") && address - start < UINT32_MAX
		? (uint32_t)(address - start) + 1
		: 0;
	return version && version > symbol ? mt_format("%.*s", (int)(version - symbol), symbol)
		: symbol                   ? mt_strdup(symbol)
					   : NULL;
}

/* The debug information knows a function by the name in its source, as __pthread_create_2_1, or by
 * one for the library's own use, as __GI___strdup; what people write may be its symbol. */
static bool is_plainer(const char *symbol, const char *name)
{
	return symbol && !strpbrk(symbol, ".@") && strncmp(name, "_Z", 2) != 0
		&& mt_symbol_underscores(symbol) < mt_symbol_underscores(name);
}

/* symbol: of the function that holds the address; NULL: it has none, or the frame is inlined. */
static void add_frame(struct mt_resolver *r, const struct mt_profile *profile,
	const struct mt_pc *pc, const struct mt_dwarf_frame *f, const char *symbol,
	struct mt_symbols *s)
{
	const char *linkage = f->linkage && *f->linkage ? f->linkage : NULL;
	const char *name = linkage ? linkage : f->name;

	if (name && is_plainer(symbol, name))
		mt_resolver_add_frame(s, symbol, symbol, f->source, f->line);
	else if (linkage)
		mt_resolver_add_frame(s, demangled(r, linkage), linkage, f->source, f->line);
	else if (name)
		mt_resolver_add_frame(s, name, symbol ? symbol : name, f->source, f->line);
	else if (symbol)
		mt_resolver_add_frame(s, demangled(r, symbol), symbol, f->source, f->line);
	else
		mt_resolver_add_unknown(profile, pc, s, f->source, f->line);
}

/* Returns how far behind the beginning of its function the pc is, plus 1; 0: that is not known. */
static uint32_t add_frames(struct mt_resolver *r, struct file *file,
	const struct mt_profile *profile, const struct mt_pc *pc, struct mt_symbols *s)
{
	struct mt_dwarf_frame frames[MT_DWARF_FRAMES_MAX];
	uint64_t address = pc->address - profile->modules[pc->module].bias;
	uint32_t offset;
	char *symbol = plain_symbol(file, address, &offset);
	unsigned count =
		file->dwarf ? mt_dwarf_frames(file->dwarf, address - file->dwarf_bias, frames) : 0;

	for (unsigned i = 0; i < count; i++)
		add_frame(r, profile, pc, &frames[i], i + 1 == count ? symbol : NULL, s);
	if (!count && symbol)
		mt_resolver_add_frame(s, demangled(r, symbol), symbol, NULL, 0);
	else if (!count)
		mt_resolver_add_unknown(profile, pc, s, NULL, 0);
	free(symbol);
	return offset;
}

void mt_resolver_pc_as(struct mt_resolver *r, const struct mt_profile *profile, uint32_t id,
	struct mt_symbols *s, uint32_t as)
{
	uint32_t first = s->frame_count, offset;

	if (id < MT_PC_FIRST || id >= profile->pc_count)
		return;
	const struct mt_pc *pc = &profile->pcs[id];
	struct file *file = open_module(r, profile, pc->module);

	if (!file) {
		mt_resolver_add_unknown(profile, pc, s, NULL, 0);
		mt_symbols_set(s, as, first);
	} else if (mt_file_cached_frames(file, profile, pc, s, &offset)) {
		mt_symbols_set(s, as, first);
		mt_symbols_set_offset(s, as, offset);
	} else {
		if (!file->loaded)
			load(file);
		offset = add_frames(r, file, profile, pc, s);
		mt_symbols_set(s, as, first);
		mt_symbols_set_offset(s, as, offset);
		mt_file_remember(file, profile, pc, s, as);
	}
}

void mt_resolver_pc(struct mt_resolver *r, const struct mt_profile *profile, uint32_t pc,
	struct mt_symbols *s)
{
	mt_resolver_pc_as(r, profile, pc, s, pc);
}

/* ---- what the program says about its leaks ---- */

void mt_resolver_suppressions(struct mt_resolver *r, const struct mt_profile *profile,
	struct mt_symbols *s)
{
	struct mt_buffer text = {0};

	s->embedded = MT_EMBEDDED_NONE;
	for (uint32_t i = 0; i < profile->module_count && s->embedded == MT_EMBEDDED_NONE; i++) {
		mt_resolver_module(r, profile, i);
		const struct file *file = r->files[r->modules[i] - 1];

		if (file->state == FILE_OPEN && still_the_same(file))
			s->embedded =
				mt_embedded_text(file->fd, "__lsan_default_suppressions", &text);
	}
	s->suppressions = s->embedded == MT_EMBEDDED_TEXT
		? mt_strings_add(&s->strings, (char *)text.data)
		: 0;
	mt_buffer_free(&text);
}
