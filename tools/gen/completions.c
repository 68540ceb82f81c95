/* Completions for bash, zsh and fish. SPDX-License-Identifier: MIT */
#include <string.h>

#include "gen.h"

#define HEAD "# hotpath(1). Written by tools/gen from the tables of commands and options; change those.\n"

static void put_commands(FILE *out)
{
    for (size_t at = 0; at < hp_command_count; at++)
        fprintf(out, "%s%s", at > 0 ? " " : "", hp_commands[at]->name);
}

/* What may follow a flag: words of a choice, or a file; NULL: unknown. */
static bool is_choice(const char *value) { return strchr(value, '|') != NULL && strpbrk(value, "/NT0") == NULL; }
static bool is_path(const char *value) { return strcmp(value, "PATH") == 0; }

static void put_words(FILE *out, const char *choice)
{
    for (; *choice != '\0'; choice++)
        fputc(*choice == '|' ? ' ' : *choice, out);
}

/* ------------------------------------------------------------------------------------------------- bash */

static void put_bash_flags(FILE *out, const struct hp_command *command)
{
    struct gen_flag flag;
    for (size_t n = 0; gen_flag_of(command, n, &flag); n++) {
        fprintf(out, "%s--%s", n > 0 ? " " : "", flag.name);
        if (flag.letter != 0)
            fprintf(out, " -%c", flag.letter);
    }
}

/* What follows a flag with a value. */
static void put_bash_values(FILE *out, const struct hp_command *command)
{
    struct gen_flag flag;
    for (size_t n = 0; gen_flag_of(command, n, &flag); n++) {
        if (flag.value == NULL)
            continue;
        fprintf(out, "        %s:--%s", command->name, flag.name);
        if (flag.letter != 0)
            fprintf(out, " | %s:-%c", command->name, flag.letter);
        fputs(") ", out);
        if (is_choice(flag.value)) {
            fputs("COMPREPLY=($(compgen -W '", out);
            put_words(out, flag.value);
            fputs("' -- \"$word\")); ", out);
        } else if (is_path(flag.value)) {
            fputs("COMPREPLY=($(compgen -f -- \"$word\")); ", out);
        }
        fputs("return ;;\n", out);
    }
}

static void put_bash_operand(FILE *out, const struct hp_command *command)
{
    fprintf(out, "        %s) ", command->name);
    switch (command->operand) {
    case HP_OPERAND_SESSION:
        fputs("COMPREPLY=($(compgen -f -W \"$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')\" -- "
              "\"$word\"))",
              out);
        break;
    case HP_OPERAND_PROCESS:
        fputs("COMPREPLY=($(compgen -W \"$(hotpath ls -a 2> /dev/null | "
              "awk '$5 == \"pid\" && ($2 == \"live\" || $2 == \"off\") { print $6 }')\" -- \"$word\"))",
              out);
        break;
    case HP_OPERAND_PROGRAM:
        fputs("COMPREPLY=($(compgen -c -f -- \"$word\"))", out);
        break;
    case HP_OPERAND_TOPIC:
        fputs("COMPREPLY=($(compgen -W '", out);
        put_commands(out);
        fputs(" environment agents' -- \"$word\"))", out);
        break;
    case HP_OPERAND_NONE:
        fputs(":", out);
        break;
    }
    fputs(" ;;\n", out);
}

void gen_bash(FILE *out)
{
    fputs("# shellcheck shell=bash disable=SC2207 # words without blanks\n" HEAD "_hotpath()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} "
          "command=${COMP_WORDS[1]} at\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '",
          out);
    put_commands(out);
    fputs(" --help --version' -- \"$word\") $(compgen -f -X '!*/*' -- \"$word\"))\n"
          "        return\n    fi\n"
          "    # What follows the program of run is the program's.\n"
          "    if [[ $command == run ]]; then\n"
          "        for ((at = 2; at < COMP_CWORD; at++)); do\n"
          "            [[ ${COMP_WORDS[at]} == -- ]] && { ((at++)); break; }\n"
          "            [[ ${COMP_WORDS[at]} == -* ]] || "
          "[[ ${COMP_WORDS[at - 1]} == -* && ${COMP_WORDS[at - 1]} != -- ]] || break\n"
          "        done\n"
          "        if ((at < COMP_CWORD)); then\n"
          "            declare -F _command_offset > /dev/null && _command_offset \"$at\"\n"
          "            return\n        fi\n    fi\n"
          "    case $command:$before in\n",
          out);
    for (size_t at = 0; at < hp_command_count; at++)
        put_bash_values(out, hp_commands[at]);
    fputs("    esac\n    if [[ $word == -* ]]; then\n        case $command in\n", out);
    for (size_t at = 0; at < hp_command_count; at++) {
        fprintf(out, "        %s) COMPREPLY=($(compgen -W '", hp_commands[at]->name);
        put_bash_flags(out, hp_commands[at]);
        fputs("' -- \"$word\")) ;;\n", out);
    }
    fputs("        esac\n        return\n    fi\n    case $command in\n", out);
    for (size_t at = 0; at < hp_command_count; at++)
        put_bash_operand(out, hp_commands[at]);
    fputs("    esac\n}\ncomplete -o filenames -F _hotpath hotpath\n", out);
}

/* -------------------------------------------------------------------------------------------------- zsh */

/* Within single quotes and brackets: quotes doubled, brackets and colons escaped. */
static void put_zsh_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else {
            if (strchr("[]:\\", *text) != NULL)
                fputc('\\', out);
            fputc(*text, out);
        }
    }
}

static void put_zsh_value(FILE *out, const char *value)
{
    fputc(':', out);
    put_zsh_text(out, value);
    fputc(':', out);
    if (is_choice(value)) {
        fputc('(', out);
        for (; *value != '\0'; value++)
            fprintf(out, *value == ':' ? "\\%c" : "%c", *value == '|' ? ' ' : *value);
        fputc(')', out);
    } else if (is_path(value)) {
        fputs("_files", out);
    }
}

