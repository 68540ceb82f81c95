/* The header needs nothing before it and may be included twice. */
#include <hotpath.h>
#include <hotpath.h>

extern int header_alone; /* a unit without a declaration is not ISO C */
