/*
 * What counts the instructions of a program.
 *
 * The CPU model is fixed, so that a program takes the same path through the C library on every machine. Without
 * ERMS, since QEMU counts an instruction per byte of "rep movsb".
 * SPDX-License-Identifier: MIT
 */
#include "instruction_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu_counter.h"
#include "instruction_blocks.h"
#include "instruction_clock.h"
#include "program_file.h"

#if defined __x86_64__ && defined __LP64__
#define EMULATOR "qemu-x86_64"
#define CPU_MODEL "max,-erms"
#elif defined __aarch64__
#define EMULATOR "qemu-aarch64"
#define CPU_MODEL "max"
#elif defined __riscv && __riscv_xlen == 64
#define EMULATOR "qemu-riscv64"
#define CPU_MODEL "rv64"
#else
#define EMULATOR NULL
#define CPU_MODEL ""
#endif

extern char **environ;

#define FIRST_MAJOR 7 /* older ones have the plugin API, but stand still when a plugin is reset beside threads */

/* ----------------------------------------------------------------------------------------------------- emulator */

/* "7.2.22" of "qemu-x86_64 version 7.2.22 (Debian ...)". False: it does not say. */
static bool read_version(const char *emulator, char *version, size_t size)
{
    char command[PATH_MAX + 32], line[256] = "";
    snprintf(command, sizeof command, "'%s' --version 2>/dev/null", emulator);
    FILE *output = strchr(emulator, '\'') == NULL ? popen(command, "re") : NULL;
    if (output == NULL)
        return false;
    const bool has_line = fgets(line, sizeof line, output) != NULL;
    while (fgetc(output) != EOF)
        ;
    pclose(output);
    const char *number = has_line ? strstr(line, " version ") : NULL;
    if (number == NULL)
        return false;
    number += strlen(" version ");
    snprintf(version, size, "%.*s", (int)strspn(number, "0123456789."), number);
    return version[0] != '\0';
}

static bool find_emulator(struct hp_instruction_engine *engine, char *problem, size_t size)
{
    char version[32];
    if (EMULATOR == NULL)
        snprintf(problem, size, "there is no emulator that counts them on this architecture");
    else if (!hp_find_in_path(EMULATOR, engine->emulator, sizeof engine->emulator))
        snprintf(problem, size, "%s is not installed (package qemu-user)", EMULATOR);
    else if (!read_version(engine->emulator, version, sizeof version))
        snprintf(problem, size, "'%.*s' does not say its version", 200, engine->emulator);
    else if (atoi(version) < FIRST_MAJOR)
        snprintf(problem, size, "%s %s is too old: it must be %d or newer", EMULATOR, version, FIRST_MAJOR);
    else {
        snprintf(engine->about, sizeof engine->about, "qemu %s, cpu %s", version, CPU_MODEL);
        return true;
    }
    return false;
}

static bool find_plugin(struct hp_instruction_engine *engine, char *problem, size_t size)
{
    static const char name[] = "hotpath/hotpath_qemu.so", before[] = "file=";
    memcpy(engine->plugin, before, sizeof before);
    char *path = engine->plugin + strlen(before);
    if (!hp_installed_find(name, path, PATH_MAX))
        snprintf(problem, size, "%s was not found beside the libraries of hotpath", name);
    else if (strchr(path, ',') != NULL)
        snprintf(problem, size, "there is a comma in '%.*s'", 200, path);
    else
        return true;
    return false;
}

/*
 * Some have no plugins, such as those that are linked statically, or another version of their interface. They would
 * end before the program begins. Tried with a program that does nothing.
 */
static bool accepts_plugin(const struct hp_instruction_engine *engine, char *problem, size_t size)
{
    static const char *const nothing[] = {"/bin/true", "/usr/bin/true"};
    char command[4 * PATH_MAX], line[200] = "";
    const char *program = access(nothing[0], X_OK) == 0 ? nothing[0] : nothing[1];
    snprintf(command, sizeof command, "LD_PRELOAD= exec '%s' -cpu %s -plugin '%s' %s 2>&1 </dev/null",
             engine->emulator, CPU_MODEL, engine->plugin, program);
    if (access(program, X_OK) != 0 || strchr(engine->plugin, '\'') != NULL)
        return true; /* cannot be tried */
    FILE *output = popen(command, "re");
    if (output == NULL)
        return true;
    if (fgets(line, sizeof line, output) != NULL)
        line[strcspn(line, "\n")] = '\0';
    while (fgetc(output) != EOF)
        ;
    const bool is_accepted = pclose(output) == 0;
    if (!is_accepted)
        snprintf(problem, size, "%s cannot use the plugin that counts them: %s", EMULATOR,
                 line[0] != '\0' ? line : "it does not say why");
    return is_accepted;
}

