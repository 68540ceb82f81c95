/* Reads the functions of the kernel. SPDX-License-Identifier: MIT */
#include "kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "process.h"
#include "text.h"

#define LONGEST_FUNCTION (UINT64_C(1) << 20) /* what is farther behind the last function is in none */
#define MOST_LINE 1024

/* The plainest name of an address ranks last: not "__pfx_vfs_write". */
static uint32_t rank_of(const char *name) { return 255 - (uint32_t)(strspn(name, "_.") & 0xff); }

static bool add(struct hp_kernel_names *names, uint64_t start, const char *name, size_t length)
{
    if (!HP_MAKE_ROOM(names->all, names->count + 1, names->room) ||
        !HP_MAKE_ROOM(names->texts, names->text_bytes + length + 1, names->text_room))
        return false;
    memcpy(names->texts + names->text_bytes, name, length);
    names->texts[names->text_bytes + length] = '\0';
    names->all[names->count++] = (struct hp_kernel_function){start, (uint32_t)names->text_bytes, rank_of(name)};
    names->text_bytes += length + 1;
    return names->text_bytes < UINT32_MAX;
}

/* "ffffffff81234560 T vfs_write", with a tab and a module behind it. Data are left out. */
static bool add_line(struct hp_kernel_names *names, const char *line)
{
    const char *at = line;
    const uint64_t start = hp_task_hex(&at);
    if (start == 0 || at[0] != ' ' || strchr("tTwW", at[1]) == NULL || at[1] == '\0' || at[2] != ' ')
        return true;
    return add(names, start, at + 3, strcspn(at + 3, "\t\n"));
}

static int compare(const void *a, const void *b)
{
    const struct hp_kernel_function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

bool hp_kernel_names_read(struct hp_kernel_names *names, const char *path)
{
    char line[MOST_LINE];
    FILE *file = fopen(path, "re");
    bool is_done = file != NULL;
    *names = (struct hp_kernel_names){.count = 0};
    while (is_done && fgets(line, sizeof line, file) != NULL)
        is_done = add_line(names, line);
    if (file != NULL)
        fclose(file);
    if (is_done && names->count > 0) {
        qsort(names->all, names->count, sizeof *names->all, compare);
        return true;
    }
    hp_kernel_names_free(names);
    return false;
}

void hp_kernel_names_free(struct hp_kernel_names *names)
{
    free(names->all);
    free(names->texts);
    *names = (struct hp_kernel_names){.count = 0};
}

size_t hp_kernel_names_find(const struct hp_kernel_names *names, uint64_t address)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (names->all[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - names->all[low - 1].start >= LONGEST_FUNCTION)
        return HP_NO_KERNEL_FUNCTION;
    return low - 1;
}

const char *hp_kernel_name(const struct hp_kernel_names *names, size_t number)
{
    return number < names->count ? names->texts + names->all[number].name : "";
}

/* ------------------------------------------------------------------------------------------------ entries */

/* Of x86-64 and of 64-bit Arm, with names that older kernels have. */
enum hp_kernel_entry hp_kernel_entry_of(const char *name)
{
    static const struct {
        const char *beginning;
        enum hp_kernel_entry entry;
    } entries[] = {
        {"entry_SYSCALL", HP_ENTRY_CALL},
        {"do_syscall_64", HP_ENTRY_CALL},
        {"el0_svc", HP_ENTRY_CALL},
        {"asm_exc_page_fault", HP_ENTRY_FAULT},
        {"exc_page_fault", HP_ENTRY_FAULT},
        {"page_fault", HP_ENTRY_FAULT},
        {"el0_da", HP_ENTRY_FAULT},
        {"el0_ia", HP_ENTRY_FAULT},
        {"asm_sysvec_", HP_ENTRY_INTERRUPT},
        {"sysvec_", HP_ENTRY_INTERRUPT},
        {"asm_common_int", HP_ENTRY_INTERRUPT},
        {"common_interrupt", HP_ENTRY_INTERRUPT},
        {"el0_interrupt", HP_ENTRY_INTERRUPT},
        {"el0t_64_irq", HP_ENTRY_INTERRUPT},
        {"el0_irq", HP_ENTRY_INTERRUPT},
        {"irq_entries_start", HP_ENTRY_INTERRUPT},
    };
    for (size_t at = 0; at < sizeof entries / sizeof entries[0]; at++)
        if (hp_text_begins(name, entries[at].beginning))
            return entries[at].entry;
    return HP_ENTRY_UNKNOWN;
}
