/* A library that allocates when it is loaded, and frees when it is unloaded. */
#include <stdlib.h>
#include <string.h>

static char *text;

int alloc_plugin_is_fine(void);

__attribute__((constructor)) static void begin(void)
{
    text = malloc(111);
    if (text != NULL)
        strcpy(text, "allocated");
}

__attribute__((destructor)) static void end(void) { free(text); }

int alloc_plugin_is_fine(void) { return text != NULL && strcmp(text, "allocated") == 0; }
