"""The long versions of tests that have a short one beside the others."""
from harness import without_emulator, without_thread_sanitizer
from test_survival import kill_at_random_moments
from test_truth import check_short_lives


@without_emulator("it would take hours")
def test_200000_short_lived_threads(box):
    check_short_lives(box, 200000)


@without_emulator("its own memory is shared with the program's")
def test_sigkill_at_500_random_moments(box):
    kill_at_random_moments(box, 500, seed=2)


@without_emulator("timers that fast starve an emulator")
@without_thread_sanitizer("it puts handlers off and takes a quarter of an hour; the short version runs")
def test_a_million_calls_under_200000_signals(box):
    result = box.run("signals", "storm", 200000, timeout=900)
    told = result.told
    assert result.calls("on_signal") == result.calls("in_handler") == told["handled"]
    assert result.calls("tiny") == told["tiny"] and result.calls("nest") == told["nest"]
