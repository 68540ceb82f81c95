# Every test is a CTest test with labels. Exit status 77 means skipped.
#
#   unit e2e compile check   its kind
#   asan tsan                also run by ./dev test in that build (--full runs all but slow ones everywhere)
#   slow                     only run by ./dev test --full, in the builds release, asan and tsan
#   quick                    also run by ./dev test --quick: a minute for all of them
#
# ./dev test and ./dev test --quick build only what these tests need: the targets quick, asan and tsan. What is
# missing there makes a test fail.
#
# Tests count as two processors for ctest, those that wait most of the time (WAITS) as one.
#
# A timeout is for tests that hang, not for slow ones: under a load of ten everything takes ten times as long. Tests
# run several at once: each must pass while others take CPU time from it.

include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h HOTPATH_IS_GLIBC)

function(hotpath_add_test name)
  cmake_parse_arguments(arg "WAITS" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
    if("slow" IN_LIST arg_LABELS OR HOTPATH_TEST_PREFIX)
      set(arg_TIMEOUT 1800)
    endif()
  endif()
  set(processors 2)
  if(arg_WAITS)
    set(processors 1)
  endif()
  set(emulator "${CMAKE_CROSSCOMPILING_EMULATOR}")
  list(JOIN emulator " " emulator)
  set(is_optimised 1)
  if(CMAKE_C_FLAGS_RELWITHDEBINFO MATCHES "-O0")
    set(is_optimised)
  endif()
  # Python compiles what a hundred tests import once, even where PYTHONDONTWRITEBYTECODE is set.
  set_tests_properties(${name} PROPERTIES
    PROCESSORS ${processors}
    SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "HOTPATH_BUILD_DIR=${PROJECT_BINARY_DIR};HOTPATH_SOURCE_DIR=${PROJECT_SOURCE_DIR}\
;HOTPATH_SANITIZER=${HOTPATH_SANITIZE};HOTPATH_EMULATOR=${emulator};HOTPATH_IS_GLIBC=${HOTPATH_IS_GLIBC}\
;HOTPATH_IS_OPTIMISED=${is_optimised}\
;PYTHONPYCACHEPREFIX=${PROJECT_BINARY_DIR}/pycache;PYTHONDONTWRITEBYTECODE=;LC_ALL=C.UTF-8\
;ASAN_OPTIONS=detect_stack_use_after_return=1;UBSAN_OPTIONS=print_stacktrace=1\
;TSAN_OPTIONS=halt_on_error=1:print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
endfunction()

# hotpath_add_unit_test(name [TSAN] [SLOW] [LONG] [SOURCES more.c...]): tests/unit/name.c, with access to
# all internal names. LONG: too long for ./dev test --quick. TSAN: without those of the program, which ./dev test
# then need not compile with ThreadSanitizer; SOURCES has what such a test needs of them.
function(hotpath_add_unit_test name)
  cmake_parse_arguments(arg "TSAN;SLOW;LONG" "" "SOURCES" ${ARGN})
  add_executable(unit_${name} ${name}.c ${arg_SOURCES})
  hotpath_needed_by(asan unit_${name})
  if(NOT arg_LONG)
    set(arg_QUICK ON)
    hotpath_needed_by(quick unit_${name})
  endif()
  if(arg_TSAN)
    hotpath_needed_by(tsan unit_${name})
  endif()
  set(internal $<IF:$<BOOL:${arg_TSAN}>,hotpath_library_internal,hotpath_internal>)
  hotpath_flags(unit_${name})
  hotpath_internal_headers(unit_${name})
  target_compile_definitions(unit_${name} PRIVATE HOTPATH=1 _FILE_OFFSET_BITS=64) # as in the program
  target_link_libraries(unit_${name} PRIVATE hotpath_unit_support ${internal} hotpath_cmocka)
  set_target_properties(unit_${name} PROPERTIES
    OUTPUT_NAME ${name} C_STANDARD 11 RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/unit")
  hotpath_labels(labels unit)
  set(command unit_${name}) # by name, so that CMake puts the emulator of a cross build before it
  if(HOTPATH_TEST_PREFIX)
    set(command ${HOTPATH_TEST_PREFIX} $<TARGET_FILE:unit_${name}>)
  endif()
  hotpath_add_test(unit.${name} COMMAND ${command} LABELS ${labels})
endfunction()

# hotpath_add_e2e_test(name [SLOW] [QUICK] [PLAIN] [WAITS] [NOPERF] [NOPERF_QUICK]): tests/e2e/name.py, run
# by pytest. PLAIN: ./dev test runs it without sanitizers only, as they find little there. NOPERF: ./dev test --full
# also runs it as e2e.name.noperf, where the kernel refuses perf_event_open to the test and to all that it starts,
# as in most containers; NOPERF_QUICK: so does ./dev test.
function(hotpath_add_e2e_test name)
  cmake_parse_arguments(arg "SLOW;QUICK;PLAIN;WAITS;NOPERF;NOPERF_QUICK" "" "" ${ARGN})
  set(waits)
  if(arg_WAITS)
    set(waits WAITS)
  endif()
  hotpath_labels(labels e2e)
  set(command "${HOTPATH_PYTHON}" -m pytest -q -rs -p no:cacheprovider "${CMAKE_CURRENT_SOURCE_DIR}/${name}.py")
  hotpath_add_test(e2e.${name} ${waits} LABELS ${labels} TIMEOUT 1200 COMMAND ${command})
  # An emulator has no perf, and ThreadSanitizer no timers.
  if((arg_NOPERF OR arg_NOPERF_QUICK) AND NOT CMAKE_CROSSCOMPILING AND NOT HOTPATH_SANITIZE MATCHES thread)
    set(labels e2e)
    if(NOT arg_NOPERF_QUICK)
      list(APPEND labels slow)
    endif()
    hotpath_add_test(e2e.${name}.noperf ${waits} LABELS ${labels} TIMEOUT 1200
      COMMAND "${PROJECT_BINARY_DIR}/programs/without_perf" ${command})
  endif()
endfunction()

# Turns the caller's TSAN, SLOW, QUICK, PLAIN into labels.
macro(hotpath_labels variable)
  set(${variable} ${ARGN})
  if(NOT arg_PLAIN)
    list(APPEND ${variable} asan)
  endif()
  if(arg_TSAN)
    list(APPEND ${variable} tsan)
  endif()
  if(arg_SLOW)
    list(APPEND ${variable} slow)
  endif()
  if(arg_QUICK)
    list(APPEND ${variable} quick)
  endif()
endmacro()
