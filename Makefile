# memtui. `make demo` and `make test` set up what they need; `make help` lists the targets.
# Variables: O=DIR build directory, V=1 show commands, DEBUG=1 no optimisation, ASAN=1 or TSAN=1 sanitizers,
#            ASSERT=1 assertions, ASSERT=2 also those that walk whole tables,
#            CC=, DESTDIR=, PREFIX=; MUTATION=N a tracer that is wrong on purpose (make mutations)

O ?= build
PREFIX ?= /usr/local
prefix ?= $(PREFIX)
zshdir ?= $(prefix)/share/zsh/site-functions
fishdir ?= $(prefix)/share/fish/vendor_completions.d
CC ?= cc
ARCH := x86_64
# The version stands in debian/changelog alone: "memtui (1.2.3-1) ...", without the package's own number.
version_in = sed -n '1s/^memtui (\([^)-]*\).*/\1/p'
VERSION := $(shell $(version_in) debian/changelog)
$(if $(VERSION),,$(error debian/changelog: its first line names no version of memtui))

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-4s %s\n'
endif

# A variable, since makes differ in whether # is quoted within a function.
hash := \#
have = $(shell printf '$(hash)include <%s>\n' '$(1)' | $(CC) -E -x c - >/dev/null 2>&1 && echo 1)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(if $(WERROR),-Werror)
# Vectors made of neighbouring counters are loaded right after halves of them were stored: the processor waits for these.
OPT := $(if $(DEBUG),-O0,-O2 -fno-tree-slp-vectorize) -g
comma := ,
SAN := $(if $(ASAN),-fsanitize=address$(comma)undefined -fno-omit-frame-pointer)$(if $(TSAN),-fsanitize=thread -Wno-tsan)
# No path of the build machine gets into the objects, so that a build is the same bytes in every directory.
SAME := '-ffile-prefix-map=$(CURDIR)=.'
LEVEL := $(if $(ASSERT),-DMT_ASSERT=$(ASSERT))
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -I. $(OPT) $(WARN) $(SAN) $(LEVEL) -pthread -MMD -MP $(SAME) \
	-DMT_VERSION='"$(VERSION)"' -DMT_PREFIX='"$(prefix)"' $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS := $(SAN) -pthread $(LDFLAGS)
LIBS := -lncursesw -ltinfo -lpcre2-8 -lzstd -lz -ldw -lelf -lZydis -lm

HAVE_LIBVTERM := $(call have,vterm.h)
HAVE_LIBIBERTY := $(call have,libiberty/demangle.h)
ifeq ($(HAVE_LIBVTERM),1)
ALL_CFLAGS += -DHAVE_LIBVTERM
LIBS += -lvterm
endif
ifeq ($(HAVE_LIBIBERTY),1)
ALL_CFLAGS += -DHAVE_LIBIBERTY
LIBS += -liberty
endif

# The tracer links libc alone, shows nothing but what it interposes, and is never sanitized. It leaves
# vector registers to the program, but where the source says otherwise.
PRELOAD_CFLAGS := -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
	-mgeneral-regs-only -fno-plt -fno-builtin -fexceptions -fasynchronous-unwind-tables -ftls-model=initial-exec \
	$(if $(MUTATION),-DMT_MUTATION=$(MUTATION)) $(LEVEL) $(WARN) -MMD -MP $(SAME)
PRELOAD_LDFLAGS := -shared -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-soname,libmemtui.so

