# cmake -DINPUT_DIR=... -DOUTPUT=... -P EmbedCatalog.cmake
#
# Writes a source file that holds every catalogue file as a string, so that the program needs no
# data folder at run time.
set(NAMES models gpus nics switches prices calibrations)
set(BODY "// Made by cmake/EmbedCatalog.cmake from catalog/*.toml.\n")
string(APPEND BODY "#include \"scenario/catalog.h\"\n\nnamespace mixnet::scenario {\n\n")
string(APPEND BODY "CatalogText builtin_catalog_text() {\n  CatalogText text;\n")
foreach(NAME ${NAMES})
  file(READ ${INPUT_DIR}/${NAME}.toml CONTENT)
  string(LENGTH "${CONTENT}" SIZE)
  # Compilers need not take a longer literal.
  if(SIZE GREATER 60000)
    message(FATAL_ERROR "${NAME}.toml is too long for one string literal: split the file")
  endif()
  string(APPEND BODY "  text.${NAME} = R\"toml(${CONTENT})toml\";\n")
endforeach()
string(APPEND BODY "  return text;\n}\n\n}  // namespace mixnet::scenario\n")
file(WRITE ${OUTPUT} "${BODY}")
