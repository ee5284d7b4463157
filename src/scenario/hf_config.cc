#include "scenario/hf_config.h"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "scenario/names.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostModelCount = 1 << 24;

// Counts by the first of several key names that is there; the first problem sticks.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string file) : json_(json), file_(std::move(file)) {}

  void problem(std::string message) {
    if (!problem_.has_value()) {
      problem_ = error_at(file_, std::move(message));
    }
  }
  const std::optional<Error>& first_problem() const { return problem_; }

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<int> optional_count(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      const Json* value = find(key);
      if (value == nullptr) {
        continue;
      }
      const bool fits = value->is_number_unsigned() && value->get<uint64_t>() <= kMostModelCount;
      if (!fits) {
        problem(fmt::format("`{}` must be a count of at most {}, found {}", key, kMostModelCount,
                            value->dump()));
        return std::nullopt;
      }
      return value->get<int>();
    }
    return std::nullopt;
  }

  int count(std::initializer_list<const char*> keys, int least = 1) {
    const std::optional<int> value = optional_count(keys);
    if (!value.has_value()) {
      const std::vector<std::string> names(keys.begin(), keys.end());
      problem(fmt::format("{} is missing: this reader needs it to know the model's shape",
                          quoted_list(names)));
    } else if (*value < least) {
      problem(fmt::format("`{}` must be at least {}, found {}", *keys.begin(), least, *value));
    }
    return value.value_or(0);
  }

 private:
  const Json& json_;
  std::string file_;
  std::optional<Error> problem_;
};

