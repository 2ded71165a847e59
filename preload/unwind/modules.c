/* Which module lies under a pc, written to the segment when it is first met. A dlclose that unloads
 * something begins a new epoch: rules and pc ids of the range are dropped before it can mean
 * another module. What libc unloads by itself shows when a new module lies over an old one. */
#include "preload/unwind/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/sys.h"
#include "preload/segment/segment.h"
#include "preload/symbols/find.h"
#include "preload/unwind/cfi.h"
#include "preload/unwind/rules.h"

uint64_t mt_modules_wrappers[MT_MODULES_WRAPPERS];

static uint32_t logged(void)
{
	uint32_t n = mt_load_acquire(&mt_tracer.next_module);

	return n < mt_tracer.modules.capacity ? n : mt_tracer.modules.capacity;
}

void mt_modules_free(void)
{
	struct mt_loaded_module *info = mt_tracer.module_info;

	/* those of modules that are gone: others may have been reading them */
	for (uint32_t i = 0; info && i < logged(); i++)
		if (mt_load_acquire(&info[i].complete))
			mt_cfi_free_table(&info[i].image);
	mt_store_release(&mt_tracer.module_info, NULL);
	if (info)
		mt_sys_unmap(info, mt_tracer.module_capacity * sizeof(struct mt_loaded_module));
}

bool mt_modules_init(void)
{
	mt_tracer.module_info =
		mt_sys_map(mt_tracer.modules.capacity * sizeof(struct mt_loaded_module));
	if (!mt_tracer.module_info)
		return false;
	mt_tracer.module_capacity = mt_tracer.modules.capacity;
	mt_find_own();
	mt_tracer.next_pc = MT_PC_FIRST;
	return true;
}

static bool same(const struct mt_loaded_module *module, const struct dl_find_object *object)
{
	return module->link_map == object->dlfo_link_map
		&& module->eh_frame == object->dlfo_eh_frame
		&& module->start == (uint64_t)object->dlfo_map_start
		&& module->end == (uint64_t)object->dlfo_map_end;
}

/* Marks the modules that are no longer where they were. */
static bool find_gone(void)
{
	struct dl_find_object object;
	bool gone = false;

	for (uint32_t i = 0, n = logged(); i < n; i++) {
		struct mt_loaded_module *module = &mt_tracer.module_info[i];

		if (!mt_load_acquire(&module->complete) || mt_load(&module->gone))
			continue;
		if (mt_object_of((void *)module->start, &object) < 0 || !same(module, &object)) {
			mt_store(&module->gone, 1);
			gone = true;
		}
	}
	return gone;
}

/* From the last one, so that none is found behind a free place. */
static void forget_wrappers(void)
{
	for (int i = MT_MODULES_WRAPPERS; i-- > 0;)
		mt_store(&mt_modules_wrappers[i], 0);
}

/* After something may have been unloaded: a new epoch if it was. */
static void begin_epoch(void)
{
	/* else a child forked meanwhile would write to its parent */
	if (!mt_load(mt_tracer.running) || !find_gone())
		return;
	mt_rules_drop();
	forget_wrappers();
	mt_add(&mt_tracer.header->epoch, 1);
	__atomic_fetch_add(&mt_tracer.generation, 1, __ATOMIC_RELEASE);
}

/* A module may have come to lie where code of no module was, made at run time and gone since. */
static void forget_homeless(void)
{
	mt_rules_drop();
	__atomic_fetch_add(&mt_tracer.generation, 1, __ATOMIC_RELEASE);
}

/* Where the dynamic linker was started as the program, /proc knows it by that name, and itself has
 * none for what it was given to run. */
static const char *path_of(const struct link_map *map)
{
	const char *given = (const char *)getauxval(AT_EXECFN);

	return map->l_name[0] || getauxval(AT_BASE) || !given ? map->l_name : given;
}

static uint32_t add_module(const struct dl_find_object *object)
{
	const char *path = path_of(object->dlfo_link_map);
	uint32_t id, n = logged();
	struct mt_wire_module *entry;
	struct mt_loaded_module *module;
	bool over_old = false;

	for (uint32_t i = 0; i < n; i++) {
		module = &mt_tracer.module_info[i];
		over_old |= mt_load_acquire(&module->complete) && !mt_load(&module->gone)
			&& module->start < (uint64_t)object->dlfo_map_end
			&& module->end > (uint64_t)object->dlfo_map_start;
	}
	if (over_old)
		begin_epoch();
	else if (mt_load(&mt_tracer.homeless_pcs))
		forget_homeless();
	if (n >= mt_tracer.modules.capacity
		|| (id = mt_add(&mt_tracer.next_module, 1)) >= mt_tracer.modules.capacity
		|| !mt_range_need(&mt_tracer.modules, id + 1))
		return MT_NO_MODULE;
	entry = (struct mt_wire_module *)mt_tracer.modules.base + id;
	entry->start = (uint64_t)object->dlfo_map_start;
	entry->bias = object->dlfo_link_map->l_addr;
	entry->epoch = mt_load(&mt_tracer.header->epoch);
	module = &mt_tracer.module_info[id];
	mt_mapped_read(object, &module->image);
	mt_mapped_complete(object, &module->image);
	entry->build_id_len = module->image.build_id_len;
	memcpy(entry->build_id, module->image.build_id, module->image.build_id_len);
	for (uint32_t i = 0; i < MT_MODULE_PATH_MAX - 1 && path[i]; i++)
		entry->path[i] = path[i];
	mt_store_release(&entry->end, (uint64_t)object->dlfo_map_end);
	module->link_map = object->dlfo_link_map;
	module->eh_frame = object->dlfo_eh_frame;
	module->start = entry->start;
	module->end = (uint64_t)object->dlfo_map_end;
	mt_store_release(&module->complete, 1);
	mt_publish_count(&mt_tracer.header->module_count, id + 1);
	return id;
}