/* ------------------------------------------------------------------------------------------------------ program */

static bool find_program(struct hp_instruction_engine *engine, const char *name, char *problem, size_t size)
{
    if (strchr(name, '/') != NULL && access(name, X_OK) == 0)
        snprintf(engine->program, sizeof engine->program, "%s", name);
    else if (strchr(name, '/') != NULL || !hp_find_in_path(name, engine->program, sizeof engine->program)) {
        snprintf(problem, size, "it cannot be executed");
        return false;
    }
    const char *obstacle = hp_program_emulation_obstacle(engine->program);
    if (obstacle != NULL)
        snprintf(problem, size, "%s", obstacle);
    return obstacle == NULL;
}

static char **make_command(struct hp_instruction_engine *engine, char **argv)
{
    const char *const before[] = {engine->emulator, "-cpu", CPU_MODEL, "-plugin",      engine->plugin, "-E",
                                  engine->preload,  "-0",   argv[0],   engine->program};
    const size_t head = sizeof before / sizeof before[0];
    size_t count = 0;
    while (argv[count] != NULL)
        count++;
    char **command = malloc((head + count) * sizeof *command);
    if (command != NULL) {
        memcpy(command, before, sizeof before);
        memcpy(command + head, argv + 1, count * sizeof *argv);
    }
    return command;
}

bool hp_instruction_engine_find(struct hp_instruction_engine *engine, char **argv, const char *library,
                                const char *folder, char *problem, size_t size)
{
    const char *inherited = getenv("LD_PRELOAD");
    engine->command = NULL;
    if (strchr(library, ',') != NULL || (inherited != NULL && strchr(inherited, ',') != NULL)) {
        snprintf(problem, size, "there is a comma in the name of a library to preload");
        return false;
    }
    if (find_emulator(engine, problem, size) && find_plugin(engine, problem, size) &&
        find_program(engine, argv[0], problem, size) && accepts_plugin(engine, problem, size)) {
        const size_t length = strlen(engine->plugin);
        if (folder[0] != '\0' && strchr(folder, ',') == NULL)
            snprintf(engine->plugin + length, sizeof engine->plugin - length, ",folder=%s%s", folder,
                     engine->has_callers ? "" : "," HP_PLUGIN_WITHOUT_CALLERS);
        engine->command = make_command(engine, argv);
        if (engine->command == NULL)
            snprintf(problem, size, "there is not enough memory");
    }
    return engine->command != NULL;
}

bool hp_instruction_engine_is_there(char *about, size_t size)
{
    static struct hp_instruction_engine engine;
    const bool is_there = find_emulator(&engine, about, size) && find_plugin(&engine, about, size) &&
                          accepts_plugin(&engine, about, size);
    if (is_there)
        snprintf(about, size, "%s", engine.about);
    return is_there;
}

/* As perf says it: the kernel has no counter on machines without one, most virtual ones among them. */
void hp_cpu_counter_explain(char *problem, size_t size)
{
    const int refusal = hp_cpu_counter_obstacle();
    if (refusal == 0)
        snprintf(problem, size, "%s", "");
    else if (refusal == EACCES || refusal == EPERM)
        snprintf(problem, size, "the kernel lets this user not use the counters of the CPU (perf_event_open: %s)",
                 strerror(refusal));
    else if (refusal == ENOENT || refusal == EOPNOTSUPP || refusal == ENODEV)
        snprintf(problem, size, "this machine has no counter of instructions, as most virtual ones");
    else
        snprintf(problem, size, "the CPU's counter cannot be used (perf_event_open: %s)", strerror(refusal));
}

#define PAGE 4096u /* of the program */

/*
 * The arguments of a program are below its environment, so its size moves them, and the C library compares and
 * copies words at the end of a page in other ways: with blanks behind what counts, all sizes are whole pages. The
 * number of a process is part of the environment, too.
 */
static void fill_page(const struct hp_instruction_engine *engine)
{
    char padded[sizeof engine->about + PAGE];
    size_t size = strlen(engine->preload) + 1;
    for (char **variable = environ; *variable != NULL; variable++)
        size += strlen(*variable) + 1;
    snprintf(padded, sizeof padded, "%s%*s", engine->about, (int)(PAGE - size % PAGE), "");
    setenv(HP_RUN_ENGINE, padded, 1);
}

void hp_instruction_engine_prepare(struct hp_instruction_engine *engine)
{
    const char *preload = getenv("LD_PRELOAD");
    snprintf(engine->preload, sizeof engine->preload, "LD_PRELOAD=%s", preload != NULL ? preload : "");
    unsetenv("LD_PRELOAD");
    setenv(HP_RUN_ENGINE, engine->about, 1);
    fill_page(engine);
}