// The blocks with a dense FFN are the leading ones, or all but every n-th; anything else has no
// place in MoeModel.
void read_placement(ConfigReader& reader, MoeModel& model) {
  model.first_dense = reader.optional_count({"first_k_dense_replace"}).value_or(0);
  model.moe_every = 1;
  const Json* frequency = reader.find("moe_layer_freq");
  if (frequency != nullptr && frequency->is_array()) {
    // One 0 or 1 per block, 0 = dense.
    std::size_t leading = 0;
    while (leading < frequency->size() && (*frequency)[leading] == 0) {
      ++leading;
    }
    for (std::size_t i = leading; i < frequency->size(); ++i) {
      if ((*frequency)[i] != 1) {
        reader.problem(
            "`moe_layer_freq` has a dense block behind the first MoE block: only "
            "leading dense blocks can be described");
      }
    }
    model.first_dense = static_cast<int>(leading);
  } else {
    model.moe_every =
        reader
            .optional_count({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq"})
            .value_or(1);
  }
  if (model.moe_every < 1) {
    reader.problem("`decoder_sparse_step` or `moe_layer_freq` must be at least 1");
    model.moe_every = 1;
  }
  const Json* dense = reader.find("mlp_only_layers");
  if (dense == nullptr || (dense->is_array() && dense->empty())) {
    return;
  }
  bool leading = dense->is_array();
  for (std::size_t i = 0; leading && i < dense->size(); ++i) {
    leading = (*dense)[i] == i;
  }
  if (!leading) {
    reader.problem(
        "`mlp_only_layers` must be [] or [0, 1, 2, ...]: only leading dense blocks can "
        "be described");
    return;
  }
  model.first_dense = static_cast<int>(dense->size());
}

void read_attention(ConfigReader& reader, MoeModel& model) {
  model.query_heads = reader.count({"num_attention_heads"});
  model.kv_heads = reader.optional_count({"num_key_value_heads"}).value_or(model.query_heads);
  model.q_lora_rank = reader.optional_count({"q_lora_rank"}).value_or(0);
  model.kv_lora_rank = reader.optional_count({"kv_lora_rank"}).value_or(0);
  // With latent attention `head_dim` is often the rotary part only.
  const std::optional<int> head = model.kv_lora_rank > 0
                                      ? reader.optional_count({"v_head_dim", "qk_nope_head_dim"})
                                      : reader.optional_count({"head_dim"});
  if (head.has_value()) {
    model.head_dim = *head;
  } else if (model.query_heads > 0 && model.hidden % model.query_heads == 0) {
    model.head_dim = model.hidden / model.query_heads;
  }
  if (model.head_dim < 1) {
    reader.problem(
        "`head_dim` is missing, and hidden_size is not a multiple of "
        "num_attention_heads");
  }
}

void read_experts(ConfigReader& reader, MoeModel& model) {
  const std::optional<int> experts =
      reader.optional_count({"n_routed_experts", "num_local_experts", "num_experts"});
  if (experts.value_or(0) == 0) {
    reader.problem(
        "none of `num_local_experts`, `num_experts` and `n_routed_experts` is there: "
        "this is a dense model, and only mixture-of-experts models are described here");
    return;
  }
  model.experts = *experts;
  model.top_k = reader.count({"num_experts_per_tok", "num_experts_per_token"});
  if (model.top_k > model.experts) {
    reader.problem(fmt::format("`num_experts_per_tok` is {} but there are only {} experts",
                               model.top_k, model.experts));
  }
  const std::optional<int> expert_width = reader.optional_count({"moe_intermediate_size"});
  const std::optional<int> dense_width =
      reader.optional_count({"intermediate_size_mlp", "intermediate_size"});
  model.expert_ffn = expert_width.has_value() ? *expert_width : reader.count({"intermediate_size"});
  read_placement(reader, model);
  if (model.first_dense > 0 || model.moe_every > 1) {
    model.dense_ffn = dense_width.value_or(0);
    if (model.dense_ffn == 0) {
      reader.problem("`intermediate_size` is missing: the model has dense blocks");
    }
  }
  model.shared_experts =
      reader.optional_count({"n_shared_experts", "num_shared_experts"}).value_or(0);
  const std::optional<int> shared_width =
      reader.optional_count({"shared_expert_intermediate_size", "share_expert_dim"});
  if (shared_width.value_or(0) > 0) {
    model.shared_experts = model.shared_experts == 0 ? 1 : model.shared_experts;
    model.shared_ffn = *shared_width;
  } else {
    model.shared_ffn = model.shared_experts * model.expert_ffn;
  }
}

// DBRX nests its groups and names them otherwise; translated once, so that one reader serves all.
Json with_common_names(const Json& json) {
  Json common = json;
  const auto text = json.find("text_config");
  if (text != json.end() && text->is_object()) {
    common = *text;
  }
  const auto ffn = json.find("ffn_config");
  if (ffn == json.end() || !ffn->is_object()) {
    return common;
  }
  const std::pair<const char*, const char*> outer[] = {{"d_model", "hidden_size"},
                                                       {"n_layers", "num_hidden_layers"},
                                                       {"n_heads", "num_attention_heads"}};
  for (const auto& [from, to] : outer) {
    common[to] = json.value(from, Json());
  }
  const std::pair<const char*, const char*> inner[] = {{"moe_num_experts", "num_local_experts"},
                                                       {"moe_top_k", "num_experts_per_tok"},
                                                       {"ffn_hidden_size", "intermediate_size"}};
  for (const auto& [from, to] : inner) {
    common[to] = ffn->value(from, Json());
  }
  const auto attention = json.find("attn_config");
  if (attention != json.end() && attention->is_object()) {
    common["num_key_value_heads"] = attention->value("kv_n_heads", Json());
  }
  return common;
}

}  // namespace

Result<MoeModel> parse_hf_config(std::string_view text, const std::string& file) {
  Json parsed;
  try {
    parsed = Json::parse(text);
  } catch (const Json::exception& error) {
    return error_at(file, fmt::format("not valid JSON: {}", error.what()));
  }
  if (!parsed.is_object()) {
    return error_at(file, "must be one JSON object, as in a model's config.json");
  }
  const Json json = with_common_names(parsed);
  ConfigReader reader(json, file);
  MoeModel model;
  const Json* type = reader.find("model_type");
  model.name = type != nullptr && type->is_string() ? type->get<std::string>() : "model";
  read_experts(reader, model);
  model.hidden = reader.count({"hidden_size"});
  model.dispatch_width =
      reader.optional_count({"routed_expert_hidden_size"}).value_or(model.hidden);
  model.layers = reader.count({"num_hidden_layers"});
  model.vocab = reader.count({"vocab_size"});
  read_attention(reader, model);
  if (!reader.first_problem().has_value() && model.first_dense >= model.layers) {
    reader.problem(
        fmt::format("`first_k_dense_replace` is {}, so that none of the {} blocks has "
                    "experts",
                    model.first_dense, model.layers));
  }
  if (reader.first_problem().has_value()) {
    return *reader.first_problem();
  }
  return model;
}

Result<MoeModel> read_hf_config(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  return parse_hf_config(*text, path);
}

}  // namespace mixnet::scenario
