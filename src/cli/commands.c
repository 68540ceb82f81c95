/* The table of commands; a new command is one line here. SPDX-License-Identifier: MIT */
#include <string.h>

#include "command.h"

const struct hp_command *const hp_commands[] = {
    &hp_command_demo,  &hp_command_run,   &hp_command_record,   &hp_command_console, &hp_command_report,
    &hp_command_open,  &hp_command_serve, &hp_command_annotate, &hp_command_export,  &hp_command_ls,
    &hp_command_clean, &hp_command_on,    &hp_command_off,      &hp_command_doctor,  &hp_command_help,
};

const size_t hp_command_count = sizeof hp_commands / sizeof hp_commands[0];

const struct hp_command *hp_command_find(const char *name)
{
    for (size_t at = 0; at < hp_command_count; at++)
        if (strcmp(hp_commands[at]->name, name) == 0)
            return hp_commands[at];
    return NULL;
}

char hp_command_letter(const struct hp_command *command, char letter)
{
    for (size_t at = 0; at < command->flag_count; at++)
        if (command->flags[at].letter == letter)
            return 0;
    return letter;
}

bool hp_command_reads(const struct hp_command *command, const char *variable)
{
    return command->ignored_variable == NULL || strcmp(command->ignored_variable, variable) != 0;
}
