/*
 * The descriptors that we were started with. The program has them, too. As long as we keep ours open, nobody
 * notices that the program closed its own: a pipe never ends, a lock stays held, a port stays taken.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_INHERITED_H
#define HP_RUN_INHERITED_H

/*
 * Closes them. Descriptors that we opened stay, and standard error, for the report; also those that refer to the
 * file `output`, such as /dev/stdout. `output` may be empty.
 */
void hp_inherited_let_go(const char *output);

/* Closes all inherited descriptors and our own, except `fd`. */
void hp_inherited_keep_only(int fd);

#endif