# Sorted: the order in which the linker gets the objects is part of the result.
PRELOAD_SRC := $(sort $(wildcard $(addsuffix /*.c,$(filter-out preload/arch preload/attached,$(wildcard preload/*)) preload/arch/$(ARCH))))
# The tracer that is written into a running process (doc/attach.md): the same rooms with another installer. It imports nothing.
ATTACHED_SRC := $(sort $(wildcard preload/attached/*.c preload/segment/*.c preload/record/*.c) preload/hooks/prefixed.c \
	$(filter-out preload/base/thread_local.c preload/unwind/check.c preload/process/exec%.c preload/process/limits.c preload/process/ending.c preload/process/thread_create.c, \
	$(wildcard preload/base/*.c preload/unwind/*.c preload/process/*.c)) preload/arch/$(ARCH)/differ.c)
CORE_SRC := $(sort $(wildcard core/*/*.c core/*/$(ARCH)/*.c))
TUI_SRC := $(sort $(wildcard tui/*.c tui/*/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/*_test.c))
PRELOAD_OBJ := $(PRELOAD_SRC:%.c=$(O)/obj/%.o)
ATTACHED_OBJ := $(ATTACHED_SRC:%.c=$(O)/obj/attached/%.o)
CORE_OBJ := $(CORE_SRC:%.c=$(O)/obj/%.o)
TUI_OBJ := $(TUI_SRC:%.c=$(O)/obj/%.o)
UNIT := $(UNIT_SRC:tests/unit/%.c=$(O)/tests/%)

.SECONDARY:
# The list in tui/command/commands.h, less help.
COMMANDS := $(filter-out help,$(shell sed -n 's/^\tX(\([a-z_]*\)).*/\1/p' tui/command/commands.h | tr _ -))
.PHONY: FORCE shots keys man all demo test check fuzz mutations bench cost install dist clean help packages test-packages programs unit objects
all: $(O)/memtui $(O)/libmemtui.so $(O)/libmemtui-attached.so $(O)/themes

# The sources that use one of these settings are compiled again when a setting changes.
SETTINGS := vterm=$(HAVE_LIBVTERM) iberty=$(HAVE_LIBIBERTY) version=$(VERSION) prefix=$(prefix)
$(O)/settings: FORCE
	@mkdir -p $(@D)
	@echo '$(SETTINGS)' | cmp -s - $@ || echo '$(SETTINGS)' >$@
$(patsubst %.c,$(O)/obj/%.o,$(shell grep -lE 'HAVE_LIB|MT_VERSION|MT_PREFIX' $(CORE_SRC) $(TUI_SRC))): $(O)/settings
# Everything is, when the flags of the compiler change (other than warnings).
FLAGS = $(CC) $(OPT) $(SAN) $(LEVEL) $(SAME) $(CPPFLAGS) $(CFLAGS)
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' >$@
$(PRELOAD_OBJ) $(ATTACHED_OBJ) $(CORE_OBJ) $(TUI_OBJ): $(O)/flags
FORCE:

# The program looks for themes beside itself, so that it finds them wherever O is.
$(O)/themes:
	@mkdir -p $(@D)
	$(Q)ln -sfn '$(CURDIR)/themes' $@

$(O)/memtui: $(TUI_OBJ) $(O)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(O)/libcore.a: $(CORE_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

$(O)/libmemtui.so: $(PRELOAD_OBJ)
	$(say) LINK $@
	$(Q)$(CC) $(PRELOAD_LDFLAGS) -o $@ $^

$(O)/libmemtui-attached.so: $(ATTACHED_OBJ)
	$(say) LINK $@
	$(Q)$(CC) -shared -nostdlib -Wl,-Bsymbolic -Wl,--no-undefined -Wl,-z,now -Wl,-z,norelro -Wl,-soname,libmemtui-attached.so -o $@ $^

$(O)/obj/attached/%.o: %.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(PRELOAD_CFLAGS) -DMT_ATTACHED -c -o $@ $<

$(O)/obj/preload/%.o: preload/%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

$(O)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(O)/tests/%_test: $(O)/obj/tests/unit/%_test.o $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(O)/obj/tests/unit/themes_test.o: ALL_CFLAGS += -DMT_THEME_DIR='"$(CURDIR)/themes"'
$(O)/tests/themes_test: $(O)/obj/tests/unit/themes_test.o $(O)/obj/tui/terminal/theme.o $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka -lm

$(O)/tests/fit_test: $(O)/obj/tests/unit/fit_test.o $(addprefix $(O)/obj/tui/terminal/,fit.o width.o glyphs.o) $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(O)/tests/legend_test: $(O)/obj/tests/unit/legend_test.o $(O)/obj/tui/view/legend.o $(addprefix $(O)/obj/tui/terminal/,fit.o width.o glyphs.o) $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(O)/tests/layers_test: $(O)/obj/tests/unit/layers_test.o $(addprefix $(O)/obj/tui/data/,layers.o ranking.o) $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(O)/tests/suspect_test: $(O)/obj/tests/unit/suspect_test.o $(addprefix $(O)/obj/tui/data/,suspect.o ranking.o) $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(O)/tests/squeeze_test: $(O)/obj/tests/unit/squeeze_test.o $(O)/obj/tui/terminal/squeeze.o $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(O)/tests/differ_test: $(O)/obj/tests/unit/differ_test.o $(O)/obj/preload/arch/$(ARCH)/differ.o
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka

# Tracer and recorder in one process, for ThreadSanitizer (make TSAN=1 O=build-tsan build-tsan/race).
RACE := $(addprefix base/,environment own procmaps sys thread_local) $(addprefix symbols/,find scope symbol) \
	$(addprefix segment/,blind file file_before file_chunk file_name file_room ring segment tree) \
	$(addprefix unwind/,arrays cfi cfi_program cfi_table check expression mapped modules rules sections step unwind) \
	$(addprefix process/,allocator attach copy samples thread thread_fork thread_state) $(addprefix record/,event pending) \
	hooks/bootstrap arch/$(ARCH)/differ
RACE_NAMES := -D_Fork=mt_race_fork -Dmt_segment_leave=mt_race_segment_leave -Dmt_tree_free=mt_race_tree_free
$(O)/obj/race/%.o: preload/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(PRELOAD_CFLAGS) $(SAN) $(RACE_NAMES) -c -o $@ $<
$(O)/obj/race/race_tracer.o: tests/stress/race_tracer.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(PRELOAD_CFLAGS) $(SAN) $(RACE_NAMES) -c -o $@ $<
$(O)/race: $(O)/obj/tests/stress/race.o $(O)/obj/race/race_tracer.o $(RACE:%=$(O)/obj/race/%.o) $(O)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# ---- fuzz targets: tests/fuzz/NAME_fuzz.c ----
# Each is linked with libcore.a and what NAME_fuzz_SRC names, and starts from tests/fuzz/NAME_fuzz.corpus and what
# tests/fuzz/NAME_seeds.sh makes. `make fuzz` runs all for FUZZ_SECONDS each, and FUZZ_MUTANTS programs with damaged call
# frame information; `make test` replays the inputs and some made of them.
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*_fuzz.c))
FUZZ_SECONDS ?= 60
FUZZ_MUTANTS ?= 10000
FUZZ_CFLAGS := -O1 -g -fno-omit-frame-pointer $(filter-out -O% -g $(WARN) $(SAN),$(ALL_CFLAGS))
cfi_fuzz_SRC := preload/base/own.c preload/unwind/cfi.c preload/unwind/cfi_program.c preload/unwind/cfi_table.c preload/unwind/expression.c
theme_fuzz_SRC := tui/terminal/theme.c tui/terminal/theme_files.c tui/user/user_files.c
config_fuzz_SRC := tui/user/config.c $(theme_fuzz_SRC)
trace_fuzz_SRC := tests/fuzz/trace_mutator.c
report_fuzz_SRC := $(trace_fuzz_SRC)
keymap_fuzz_SRC := tui/user/keymap.c tui/terminal/keys.c tui/user/user_files.c
fuzz_objects = $(patsubst %.c,$(O)/obj/$(1)/%.o,tests/fuzz/$(2).c $($(2)_SRC))

$(O)/obj/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)clang $(FUZZ_CFLAGS) -DMT_LIVE_RING=256u -DMT_LIVE_CHUNK=64u -fsanitize=fuzzer-no-link,address -c -o $@ $<
$(O)/fuzz/libcore.a: $(CORE_SRC:%.c=$(O)/obj/fuzz/%.o)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^
$(O)/obj/replay/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(FUZZ_CFLAGS) -fsanitize=address -c -o $@ $<
define fuzz_rules
$(O)/fuzz/$(1): $(call fuzz_objects,fuzz,$(1)) $(O)/fuzz/libcore.a
	$(Q)clang -fsanitize=fuzzer,address -pthread -o $$@ $$^ $(LIBS)
$(O)/fuzz/replay-$(1): $(call fuzz_objects,replay,$(1)) $(O)/obj/replay/tests/fuzz/replay.o $(O)/libcore.a
	@mkdir -p $$(@D)
	$(Q)$(CC) -fsanitize=address -pthread -o $$@ $$^ $(LIBS)
-include $(patsubst %.o,%.d,$(call fuzz_objects,fuzz,$(1)) $(call fuzz_objects,replay,$(1)))
endef
$(foreach f,$(FUZZ),$(eval $(call fuzz_rules,$(f))))
-include $(CORE_SRC:%.c=$(O)/obj/fuzz/%.d) $(O)/obj/replay/tests/fuzz/replay.d

# ---- workloads with known truth, and the programs that the tests trace ----
WORKLOADS := $(O)/bench/hot $(O)/bench/leak $(O)/bench/tree $(O)/bench/asleep $(O)/bench/make_trace $(O)/demo $(O)/toy_domain
programs: $(WORKLOADS)
# Writes a trace of any number of events: $(O)/bench/make_trace FILE EVENTS
$(O)/bench/make_trace: $(O)/obj/tests/bench/make_trace.o $(O)/libcore.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
# Writes a trace of functions and domains that are not predefined
$(O)/toy_domain: $(O)/obj/tests/programs/toy_domain.o $(O)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(O)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -fno-ipa-icf -pthread -o $@ $<
$(O)/bench/%: tests/bench/%.cc
	@mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -fno-ipa-icf -pthread -o $@ $<
$(O)/demo: tests/programs/demo.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O1 -g -pthread -o $@ $<

# ---- packages: installed when missing, by root or sudo; else named ----
BUILD_PACKAGES := gcc libc6-dev libncurses-dev libdw-dev libpcre2-dev libzstd-dev zlib1g-dev libiberty-dev libvterm-dev libzydis-dev
TEST_PACKAGES := $(BUILD_PACKAGES) g++ clang libcmocka-dev musl-tools python3 sqlite3 perl git valgrind binutils procps pkgconf zsh fish zstd xz-utils \
	libjemalloc2 libmimalloc-dev libgoogle-perftools-dev
packages:
	@sh tests/packages.sh $(BUILD_PACKAGES)
test-packages:
	@sh tests/packages.sh $(TEST_PACKAGES)

# Who names no -j has one job a processor.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
# The second make looks for optional libraries again, after they were installed.
demo: packages
	@$(MAKE) --no-print-directory $(JOBS) all $(O)/demo
	MEMTUI_TRIAGE= $(O)/memtui run --fresh -- $(O)/demo

unit: $(UNIT)

# Compiled, but not linked: for the warnings of another compiler.
objects: $(PRELOAD_OBJ) $(ATTACHED_OBJ) $(CORE_OBJ) $(TUI_OBJ) $(UNIT_SRC:%.c=$(O)/obj/%.o)

test: test-packages
	@$(MAKE) --no-print-directory $(JOBS) all unit programs $(O)/race $(FUZZ:%=$(O)/fuzz/replay-%)
	@sh tests/run.sh $(O)

fuzz: test-packages
	@sh tests/packages.sh libclang-rt-$$(clang -dumpversion | cut -d. -f1)-dev
	@$(MAKE) --no-print-directory $(JOBS) all programs $(FUZZ:%=$(O)/fuzz/%)
	@MUTANTS=$(FUZZ_MUTANTS) SECONDS_EACH=$(FUZZ_SECONDS) bash tests/fuzz/run.sh $(O) fuzz

check: test-packages
	@sh tests/packages.sh clang-format
	@sh tests/check.sh $(O)

# Tracers that are wrong on purpose (preload/unwind/check.h): the checks of stacks must see each of them.
mutations: all
	@bash tests/stacks/mutations.sh $(O)

# ROUNDS=N, QUICK=1, ON="hot 16,tree" (workloads) and TOOLS="memtui,heaptrack" say what is measured.
# BEFORE=BUILD is the build directory of another version, which runs in the same rounds and is compared with this one.
# cc1plus, the workload, needs g++ to make its input; without it bench.py says that it is skipped.
bench: all programs $(O)/bench/meter $(O)/bench/uprobes $(O)/bench/regex.ii
	@python3 tests/bench/bench.py $(O)

# Instructions an event of tracer and recorder by callgrind, bytes an event, the recorder's memory; BEFORE=BUILD: beside another version.
cost: all programs
	@bash tests/golden/cost.sh $(O) $(BEFORE)

# Milliseconds from a key to its picture on a trace of so many events (EVENTS=), on one of a compiler, and while that runs
# (they need g++).
EVENTS ?= 10000000
$(O)/bench/keys: tests/bench/keys.c tests/screens/harness.c tui/view/program_repeats.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -DHAVE_LIBVTERM -O2 -I. -o $@ $^ -lvterm -lutil
$(O)/bench/keys-$(EVENTS).dat: $(O)/bench/make_trace
	$(Q)$(O)/bench/make_trace $@ $(EVENTS) >/dev/null
CC1PLUS = $(shell g++ -print-prog-name=cc1plus 2>/dev/null)
COMPILE = $(CC1PLUS) -fpreprocessed -quiet -O1 $(O)/bench/regex.ii -o /dev/null
$(O)/bench/regex.ii: tests/bench/regex.cc
	@mkdir -p $(@D)
	@! g++ -E $< -o $@.new 2>/dev/null || mv $@.new $@
keys: all $(O)/bench/keys $(O)/bench/keys-$(EVENTS).dat $(O)/bench/regex.ii
	@echo 'a trace of $(EVENTS) events'
	@$(O)/bench/keys $(O)/memtui open $(O)/bench/keys-$(EVENTS).dat
	@[ ! -f $(O)/bench/regex.ii ] || { echo 'a compiler while it runs' && \
		$(O)/bench/keys $(O)/memtui run --force -o $(O)/bench/keys-live.dat -- $(COMPILE); }
	@[ ! -f $(O)/bench/regex.ii ] || { echo 'a trace of the compiler' && \
		$(O)/memtui record --force -o $(O)/bench/keys-compiler.dat -- $(COMPILE) 2>/dev/null && \
		$(O)/bench/keys $(O)/memtui open $(O)/bench/keys-compiler.dat; }

share = $(DESTDIR)$(prefix)/share
install: all
	install -d $(DESTDIR)$(prefix)/bin $(DESTDIR)$(prefix)/lib/memtui $(DESTDIR)$(prefix)/include $(share)/memtui/themes \
		$(share)/man/man1 $(share)/man/man3 $(share)/man/man5 $(share)/man/man7 $(share)/pkgconfig \
		$(share)/bash-completion/completions $(DESTDIR)$(zshdir) $(DESTDIR)$(fishdir)
	install -m 755 $(O)/memtui $(DESTDIR)$(prefix)/bin/memtui
	install -m 755 $(O)/libmemtui.so $(O)/libmemtui-attached.so $(DESTDIR)$(prefix)/lib/memtui/
	install -m 644 themes/*.theme $(share)/memtui/themes
	install -m 644 preload/memtui.h $(DESTDIR)$(prefix)/include/memtui.h
	sed 's|@prefix@|$(prefix)|; s|@version@|$(VERSION)|' preload/memtui.pc.in >$(share)/pkgconfig/memtui.pc
	install -m 644 doc/man/*.1 $(share)/man/man1
	install -m 644 doc/man/*.5 $(share)/man/man5
	install -m 644 doc/man/*.7 $(share)/man/man7
	install -m 644 doc/man/*.3 $(share)/man/man3
	$(O)/memtui help --completion bash >$(share)/bash-completion/completions/memtui
	$(O)/memtui help --completion zsh >$(DESTDIR)$(zshdir)/_memtui
	$(O)/memtui help --completion fish >$(DESTDIR)$(fishdir)/memtui.fish

# The committed files as memtui-VERSION.tar.xz. git writes them in a fixed order, as root's, with the time of the commit.
dist:
	@git rev-parse -q --verify HEAD >/dev/null || { echo 'make dist: needs a git clone with a commit' >&2; exit 1; }
	@mkdir -p $(O)
	@v=$$(git show HEAD:debian/changelog | $(version_in)) && [ -n "$$v" ] && tar=$(O)/memtui-$$v.tar && \
		git -c tar.umask=0022 archive --format=tar --prefix=memtui-$$v/ -o $$tar HEAD && \
		xz -f -9 -T1 $$tar && echo "$$tar.xz"

# The pictures of doc/shots and the screens of the README, as the program draws them now; make test compares them.
shots: all
	@GENERATE=1 TEST=shots_test bash tests/screens/run.sh $(O)

# The manual pages come out of the option lists; `make check` says when they are not up to date.
man: all
	@for c in memtui $(COMMANDS); do n=memtui-$$c; [ $$c = memtui ] && n=memtui; \
		$(O)/memtui help --man $$c >doc/man/$$n.1 || exit 1; done
	@for n in keys config; do $(O)/memtui help --man $$n >doc/man/memtui-$$n.5 || exit 1; done
	@$(O)/memtui help --man filters >doc/man/memtui-filters.7
	@sed -i '1s/"memtui [^"]*" /"memtui $(VERSION)" /' doc/man/memtui.h.3

clean:
	rm -rf $(O)

help:
	@echo 'make demo    install what is missing, build, open the live screen on a leaking program'
	@echo 'make         build $(O)/memtui and $(O)/libmemtui.so'
	@echo 'make test    install what is missing, build, run all tests'
	@echo 'make check   warnings as errors with gcc and clang, sanitizer runs, layer check'
	@echo 'make fuzz    hostile inputs for each reader (FUZZ_SECONDS=), programs with damaged call frame information (FUZZ_MUTANTS=)'
	@echo 'make bench   cost beside heaptrack and massif in one run (QUICK=1, ROUNDS=, ON=, TOOLS=, BEFORE=)'
	@echo 'make cost    instructions and bytes an event, the memory of the recorder, by callgrind (BEFORE=)'
	@echo 'make mutations  tracers that are wrong on purpose are found out'
	@echo 'make man     write doc/man from the option lists'
	@echo 'make keys    milliseconds from a key to its picture, on saved traces (EVENTS=) and on a program that runs'
	@echo 'make shots   draw doc/shots and the screens of the README anew'
	@echo 'make dist    pack the committed files into $(O)/memtui-$(VERSION).tar.xz'
	@echo 'make install DESTDIR= PREFIX=$(prefix)'

-include $(PRELOAD_OBJ:.o=.d) $(ATTACHED_OBJ:.o=.d) $(RACE:%=$(O)/obj/race/%.d) $(O)/obj/race/race_tracer.d $(O)/obj/tests/stress/race.d $(CORE_OBJ:.o=.d) $(TUI_OBJ:.o=.d) $(UNIT_SRC:%.c=$(O)/obj/%.d)
