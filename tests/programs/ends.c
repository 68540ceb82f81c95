/* Runs for a moment, so that whatever is pending can come, and ends. */
int main(void)
{
    for (volatile int i = 0; i < 100000; i++)
        ;
    return 0;
}
