"""What tests/programs/alloc_calls.c allocates, and how to compare it with what was counted."""
import re

# Calls of alloc_calls.c: allocations, requested bytes, freed blocks.
COUNTED = [("malloc", 1, 100, 0), ("free", 0, 0, 1), ("malloc_none", 1, 0, 0), ("free", 0, 0, 1),
           ("malloc_large", 1, 3000000, 0), ("free", 0, 0, 1), ("calloc", 1, 210, 0), ("free", 0, 0, 1),
           ("strdup", 1, 21, 0), ("free", 0, 0, 1), ("free", 0, 0, 0),
           ("realloc_null", 1, 50, 0), ("realloc", 1, 5000, 1), ("realloc_huge", 0, 0, 0),
           ("reallocarray_huge", 0, 0, 0), ("reallocarray", 1, 9000, 1), ("realloc_none", 0, 0, 1),
           ("posix_memalign", 1, 70, 0), ("free", 0, 0, 1), ("aligned_alloc", 1, 640, 0), ("free", 0, 0, 1),
           ("memalign", 1, 80, 0), ("free", 0, 0, 1), ("valloc", 1, 90, 0), ("free", 0, 0, 1),
           ("pvalloc", 1, 91, 0), ("free", 0, 0, 1), ("malloc_huge", 0, 0, 0), ("calloc_huge", 0, 0, 0)]


def truth(stdout):
    """The same for the allocator that wrote this: some count a block of 0 bytes, and not all libraries have
    pvalloc."""
    rows = COUNTED if "pvalloc" in stdout else COUNTED[:-4] + COUNTED[-2:]
    keeps = "realloc_none: memory" in stdout
    return [("realloc_none", 1, 0, 1) if row[0] == "realloc_none" and keeps else row for row in rows]


# What the linker is told to wrap in a static executable.
FAMILY = ["malloc", "calloc", "realloc", "reallocarray", "free", "free_sized", "free_aligned_sized",
          "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc"]


def counted(stderr):
    """Lines of tell_counts: what, allocations, bytes, freed blocks; and the usable bytes of the freed blocks."""
    found = re.findall(r"^counted (\w+) (\d+) (\d+) (\d+) (\d+)$", stderr, re.M)
    return [(what, int(count), int(size), int(freed)) for what, count, size, freed, _ in found], \
        [int(usable) for what, *_, usable in found if what == "free"]


def check_counts(stderr, truth):
    """Compares the counts; freed blocks must have the size that the allocator reports to the program."""
    counts, freed = counted(stderr)
    assert counts == truth
    assert freed == [int(size) for size in re.findall(r"^usable (\d+)$", stderr, re.M)]
