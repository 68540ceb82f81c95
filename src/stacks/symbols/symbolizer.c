/* Names addresses. SPDX-License-Identifier: MIT */
#include "symbolizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug_file.h"
#include "demangle.h"
#include "elf_file.h"
#include "function_starts.h"
#include "growing_array.h"
#include "image_file.h"
#include "symbol_tables.h"
#include "text.h"

/* ----------------------------------------------------------------------------------------------- function names */

/*
 * The functions of a file by address, from its symbol table: all of them, or the exported ones of a stripped file.
 *
 * The functions of a file by address. Functions written in assembly often have no size: they extend to the next
 * one, but not beyond their section.
 */
struct hp_function_names {
    struct hp_elf_symbols symbols;
    struct hp_range_index index; /* of indexes in symbols.sorted */
};

/* Caches the last section, since neighbours are in the same. */
struct reading {
    const struct hp_image_file *file;
    const struct hp_elf_symbols *symbols;
    size_t section;
    uint64_t section_end;
};

static uint64_t end_of_section(struct reading *reading, const ElfW(Sym) * symbol)
{
    ElfW(Shdr) section;
    if (reading->section != symbol->st_shndx) {
        reading->section = symbol->st_shndx;
        reading->section_end = 0;
        if (hp_image_file_section_at(reading->file, symbol->st_shndx, &section))
            reading->section_end = section.sh_addr + section.sh_size;
    }
    return reading->section_end;
}

static uint64_t end_without_size(struct reading *reading, size_t at)
{
    const struct hp_elf_symbols *symbols = reading->symbols;
    const uint64_t start = hp_elf_start(symbols->sorted[at]), end = end_of_section(reading, symbols->sorted[at]);
    while (at + 1 < symbols->count && hp_elf_start(symbols->sorted[at + 1]) == start)
        at++;
    return at + 1 < symbols->count && hp_elf_start(symbols->sorted[at + 1]) < end
               ? hp_elf_start(symbols->sorted[at + 1])
               : end;
}

/* Of aliases, one with a size is preferred, then the last, which the reader has sorted there. */
static bool is_alias_of_next(const struct hp_elf_symbols *symbols, size_t at)
{
    return at + 1 < symbols->count && hp_elf_start(symbols->sorted[at + 1]) == hp_elf_start(symbols->sorted[at]) &&
           (symbols->sorted[at + 1]->st_size > 0 || symbols->sorted[at]->st_size == 0);
}

static bool add_function(struct reading *reading, struct hp_ranges *ranges, size_t at)
{
    const struct hp_elf_symbols *symbols = reading->symbols;
    const ElfW(Sym) *symbol = symbols->sorted[at];
    const uint64_t start = hp_elf_start(symbol), size = symbol->st_size;
    struct hp_range range = {.start = start, .value = (uint32_t)at, .rank = size > 0};
    if (is_alias_of_next(symbols, at) || hp_elf_name(&symbols->table, symbol)[0] == '\0')
        return true;
    range.end = size == 0 ? end_without_size(reading, at) : start + size;
    return hp_ranges_add(ranges, &range);
}

/* Into a zeroed struct. False: no memory, or no symbols. */
static bool function_names_make(struct hp_function_names *names, const struct hp_image_file *file)
{
    struct hp_ranges ranges = {.count = 0};
    const struct hp_elf_symbols *symbols = &names->symbols;
    struct reading reading = {.file = file, .symbols = symbols, .section = SHN_UNDEF};
    hp_elf_symbols_read(&names->symbols, &file->elf.header, file->fd);
    bool is_good = symbols->count < HP_RANGE_NONE;
    for (size_t at = 0; is_good && at < symbols->count; at++)
        is_good = add_function(&reading, &ranges, at);
    is_good = is_good && hp_range_index_make(&names->index, &ranges);
    free(ranges.all);
    return is_good;
}

static void function_names_free(struct hp_function_names *names)
{
    hp_range_index_free(&names->index);
    hp_elf_symbols_free(&names->symbols);
}

/* The name of the function at a link-time address; "": none. */
static const char *function_names_find(const struct hp_function_names *names, uint64_t linked)
{
    const uint32_t number = hp_range_index_find(&names->index, linked);
    return number < names->symbols.count ? hp_elf_name(&names->symbols.table, names->symbols.sorted[number]) : "";
}

