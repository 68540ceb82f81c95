/*
 * A directory for the tests of one program, made before the first and removed after the last.
 * SPDX-License-Identifier: MIT
 */
#ifndef SCRATCH_FOLDER_H
#define SCRATCH_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

static char scratch_folder[] = "/tmp/hotpath-unit-XXXXXX";

static int make_scratch_folder(void **state)
{
    (void)state;
    return mkdtemp(scratch_folder) == NULL;
}

static int remove_scratch_folder(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", scratch_folder);
    return system(command); /* NOLINT(cert-env33-c): the words are our own */
}

#endif