static void put_zsh_flag(FILE *out, const struct gen_flag *flag, bool is_letter)
{
    fputs("                '", out);
    if (is_letter)
        fprintf(out, "-%c[", flag->letter);
    else
        fprintf(out, "--%s[", flag->name);
    put_zsh_text(out, flag->help);
    fputc(']', out);
    if (flag->value != NULL)
        put_zsh_value(out, flag->value);
    fputs("' \\\n", out);
}

static void put_zsh_operand(FILE *out, const struct hp_command *command)
{
    static const char *const actions[] = {
        [HP_OPERAND_NONE] = "                && return ;;\n",
        [HP_OPERAND_SESSION] = "                '::session:_hotpath_sessions' && return ;;\n",
        [HP_OPERAND_PROCESS] = "                '*:process:_hotpath_processes' && return ;;\n",
        [HP_OPERAND_PROGRAM] =
            "                '(-):program:_command_names -e' '*::arguments:_normal' && return ;;\n",
        [HP_OPERAND_TOPIC] = "                '::topic:_hotpath_topics' && return ;;\n",
    };
    fputs(actions[command->operand], out);
}

static void put_zsh_command(FILE *out, const struct hp_command *command)
{
    struct gen_flag flag;
    fprintf(out, "        %s)\n            _arguments -S \\\n", command->name);
    for (size_t n = 0; gen_flag_of(command, n, &flag); n++) {
        put_zsh_flag(out, &flag, false);
        if (flag.letter != 0)
            put_zsh_flag(out, &flag, true);
    }
    put_zsh_operand(out, command);
}

static void put_zsh_commands(FILE *out)
{
    fputs("    local -a commands=(\n", out);
    for (size_t at = 0; at < hp_command_count; at++) {
        fprintf(out, "        '%s:", hp_commands[at]->name);
        put_zsh_text(out, hp_commands[at]->summary);
        fputs("'\n", out);
    }
    fputs("    )\n", out);
}

void gen_zsh(FILE *out)
{
    fputs("#compdef hotpath\n" HEAD "\n_hotpath_sessions() {\n"
          "    compadd -- ${(f)\"$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')\"}\n    _files\n}\n"
          "\n_hotpath_processes() {\n"
          "    compadd -- ${(f)\"$(hotpath ls -a 2> /dev/null | "
          "awk '$5 == \"pid\" && ($2 == \"live\" || $2 == \"off\") { print $6 }')\"}\n}\n"
          "\n_hotpath_topics() { compadd -- ",
          out);
    put_commands(out);
    fputs(" environment agents }\n\n_hotpath() {\n", out);
    put_zsh_commands(out);
    fputs("    if ((CURRENT == 2)); then\n"
          "        _describe command commands\n        _files\n        return\n    fi\n"
          "    local command=${words[2]}\n    shift words\n    ((CURRENT--))\n    case $command in\n",
          out);
    for (size_t at = 0; at < hp_command_count; at++)
        put_zsh_command(out, hp_commands[at]);
    fputs("    esac\n}\n\n_hotpath \"$@\"\n", out);
}

/* ------------------------------------------------------------------------------------------------- fish */

static void put_fish_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_fish_flag(FILE *out, const struct hp_command *command, const struct gen_flag *flag)
{
    fprintf(out, "complete -c hotpath -n '__fish_seen_subcommand_from %s' -l %s", command->name, flag->name);
    if (flag->letter != 0)
        fprintf(out, " -s %c", flag->letter);
    if (flag->value != NULL && is_choice(flag->value)) {
        fputs(" -x -a '", out);
        put_words(out, flag->value);
        fputc('\'', out);
    } else if (flag->value != NULL) {
        fputs(is_path(flag->value) ? " -r -F" : " -x", out);
    }
    fputs(" -d '", out);
    put_fish_text(out, flag->help);
    fputs("'\n", out);
}

static void put_fish_operand(FILE *out, const struct hp_command *command)
{
    static const char *const actions[] = {
        [HP_OPERAND_NONE] = "-f",
        [HP_OPERAND_SESSION] = "-F -a '(hotpath ls -a 2> /dev/null | awk \"NR > 1 { print \\$1 }\")'",
        [HP_OPERAND_PROCESS] = "-f -a '(hotpath ls -a 2> /dev/null | awk \"\\$5 == \\\"pid\\\" { print \\$6 }\")'",
        [HP_OPERAND_PROGRAM] = "-F -a '(__fish_complete_subcommand --fcs-skip=2)'",
        [HP_OPERAND_TOPIC] =
            "-f -a '(hotpath help 2> /dev/null | string match -rg \"^  (\\w+) \") environment agents'",
    };
    fprintf(out, "complete -c hotpath -n '__fish_seen_subcommand_from %s' %s\n", command->name,
            actions[command->operand]);
}

void gen_fish(FILE *out)
{
    fputs(HEAD "complete -c hotpath -n __fish_use_subcommand -l help -s h -d 'Print help.'\n"
               "complete -c hotpath -n __fish_use_subcommand -l version -s V -d 'Print the version.'\n",
          out);
    for (size_t at = 0; at < hp_command_count; at++) {
        const struct hp_command *command = hp_commands[at];
        struct gen_flag flag;
        fprintf(out, "complete -c hotpath -n __fish_use_subcommand -a %s -d '", command->name);
        put_fish_text(out, command->summary);
        fputs("'\n", out);
        put_fish_operand(out, command);
        for (size_t n = 0; gen_flag_of(command, n, &flag); n++)
            put_fish_flag(out, command, &flag);
    }
}
