# region_proto(TARGET): the messages and the stubs of proto/region.proto as a static library.
#
# Generated code is built without our warnings and sanitizers, outside of the source tree, and its
# headers are system headers to whoever includes <region.grpc.pb.h>.
function(region_proto TARGET)
  find_program(MIXNET_GRPC_PLUGIN grpc_cpp_plugin)
  if(NOT MIXNET_GRPC_PLUGIN)
    message(FATAL_ERROR "grpc_cpp_plugin is missing: it generates the service of mixnetd. "
                        "Run ./demo.sh or: apt install protobuf-compiler-grpc")
  endif()
  set(PROTO ${PROJECT_SOURCE_DIR}/proto/region.proto)
  set(OUT ${CMAKE_BINARY_DIR}/proto)
  set(GENERATED ${OUT}/region.pb.cc ${OUT}/region.grpc.pb.cc)
  set(GENERATED_HEADERS ${OUT}/region.pb.h ${OUT}/region.grpc.pb.h)
  file(MAKE_DIRECTORY ${OUT})
  add_custom_command(
    OUTPUT ${GENERATED} ${GENERATED_HEADERS}
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=${OUT}
            --grpc_out=${OUT} --plugin=protoc-gen-grpc=${MIXNET_GRPC_PLUGIN} ${PROTO}
    DEPENDS ${PROTO}
    COMMENT "Generating the service of proto/region.proto"
    VERBATIM)
  add_library(${TARGET} STATIC ${GENERATED} ${GENERATED_HEADERS})
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${TARGET} SYSTEM PUBLIC ${OUT})
  target_link_libraries(${TARGET} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
endfunction()
