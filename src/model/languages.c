/* Programs that run code of others. SPDX-License-Identifier: MIT */
#include "languages.h"

#include <string.h>

#include "text.h"

const struct hp_language hp_languages[] = {
    {.program = "python", .library = "libpython", .code = "Python code"},
    {.program = "perl", .library = "libperl", .code = "Perl code"},
    {.program = "ruby", .library = "libruby", .code = "Ruby code"},
    {.program = "php",
     .library = "libphp",
     .code = "PHP code",
     .generator = "php",
     .files = {"php", "libphp"},
     .map_option = "-d opcache.jit_debug=16"},
    {.program = "lua",
     .library = "liblua",
     .code = "Lua code",
     .generator = "LuaJIT",
     .files = {"luajit", "libluajit"}},
    {.program = "node",
     .library = "libnode",
     .code = "JavaScript code",
     .compiler = "v8::internal::compiler::PipelineCompilationJob::ExecuteJobImpl",
     .generator = "node",
     .files = {"node", "libnode"},
     .map_option = "--perf-basic-prof"},
    {.program = "java",
     .library = "libjvm",
     .code = "Java code",
     .compiler = "CompileBroker::compiler_thread_loop",
     .generator = "java",
     .files = {"libjvm.so"},
     .map_option = "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"},
    {.program = "dotnet",
     .library = "libcoreclr",
     .code = ".NET code",
     .generator = ".NET",
     .files = {"libcoreclr.so"},
     .map_option = "DOTNET_PerfMapEnabled=1"},
    {.program = "R", .library = "libR.so", .code = "R code"},
    {.program = "guile", .library = "libguile", .code = "Scheme code"},
    {.program = "tclsh", .library = "libtcl", .code = "Tcl code"},
    {.program = "qemu-", .library = "", .code = "emulated code"},
    {.program = "bash", .library = "", .code = "a shell script"},
    {.program = "dash", .library = "", .code = "a shell script"},
    {.program = "sh", .library = "", .code = "a shell script"},
    {.program = "zsh", .library = "", .code = "a shell script"},
    {.program = "gawk", .library = "", .code = "an AWK program"},
    {.program = "mawk", .library = "", .code = "an AWK program"},
    {.program = "ocamlrun", .library = "", .code = "OCaml bytecode"},
};
const size_t hp_language_count = sizeof hp_languages / sizeof *hp_languages;

const struct hp_language *hp_language_of_program(const char *program)
{
    for (size_t at = 0; at < hp_language_count; at++) {
        const char *name = hp_languages[at].program, *rest = program + strlen(name);
        if (hp_text_begins(program, name) &&
            (rest[0] == '\0' || rest[-1] == '-' || strspn(rest, "0123456789.-jitc") == strlen(rest)))
            return &hp_languages[at];
    }
    return NULL;
}

size_t hp_language_generating(const char *path)
{
    const char *file = hp_text_base_name(path);
    for (size_t at = 0; at < hp_language_count; at++)
        for (size_t number = 0; hp_languages[at].generator != NULL && number < 2; number++)
            if (hp_languages[at].files[number] != NULL && hp_text_begins(file, hp_languages[at].files[number]))
                return at + 1;
    return 0;
}
