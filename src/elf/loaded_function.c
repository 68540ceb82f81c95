/*
 * Looks up symbols as the dynamic linker of glibc does: by an image's hash table (the GNU one, which all have on
 * Linux, or else the standard one), and with the version that the calling image asks for.
 *
 * A call is bound to the first match among the images loaded at process start; then among the image itself and its
 * dependencies, breadth first. (The dynamic linker searches the dependencies of the library that was opened, to
 * which the image may belong; only it knows which that was. The orders differ if an image does not name a library
 * that it needs; then the next image in the order of loading is taken.)
 *
 * Everything is done inside one call of dl_iterate_phdr, so that no image goes away meanwhile.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "loaded_function.h"

#include <string.h>

#include "loaded_image.h"

#define MOST_AT_START 64u /* if there are more, the rest is searched as a last resort */
#define MOST_DEPENDENCIES 48u
#define MOST_COPIES 8u
#define OBJECT_WORDS 64u
#define SMALLEST_PAGE 4096u

#if UINTPTR_MAX > UINT32_MAX
#define SYMBOL_OF(info) ELF64_R_SYM(info)
#else
#define SYMBOL_OF(info) ELF32_R_SYM(info)
#endif

typedef ElfW(Half) version_number;
enum { LAST_OF_ALL = 1, FIRST_NAMED = 2, NUMBER_BITS = 0x7fff, HIDDEN = 0x8000 };

/* ---------------------------------------------------------------------------------------------- one image */

/* Relocations, with or without addends. */
struct relocations {
    const char *first;
    size_t bytes, each;
};

/* The tables of an image. */
struct table {
    uintptr_t base;
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *gnu, *standard;   /* NULL: no such table */
    const version_number *versions;   /* of symbols, by number; NULL: none */
    const char *needed, *defined;     /* the lists of versions; NULL: none */
    struct relocations calls, others; /* `first` is NULL: none */
    const char *own_name;             /* its soname; NULL: none */
};

/* Some dynamic linkers relocate these addresses, others leave the values of the file. */
static const void *address_in(uintptr_t base, uintptr_t value)
{
    return (const void *)(value < base ? base + value : value);
}

static void read_entry(struct table *table, const ElfW(Dyn) * entry, size_t *own_name, size_t *call_size)
{
    const void *address = address_in(table->base, entry->d_un.d_ptr);
    const size_t size = entry->d_un.d_val;
    switch (entry->d_tag) {
    case DT_SYMTAB:
        table->symbols = address;
        break;
    case DT_STRTAB:
        table->names = address;
        break;
    case DT_GNU_HASH:
        table->gnu = address;
        break;
    case DT_HASH:
        table->standard = address;
        break;
    case DT_VERSYM:
        table->versions = address;
        break;
    case DT_VERNEED:
        table->needed = address;
        break;
    case DT_VERDEF:
        table->defined = address;
        break;
    case DT_JMPREL:
        table->calls.first = address;
        break;
    case DT_PLTRELSZ:
        table->calls.bytes = size;
        break;
    case DT_PLTREL:
        *call_size = size == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
        break;
    case DT_RELA:
        table->others.first = address;
        table->others.each = sizeof(ElfW(Rela));
        break;
    case DT_REL:
        table->others.first = address;
        table->others.each = sizeof(ElfW(Rel));
        break;
    case DT_RELASZ:
    case DT_RELSZ:
        table->others.bytes = size;
        break;
    case DT_SONAME:
        *own_name = size;
        break;
    default:
        break;
    }
}

static bool read_table(const struct dl_phdr_info *image, struct table *ret_table)
{
    size_t own_name = 0, call_size = sizeof(ElfW(Rel));
    *ret_table = (struct table){.base = image->dlpi_addr, .dynamic = hp_loaded_dynamic(image)};
    for (const ElfW(Dyn) *entry = ret_table->dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++)
        read_entry(ret_table, entry, &own_name, &call_size);
    ret_table->calls.each = call_size;
    if (own_name != 0 && ret_table->names != NULL)
        ret_table->own_name = ret_table->names + own_name;
    return ret_table->symbols != NULL && ret_table->names != NULL;
}

/* ------------------------------------------------------------------------------------------------ versions */

