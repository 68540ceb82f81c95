/*
 * ELF files and loaded images: this very program, compared with what readelf and the dynamic linker say, and copies
 * of it that were changed or cut.
 */
#define _GNU_SOURCE 1
#include <ctype.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* After the standard headers, which it needs. */
#include <cmocka.h>

#include "image_file.h"
#include "images.h"
#include "loaded_function.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *program;

/* A change of a byte of the copy; at -1: none. */
struct change {
    int at;
    unsigned char byte;
};

/* The first bytes of this program, in a file of their own. */
static int copy_of_program(size_t size, struct change change)
{
    static char bytes[1 << 16];
    FILE *from = fopen(program, "re");
    const int fd = memfd_create("copy", MFD_CLOEXEC);
    assert_true(from != NULL && fd >= 0);
    for (size_t left = size, got;
         left > 0 && (got = fread(bytes, 1, left < sizeof bytes ? left : sizeof bytes, from)) > 0; left -= got)
        assert_int_equal(write(fd, bytes, got), got);
    fclose(from);
    if (change.at >= 0)
        assert_int_equal(pwrite(fd, &change.byte, 1, change.at), 1);
    return fd;
}

static int whole_copy(void) { return copy_of_program(SIZE_MAX, (struct change){.at = -1}); }

static bool names(const struct hp_linkage *linkage, const char *text)
{
    return hp_linkage_names_any(linkage, &text, 1);
}

static bool defines(const struct hp_linkage *linkage, const char *name)
{
    return hp_linkage_defines_any(linkage, &name, 1);
}

/* ---------------------------------------------------------------------------------------------- as readelf says */

/* Calls `check` with what stands between two texts, in each line of readelf's that has both. */
static size_t each_of_readelf(const char *option, const char *before, const char *after,
                              void (*check)(const struct hp_linkage *linkage, const char *text),
                              const struct hp_linkage *linkage)
{
    char command[4096 + 100], line[4096];
    size_t count = 0;
    snprintf(command, sizeof command, "LC_ALL=C readelf -W %s '%s'", option, program);
    FILE *output = popen(command, "re"); /* NOLINT(cert-env33-c): the words are our own */
    assert_non_null(output);
    while (fgets(line, sizeof line, output) != NULL) {
        char *text = strstr(line, before), *end = text != NULL ? strstr(text + strlen(before), after) : NULL;
        if (end == NULL)
            continue;
        *end = '\0';
        check(linkage, text + strlen(before));
        count++;
    }
    assert_int_equal(pclose(output), 0);
    return count;
}

static void is_linker(const struct hp_linkage *linkage, const char *text)
{
    assert_string_equal(linkage->linker, text);
}
static void is_named(const struct hp_linkage *linkage, const char *text) { assert_true(names(linkage, text)); }

static void how_this_program_is_linked(void **state)
{
    (void)state;
    struct hp_linkage linkage;
    const int fd = whole_copy();
    assert_true(hp_linkage_read(&linkage, fd));
    if (each_of_readelf("-l", "program interpreter: ", "]", is_linker, &linkage) == 0)
        assert_string_equal(linkage.linker, "");
    else
        assert_true(each_of_readelf("-d", "Shared library: [", "]", is_named, &linkage) > 0);
    assert_false(names(&linkage, "libhotpath_no_such_library.so"));
    close(fd);
}

static void is_build_id(const struct hp_linkage *linkage, const char *text)
{
    struct hp_image_file file;
    char found[HP_BUILD_ID_TEXT];
    assert_true(hp_image_file_read(&file, dup(linkage->fd)));
    hp_build_id_put(&file.build_id, found);
    assert_string_equal(found, text);
    hp_image_file_close(&file);
}

static void its_build_id(void **state)
{
    (void)state;
    struct hp_linkage linkage = {.fd = whole_copy()};
    if (each_of_readelf("-n", "Build ID: ", "\n", is_build_id, &linkage) == 0)
        is_build_id(&linkage, "");
    close(linkage.fd);
}

/* A static function is in the symbol table, but the dynamic linker does not know it. */
static void its_functions(void **state)
{
    (void)state;
    static const char *const two[] = {"no_such_function", "its_functions"};
    struct hp_linkage linkage;
    const int fd = whole_copy();
    assert_true(hp_linkage_read(&linkage, fd));
    assert_true(defines(&linkage, "its_functions") && defines(&linkage, "main"));
    assert_true(hp_linkage_defines_any(&linkage, two, COUNT(two)));
    assert_false(hp_linkage_defines_any(&linkage, two, 1));
    assert_false(defines(&linkage, "program")); /* a variable */
    assert_false(names(&linkage, "its_functions"));
    close(fd);
}

