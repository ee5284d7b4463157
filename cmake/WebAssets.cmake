# web_assets(OUT_VARIABLE NAME=FILE ...)
#
# Sets OUT_VARIABLE to a generated source that holds the files (src/report/web_assets.h). FILE is
# relative to web/, or to the packages of web/package-lock.json when it starts with node_modules/.
# The packages are installed inside the build folder, once per change of the lock file: the source
# tree stays clean. Nothing of a package is run.
function(web_assets OUT_VARIABLE)
  find_program(MIXNET_NPM npm)
  find_program(MIXNET_NODE NAMES node nodejs)
  if(NOT MIXNET_NPM OR NOT MIXNET_NODE)
    message(FATAL_ERROR "npm is missing: it fetches the charts that report.html embeds. "
                        "Run ./demo.sh or: apt install npm")
  endif()
  set(WEB ${PROJECT_SOURCE_DIR}/web)
  set(INSTALLED ${CMAKE_BINARY_DIR}/web)
  set(STAMP ${INSTALLED}/installed.stamp)
  set(LOCK ${WEB}/package.json ${WEB}/package-lock.json ${WEB}/.npmrc)
  file(MAKE_DIRECTORY ${INSTALLED})
  add_custom_command(
    OUTPUT ${STAMP}
    COMMAND ${CMAKE_COMMAND} -E copy ${LOCK} ${INSTALLED}
    COMMAND ${MIXNET_NPM} ci --ignore-scripts --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${STAMP}
    WORKING_DIRECTORY ${INSTALLED}
    DEPENDS ${LOCK}
    COMMENT "Fetching the packages of web/package-lock.json"
    VERBATIM)

  set(ARGUMENTS)
  set(INPUTS ${STAMP} ${WEB}/embed.cjs)
  foreach(ASSET ${ARGN})
    string(REGEX REPLACE "=.*" "" NAME ${ASSET})
    string(REGEX REPLACE "^[^=]*=" "" FILE ${ASSET})
    if(FILE MATCHES "^node_modules/")
      list(APPEND ARGUMENTS ${NAME}=${INSTALLED}/${FILE})
    else()
      list(APPEND ARGUMENTS ${NAME}=${WEB}/${FILE})
      list(APPEND INPUTS ${WEB}/${FILE})
    endif()
  endforeach()
  set(SOURCE ${INSTALLED}/web_assets.cc)
  add_custom_command(
    OUTPUT ${SOURCE}
    COMMAND ${MIXNET_NODE} ${WEB}/embed.cjs ${SOURCE} ${ARGUMENTS}
    DEPENDS ${INPUTS}
    COMMENT "Embedding the parts of report.html"
    VERBATIM)
  set(${OUT_VARIABLE} ${SOURCE} PARENT_SCOPE)
endfunction()