/* --------------------------------------------------------------------------------------------------- symbolizer */

#define LONGEST_NAME 4096u

/*
 * Debug information takes time to read: that of the C library, which is compressed, takes longer than many programs
 * run. All of it may take a small part of the time that was seen, and an image or a unit the same part of its own
 * time; otherwise symbol names are enough.
 */
#define LINES_PART 33u         /* one part in this many */
#define OPENED_BYTES_A_NS 8u   /* to find the units, per byte of all; measured */
#define COMPRESSED_BYTE_NS 20u /* the same if it is compressed, with a margin */
#define LINE_BYTE_NS 70u       /* to read a unit with inlined functions, per byte of its line table; measured */
#define COMPRESSION 3u         /* how much larger a section was, roughly */

struct hp_image_symbols {
    struct hp_image_file debug; /* the separate debug file, if there is one */
    struct hp_function_names names;
    struct hp_function_starts starts; /* of functions without a name */
    struct hp_source_lines *lines;
};

/* ---------------------------------------------------------------------------------------------- images */

static bool has_section(const struct hp_image_file *file, const char *name)
{
    ElfW(Shdr) section;
    return file->fd >= 0 && hp_image_file_section(file, name, &section);
}

/* Approximate time to find the units of its debug information. */
static uint64_t price_of_opening(const struct hp_image_file *file)
{
    static const char *const names[] = {".debug_info",     ".debug_abbrev",   ".debug_line",    ".debug_str",
                                        ".debug_loclists", ".debug_rnglists", ".debug_aranges", ".debug_loc"};
    uint64_t price_ns = 0;
    ElfW(Shdr) section;
    for (size_t at = 0; at < sizeof names / sizeof *names; at++)
        if (hp_image_file_section(file, names[at], &section))
            price_ns += (section.sh_flags & SHF_COMPRESSED) != 0 ? section.sh_size * COMPRESSED_BYTE_NS
                                                                 : section.sh_size / OPENED_BYTES_A_NS;
    return price_ns;
}

static uint64_t bytes_of_lines(const struct hp_image_file *file)
{
    ElfW(Shdr) section;
    if (!hp_image_file_section(file, ".debug_line", &section))
        return 0;
    return section.sh_size * ((section.sh_flags & SHF_COMPRESSED) != 0 ? COMPRESSION : 1);
}

/* Spends the time if it is there. */
static bool is_worth(struct hp_symbolizer *symbolizer, uint64_t price_ns, uint64_t seen_ns)
{
    if (price_ns > seen_ns / LINES_PART || price_ns > symbolizer->lines_ns)
        return false;
    symbolizer->lines_ns -= price_ns;
    return true;
}

static bool is_worth_lines(struct hp_symbolizer *symbolizer, const struct hp_image *image,
                           const struct hp_image_file *file)
{
    if (symbolizer->has_no_lines || file->fd < 0)
        return false;
    if (symbolizer->seen_ns == NULL)
        return true;
    return image->number < symbolizer->seen_count &&
           is_worth(symbolizer, price_of_opening(file), symbolizer->seen_ns[image->number]);
}

/* What was not stripped is in the file itself. */
static void read_symbols(struct hp_symbolizer *symbolizer, const struct hp_image *image,
                         struct hp_image_symbols *symbols)
{
    const struct hp_image_file *file = &image->file;
    const bool has_symbols = has_section(file, ".symtab"), has_lines = has_section(file, ".debug_info");
    if (!has_symbols || !has_lines)
        hp_debug_file_open(file, image->path, symbolizer->sysroot, &symbols->debug);
    const bool is_elsewhere = !has_symbols && has_section(&symbols->debug, ".symtab");
    function_names_make(&symbols->names, is_elsewhere ? &symbols->debug : file);
    hp_function_starts_read(&symbols->starts, file);
    const struct hp_image_file *with_lines = has_lines ? file : &symbols->debug;
    if (is_worth_lines(symbolizer, image, with_lines))
        symbols->lines = hp_source_lines_open(with_lines->fd, bytes_of_lines(with_lines));
}

