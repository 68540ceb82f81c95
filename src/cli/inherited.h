/*
 * The descriptors that we were started with. The program has them, too; as long as we keep ours, nobody else notices that it has
 * closed its own: a pipe has no end, a lock stays, a port is taken. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_INHERITED_H
#define HP_CLI_INHERITED_H

/*
 * Lets go of them. What we have opened ourselves stays, and standard error, for the report; and those that are the file `output`,
 * such as /dev/stdout, which may be empty.
 */
void hp_inherited_let_go(const char *output);

/* Closes all of them, and our own, but one. */
void hp_inherited_keep_only(int fd);

#endif
