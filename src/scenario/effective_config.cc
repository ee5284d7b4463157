#include <nlohmann/json.hpp>

#include "scenario/scenario.h"

namespace mixnet::scenario {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson model_json(const Scenario& scenario) {
  const MoeModel& m = scenario.study.model;
  OrderedJson json;
  json["name"] = m.name;
  if (!scenario.model_config.empty()) {
    json["config"] = scenario.model_config;
  }
  json.update(OrderedJson{{"hidden", m.hidden},
                          {"layers", m.layers},
                          {"first_dense", m.first_dense},
                          {"moe_every", m.moe_every},
                          {"dense_ffn", m.dense_ffn},
                          {"experts", m.experts},
                          {"top_k", m.top_k},
                          {"expert_ffn", m.expert_ffn},
                          {"shared_experts", m.shared_experts},
                          {"shared_ffn", m.shared_ffn},
                          {"dispatch_width", m.dispatch_width},
                          {"query_heads", m.query_heads},
                          {"kv_heads", m.kv_heads},
                          {"head_dim", m.head_dim},
                          {"q_lora_rank", m.q_lora_rank},
                          {"kv_lora_rank", m.kv_lora_rank},
                          {"vocab", m.vocab}});
  return json;
}

OrderedJson parallelism_json(const Parallelism& p) {
  return {{"tp", p.tp},
          {"pp", p.pp},
          {"dp", p.dp},
          {"ep", p.ep},
          {"micro_batch_size", p.micro_batch_size},
          {"micro_batches", p.micro_batches},
          {"sequence_length", p.sequence_length}};
}

OrderedJson cluster_json(const Cluster& c) {
  OrderedJson json = {{"servers", c.servers},
                      {"gpus_per_server", c.gpus_per_server},
                      {"nics_per_server", c.nics_per_server},
                      {"numa_nodes", c.numa_nodes},
                      {"nic_rate_bps", c.nic_rate.bps()},
                      {"nic", c.nic}};
  json["gpu"] = {{"name", c.gpu.name},
                 {"bf16_tflops", c.gpu.bf16_tflops},
                 {"fp8_tflops", c.gpu.fp8_tflops},
                 {"hbm_gbytes_per_s", c.gpu.hbm_gbytes_per_s},
                 {"nvlink_gbytes_per_s", c.gpu.nvlink_gbytes_per_s}};
  return json;
}

OrderedJson network_json(const NetworkSettings& n) {
  return {{"packet_payload_bytes", n.packet_payload.count()},
          {"packet_header_bytes", n.packet_header.count()},
          {"headers", n.headers},
          {"link_latency_s", n.link_latency.seconds()},
          {"nvlink_latency_s", n.nvlink_latency.seconds()},
          {"nics", n.nics == NicUse::kPooled ? "pooled" : "pinned"}};
}

OrderedJson compute_json(const ComputeSettings& c) {
  OrderedJson json = {{"efficiency", c.efficiency},
                      {"backward_factor", c.backward_factor},
                      {"bytes_per_element", c.bytes_per_element},
                      {"gradient_bytes", c.gradient_bytes}};
  const LayerTimes& t = c.measured;
  const std::pair<const char*, std::optional<SimTime>> times[] = {
      {"attention_s", t.attention}, {"gate_s", t.gate},         {"expert_s", t.expert},
      {"add_norm_s", t.add_norm},   {"dispatch_s", t.dispatch}, {"combine_s", t.combine}};
  OrderedJson measured = OrderedJson::object();
  for (const auto& [key, time] : times) {
    if (time.has_value()) {
      measured[key] = time->seconds();
    }
  }
  if (!measured.empty()) {
    measured["micro_batch_size"] = t.micro_batch_size;
    measured["source"] = t.source;
    json["measured"] = measured;
  }
  return json;
}

OrderedJson routing_json(const Scenario& scenario) {
  const RoutingInput& input = scenario.routing;
  const RoutingUse& use = scenario.study.routing;
  OrderedJson json = OrderedJson::object();
  if (!input.trace.empty()) {
    json["trace"] = input.written;
  } else if (!input.matrix.empty()) {
    json["matrix"] = input.written;
  } else {
    const GeneratorOptions& g = input.generator;
    json.update(OrderedJson{{"generator", load_shape_name(g.shape)},
                            {"skew", g.skew},
                            {"drift", g.drift},
                            {"hot_experts", g.hot_experts},
                            {"hot_share", g.hot_share},
                            {"seed", g.seed},
                            {"sources", g.sources}});
  }
  json.update(OrderedJson{{"first_iteration", use.first_iteration},
                          {"per_micro_batch", use.per_micro_batch},
                          {"repeat_layers", use.repeat_layers},
                          {"counts", use.counts_are_weights ? "weights" : "exact"}});
  return json;
}

SimTime p99_of(const Delay& delay) { return later_of(delay.mean, delay.p99); }

OrderedJson fabric_json(const FabricSpec& fabric) {
  OrderedJson json = {{"name", fabric.name}, {"kind", fabric_kind_name(fabric.kind)}};
  json["switch_radix"] = fabric.switch_radix;
  json["placement"] = expert_placement_name(fabric.placement);
  if (fabric.placement_every > 0) {
    json["placement_every"] = fabric.placement_every;
  }
  if (fabric.kind == FabricKind::kFatTreeOversubscribed) {
    json["oversubscription"] = fabric.oversubscription;
  }
  if (fabric.kind == FabricKind::kMixnet) {
    const MixnetSettings& m = fabric.mixnet;
    json.update(OrderedJson{{"alpha", m.alpha},
                            {"switch_time_s", m.switch_time.mean.seconds()},
                            {"switch_time_p99_s", p99_of(m.switch_time).seconds()},
                            {"relink_time_s", m.relink_time.mean.seconds()},
                            {"relink_time_p99_s", p99_of(m.relink_time).seconds()},
                            {"ocs_ports", m.ocs_ports},
                            {"allocator", allocator_name(m.allocator)},
                            {"cadence", cadence_name(m.cadence)},
                            {"every", m.every},
                            {"scope", change_scope_name(m.scope)},
                            {"darkness", darkness_name(m.darkness)},
                            {"control_delay_s", m.control_delay.seconds()},
                            {"dispatch", dispatch_mode_name(m.dispatch)},
                            {"predictor", predictor_name(m.predictor)}});
  }
  return json;
}

OrderedJson prices_json(const PriceList& prices) {
  OrderedJson json = {{"source", prices.source}, {"rows", OrderedJson::array()}};
  for (const PriceRow& row : prices.rows) {
    json["rows"].push_back(OrderedJson{{"gbps", row.gbps},
                                       {"transceiver_usd", row.transceiver},
                                       {"nic_usd", row.nic},
                                       {"eps_port_usd", row.eps_port},
                                       {"ocs_port_usd", row.ocs_port},
                                       {"patch_panel_port_usd", row.patch_panel_port},
                                       {"fiber_usd", row.fiber}});
  }
  return json;
}

}  // namespace

nlohmann::ordered_json effective_config(const Scenario& scenario) {
  const Study& study = scenario.study;
  OrderedJson json;
  json["seed"] = scenario.seed;
  json["model"] = model_json(scenario);
  json["parallelism"] = parallelism_json(study.parallelism);
  json["cluster"] = cluster_json(study.cluster);
  json["network"] = network_json(study.network);
  json["compute"] = compute_json(study.compute);
  json["run"] = {{"iterations", study.run.iterations}};
  json["routing"] = routing_json(scenario);
  if (!study.failures.empty()) {
    json["failures"] = OrderedJson::array();
    for (const Failure& failure : study.failures) {
      json["failures"].push_back({{"kind", failure_kind_name(failure.kind)},
                                  {"server", failure.server},
                                  {"side", failure_side_name(failure.side)}});
    }
  }
  json["fabrics"] = OrderedJson::array();
  for (const FabricSpec& fabric : study.fabrics) {
    json["fabrics"].push_back(fabric_json(fabric));
  }
  json["prices"] = prices_json(scenario.prices);
  return json;
}

}  // namespace mixnet::scenario