static void free_symbols(struct hp_image_symbols *symbols)
{
    hp_source_lines_close(symbols->lines);
    function_names_free(&symbols->names);
    hp_function_starts_free(&symbols->starts);
    hp_image_file_close(&symbols->debug);
    free(symbols);
}

/* NULL: no memory. */
static struct hp_image_symbols *symbols_of(struct hp_symbolizer *symbolizer, const struct hp_image *image)
{
    if (!HP_MAKE_ZEROED_ROOM(symbolizer->images, (size_t)image->number + 1, symbolizer->count))
        return NULL;
    struct hp_image_symbols *symbols = symbolizer->images[image->number];
    if (symbols != NULL)
        return symbols;
    symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL)
        return NULL;
    symbols->debug.fd = -1;
    if (image->is_readable)
        read_symbols(symbolizer, image, symbols);
    symbolizer->images[image->number] = symbols;
    return symbols;
}

bool hp_symbolizer_load(struct hp_symbolizer *symbolizer, const struct hp_image *image)
{
    const bool was_loaded = image->number < symbolizer->count && symbolizer->images[image->number] != NULL;
    symbols_of(symbolizer, image);
    return !was_loaded;
}

void hp_symbolizer_free(struct hp_symbolizer *symbolizer)
{
    for (size_t at = 0; at < symbolizer->count; at++)
        if (symbolizer->images[at] != NULL)
            free_symbols(symbolizer->images[at]);
    free(symbolizer->images);
    free(symbolizer->seen_ns);
    hp_text_cache_free(&symbolizer->names);
    hp_text_cache_free(&symbolizer->places);
    *symbolizer = (struct hp_symbolizer){.sysroot = symbolizer->sysroot, .has_no_lines = symbolizer->has_no_lines};
}

/* ----------------------------------------------------------------------------------------------- lines */

/* By number of the image. Code that was called by the same image is part of what its caller was seen for. */
static uint64_t *time_of_images(const struct hp_event_code *event, size_t count, size_t *ret_count)
{
    size_t images = 0;
    for (size_t at = 1; at < count; at++)
        if (event[at].image != NULL && event[at].image->number >= images)
            images = event[at].image->number + 1;
    uint64_t *seen_ns = calloc(images + 1, sizeof *seen_ns);
    *ret_count = images;
    for (size_t at = 1; seen_ns != NULL && at < count; at++)
        if (event[at].image != NULL && event[at].image != event[event[at].caller].image)
            seen_ns[event[at].image->number] += event[at].ns;
    return seen_ns;
}

static struct hp_line_unit *unit_of(struct hp_symbolizer *symbolizer, const struct hp_event_code *code)
{
    const struct hp_image_symbols *symbols = code->image != NULL ? symbols_of(symbolizer, code->image) : NULL;
    return symbols != NULL && symbols->lines != NULL ? hp_source_lines_unit(symbols->lines, code->linked) : NULL;
}

/* The units that were seen, at the beginning of the array, which has room for all code. Returns how many. */
static size_t find_units(struct hp_symbolizer *symbolizer, const struct hp_event_code *event, size_t count,
                         struct hp_line_unit **units)
{
    size_t found = 0;
    units[0] = NULL;
    for (size_t at = 1; at < count; at++) {
        units[at] = unit_of(symbolizer, &event[at]);
        if (units[at] == NULL)
            continue;
        units[at]->self_ns += event[at].self_ns;
        if (units[at] != units[event[at].caller])
            units[at]->seen_ns += event[at].ns;
    }
    for (size_t at = 1; at < count; at++)
        if (units[at] != NULL && !units[at]->is_left_out) {
            units[at]->is_left_out = true; /* unless it is chosen; and it is found once */
            units[found++] = units[at];
        }
    return found;
}

