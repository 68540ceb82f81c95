# Flags of our own code. None of them reach users of the library.

set(hotpath_warnings
    -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Wwrite-strings -Wformat=2 -Wcast-qual -Wpointer-arith)
set(hotpath_warnings_c -Wstrict-prototypes -Wmissing-prototypes)

find_program(HOTPATH_LLD ld.lld)
mark_as_advanced(HOTPATH_LLD)

function(hotpath_flags target)
  target_compile_options(${target} PRIVATE
    ${hotpath_warnings} "$<$<COMPILE_LANGUAGE:C>:${hotpath_warnings_c}>" $<$<BOOL:${HOTPATH_WERROR}>:-Werror>)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-unknown-warning-option) # tests switch some of gcc's off
  endif()
  if(HOTPATH_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HOTPATH_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${HOTPATH_SANITIZE})
    # It links the many programs of the tests in half the time.
    get_target_property(type ${target} TYPE)
    if(HOTPATH_LLD AND type STREQUAL EXECUTABLE)
      target_link_options(${target} PRIVATE -fuse-ld=lld)
    endif()
    if(CMAKE_C_COMPILER_ID STREQUAL GNU)
      # gcc's ThreadSanitizer does not support fences and warns about each; sanitizers cause false positives of the
      # other warning.
      target_compile_options(${target} PRIVATE -Wno-error=tsan -Wno-maybe-uninitialized)
    endif()
  endif()
  if(HOTPATH_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

# Hardening of what is packaged; tools/check_hardened.py checks it. Code inlined into the host, which a zone
# executes, is compiled by the host.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
if(HOTPATH_HARDEN)
  set(hotpath_hardening "")
  foreach(option -fstack-protector-strong -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "HOTPATH_HAS${option}" has_option)
    check_c_compiler_flag(${option} ${has_option})
    if(${has_option})
      list(APPEND hotpath_hardening ${option})
    endif()
  endforeach()
  check_c_source_compiles("int main(void) { return __builtin_dynamic_object_size(\"\", 0) == 7; }"
    HOTPATH_HAS_FORTIFY_3)
  list(APPEND hotpath_hardening -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${HOTPATH_HAS_FORTIFY_3}>,3,2>)
  set(hotpath_hardening_linked -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  if(HOTPATH_HAS_fcf_protection) # removed by the linker if the C library's start files lack it
    list(APPEND hotpath_hardening_linked -Wl,-z,ibt -Wl,-z,shstk)
  endif()
endif()

function(hotpath_harden target)
  target_compile_options(${target} PRIVATE ${hotpath_hardening})
endfunction()

function(hotpath_harden_linked target)
  target_link_options(${target} PRIVATE ${hotpath_hardening_linked} ${ARGN})
endfunction()

# For programs that load libdw. gcc's leak checker misreads the thread-local storage of libraries that are loaded
# later, and may crash; it does not for those loaded at the start.
function(hotpath_opens_libdw target)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  if(HOTPATH_SANITIZE AND HOTPATH_HAS_LIBDW)
    target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed dw -Wl,--pop-state)
  endif()
endfunction()

# Our folders are searched for "name.h" only: <memory.h> and the like stay the system's.
function(hotpath_internal_headers target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  foreach(folder base os elf config format observe model report record/core record/alloc record/cpu record/zones
      record/objects record/paths record/tasks preload stacks/symbols stacks/unwind stacks/collect stacks/names
      compare export ui/console ui/serve ui/agent ui/mcp push run cli)
    target_compile_options(${target} PRIVATE "SHELL:-iquote \"${PROJECT_SOURCE_DIR}/src/${folder}\"")
  endforeach()
endfunction()

# Intel's processors from Skylake to Comet Lake decode a jump anew each time if it touches the end of 32 bytes
# (erratum SKX102 and others): what an event costs then depends on where the linker puts its code, by up to a sixth.
function(hotpath_align_jumps target)
  foreach(option -mbranches-within-32B-boundaries -Wa,-mbranches-within-32B-boundaries) # clang, gcc
    string(MAKE_C_IDENTIFIER "HOTPATH_HAS_${option}" has_option)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
      check_c_compiler_flag(${option} ${has_option})
    endif()
    if(${has_option})
      target_compile_options(${target} PRIVATE ${option})
      return()
    endif()
  endforeach()
endfunction()
