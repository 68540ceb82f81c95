/*
 * The plugin of qemu-user that counts the instructions of a program.
 *
 * QEMU translates code block by block. While there is one thread, each block adds its number of instructions to a
 * cell, in line. Threads would lose each other's additions, so with a second one each block calls us, and each
 * thread (a CPU for QEMU) has a cell. Cells are private memory: a forked child has its own copies.
 *
 * The program runs in our address space, at its own addresses, so the library in it reads its cell as memory. It
 * asks where the cell is, and says which code is its own and not to be counted (src/os/instruction_clock.h).
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* process_vm_readv */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "callers.h"
#include "code_ranges.h"
#include "execution.h"
#include "instruction_blocks.h"
#include "instruction_clock.h"
#include "qemu_api.h"

/* ------------------------------------------------------------------------------------------------------ version */

QEMU_EXPORT int qemu_plugin_version = 1;

/* QEMU reads the version before it calls us. */
static __attribute__((constructor)) void choose_version(void)
{
    if (qemu_plugin_scoreboard_new != NULL)
        qemu_plugin_version = 2;
}

/* -------------------------------------------------------------------------------------------------------- cells */

#define CELLS 4096u /* of threads at a time; those above share the last one */

/* A cache line each. */
struct cell {
    uint64_t instructions;
    uint64_t apart[7];
};

static struct cell *cells;
static bool is_threaded;

static struct cell *cell_of(unsigned cpu) { return &cells[cpu < CELLS ? cpu : CELLS - 1]; }

static const uint64_t *count_of(unsigned cpu) { return &cell_of(cpu)->instructions; }

/* ----------------------------------------------------------------------------------------- code of the library */

#define RANGES 64u /* copies of the library in one process */

static struct range {
    uint64_t begin, end;
} own[RANGES];
static unsigned own_count;

static void add_own(uint64_t begin, uint64_t end)
{
    for (unsigned at = 0; at < own_count; at++)
        if (own[at].begin == begin && own[at].end == end)
            return;
    if (begin < end && own_count < RANGES) {
        own[own_count] = (struct range){begin, end};
        __atomic_store_n(&own_count, own_count + 1, __ATOMIC_RELEASE);
    }
}