static uint32_t module_of(uint64_t pc)
{
	struct dl_find_object object;

	if (mt_object_of((void *)pc, &object) < 0)
		return MT_NO_MODULE;
	for (uint32_t i = logged(); i-- > 0;) {
		struct mt_loaded_module *module = &mt_tracer.module_info[i];

		if (mt_load_acquire(&module->complete) && !mt_load(&module->gone)
			&& same(module, &object))
			return i;
	}
	return add_module(&object);
}

void mt_modules_enter(uint64_t address)
{
	if (address)
		module_of(address);
}

struct mt_mapped *mt_modules_image(uint64_t address)
{
	uint32_t id = mt_is_own(address) ? MT_NO_MODULE : module_of(address);

	return id == MT_NO_MODULE ? NULL : &mt_tracer.module_info[id].image;
}

/* Of the tracer itself, which is not shown, and of modules that the full log has no place for. */
static MT_COLD int row_outside(uint64_t pc, struct mt_cfi_row *row)
{
	struct dl_find_object object;
	struct mt_mapped image;

	if (mt_object_of((void *)pc, &object) < 0)
		return MT_CFI_NONE;
	mt_mapped_read(&object, &image);
	return mt_cfi_row(&image, pc, row);
}

int mt_modules_row(uint64_t pc, struct mt_cfi_row *row)
{
	const struct mt_mapped *image = mt_modules_image(pc);

	return image ? mt_cfi_row(image, pc, row) : row_outside(pc, row);
}

bool mt_modules_keeps_fp(uint64_t pc)
{
	const struct mt_mapped *image = mt_modules_image(pc);

	return image && image->go;
}

uint32_t mt_modules_pc(uint64_t pc, uint32_t flags)
{
	uint32_t id, module;
	struct mt_wire_pc *entry;

	if (mt_is_own(pc))
		return 0;
	module = module_of(pc);
	if (module == MT_NO_MODULE)
		mt_store(&mt_tracer.homeless_pcs, 1);
	id = mt_load(&mt_tracer.next_pc);
	if (id < mt_tracer.pcs.capacity)
		id = mt_add(&mt_tracer.next_pc, 1);
	if (id >= mt_tracer.pcs.capacity || id > MT_RULE_PC_MAX
		|| !mt_range_need(&mt_tracer.pcs, id + 1)) {
		mt_count(MT_COUNTER_NODES_FULL, 1);
		return MT_PC_TABLE_FULL;
	}
	entry = (struct mt_wire_pc *)mt_tracer.pcs.base + id;
	entry->module = module;
	entry->flags = flags;
	mt_store_release(&entry->address, pc);
	mt_publish_count(&mt_tracer.header->pc_count, id + 1);
	return id;
}

bool mt_modules_present(uint64_t pc, uint32_t pc_id)
{
	struct dl_find_object object;
	const struct mt_wire_pc *entry = (const struct mt_wire_pc *)mt_tracer.pcs.base + pc_id;
	bool found;

	if (pc_id < MT_PC_FIRST)
		return true;
	found = mt_object_of((void *)pc, &object) == 0;
	if (entry->module == MT_NO_MODULE)
		return !found;
	return found && same(&mt_tracer.module_info[entry->module], &object);
}

MT_EXPORT int dlclose(void *handle)
{
	int result;

	mt_find_unload_begins();
	if (mt_load(&mt_tracer.phase) != MT_PHASE_ATTACHED || !mt_load(mt_tracer.running)) {
		result = mt_tracer.real.dlclose(handle);
		mt_find_unload_ends();
		return result;
	}
	mt_tls.closing++;
	__atomic_fetch_add(&mt_tracer.generation, MT_CLOSING, __ATOMIC_SEQ_CST);
	result = mt_tracer.real.dlclose(handle);
	mt_find_unload_ends();
	begin_epoch();
	__atomic_fetch_sub(&mt_tracer.generation, MT_CLOSING, __ATOMIC_SEQ_CST);
	mt_tls.closing--;
	return result;
}