/* The name of a version that the image defines; NULL: none. */
static const char *defined_version(const struct table *table, version_number number)
{
    for (const char *at = table->defined; at != NULL;) {
        const ElfW(Verdef) *version = (const void *)at;
        const ElfW(Verdaux) *name = (const void *)(at + version->vd_aux);
        if ((version->vd_ndx & NUMBER_BITS) == number)
            return version->vd_flags & VER_FLG_BASE ? NULL : table->names + name->vda_name;
        at = version->vd_next != 0 ? at + version->vd_next : NULL;
    }
    return NULL;
}

static const char *needed_version(const struct table *table, version_number number)
{
    for (const char *at = table->needed; at != NULL;) {
        const ElfW(Verneed) *library = (const void *)at;
        const char *of = at + library->vn_aux;
        for (unsigned left = library->vn_cnt; left > 0; left--) {
            const ElfW(Vernaux) *version = (const void *)of;
            if ((version->vna_other & NUMBER_BITS) == number)
                return table->names + version->vna_name;
            of += version->vna_next;
        }
        at = library->vn_next != 0 ? at + library->vn_next : NULL;
    }
    return NULL;
}

/* The version that a symbol of the image refers to; NULL: none. */
static const char *version_of(const struct table *table, uint32_t symbol)
{
    const version_number number = table->versions != NULL ? table->versions[symbol] & NUMBER_BITS : 0;
    const char *name = number > LAST_OF_ALL ? needed_version(table, number) : NULL;
    return name != NULL || number <= LAST_OF_ALL ? name : defined_version(table, number);
}

/* --------------------------------------------------------------------------------------- a symbol by its name */

/* What is looked for. */
struct wanted {
    const char *name;
    const char *version; /* NULL: any */
    bool is_by_name;     /* as dlsym: the default version; else as an image without versions: the oldest */
};

/* As do_lookup_x of glibc. `maybe`: the only one of several versions so far. */
static bool has_version(const struct table *table, uint32_t symbol, const struct wanted *wanted, uint32_t *maybe)
{
    if (table->versions == NULL)
        return true;
    const version_number version = table->versions[symbol], number = version & NUMBER_BITS;
    if (wanted->version != NULL) {
        const char *name = defined_version(table, number);
        return name != NULL ? strcmp(name, wanted->version) == 0 : !(version & HIDDEN);
    }
    if (number < (wanted->is_by_name ? FIRST_NAMED : FIRST_NAMED + 1))
        return true;
    if (!(version & HIDDEN) && *maybe == 0)
        *maybe = symbol;
    return false;
}