static int compare_units(const void *a, const void *b)
{
    const struct hp_line_unit *one = *(struct hp_line_unit *const *)a, *other = *(struct hp_line_unit *const *)b;
    if (one->self_ns != other->self_ns)
        return one->self_ns < other->self_ns ? 1 : -1;
    if (one->seen_ns != other->seen_ns)
        return one->seen_ns < other->seen_ns ? 1 : -1;
    return (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

void hp_symbolizer_weigh(struct hp_symbolizer *symbolizer, const struct hp_event_code *event, size_t count)
{
    free(symbolizer->seen_ns);
    symbolizer->seen_ns = count > 0 ? time_of_images(event, count, &symbolizer->seen_count) : NULL;
    symbolizer->lines_ns = count > 0 ? event[0].ns / LINES_PART : 0;
}

void hp_symbolizer_choose_lines(struct hp_symbolizer *symbolizer, const struct hp_event_code *event, size_t count)
{
    struct hp_line_unit **units = calloc(count + 1, sizeof(struct hp_line_unit *));
    if (units != NULL && symbolizer->seen_ns != NULL) {
        const size_t found = find_units(symbolizer, event, count, units);
        qsort(units, found, sizeof(struct hp_line_unit *), compare_units);
        for (size_t at = 0; at < found; at++)
            units[at]->is_left_out = !is_worth(symbolizer, units[at]->bytes * LINE_BYTE_NS, units[at]->seen_ns);
    }
    free(units);
}

/* ----------------------------------------------------------------------------------------------- names */

/* Linkage names do not move, so their address identifies them. */
static const char *readable(struct hp_symbolizer *symbolizer, const char *linked)
{
    char name[LONGEST_NAME];
    if (linked[0] != '_' || linked[1] != 'Z')
        return linked;
    const char *text = hp_text_cache_find(&symbolizer->names, (uintptr_t)linked, 0);
    if (text != NULL)
        return text;
    const bool is_read = hp_rust_name(linked, name, sizeof name) || hp_demangle(linked, name, sizeof name);
    text = hp_text_cache_put(&symbolizer->names, (uintptr_t)linked, 0, is_read ? name : linked);
    return text != NULL ? text : linked;
}

static const char *place_in(struct hp_symbolizer *symbolizer, const struct hp_image *image, uint64_t linked)
{
    char text[LONGEST_NAME];
    const char *place = hp_text_cache_find(&symbolizer->places, linked, image->number);
    if (place != NULL)
        return place;
    snprintf(text, sizeof text, "%s+0x%llx", hp_text_base_name(image->path), (unsigned long long)linked);
    place = hp_text_cache_put(&symbolizer->places, linked, image->number, text);
    return place != NULL ? place : image->path;
}

/* All places of a function without a name share one. */
static uint64_t start_of(const struct hp_image_symbols *symbols, const struct hp_image *image, uint64_t linked)
{
    return symbols != NULL ? hp_function_starts_find(&symbols->starts, &image->file, linked) : linked;
}

/* Code of a unit that was not there when lines were chosen has none. */
static bool is_chosen(const struct hp_symbolizer *symbolizer, struct hp_source_lines *lines, uint64_t linked)
{
    const struct hp_line_unit *unit = symbolizer->seen_ns != NULL ? hp_source_lines_unit(lines, linked) : NULL;
    return unit == NULL || unit->seen_ns > 0;
}

size_t hp_symbolizer_find(struct hp_symbolizer *symbolizer, const struct hp_image *image, uint64_t linked,
                          struct hp_source_place *places, size_t most)
{
    struct hp_image_symbols *symbols = most > 0 ? symbols_of(symbolizer, image) : NULL;
    const bool has_lines =
        symbols != NULL && symbols->lines != NULL && is_chosen(symbolizer, symbols->lines, linked);
    size_t count = has_lines ? hp_source_lines_find(symbols->lines, linked, places, most) : 0;
    if (most == 0)
        return 0;
    if (count == 0)
        places[count++] = (struct hp_source_place){.function = "", .file = ""};
    for (size_t at = 0; at < count; at++)
        places[at].function = readable(symbolizer, places[at].function);
    struct hp_source_place *outermost = &places[count - 1];
    const char *symbol =
        symbols != NULL && !outermost->is_inlined ? function_names_find(&symbols->names, linked) : "";
    if (symbol[0] != '\0')
        outermost->function = readable(symbolizer, symbol);
    for (size_t at = 0; at < count; at++)
        if (places[at].function[0] == '\0')
            places[at].function = place_in(symbolizer, image, start_of(symbols, image, linked));
    return count;
}
