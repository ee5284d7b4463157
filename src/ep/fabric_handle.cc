#include "ep/fabric_handle.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

namespace mixnet::ep {

template <typename Object>
void FabricClose<Object>::operator()(Object* object) const {
  // An object that cannot be closed stays behind: nobody could do anything about it.
  static_cast<void>(fi_close(&object->fid));
}

template <>
void FabricClose<fi_info>::operator()(fi_info* object) const {
  fi_freeinfo(object);
}

template struct FabricClose<fid_cq>;
template struct FabricClose<fid_domain>;
template struct FabricClose<fid_ep>;
template struct FabricClose<fid_eq>;
template struct FabricClose<fid_fabric>;
template struct FabricClose<fid_mr>;
template struct FabricClose<fid_pep>;

std::string fabric_error(int64_t code) {
  return fi_strerror(static_cast<int>(code < 0 ? -code : code));
}

}  // namespace mixnet::ep