/* --------------------------------------------------------------------------------------------- other files */

static void other_machines(void **state)
{
    (void)state;
    static const struct change changes[] = {
        {EI_CLASS, sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64},
        {EI_DATA, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB},
        {offsetof(ElfW(Ehdr), e_machine), EM_S390},
    };
    struct hp_linkage own, other;
    const int own_fd = whole_copy();
    assert_true(hp_linkage_read(&own, own_fd));
    assert_true(hp_linkage_is_same_machine(&own, &own));
    for (size_t at = 0; at < COUNT(changes); at++) {
        const int fd = copy_of_program(SIZE_MAX, changes[at]);
        assert_true(hp_linkage_read(&other, fd));
        assert_false(hp_linkage_is_same_machine(&own, &other));
        close(fd);
    }
    close(own_fd);
}

/* The names of sections and the sizes of their headers do not matter to the dynamic linker. */
static void without_section_headers(void **state)
{
    (void)state;
    struct hp_linkage own, other;
    const int own_fd = whole_copy();
    const int fd = copy_of_program(SIZE_MAX, (struct change){offsetof(ElfW(Ehdr), e_shentsize), 0});
    assert_true(hp_linkage_read(&own, own_fd) && hp_linkage_read(&other, fd));
    assert_true(hp_linkage_is_same_machine(&own, &other));
    assert_string_equal(own.linker, other.linker);
    assert_int_equal(names(&own, "libc"), names(&other, "libc"));
    assert_false(defines(&other, "main"));
    close(own_fd);
    close(fd);
}

static void no_elf_file(void **state)
{
    (void)state;
    struct hp_linkage linkage;
    const int fd = copy_of_program(SIZE_MAX, (struct change){EI_MAG3, 'G'});
    assert_false(hp_linkage_read(&linkage, fd));
    assert_string_equal(linkage.linker, "");
    close(fd);
}

/* What is cut off is not there; what is left is read. */
static void cut_files(void **state)
{
    (void)state;
    struct hp_linkage linkage;
    struct hp_image_file file;
    for (size_t size = 0; size < 8192; size += size < 1024 ? 1 : 97) {
        const int fd = copy_of_program(size, (struct change){.at = -1});
        assert_int_equal(hp_linkage_read(&linkage, fd), size >= sizeof(ElfW(Ehdr)));
        assert_false(names(&linkage, "libhotpath_no_such_library.so"));
        assert_false(defines(&linkage, "main"));
        if (hp_image_file_read(&file, fd))
            hp_image_file_close(&file);
    }
}

/* -------------------------------------------------------------------------------------------------- notes */

static void complete_notes_are_read(void **state)
{
    (void)state;
    static const uint32_t head[] = {4, 3, 7}; /* sizes of name and value, type */
    struct hp_elf_note note;
    char bytes[48] = {0};
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + 12, "GNU\0abc", 7);
    memcpy(bytes + 20, bytes, 19); /* the second one is not padded */
    const char *next = hp_elf_note_at(bytes, bytes + 39, &note);
    assert_ptr_equal(next, bytes + 20);
    assert_true(hp_elf_note_is(&note, "GNU", 7));
    assert_false(hp_elf_note_is(&note, "GNU", 6) || hp_elf_note_is(&note, "GN", 7) ||
                 hp_elf_note_is(&note, "GNUS", 7));
    assert_int_equal(note.size, 3);
    assert_memory_equal(note.value, "abc", 3);
    next = hp_elf_note_at(next, bytes + 39, &note);
    assert_ptr_equal(next, bytes + 39);
    assert_ptr_equal(note.value, bytes + 36);
    assert_null(hp_elf_note_at(next, bytes + 39, &note));
    for (size_t size = 0; size < 19; size++)
        assert_null(hp_elf_note_at(bytes, bytes + size, &note));
}

static void forged_sizes_of_notes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {UINT32_MAX, UINT32_MAX - 2, UINT32_MAX - 15, 1u << 31, 25};
    struct hp_elf_note note;
    char bytes[36] = {0};
    for (size_t at = 0; at < COUNT(sizes); at++)
        for (size_t field = 0; field < 2; field++) {
            const uint32_t head[] = {field == 0 ? sizes[at] : 4, field == 1 ? sizes[at] : 4, 1};
            memcpy(bytes, head, sizeof head);
            assert_null(hp_elf_note_at(bytes, bytes + sizeof bytes, &note));
        }
}

