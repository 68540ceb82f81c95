/* Runs for a moment, so that anything pending can arrive, and exits. */
int main(void)
{
    for (volatile int i = 0; i < 100000; i++)
        ;
    return 0;
}
