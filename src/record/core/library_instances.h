/* Several copies of the library in one process act as one: see library_instances.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_LIBRARY_INSTANCES_H
#define HP_CORE_LIBRARY_INSTANCES_H

/* Finds the state of an active copy of the library. Called once, when this copy is loaded or first used. */
void hp_library_join(void);

#endif
