#include "scenario/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/catalog.h"

namespace mixnet::scenario {
namespace {

using ::testing::HasSubstr;

MoeModel read(const std::string& name) {
  const Result<MoeModel> model =
      read_hf_config(std::string(MIXNET_SOURCE_DIR) + "/tests/data/hf/" + name + ".json");
  EXPECT_TRUE(model.ok()) << model.error().text();
  return model.ok() ? *model : MoeModel();
}

// The catalogue was filled from other copies of the same facts, so that both readers must agree.
TEST(HfConfig, EveryFamilyGivesTheShapeOfTheCatalogue) {
  const std::pair<const char*, const char*> families[] = {
      {"mixtral", "mixtral-8x7b"}, {"qwen2_moe", "qwen1.5-moe"},
      {"qwen3_moe", "qwen3-30b"},  {"deepseek_v3", "deepseek-v3"},
      {"glm4_moe", "glm-4.5"},     {"olmoe", "olmoe"},
      {"gpt_oss", "gpt-oss-20b"},  {"dbrx", "dbrx"}};
  for (const auto& [file, entry] : families) {
    MoeModel model = read(file);
    MoeModel catalogued = builtin_catalog().find_model(entry)->model;
    catalogued.name = model.name;
    // A width that no block uses is left out.
    if (catalogued.first_dense == 0) {
      catalogued.dense_ffn = 0;
    }
    EXPECT_TRUE(model == catalogued) << file;
  }
}

TEST(HfConfig, SeveralSharedExpertsAndAbsentQueryCompression) {
  const MoeModel model = read("deepseek_v2_lite");
  EXPECT_EQ(model.shared_experts, 2);
  EXPECT_EQ(model.shared_ffn, 2816);
  EXPECT_EQ(model.first_dense, 1);
  EXPECT_EQ(model.dense_ffn, 10944);
  EXPECT_EQ(model.q_lora_rank, 0);
  EXPECT_EQ(model.kv_lora_rank, 512);
}

TEST(HfConfig, InterleavedBlocksOfAMultimodalModel) {
  const MoeModel model = read("llama4");
  EXPECT_EQ(model.moe_every, 2);
  EXPECT_EQ(model.moe_layers(), 24);
  EXPECT_FALSE(model.is_moe(0));
  EXPECT_TRUE(model.is_moe(1));
  EXPECT_EQ(model.dense_ffn, 16384);
  EXPECT_EQ(model.expert_ffn, 8192);
}

std::string mixtral_with(const std::string& from, const std::string& to) {
  std::string text =
      R"({"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
          "num_hidden_layers": 4, "num_local_experts": 8, "num_experts_per_tok": 2,
          "vocab_size": 100, "mlp_only_layers": []})";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(HfConfig, MistakesNameTheKey) {
  struct Case {
    const char* from;
    const char* to;
    const char* fragment;
  };
  const Case cases[] = {
      {"\"num_local_experts\": 8,", "", "dense model"},
      {"\"num_experts_per_tok\": 2,", "", "`num_experts_per_tok`"},
      {"\"hidden_size\": 64", "\"hiden_size\": 64", "`hidden_size`"},
      {"\"vocab_size\": 100,", "", "`vocab_size`"},
      {"\"num_hidden_layers\": 4", "\"num_hidden_layers\": -4", "`num_hidden_layers`"},
      {"\"num_hidden_layers\": 4", "\"num_hidden_layers\": 1e3", "`num_hidden_layers`"},
      {"\"num_local_experts\": 8", "\"num_local_experts\": \"8\"", "`num_local_experts`"},
      {"\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9", "only 8 experts"},
      {"\"mlp_only_layers\": []", "\"mlp_only_layers\": [2]", "`mlp_only_layers`"},
      {"\"mlp_only_layers\": []", "\"first_k_dense_replace\": 4", "`first_k_dense_replace`"},
      {"\"mlp_only_layers\": []", "\"moe_layer_freq\": [1, 0, 1, 1]", "`moe_layer_freq`"},
      {"\"mlp_only_layers\": []", "\"moe_layer_freq\": 0", "at least 1"},
      {"\"hidden_size\": 64", "\"hidden_size\": 66", "`head_dim`"},
      {"{", "[", "not valid JSON"},
  };
  for (const Case& c : cases) {
    const Result<MoeModel> model = parse_hf_config(mixtral_with(c.from, c.to), "config.json");
    ASSERT_FALSE(model.ok()) << c.to;
    EXPECT_EQ(model.error().where, "config.json");
    EXPECT_THAT(model.error().message, HasSubstr(c.fragment)) << c.to;
  }
  EXPECT_TRUE(parse_hf_config(mixtral_with("64", "64"), "config.json").ok());
  EXPECT_FALSE(parse_hf_config("[]", "config.json").ok());
  EXPECT_FALSE(parse_hf_config("", "config.json").ok());
}

}  // namespace
}  // namespace mixnet::scenario
