/*
 * What we use of QEMU's plugin API. Distributions that have qemu-user may have no package with its header.
 *
 * Version 1 (QEMU 4.2 to 8.2) has a counter that blocks add to in line. Version 2 (QEMU 9.0 and newer) has one per
 * CPU instead. Both are weak: one of them is there.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_QEMU_API_H
#define HP_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_EXPORT __attribute__((visibility("default")))
#define QEMU_MAYBE __attribute__((weak))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

typedef struct {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    int cpus, most_cpus;
} qemu_info_t;

typedef struct {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} qemu_plugin_u64;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef void qemu_plugin_simple_cb(qemu_plugin_id_t id);
typedef void qemu_plugin_tb_cb(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void qemu_plugin_exec_cb(unsigned cpu, void *data);
typedef void qemu_plugin_mem_cb(unsigned cpu, uint32_t info, uint64_t address, void *data);
typedef void qemu_plugin_cpu_cb(qemu_plugin_id_t id, unsigned cpu);
typedef void qemu_plugin_syscall_cb(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t b,
                                    uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h);
typedef void qemu_plugin_syscall_ret_cb(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_cb *call);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_syscall_cb *call);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, qemu_plugin_syscall_ret_cb *call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, qemu_plugin_exec_cb *call,
                                          enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, qemu_plugin_exec_cb *call,
                                            enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, qemu_plugin_mem_cb *call,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw which, void *data);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_cpu_cb *call);
void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb *call);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t at);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
const uint8_t *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);

/* Version 1. */
QEMU_MAYBE void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, enum qemu_plugin_op op,
                                                         void *to, uint64_t number);
/* Version 2. */
QEMU_MAYBE struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);

#endif