/* --------------------------------------------------------------------------------------------- loaded images */

/* Long enough for a copy of the recorder, which also reads these notes. */
extern uint64_t test_elf_noted[4];
__attribute__((visibility("hidden"), used)) uint64_t test_elf_noted[4];
HP_IMAGE_NOTE("test_elf_noted");

static void find_noted(const void *object, void *context)
{
    if (object == test_elf_noted)
        ++*(size_t *)context;
}

static void notes_of_loaded_images(void **state)
{
    (void)state;
    size_t found = 0;
    hp_images_each_note(find_noted, &found);
    assert_int_equal(found, 1);
}

static void where_addresses_are(void **state)
{
    (void)state;
    int local = 0;
    void *elsewhere = dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests");
    assert_true(hp_image_is_program(test_elf_noted));
    assert_true(hp_image_is_program((const void *)(uintptr_t)where_addresses_are));
    assert_false(hp_image_is_program(&local));
    assert_false(hp_image_is_program(NULL));
    if (elsewhere != NULL && dlsym(RTLD_DEFAULT, "main") == NULL)
        assert_false(hp_image_is_program(elsewhere));
}

/* Some have several versions; those of the string functions are chosen at load time. */
static void functions_behind_us(void **state)
{
    static const char *const names[] = {"read",
                                        "write",
                                        "close",
                                        "poll",
                                        "select",
                                        "epoll_wait",
                                        "fclose",
                                        "popen",
                                        "freopen",
                                        "dlclose",
                                        "pthread_create",
                                        "sigaltstack",
                                        "malloc",
                                        "free",
                                        "realpath",
                                        "regexec",
                                        "pthread_cond_wait",
                                        "posix_spawn",
                                        "glob64",
                                        "nftw",
                                        "nanosleep",
                                        "timer_create",
                                        "memcpy",
                                        "strlen",
                                        "fmemopen",
                                        "sem_init",
                                        "qsort",
                                        "socketpair",
                                        "_cmocka_run_group_tests",
                                        "pthread_sigmask",
                                        "hotpath_no_such_function",
                                        "functions_behind_us"};
    unsigned found = 0;
    (void)state;
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        const uintptr_t address = hp_loaded_next(names[at]);
        if (address != 0)
            assert_ptr_equal((void *)address, dlsym(RTLD_NEXT, names[at])); /* a sanitizer may be in us */
        found += address != 0;
    }
    assert_int_equal(hp_loaded_next("hotpath_no_such_function"), 0);
    assert_int_equal(hp_loaded_next("functions_behind_us"), 0); /* not behind us */
    assert_true(found >= 20 || dlsym(RTLD_DEFAULT, "read") == NULL);
}

/* libcmocka calls fopen; the dynamic linker's own code does not. */
static void functions_of_other_images(void **state)
{
    struct hp_loaded_call call = {.name = "fopen"};
    struct hp_loaded_answer answer;
    void *expected = dlsym(RTLD_NEXT, "fopen");
    (void)state;
    call.caller = (uintptr_t)dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests");
    if (expected == NULL || call.caller == 0)
        skip();
    assert_true(hp_loaded_for_call(&call, &answer));
    assert_ptr_equal((void *)answer.function.address, expected);
    assert_true(hp_loaded_has(&answer.function.library, answer.function.address));
    assert_true(hp_loaded_has(&answer.callers, call.caller));
    assert_int_equal(answer.images, 0);
    call.caller = (uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object"); /* of ld.so, if it is there */
    if (call.caller != 0) {
        assert_true(hp_loaded_for_call(&call, &answer));
        assert_ptr_equal((void *)answer.function.address, expected);
        assert_int_equal(answer.images, hp_loaded_images());
    }
    call.name = "hotpath_no_such_function";
    assert_false(hp_loaded_for_call(&call, &answer));
}

int main(int count, char **arguments)
{
    (void)count;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_this_program_is_linked),
        cmocka_unit_test(its_build_id),
        cmocka_unit_test(its_functions),
        cmocka_unit_test(other_machines),
        cmocka_unit_test(without_section_headers),
        cmocka_unit_test(no_elf_file),
        cmocka_unit_test(cut_files),
        cmocka_unit_test(complete_notes_are_read),
        cmocka_unit_test(forged_sizes_of_notes),
        cmocka_unit_test(notes_of_loaded_images),
        cmocka_unit_test(where_addresses_are),
        cmocka_unit_test(functions_behind_us),
        cmocka_unit_test(functions_of_other_images),
    };
    program = arguments[0];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
