/*
 * The plugin of QEMU with version 2 of the plugin API, which QEMU 9 and newer have: distributions build these
 * without plugins. The functions of QEMU that it calls are here, as the header of QEMU 10.0 declares them; the
 * counters that blocks add to in line, of version 1, are not. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "instruction_blocks.h"
#include "instruction_clock.h"
#include "scratch_folder.h"

/* --------------------------------------------------------------------------------------------- QEMU's functions */

struct qemu_plugin_tb {
    uint64_t address;
    size_t count;
};
struct qemu_plugin_insn {
    uint64_t address;
};
typedef struct {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    union {
        struct {
            int smp_vcpus, max_vcpus;
        } system;
    };
} qemu_info_t;

typedef void translate(uint64_t id, struct qemu_plugin_tb *block);
typedef void execute(unsigned cpu, void *data);
typedef void call(uint64_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                  uint64_t e, uint64_t f, uint64_t g, uint64_t h);
typedef void returned(uint64_t id, unsigned cpu, int64_t number, int64_t result);

static translate *on_block;
static call *on_call;
static execute *on_execution;
static void *execution_data;
static unsigned resets;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translate *to);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t id, call *to);
void qemu_plugin_register_vcpu_syscall_ret_cb(uint64_t id, returned *to);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, execute *to, int flags, void *data);
void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*to)(uint64_t id, unsigned cpu));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, execute *to, int flags,
                                            void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                      void (*to)(unsigned cpu, uint32_t info, uint64_t address, void *data),
                                      int flags, int which, void *data);
void qemu_plugin_reset(uint64_t id, void (*to)(uint64_t id));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t at);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
void *qemu_plugin_scoreboard_new(size_t size);
int qemu_plugin_install(uint64_t id, const qemu_info_t *info, int count, char **words);
extern int qemu_plugin_version;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translate *to) { on_block = to, (void)id; }
void qemu_plugin_register_vcpu_syscall_cb(uint64_t id, call *to) { on_call = to, (void)id; }
void qemu_plugin_register_vcpu_syscall_ret_cb(uint64_t id, returned *to) { (void)id, (void)to; }
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, execute *to, int flags, void *data)
{
    (void)block, (void)flags;
    on_execution = to;
    execution_data = data;
}
void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*to)(uint64_t id, unsigned cpu)) { (void)id, (void)to; }
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, execute *to, int flags,
                                            void *data)
{
    (void)instruction, (void)to, (void)flags, (void)data;
}
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                      void (*to)(unsigned cpu, uint32_t info, uint64_t address, void *data),
                                      int flags, int which, void *data)
{
    (void)instruction, (void)to, (void)flags, (void)which, (void)data;
}
void qemu_plugin_reset(uint64_t id, void (*to)(uint64_t id)) { (void)id, (void)to, resets++; }
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block) { return block->count; }
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block) { return block->address; }
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t at)
{
    static struct qemu_plugin_insn instruction;
    instruction.address = block->address + 4 * at;
    return &instruction;
}
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction) { return instruction->address; }
/* It is of another machine, whose calls are not followed. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *instruction)
{
    (void)instruction;
    return NULL;
}
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction)
{
    (void)instruction;
    return 4;
}
void *qemu_plugin_scoreboard_new(size_t size)
{
    (void)size;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- a program */

#define OURS UINT64_C(7)

/* Whether the block is counted. */
static bool run_block(uint64_t address, size_t instructions, unsigned cpu, unsigned times)
{
    struct qemu_plugin_tb block = {address, instructions};
    on_execution = NULL;
    on_block(OURS, &block);
    for (unsigned time = 0; on_execution != NULL && time < times; time++)
        on_execution(cpu, execution_data);
    return on_execution != NULL;
}

static uint64_t ask(unsigned cpu, struct hp_instruction_request request)
{
    request.magic = HP_INSTRUCTION_MAGIC;
    on_call(OURS, cpu, HP_INSTRUCTION_CALL, (uintptr_t)&request, 0, 0, 0, 0, 0, 0, 0);
    assert_int_not_equal(request.cell, 0);
    return *(const uint64_t *)(uintptr_t)request.cell;
}

static const qemu_info_t user_mode = {.target_name = "x86_64", .version = {2, 4}};

static void it_asks_for_the_version_that_there_is(void **state)
{
    (void)state;
    assert_int_equal(qemu_plugin_version, 2);
    const qemu_info_t system = {.version = {2, 4}, .system_emulation = true};
    assert_int_not_equal(qemu_plugin_install(OURS, &system, 0, NULL), 0);
    assert_null(on_block);
}

static void each_cpu_has_its_own_count(void **state)
{
    (void)state;
    char word[160];
    snprintf(word, sizeof word, "folder=%s", scratch_folder);
    assert_int_equal(qemu_plugin_install(OURS, &user_mode, 1, (char *[]){word, NULL}), 0);
    assert_true(run_block(0x1000, 5, 0, 3));
    assert_true(run_block(0x1100, 7, 1, 2));
    assert_true(run_block(0x1000, 5, 1, 1));
    assert_int_equal(ask(0, (struct hp_instruction_request){0}), 15);
    assert_int_equal(ask(1, (struct hp_instruction_request){0}), 19);
    assert_int_equal(ask(2, (struct hp_instruction_request){.flags = HP_INSTRUCTION_THREADED}), 0);
    assert_int_equal(resets, 0); /* they are apart from the beginning */
    assert_int_equal(ask(0, (struct hp_instruction_request){.own_begin = 0x2000, .own_end = 0x3000}), 15);
    assert_false(run_block(0x2ff0, 3, 0, 1));
    assert_true(run_block(0x3000, 3, 0, 1));
    assert_int_equal(ask(0, (struct hp_instruction_request){0}), 18);
}

/* Of the block at an address, in all lanes. */
static uint64_t executed_in_file(uint64_t address)
{
    char path[sizeof scratch_folder + 300];
    uint64_t executed = 0;
    DIR *all = opendir(scratch_folder);
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        if (strstr(entry->d_name, HP_BLOCKS_SUFFIX) == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", scratch_folder, entry->d_name);
        const int fd = open(path, O_RDONLY);
        const struct hp_instruction_blocks *blocks =
            mmap(NULL, sizeof *blocks, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
        assert_true(blocks != MAP_FAILED && blocks->magic == HP_BLOCKS_MAGIC);
        for (uint64_t at = 0; at < blocks->count; at++) {
            if (blocks->all[at].address != address)
                continue;
            executed += blocks->all[at].executed;
            for (unsigned lane = 0; lane < HP_BLOCK_LANES; lane++)
                executed += blocks->lanes >> lane & 1 ? blocks->by_lane[lane][at] : 0;
        }
        munmap((void *)(uintptr_t)blocks, sizeof *blocks);
        close(fd);
    }
    closedir(all);
    return executed;
}

static void blocks_are_in_the_file(void **state)
{
    (void)state;
    assert_int_equal(executed_in_file(0x1000), 4);
    assert_int_equal(executed_in_file(0x1100), 2);
    assert_int_equal(executed_in_file(0x3000), 1);
    assert_int_equal(executed_in_file(0x2ff0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_asks_for_the_version_that_there_is),
        cmocka_unit_test(each_cpu_has_its_own_count),
        cmocka_unit_test(blocks_are_in_the_file),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
