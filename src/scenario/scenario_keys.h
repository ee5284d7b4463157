#pragma once

#include "scenario/table_reader.h"

// Every key of a scenario file. docs/scenario.md explains them; a test holds it against this list.
namespace mixnet::scenario {

inline constexpr KeySpec kTopKeys[] = {
    {"seed", "1"},
    {"model", "[model]", true},
    {"parallelism", "[parallelism]", true},
    {"cluster", "[cluster]", true},
    {"network", "[network]"},
    {"compute", "[compute]"},
    {"routing", "[routing]", true},
    {"run", "[run]"},
    {"fabric", "[[fabric]]", true},
    {"failure", "[[failure]]"},
    {"mixnet", "[mixnet]"},
    {"control", "[control]"},
    {"prices", "[prices]"},
};

inline constexpr KeySpec kModelKeys[] = {
    {"name", "\"mixtral-8x7b\""},
    {"config", "\"config.json\""},
    {"layers", "7"},
    {"experts", "64"},
};

inline constexpr KeySpec kParallelismKeys[] = {
    {"tp", "4", true},
    {"pp", "4", true},
    {"dp", "1", true},
    {"ep", "8", true},
    {"micro_batch_size", "8", true},
    {"micro_batches", "8", true},
    {"sequence_length", "4096", true},
};

inline constexpr KeySpec kClusterKeys[] = {
    {"servers", "32", true},
    {"gpus_per_server", "8", true},
    {"gpu", "\"h100\"", true},
    {"nics_per_server", "8", true},
    {"nic_rate", "\"400Gbps\"", true},
    {"nic", "\"connectx-7\""},
    {"numa_nodes", "2"},
};

inline constexpr KeySpec kNetworkKeys[] = {
    {"packet_payload", "\"4096B\""}, {"packet_header", "\"64B\""},  {"headers", "true"},
    {"link_latency", "\"1us\""},     {"nvlink_latency", "\"1us\""}, {"nics", "\"pooled\""},
};

inline constexpr KeySpec kComputeKeys[] = {
    {"efficiency", "0.4"},
    {"backward_factor", "2.0"},
    {"bytes_per_element", "2"},
    {"gradient_bytes", "2"},
    {"calibration", "\"mixtral-8x7b-h800\""},
    {"attention", "\"78ms\""},
    {"gate", "\"1ms\""},
    {"expert", "\"148ms\""},
    {"add_norm", "\"1ms\""},
    {"micro_batch_size", "8"},
};

inline constexpr KeySpec kRoutingKeys[] = {
    {"trace", "\"routing.npy\""},
    {"matrix", "\"matrix.txt\""},
    {"generator", "\"log-normal\""},
    {"skew", "1.0"},
    {"drift", "0.05"},
    {"hot_experts", "2"},
    {"hot_share", "0.2"},
    {"seed", "1"},
    {"sources", "8"},
    {"first_iteration", "0"},
    {"per_micro_batch", "true"},
    {"repeat_layers", "true"},
    {"counts", "\"exact\""},
};

inline constexpr KeySpec kRunKeys[] = {
    {"iterations", "20"},
};

inline constexpr KeySpec kMixnetKeys[] = {
    {"alpha", "6"},
    {"switch_time", "\"25ms\""},
    {"switch_time_p99", "\"60ms\""},
    {"relink_time", "\"5.67s\""},
    {"relink_time_p99", "\"6.33s\""},
    {"switch", "\"polatis-576\""},
    {"ocs_ports", "576"},
};

inline constexpr KeySpec kControlKeys[] = {
    {"allocator", "\"split\""}, {"cadence", "\"layer\""},       {"every", "10"},
    {"scope", "\"whole\""},     {"darkness", "\"block\""},      {"control_delay", "\"1ms\""},
    {"dispatch", "\"block\""},  {"predictor", "\"unchanged\""},
};

// A fabric may also carry every key of [mixnet] and [control].
inline constexpr KeySpec kFabricKeys[] = {
    {"name", "\"fat-tree\"", true}, {"label", "\"mixnet-never\""},  {"oversubscription", "3"},
    {"switch_radix", "64"},         {"placement", "\"nic-aware\""}, {"placement_every", "200"},
};

inline constexpr KeySpec kFailureKeys[] = {
    {"kind", "\"nic\"", true},
    {"server", "0", true},
    {"side", "\"optical\""},
};

inline constexpr KeySpec kPricesKeys[] = {
    {"source", "\"quotation of a vendor\""},
    {"rows", "[[prices.rows]]"},
};

inline constexpr KeySpec kPriceRowKeys[] = {
    {"gbps", "400", true}, {"transceiver", "659"},      {"nic", "1499"},  {"eps_port", "1090"},
    {"ocs_port", "520"},   {"patch_panel_port", "100"}, {"fiber", "150"},
};

}  // namespace mixnet::scenario
