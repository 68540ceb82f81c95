/* The part of cold.c that is not instrumented. */
int plain_called(int n);
int plain_unmeasured(int n);

int plain_called(int n) { return n + 4; }

int plain_unmeasured(int n) { return n + 5; }