static bool is_function(const struct table *table, uint32_t number, const char *name)
{
    const ElfW(Sym) *symbol = &table->symbols[number];
    const unsigned type = symbol->st_info & 15;
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           strcmp(table->names + symbol->st_name, name) == 0;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/*
 * Four numbers, a filter of words, buckets, and chains of hashes whose lowest bit marks the end of the chain. 0: no
 * such symbol.
 */
static uint32_t find_by_gnu(const struct table *table, const struct wanted *wanted)
{
    const unsigned bits = 8 * sizeof(ElfW(Addr));
    const uint32_t *context = table->gnu, hash = gnu_hash(wanted->name);
    const uint32_t bucket_count = context[0], first = context[1], filter_words = context[2];
    const ElfW(Addr) *filter = (const void *)(context + 4);
    const uint32_t *buckets = (const uint32_t *)(const void *)(filter + filter_words);
    const uint32_t *chains = buckets + bucket_count;
    const ElfW(Addr) word = filter[hash / bits % filter_words];
    if (!(word >> hash % bits & word >> (hash >> context[3]) % bits & 1) || bucket_count == 0)
        return 0;
    uint32_t number = buckets[hash % bucket_count], maybe = 0;
    if (number < first || number == 0)
        return 0;
    for (;; number++) {
        const uint32_t there = chains[number - first];
        if ((there | 1) == (hash | 1) && is_function(table, number, wanted->name) &&
            has_version(table, number, wanted, &maybe))
            return number;
        if (there & 1)
            return maybe;
    }
}

static uint32_t find_by_standard(const struct table *table, const struct wanted *wanted)
{
    const uint32_t symbol_count = table->standard[1];
    uint32_t maybe = 0;
    for (uint32_t number = 1; number < symbol_count; number++)
        if (is_function(table, number, wanted->name) && has_version(table, number, wanted, &maybe))
            return number;
    return maybe;
}

/* NULL: the image has no such function. */
static const ElfW(Sym) * find_in(const struct table *table, const struct wanted *wanted)
{
    const uint32_t number = table->gnu != NULL        ? find_by_gnu(table, wanted)
                            : table->standard != NULL ? find_by_standard(table, wanted)
                                                      : 0;
    return number != 0 ? &table->symbols[number] : NULL;
}

/* --------------------------------------------------------------------------------------------- behind us */

static bool is_ours(const struct dl_phdr_info *image)
{
    return hp_loaded_segment(image, PT_LOAD, (uintptr_t)hp_loaded_for_call) != NULL;
}

/* Images loaded at process start stay, so their tables are read once. Threads that do so at once read the same. */
static struct {
    struct table behind[MOST_AT_START]; /* in the order of loading */
    uint32_t behind_count;
    uint32_t count; /* of all images, those in front of us included */
    uint32_t is_read;
} at_start;

struct listing {
    bool is_behind_us;
    uint32_t count, behind_count;
};

static int list_one(struct dl_phdr_info *image, size_t size, void *context)
{
    struct listing *listing = context;
    struct table table;
    (void)size;
    listing->count++;
    if (!listing->is_behind_us)
        listing->is_behind_us = is_ours(image);
    else if (listing->behind_count < MOST_AT_START && read_table(image, &table))
        at_start.behind[listing->behind_count++] = table;
    return 0;
}

void hp_loaded_begin(void)
{
    struct listing listing = {0};
    if (__atomic_load_n(&at_start.is_read, __ATOMIC_ACQUIRE) != 0)
        return;
    dl_iterate_phdr(list_one, &listing);
    at_start.behind_count = listing.behind_count;
    at_start.count = listing.count;
    __atomic_store_n(&at_start.is_read, 1, __ATOMIC_RELEASE);
}

static uintptr_t find_at_start(const struct wanted *wanted)
{
    for (uint32_t at = 0; at < at_start.behind_count; at++) {
        const ElfW(Sym) *symbol = find_in(&at_start.behind[at], wanted);
        if (symbol != NULL)
            return (symbol->st_info & 15) == STT_FUNC ? at_start.behind[at].base + symbol->st_value : 0;
    }
    return 0;
}

uintptr_t hp_loaded_next(const char *name)
{
    hp_loaded_begin();
    return find_at_start(&(struct wanted){.name = name, .is_by_name = true});
}

/* ------------------------------------------------------------------------------------------- images by need */

/* What dl_iterate_phdr says of an image; it may not be kept. */
struct image {
    ElfW(Addr) address;
    const char *path;
    const ElfW(Phdr) * parts;
    ElfW(Half) part_count;
    uint32_t number; /* in the order of loading */
};

static struct dl_phdr_info as_info(const struct image *image)
{
    return (struct dl_phdr_info){.dlpi_addr = image->address,
                                 .dlpi_name = image->path,
                                 .dlpi_phdr = image->parts,
                                 .dlpi_phnum = image->part_count};
}

/* An image that contains an address, or has a name; whichever is set. */
struct choice {
    uintptr_t address;
    const char *name;
    uint32_t at;
    struct image found;
};

static bool has_name(const struct dl_phdr_info *image, const char *name)
{
    struct table table;
    const char *const path = image->dlpi_name != NULL ? image->dlpi_name : "";
    const size_t length = strlen(name), whole = strlen(path);
    if (read_table(image, &table) && table.own_name != NULL && strcmp(table.own_name, name) == 0)
        return true;
    return whole >= length && strcmp(path + whole - length, name) == 0 &&
           (whole == length || path[whole - length - 1] == '/');
}

static int is_chosen(struct dl_phdr_info *image, size_t size, void *context)
{
    struct choice *choice = context;
    const uint32_t number = choice->at++;
    (void)size;
    if (choice->name != NULL ? !has_name(image, choice->name)
                             : hp_loaded_segment(image, PT_LOAD, choice->address) == NULL)
        return 0;
    choice->found = (struct image){image->dlpi_addr, image->dlpi_name, image->dlpi_phdr, image->dlpi_phnum, number};
    return 1;
}

static bool image_at(uintptr_t address, struct image *ret_image)
{
    struct choice choice = {.address = address};
    const bool is_there = dl_iterate_phdr(is_chosen, &choice) != 0;
    *ret_image = choice.found; /* all 0 if there is none */
    return is_there;
}

static bool image_named(const char *name, struct image *ret_image)
{
    struct choice choice = {.name = name};
    const bool is_there = dl_iterate_phdr(is_chosen, &choice) != 0;
    *ret_image = choice.found;
    return is_there;
}

/* Whether the image has the function; then it is returned. */
static bool take_from(const struct dl_phdr_info *image, const struct wanted *wanted,
                      struct hp_loaded_function *ret_function)
{
    struct table table;
    const ElfW(Sym) *symbol = read_table(image, &table) && !is_ours(image) ? find_in(&table, wanted) : NULL;
    if (symbol == NULL || (symbol->st_info & 15) != STT_FUNC)
        return false;
    const uintptr_t address = table.base + symbol->st_value;
    const ElfW(Phdr) *part = hp_loaded_segment(image, PT_LOAD, address);
    if (part == NULL)
        return false;
    *ret_function = (struct hp_loaded_function){address, {hp_loaded_start(image, part), part->p_memsz}};
    return true;
}

/* The image and its dependencies, breadth first. */
static bool find_below(const struct image *root, const struct wanted *wanted,
                       struct hp_loaded_function *ret_function)
{
    struct image queue[MOST_DEPENDENCIES];
    uint32_t count = 1;
    queue[0] = *root;
    for (uint32_t at = 0; at < count; at++) {
        struct table table;
        const struct dl_phdr_info image = as_info(&queue[at]);
        if (take_from(&image, wanted, ret_function))
            return true;
        if (!read_table(&image, &table))
            continue;
        for (const ElfW(Dyn) *entry = table.dynamic; entry->d_tag != DT_NULL; entry++) {
            struct image *next = &queue[count];
            if (entry->d_tag != DT_NEEDED || count == MOST_DEPENDENCIES ||
                !image_named(table.names + entry->d_un.d_val, next))
                continue;
            uint32_t same = 0;
            while (queue[same].parts != next->parts)
                same++;
            count += same == count;
        }
    }
    return false;
}

/* In the order of loading: behind this one, or else from the beginning. */
struct search {
    const struct wanted *wanted;
    uint32_t at, behind;
    bool is_found;
    struct hp_loaded_function *function;
};

static int look_into(struct dl_phdr_info *image, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    search->is_found = search->at++ >= search->behind && take_from(image, search->wanted, search->function);
    return search->is_found;
}

static bool find_near(uint32_t number, const struct wanted *wanted, struct hp_loaded_function *ret_function)
{
    struct search search = {.wanted = wanted, .behind = number, .function = ret_function};
    dl_iterate_phdr(look_into, &search);
    if (!search.is_found) {
        search.at = search.behind = 0;
        dl_iterate_phdr(look_into, &search);
    }
    return search.is_found;
}

/* --------------------------------------------------------------------------------- what a call is bound to */

static uint32_t reference_in(const struct table *table, const struct relocations *relocations, const char *name)
{
    if (relocations->first == NULL)
        return 0;
    for (size_t at = 0; at + relocations->each <= relocations->bytes; at += relocations->each) {
        const ElfW(Rel) *relocation = (const void *)(relocations->first + at);
        const uint32_t symbol = (uint32_t)SYMBOL_OF(relocation->r_info);
        if (symbol != 0 && strcmp(table->names + table->symbols[symbol].st_name, name) == 0)
            return symbol;
    }
    return 0;
}

/* Whether the image refers to the function; then also what it is bound to, if that is found. */
static bool is_bound(const struct image *image, const char *name, struct hp_loaded_function *ret_function)
{
    struct table table;
    const struct dl_phdr_info info = as_info(image);
    *ret_function = (struct hp_loaded_function){0};
    if (image->parts == NULL || !read_table(&info, &table) || is_ours(&info))
        return false;
    uint32_t symbol = reference_in(&table, &table.calls, name);
    if (symbol == 0)
        symbol = reference_in(&table, &table.others, name);
    if (symbol == 0)
        return false;
    const struct wanted wanted = {.name = name, .version = version_of(&table, symbol)};
    struct image library;
    const uintptr_t common = find_at_start(&wanted);
    if (common != 0 && image_at(common, &library)) {
        const struct dl_phdr_info of = as_info(&library);
        take_from(&of, &wanted, ret_function);
    } else if (!find_below(image, &wanted, ret_function)) {
        find_near(image->number, &wanted, ret_function);
    }
    return true;
}

/* A jump at the end of a function: the call may come from any image that refers to the function. */
struct survey {
    const char *name;
    uint32_t at, count;
    struct hp_loaded_function found[MOST_COPIES]; /* each once */
};

static int ask_image(struct dl_phdr_info *info, size_t size, void *context)
{
    struct survey *survey = context;
    const struct image image = {info->dlpi_addr, info->dlpi_name, info->dlpi_phdr, info->dlpi_phnum, survey->at++};
    struct hp_loaded_function function;
    (void)size;
    if (!is_bound(&image, survey->name, &function) || function.address == 0)
        return 0;
    for (uint32_t at = 0; at < survey->count; at++)
        if (survey->found[at].address == function.address)
            return 0;
    survey->found[survey->count++] = function;
    return survey->count == MOST_COPIES;
}

/* The copy whose image contains the address; NULL: none. */
static const struct hp_loaded_function *owner_of(uintptr_t address, const struct survey *survey)
{
    struct image image;
    if (address < SMALLEST_PAGE || !image_at(address, &image))
        return NULL;
    const struct dl_phdr_info info = as_info(&image);
    for (uint32_t at = 0; at < survey->count; at++)
        if (hp_loaded_segment(&info, PT_LOAD, survey->found[at].address) != NULL)
            return &survey->found[at];
    return NULL;
}

/*
 * Objects point to functions or tables of their library. Only the rest of its page is read, which is there. If
 * nothing is found, the last copy is taken.
 */
static const struct hp_loaded_function *owner_of_object(uintptr_t object, const struct survey *survey)
{
    const uintptr_t *words = (const uintptr_t *)object;
    const size_t left = (SMALLEST_PAGE - object % SMALLEST_PAGE) / sizeof *words;
    const struct hp_loaded_function *owner = owner_of(object, survey);
    const bool has_words = object >= SMALLEST_PAGE && object % sizeof *words == 0;
    for (size_t at = 0; owner == NULL && has_words && at < left && at < OBJECT_WORDS; at++)
        owner = owner_of(words[at], survey);
    return owner != NULL ? owner : &survey->found[survey->count - 1];
}

static int read_changes(struct dl_phdr_info *image, size_t size, void *changes)
{
    (void)size;
    *(uint64_t *)changes = image->dlpi_adds + image->dlpi_subs + 1;
    return 1;
}

uint64_t hp_loaded_images(void)
{
    uint64_t changes = 1;
    dl_iterate_phdr(read_changes, &changes);
    return changes;
}

struct request {
    const struct hp_loaded_call *call;
    struct hp_loaded_answer *answer;
};

static struct hp_loaded_range code_at(const struct image *image, uintptr_t address)
{
    const struct dl_phdr_info info = as_info(image);
    const ElfW(Phdr) *part = image->parts != NULL ? hp_loaded_segment(&info, PT_LOAD, address) : NULL;
    return part != NULL ? (struct hp_loaded_range){hp_loaded_start(&info, part), part->p_memsz}
                        : (struct hp_loaded_range){0};
}

static int answer(struct dl_phdr_info *first, size_t size, void *context)
{
    const struct request *request = context;
    struct hp_loaded_answer *answer = request->answer;
    struct survey survey = {.name = request->call->name};
    struct image image;
    image_at(request->call->caller, &image);
    answer->callers = code_at(&image, request->call->caller);
    if (is_bound(&image, request->call->name, &answer->function))
        return 1;
    read_changes(first, size, &answer->images);
    dl_iterate_phdr(ask_image, &survey);
    if (survey.count > 1)
        answer->callers = (struct hp_loaded_range){0};
    if (survey.count > 0)
        answer->function = *(survey.count == 1 ? survey.found : owner_of_object(request->call->argument, &survey));
    return 1;
}

bool hp_loaded_for_call(const struct hp_loaded_call *call, struct hp_loaded_answer *ret_answer)
{
    struct request request = {call, ret_answer};
    hp_loaded_begin();
    *ret_answer = (struct hp_loaded_answer){0};
    dl_iterate_phdr(answer, &request);
    return ret_answer->function.address != 0;
}

bool hp_loaded_beside(const char *name, uintptr_t code, struct hp_loaded_answer *ret_answer)
{
    struct image image;
    hp_loaded_begin();
    *ret_answer = (struct hp_loaded_answer){0};
    if (!image_at(code, &image))
        return false;
    const struct dl_phdr_info info = as_info(&image);
    ret_answer->callers = code_at(&image, code);
    return take_from(&info, &(struct wanted){.name = name, .is_by_name = true}, &ret_answer->function);
}
