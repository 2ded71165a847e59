/* uprobes PROGRAM ARGS: runs it with a probe of the kernel at the entry of malloc, at its return
 * and at the entry of free in the C library, as bcc's memleak sets them. The probes only count:
 * what a BPF program does there comes on top.
 * uprobes without arguments: status 0 if that is possible here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TYPE "/sys/bus/event_source/devices/uprobe/type"
#define RETURN 1u /* in config: at the return (format/retprobe) */

static int probe_type(void)
{
	FILE *f = fopen(TYPE, "re");
	int type = -1;

	if (f && fscanf(f, "%d", &type) != 1)
		type = -1;
	if (f)
		fclose(f);
	return type;
}

/* Where a function stands in its file. */
static uint64_t offset_of(const char *name, char *path, size_t size)
{
	void *function = dlsym(RTLD_DEFAULT, name);
	struct link_map *map;
	Dl_info info;
	uint64_t address;
	const ElfW(Ehdr) * head;
	const ElfW(Phdr) * part;

	if (!function || !dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP))
		return 0;
	snprintf(path, size, "%s", info.dli_fname);
	address = (uint64_t)function - map->l_addr;
	head = info.dli_fbase;
	part = (const void *)((const char *)info.dli_fbase + head->e_phoff);
	for (int i = 0; i < head->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && address - part[i].p_vaddr < part[i].p_filesz)
			return address - part[i].p_vaddr + part[i].p_offset;
	return 0;
}

static int open_probe(int type, const char *name, uint64_t config)
{
	char path[4096];
	struct perf_event_attr a = {.type = (uint32_t)type,
		.size = sizeof a,
		.config = config,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1};

	a.probe_offset = offset_of(name, path, sizeof path);
	a.uprobe_path = (uint64_t)(uintptr_t)path;
	return a.probe_offset ? (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0) : -1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t config;
	} probes[] = {{"malloc", 0}, {"malloc", RETURN}, {"free", 0}};
	int fds[3], type = probe_type(), status = 0;
	pid_t child;

	for (int i = 0; i < 3; i++) {
		fds[i] = type < 0 ? -1 : open_probe(type, probes[i].name, probes[i].config);
		if (fds[i] < 0) {
			fprintf(stderr, "uprobes: the kernel allows no probe here\n");
			return 1;
		}
	}
	if (argc < 2)
		return 0;
	/* the events are this task's, and those of the children that it makes from now on */
	child = fork();
	if (child == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
