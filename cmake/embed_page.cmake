# Makes a C source from a page:
#   cmake -DNAME=report -DFROM=src/ui/page -DPARTS=page.html,page.css,data.js,... -DTO=report_page.c \
#     -P embed_page.cmake
# The first part is the template, the second the style, all others are scripts. Scripts are joined in their order.
# Several scripts are modules: import statements and the word export are removed, so that they can be one script.
# In the template @STYLE@ and @SCRIPT@ are replaced; @STYLE_HASH@ and @SCRIPT_HASH@ are for a content security
# policy that allows only these. The page is cut in two at @DATA@.
# The page is handled in hexadecimal, so that CMake does not interpret it.
function(hex_of text variable)
  string(HEX "${text}" hex)
  set(${variable} "${hex}" PARENT_SCOPE)
endfunction()

# The SHA-256 of a text, in base64 for the policy: of 32 bytes, ten groups of three and one of two.
function(hash_of text variable)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  set(coded "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}00" ${at} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${digit} 1 digit)
      string(APPEND coded "${digit}")
    endforeach()
  endforeach()
  string(SUBSTRING "${coded}" 0 43 coded)
  set(${variable} "sha256-${coded}=" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" scripts "${PARTS}")
list(POP_FRONT scripts template style)
list(LENGTH scripts count)
file(READ "${FROM}/${template}" page HEX)
file(READ "${FROM}/${style}" STYLE)
set(SCRIPT "")
foreach(name IN LISTS scripts)
  file(READ "${FROM}/${name}" text)
  if(count GREATER 1)
    string(REGEX REPLACE "\nimport [^;]*;" "" text "\n${text}")
    string(REGEX REPLACE "\nexport " "\n" text "${text}")
  endif()
  string(APPEND SCRIPT "${text}")
endforeach()

foreach(mark STYLE SCRIPT)
  hash_of("${${mark}}" hash)
  hex_of("${hash}" hash)
  hex_of("@${mark}_HASH@" hash_mark)
  string(REPLACE "${hash_mark}" "${hash}" page "${page}")
  hex_of("${${mark}}" text)
  hex_of("@${mark}@" mark)
  string(REPLACE "${mark}" "${text}" page "${page}")
endforeach()

hex_of("@DATA@" mark)
string(FIND "${page}" "${mark}" at)
string(LENGTH "${mark}" length)
if(at LESS 0)
  message(FATAL_ERROR "${template} has no @DATA@")
endif()
string(SUBSTRING "${page}" 0 ${at} head)
math(EXPR at "${at} + ${length}")
string(SUBSTRING "${page}" ${at} -1 tail)

set(source "/* Made by cmake/embed_page.cmake. */\n#include \"page.h\"\n")
foreach(part head tail)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${${part}}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
  string(APPEND source "const unsigned char hp_${NAME}_page_${part}[] = {\n${bytes}};\n"
    "const size_t hp_${NAME}_page_${part}_size = sizeof hp_${NAME}_page_${part};\n")
endforeach()
file(WRITE "${TO}" "${source}")
