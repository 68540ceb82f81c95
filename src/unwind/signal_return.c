/*
 * Finds sigreturn code. Searching all code of an image for it takes longer than making its table, and is hardly
 * ever needed. So only the bytes around an address are read, and only on demand. SPDX-License-Identifier: MIT
 */
#include "signal_return.h"

#define AROUND 12u /* bytes on either side of an address: the whole code sequence, and a multiple of four */
_Static_assert(AROUND >= HP_SIGNAL_RETURN_MOST && AROUND % 4 == 0, "instructions of aarch64 are where they are");

/* The address may be one before the part: sigreturn code that it belongs to may begin with the first byte. */
static bool is_near(const struct hp_elf_part *part, uint64_t linked)
{
    return part->is_code && linked + 1 - part->linked <= part->size;
}

static bool is_at(const struct hp_machine *machine, const struct hp_image_file *file,
                  const struct hp_elf_part *part, uint64_t linked, uint64_t *ret_end)
{
    uint8_t code[AROUND + 4 + AROUND];
    const uint64_t into = (linked + 1 - part->linked) / 4 * 4, from = into > AROUND ? into - AROUND : 0;
    const size_t size = part->size - from < sizeof code ? (size_t)(part->size - from) : sizeof code;
    size_t length;
    if (!hp_elf_read_at(file->fd, part->offset + from, code, size))
        return false;
    for (size_t at = 0; (at += hp_machine_signal_return(machine, code + at, size - at, &length)) < size;
         at += length) {
        const uint64_t start = part->linked + from + at - 1;
        *ret_end = start + 1 + length;
        if (start != 0 && linked - start <= length)
            return true;
    }
    return false;
}

bool hp_signal_return_is_at(const struct hp_machine *machine, const struct hp_image_file *file, uint64_t linked,
                            uint64_t *ret_end)
{
    for (size_t index = 0; index < file->elf.part_count; index++) {
        const struct hp_elf_part *part = &file->elf.parts[index];
        if (is_near(part, linked) && is_at(machine, file, part, linked, ret_end))
            return true;
    }
    return false;
}
