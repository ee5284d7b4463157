#pragma once

#include <cstdint>
#include <memory>
#include <string>

// Of libfabric, whose headers stay out of ours.
struct fi_info;
struct fid_cq;
struct fid_domain;
struct fid_ep;
struct fid_eq;
struct fid_fabric;
struct fid_mr;
struct fid_pep;

namespace mixnet::ep {

template <typename Object>
struct FabricClose {
  void operator()(Object* object) const;
};

// Owns an object of libfabric. Objects have to go before those that they were opened on.
template <typename Object>
using FabricHandle = std::unique_ptr<Object, FabricClose<Object>>;

// What a negative return value of libfabric says.
std::string fabric_error(int64_t code);

}  // namespace mixnet::ep
