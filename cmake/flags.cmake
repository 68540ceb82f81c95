# Flags of our own code. Nothing here reaches those who use the library.

set(hotpath_warnings
    -Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Wwrite-strings -Wformat=2 -Wcast-qual -Wpointer-arith)
set(hotpath_warnings_c -Wstrict-prototypes -Wmissing-prototypes)

function(hotpath_flags target)
  target_compile_options(${target} PRIVATE
    ${hotpath_warnings} "$<$<COMPILE_LANGUAGE:C>:${hotpath_warnings_c}>" $<$<BOOL:${HOTPATH_WERROR}>:-Werror>)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-unknown-warning-option) # tests switch some of gcc's off
  endif()
  if(HOTPATH_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HOTPATH_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${HOTPATH_SANITIZE})
    if(CMAKE_C_COMPILER_ID STREQUAL GNU)
      # gcc's ThreadSanitizer does not see fences and says so for each; its sanitizers confuse this other warning.
      target_compile_options(${target} PRIVATE -Wno-error=tsan -Wno-maybe-uninitialized)
    endif()
  endif()
  if(HOTPATH_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

# Our folders are searched for "name.h" only: <memory.h> and its like stay the system's.
function(hotpath_internal_headers target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  foreach(folder base os session record sections render alloc symbols cli)
    target_compile_options(${target} PRIVATE "SHELL:-iquote \"${PROJECT_SOURCE_DIR}/src/${folder}\"")
  endforeach()
endfunction()