static bool is_own(uint64_t address)
{
    for (unsigned at = 0; at < __atomic_load_n(&own_count, __ATOMIC_ACQUIRE); at++)
        if (address >= own[at].begin && address < own[at].end)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------------- blocks */

/*
 * How often each block was executed, in a file that survives the program (instruction_blocks.h). The file grows in
 * steps that are allocated before they are touched. Where there is no space, blocks count for the clock only.
 */
#define FILE_BYTES sizeof(struct hp_instruction_blocks)
#define STEP 8192u /* blocks */
#define PLACES (2 * (size_t)HP_MOST_BLOCKS)

static struct hp_instruction_blocks *blocks; /* NULL: only the clock is wanted */
static uint32_t *places;                     /* a hash index: number of a block, plus 1 */
static uint64_t backed;                      /* blocks that there is space for, in the lanes that are open, too */
static uint64_t backed_paths;                /* the same of paths */
static uint32_t tried;                       /* lanes */
static pthread_mutex_t space = PTHREAD_MUTEX_INITIALIZER; /* for these, and for `lanes` of the file */
static char folder[PATH_MAX];
static pid_t owner;
static unsigned executed; /* before by this process */

static const char *path_of(char path[PATH_MAX + 64], const char *suffix)
{
    snprintf(path, PATH_MAX + 64, "%s/%ld-%u%s", folder, (long)owner, executed, suffix);
    return path;
}

/* A process that executes another program keeps its number. */
static int create_file(void)
{
    char path[PATH_MAX + 64];
    int fd;
    for (executed = 0;; executed++) {
        fd = open(path_of(path, HP_BLOCKS_SUFFIX), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
}

/* From the block `from` up to `to`. No descriptor stays open: all of them are the program's. */
static bool allocate(const void *from, const void *to)
{
    char path[PATH_MAX + 64];
    const off_t begin = (const char *)from - (const char *)blocks, end = (const char *)to - (const char *)blocks;
    const int file = open(path_of(path, HP_BLOCKS_SUFFIX), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool is_done = file >= 0 && posix_fallocate(file, begin, end - begin) == 0;
    if (file >= 0)
        close(file);
    return is_done;
}

static bool allocate_lane(unsigned lane, uint64_t from, uint64_t to)
{
    return allocate(&blocks->by_lane[lane][from], &blocks->by_lane[lane][to]);
}

static bool make_step(void)
{
    const uint64_t next = backed + STEP;
    if (next > HP_MOST_BLOCKS || !allocate(backed > 0 ? (void *)&blocks->all[backed] : blocks, &blocks->all[next]))
        return false;
    for (unsigned lane = 0; lane < HP_BLOCK_LANES; lane++)
        if (blocks->lanes >> lane & 1 && !allocate_lane(lane, backed, next))
            return false;
    backed = next;
    return true;
}

static bool make_room_for_paths(uint64_t count)
{
    pthread_mutex_lock(&space);
    for (uint64_t next; backed_paths < count; backed_paths = next) {
        next = backed_paths + STEP < HP_MOST_PATHS ? backed_paths + STEP : HP_MOST_PATHS + 1;
        if (!allocate(&blocks->path[backed_paths], &blocks->path[next]))
            break;
    }
    const bool has_room = backed_paths >= count;
    pthread_mutex_unlock(&space);
    return has_room;
}

static bool make_room(uint64_t count)
{
    bool has_room = true;
    pthread_mutex_lock(&space);
    while (has_room && backed < count)
        has_room = make_step();
    pthread_mutex_unlock(&space);
    return has_room;
}

/* Each thread tries once. Without space, or with more threads, they share the counts of the blocks themselves. */
static bool open_lane(unsigned lane)
{
    pthread_mutex_lock(&space);
    if ((tried >> lane & 1) == 0) {
        __atomic_store_n(&tried, tried | UINT32_C(1) << lane, __ATOMIC_RELAXED);
        if (allocate_lane(lane, 0, backed))
            __atomic_store_n(&blocks->lanes, blocks->lanes | UINT32_C(1) << lane, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&space);
    return blocks->lanes >> lane & 1;
}

/* Where this thread counts without waiting for others. NULL: nowhere. */
static uint64_t *lane_of(unsigned cpu)
{
    if (cpu >= HP_BLOCK_LANES)
        return NULL;
    const bool is_open = __atomic_load_n(&blocks->lanes, __ATOMIC_RELAXED) >> cpu & 1;
    if (!is_open && (__atomic_load_n(&tried, __ATOMIC_RELAXED) >> cpu & 1 || !open_lane(cpu)))
        return NULL;
    return blocks->by_lane[cpu];
}

/* Beyond a limit of the program, the kernel would end it. */
static bool may_be_so_large(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= FILE_BYTES;
}

/* At the same address as before: blocks that were translated before a fork add to it. */
static bool map_file(void *at)
{
    owner = getpid();
    backed = backed_paths = tried = 0;
    const int file = may_be_so_large() ? create_file() : -1;
    if (file < 0)
        return false;
    void *map = ftruncate(file, (off_t)FILE_BYTES) == 0 ? mmap(at, FILE_BYTES, PROT_READ | PROT_WRITE,
                                                               MAP_SHARED | (at != NULL ? MAP_FIXED : 0), file, 0)
                                                        : MAP_FAILED;
    close(file);
    if (map == MAP_FAILED)
        return false;
    blocks = map;
    return make_room(1);
}

static struct hp_instruction_block *new_block(void)
{
    const uint64_t number = blocks->count;
    if (!make_room(number + 1)) {
        blocks->lost++;
        return NULL;
    }
    blocks->count++;
    return &blocks->all[number];
}

/* Code may be translated again, and then continues where it was. NULL: no space. QEMU translates one at a time. */
static struct hp_instruction_block *find_block(uint64_t address, uint32_t instructions, uint32_t bytes)
{
    uint64_t place = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 42;
    for (; places[place % PLACES] != 0; place++) {
        struct hp_instruction_block *block = &blocks->all[places[place % PLACES] - 1];
        if (block->address == address && block->instructions == instructions && block->bytes == bytes)
            return block;
    }
    struct hp_instruction_block *block = new_block();
    if (block == NULL)
        return NULL;
    block->address = address, block->instructions = instructions, block->bytes = bytes;
    block->function = hp_callers_function_of(address);
    places[place % PLACES] = (uint32_t)blocks->count;
    return block;
}

/* ----------------------------------------------------------------------------------------------------- mappings */

static struct range known[1024]; /* as in the file of mappings */
static unsigned known_count;

static bool is_known(uint64_t address)
{
    for (unsigned at = known_count; at-- > 0;)
        if (address >= known[at].begin && address < known[at].end)
            return true;
    return false;
}

/* Adds the mappings as they are now: the latest that has an address counts. */
static void note_mappings(void)
{
    char path[PATH_MAX + 64], line[PATH_MAX + 128];
    FILE *from = fopen("/proc/self/maps", "re"), *to = fopen(path_of(path, HP_BLOCK_MAPS_SUFFIX), "ae");
    known_count = 0;
    while (from != NULL && to != NULL && fgets(line, sizeof line, from) != NULL) {
        unsigned long begin, end, offset, inode;
        if (strchr(line, '/') == NULL ||
            sscanf(line, "%lx-%lx %*s %lx %*s %lu", &begin, &end, &offset, &inode) != 4)
            continue;
        fputs(line, to);
        if (offset == 0)
            hp_code_ranges_add_file(begin, inode);
        if (known_count < sizeof known / sizeof known[0])
            known[known_count++] = (struct range){begin, end};
    }
    if (from != NULL)
        fclose(from);
    if (to != NULL)
        fclose(to);
}

#define MOST_READINGS 4096u

/* Of code in no file there may be much, here and there: not again for each block. */
static void meet(uint64_t address)
{
    static uint64_t strange[256]; /* megabytes */
    static unsigned readings;
    uint64_t *megabyte = &strange[(address >> 20) % 256];
    if (is_known(address) || *megabyte == address >> 20 || readings == MOST_READINGS)
        return;
    readings++;
    note_mappings();
    *megabyte = is_known(address) ? 0 : address >> 20;
}

/* Nothing of the parent may change. */
static void count_nowhere(void)
{
    (void)mmap(blocks, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
               -1, 0);
    tried = UINT32_MAX;
}

/* NULL: no memory. */
static void *copy_of(const void *from, uint64_t bytes)
{
    void *copy = malloc(bytes);
    if (copy != NULL)
        memcpy(copy, from, bytes);
    return copy;
}

static bool take_along(const struct hp_instruction_blocks *head, uint64_t head_bytes,
                       const struct hp_call_path *paths)
{
    const uint64_t count = head->count, path_count = head->paths + UINT64_C(1);
    if (!map_file(blocks) || !make_room(count) || !make_room_for_paths(path_count))
        return false;
    memcpy(blocks, head, head_bytes);
    memcpy(blocks->path, paths, path_count * sizeof *paths);
    blocks->lanes = blocks->refused = 0;
    for (uint64_t at = 0; at < count; at++)
        blocks->all[at].executed = 0;
    for (uint64_t at = 0; at < path_count; at++)
        blocks->path[at].instructions = 0;
    return true;
}

/* A child has the blocks and the calls of its parent, and executed none of them. */
static void leave_parent(void)
{
    const uint64_t bytes = offsetof(struct hp_instruction_blocks, all[blocks->count]);
    struct hp_instruction_blocks *head = copy_of(blocks, bytes);
    struct hp_call_path *paths = copy_of(blocks->path, (blocks->paths + UINT64_C(1)) * sizeof *paths);
    pthread_mutex_init(&space, NULL); /* another thread of the parent may have had it */
    hp_callers_leave_parent();
    if (head != NULL && paths != NULL && take_along(head, bytes, paths))
        note_mappings();
    else
        count_nowhere();
    free(head);
    free(paths);
}

/* -------------------------------------------------------------------------------------------------- translation */

static void count(unsigned cpu, void *data) { cell_of(cpu)->instructions += (uintptr_t)data; }

static void count_block(unsigned cpu, void *data)
{
    struct hp_instruction_block *block = data;
    uint64_t *lane = lane_of(cpu);
    cell_of(cpu)->instructions += block->instructions;
    if (lane != NULL)
        lane[block - blocks->all]++;
    else
        __atomic_fetch_add(&block->executed, 1, __ATOMIC_RELAXED);
}

static uint64_t end_of(const struct qemu_plugin_tb *block, size_t instructions)
{
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(block, instructions - 1);
    return qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    const size_t instructions = qemu_plugin_tb_n_insns(block);
    const uint64_t address = qemu_plugin_tb_vaddr(block);
    if (instructions == 0)
        return;
    if (is_own(address)) {
        hp_callers_watch_own(block);
        return;
    }
    struct hp_instruction_block *found = NULL;
    if (blocks != NULL) {
        meet(address);
        found = find_block(address, (uint32_t)instructions, (uint32_t)(end_of(block, instructions) - address));
    }
    if (found != NULL)
        hp_callers_watch_block(block, (uint64_t)(found - blocks->all));
    if (is_threaded && found != NULL)
        qemu_plugin_register_vcpu_tb_exec_cb(block, count_block, QEMU_PLUGIN_CB_NO_REGS, found);
    else if (is_threaded)
        qemu_plugin_register_vcpu_tb_exec_cb(block, count, QEMU_PLUGIN_CB_NO_REGS, (void *)instructions);
    else {
        qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &cells[0].instructions,
                                                 instructions);
        if (found != NULL)
            qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &found->executed, 1);
    }
}

/* ----------------------------------------------------------------------------------------------------- requests */

static void watch(qemu_plugin_id_t id);

/* Translates everything again, before the calling thread goes on. */
static void tell_threads_apart(qemu_plugin_id_t id)
{
    if (!is_threaded) {
        is_threaded = true;
        qemu_plugin_reset(id, watch);
    }
}

/* What the library asks: at an address that comes from the program. False: it cannot be answered. */
static bool answer(qemu_plugin_id_t id, unsigned cpu, uint64_t address)
{
    struct hp_instruction_request request;
    if (!hp_guest_copy(&request, address, sizeof request, false))
        return false;
    if (request.magic != HP_INSTRUCTION_MAGIC)
        return true;
    add_own(request.own_begin, request.own_end);
    if (request.flags & HP_INSTRUCTION_THREADED)
        tell_threads_apart(id);
    if (request.flags & HP_INSTRUCTION_MEASURED && hp_callers_end())
        qemu_plugin_reset(id, watch);
    request.cell = (uintptr_t)&cell_of(cpu)->instructions;
    return hp_guest_copy(&request, address, sizeof request, true);
}

/* For the report. */
static void note_native(const char *path, const char *why)
{
    char name[PATH_MAX + 64];
    FILE *to = blocks != NULL ? fopen(path_of(name, HP_BLOCK_NATIVE_SUFFIX), "ae") : NULL;
    if (to == NULL)
        return;
    fprintf(to, "%s\t%.*s\n", why, (int)strcspn(path, "\n"), path);
    fclose(to);
}

#define THREAD (CLONE_VM | CLONE_THREAD)

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                   uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    (void)f, (void)g, (void)h;
    hp_callers_note_call(cpu, number);
    if (number == SYS_execve)
        hp_execution_take(&(struct hp_execution){AT_FDCWD, a, b, c, 0}, note_native);
    if (number == SYS_execveat)
        hp_execution_take(&(struct hp_execution){(int)a, b, c, d, e}, note_native);
    if (number == SYS_clone && (a & THREAD) == THREAD) /* not made by a function that the library replaces */
        tell_threads_apart(id);
    if (number == HP_INSTRUCTION_CALL && !answer(id, cpu, a) && blocks != NULL)
        __atomic_fetch_add(&blocks->refused, 1, __ATOMIC_RELAXED);
}

/* Forks return twice. */
static void returned(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result)
{
    (void)id, (void)cpu, (void)number;
    if (result == 0 && blocks != NULL && getpid() != owner)
        leave_parent();
}

static void begin_thread(qemu_plugin_id_t id, unsigned cpu)
{
    (void)id;
    hp_callers_begin_thread(cpu);
}

static void watch(qemu_plugin_id_t id)
{
    qemu_plugin_register_vcpu_init_cb(id, begin_thread);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    if (blocks != NULL)
        qemu_plugin_register_vcpu_syscall_ret_cb(id, returned);
}

QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    static const char option[] = "folder=";
    bool has_callers = true;
    if (info->system_emulation)
        return -1;
    for (int at = 0; at < argc; at++)
        if (strncmp(argv[at], option, strlen(option)) == 0)
            snprintf(folder, sizeof folder, "%s", argv[at] + strlen(option));
        else if (strcmp(argv[at], HP_PLUGIN_WITHOUT_CALLERS) == 0)
            has_callers = false;
    hp_execution_begin();
    cells = mmap(NULL, CELLS * sizeof *cells, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (cells == MAP_FAILED)
        return -1;
    places = mmap(NULL, PLACES * sizeof *places, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (folder[0] == '\0' || places == MAP_FAILED || !map_file(NULL))
        blocks = NULL;
    else
        blocks->magic = HP_BLOCKS_MAGIC;
    is_threaded = qemu_plugin_register_vcpu_tb_exec_inline == NULL;
    if (blocks != NULL && has_callers)
        hp_callers_begin(&(struct hp_callers_host){blocks, make_room_for_paths, count_of, &is_threaded},
                         info->target_name);
    watch(id);
    return 0;
}
