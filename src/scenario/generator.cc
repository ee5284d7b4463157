#include "scenario/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "core/random.h"
#include "scenario/npy.h"
#include "scenario/share_rounding.h"
#include "scenario/trace_writer.h"

namespace mixnet::scenario {
namespace {

// Beyond a skew of 20 one expert takes everything and the weights leave the range of double.
constexpr double kMaxSkew = 20;
constexpr int64_t kMaxExtent = int64_t{1} << 20;    // of layers, sources and experts
constexpr int64_t kMaxLatent = int64_t{1} << 26;    // layers * experts: 512 MiB of state
constexpr int64_t kMaxInMemory = int64_t{1} << 30;  // counts: 4 GiB
constexpr double kRoundingSlack = 1e-9;             // a share such as 0.1 is not exact

std::string outside(const char* option, const std::string& value, const std::string& range) {
  return fmt::format("{} = {} is out of range; it may be {}", option, value, range);
}

Status check_extents(const GeneratorOptions& o) {
  struct Extent {
    const char* name;
    int64_t value;
    int64_t max;
  };
  for (const Extent& extent :
       {Extent{"iterations", o.iterations, INT64_MAX}, Extent{"layers", o.layers, kMaxExtent},
        Extent{"sources", o.sources, kMaxExtent}, Extent{"experts", o.experts, kMaxExtent},
        Extent{"tokens", o.tokens, UINT32_MAX}}) {
    if (extent.value < 1 || extent.value > extent.max) {
      return Error{
          outside(extent.name, fmt::to_string(extent.value), fmt::format("1 to {}", extent.max)),
          ""};
    }
  }
  if (o.top_k < 1 || o.top_k > o.experts) {
    return Error{outside("top_k", fmt::to_string(o.top_k),
                         fmt::format("1 to {}, the number of experts: a token picks distinct ones",
                                     o.experts)),
                 ""};
  }
  if (o.layers * o.experts > kMaxLatent) {
    return Error{fmt::format("layers * experts is more than {}; generate fewer", kMaxLatent), ""};
  }
  if (o.tokens * o.top_k > (int64_t{1} << 61) / o.experts) {
    return Error{"tokens * top_k * experts is 2^61 or more; generate fewer tokens", ""};
  }
  const Result<int64_t> size = checked_product({o.iterations, o.layers, o.sources, o.experts}, "");
  return size ? Status() : Status(size.error());
}

Status check_hot_experts(const GeneratorOptions& o) {
  if (o.hot_experts < 0 || o.hot_experts > o.experts) {
    return Error{outside("hot_experts", fmt::to_string(o.hot_experts),
                         fmt::format("0 to {}, the number of experts", o.experts)),
                 ""};
  }
  if (!(o.hot_share >= 0 && o.hot_share <= 1)) {
    return Error{outside("hot_share", fmt::to_string(o.hot_share), "0 to 1"), ""};
  }
  if ((o.hot_experts > 0) != (o.hot_share > 0)) {
    return Error{fmt::format("hot_experts = {} and hot_share = {} have no effect; set both or "
                             "neither",
                             o.hot_experts, o.hot_share),
                 ""};
  }
  if (o.hot_share * o.top_k > o.hot_experts + kRoundingSlack) {
    return Error{fmt::format("hot_share = {} of {} distinct experts per token needs at least {} "
                             "hot_experts, not {}",
                             o.hot_share, o.top_k, std::ceil(o.hot_share * o.top_k), o.hot_experts),
                 ""};
  }
  return Status();
}

// Popularity of the experts of one layer, iteration after iteration.
class LayerPopularity {
 public:
  LayerPopularity(const GeneratorOptions& options, int64_t layer)
      : options_(options), layer_(layer), latent_(static_cast<std::size_t>(options.experts)) {}

  // The weights of the next iteration; they sum to 1.
  std::vector<double> next() {
    RandomStream noise(options_.seed,
                       fmt::format("routing/popularity/layer {}/iteration {}", layer_, iteration_));
    const double kept = iteration_ == 0 ? 0.0 : 1.0 - options_.drift;
    const double fresh = std::sqrt(1.0 - kept * kept);
    for (double& z : latent_) {
      z = kept * z + fresh * noise.normal();
    }
    ++iteration_;
    std::vector<double> weights = unscaled();
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) {
      weight /= sum;
    }
    return weights;
  }

 private:
  std::vector<double> unscaled() const {
    std::vector<double> weights(latent_.size(), 1.0);
    if (options_.shape == LoadShape::kLogNormal) {
      // Relative to the largest, so that nothing overflows.
      const double largest = *std::max_element(latent_.begin(), latent_.end());
      for (std::size_t e = 0; e < latent_.size(); ++e) {
        weights[e] = std::exp(options_.skew * (latent_[e] - largest));
      }
    } else if (options_.shape == LoadShape::kZipf) {
      std::vector<std::size_t> by_rank(latent_.size());
      std::iota(by_rank.begin(), by_rank.end(), std::size_t{0});
      std::stable_sort(by_rank.begin(), by_rank.end(),
                       [&](std::size_t a, std::size_t b) { return latent_[a] > latent_[b]; });
      for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        weights[by_rank[rank]] = std::pow(static_cast<double>(rank + 1), -options_.skew);
      }
    }
    return weights;
  }

  const GeneratorOptions& options_;  // outlives this
  int64_t layer_;
  int64_t iteration_ = 0;
  std::vector<double> latent_;
};

// Distinct experts, equal for all iterations.
std::vector<std::size_t> hot_experts_of(const GeneratorOptions& o, int64_t layer, int64_t source) {
  RandomStream picks(o.seed, fmt::format("routing/hot/layer {}/source {}", layer, source));
  std::vector<std::size_t> experts(static_cast<std::size_t>(o.experts));
  std::iota(experts.begin(), experts.end(), std::size_t{0});
  const auto wanted = static_cast<std::size_t>(o.hot_experts);
  for (std::size_t i = 0; i < wanted; ++i) {
    std::swap(experts[i], experts[i + picks.below(experts.size() - i)]);
  }
  experts.resize(wanted);
  return experts;
}

// Calls sink(row) for every row in C order and progress after every step. Options are checked.
template <typename Sink>
Status for_each_row(const GeneratorOptions& o, const GeneratorProgress& progress, Sink&& sink) {
  const RowTotal total{.total = o.tokens * o.top_k, .limit = o.tokens};
  const int64_t unit = quota_unit(total, o.experts);
  std::vector<LayerPopularity> layers;
  for (int64_t layer = 0; layer < o.layers; ++layer) {
    layers.push_back(LayerPopularity(o, layer));
  }
  std::vector<uint32_t> row(static_cast<std::size_t>(o.experts));
  for (int64_t step = 0; step < o.iterations * o.layers; ++step) {
    const int64_t layer = step % o.layers;
    const std::vector<double> common = layers[static_cast<std::size_t>(layer)].next();
    std::vector<int64_t> quotas = quotas_of(common, total);
    for (int64_t source = 0; source < o.sources; ++source) {
      if (o.hot_experts > 0) {
        std::vector<double> weights = common;
        for (double& weight : weights) {
          weight *= 1.0 - o.hot_share;
        }
        for (const std::size_t expert : hot_experts_of(o, layer, source)) {
          weights[expert] += o.hot_share / o.hot_experts;
        }
        quotas = quotas_of(weights, total);
      }
      round_quotas(quotas, unit, source, o.sources, row);
      Status taken = sink(std::span<const uint32_t>(row));
      if (!taken) {
        return taken;
      }
    }
    if (progress) {
      progress(step + 1, o.iterations * o.layers);
    }
  }
  return Status();
}

TraceInfo info_of(const GeneratorOptions& o) {
  TraceInfo info;
  info.top_k = o.top_k;
  info.source_kind = "ep-rank";
  info.iteration_kind = "iteration";
  info.origin = fmt::format(
      "generated: shape={} skew={} drift={} hot_experts={} hot_share={} tokens={} top_k={} seed={}",
      load_shape_name(o.shape), o.skew, o.drift, o.hot_experts, o.hot_share, o.tokens, o.top_k,
      o.seed);
  return info;
}

}  // namespace

Result<LoadShape> parse_load_shape(const std::string& name) {
  for (const LoadShape shape : {LoadShape::kUniform, LoadShape::kZipf, LoadShape::kLogNormal}) {
    if (name == load_shape_name(shape)) {
      return shape;
    }
  }
  return Error{fmt::format("unknown shape \"{}\"; write uniform, zipf or log-normal", name), ""};
}

std::string load_shape_name(LoadShape shape) {
  switch (shape) {
    case LoadShape::kUniform:
      return "uniform";
    case LoadShape::kZipf:
      return "zipf";
    case LoadShape::kLogNormal:
      return "log-normal";
  }
  return "";
}

Status check_options(const GeneratorOptions& options) {
  Status extents = check_extents(options);
  if (!extents) {
    return extents;
  }
  if (!(options.skew >= 0 && options.skew <= kMaxSkew)) {
    return Error{outside("skew", fmt::to_string(options.skew), fmt::format("0 to {}", kMaxSkew)),
                 ""};
  }
  if (!(options.drift >= 0 && options.drift <= 1)) {
    return Error{outside("drift", fmt::to_string(options.drift), "0 to 1"), ""};
  }
  return check_hot_experts(options);
}

Result<RoutingTrace> generate_trace(const GeneratorOptions& options) {
  const Status checked = check_options(options);
  if (!checked) {
    return checked.error();
  }
  const int64_t size = options.iterations * options.layers * options.sources * options.experts;
  if (size > kMaxInMemory) {
    return Error{fmt::format("{} counts are more than {}, the limit in memory; write them to a "
                             "file with `mixnet trace generate` and use that",
                             size, kMaxInMemory),
                 ""};
  }
  std::vector<uint32_t> counts;
  counts.reserve(static_cast<std::size_t>(size));
  const Status done =
      for_each_row(options, GeneratorProgress(), [&](std::span<const uint32_t> row) {
        counts.insert(counts.end(), row.begin(), row.end());
        return Status();
      });
  if (!done) {
    return done.error();
  }
  return RoutingTrace::from_counts(std::move(counts), options.iterations, options.layers,
                                   options.sources, options.experts, info_of(options));
}

Status generate_to_file(const GeneratorOptions& options, const std::string& path,
                        const GeneratorProgress& progress) {
  Status checked = check_options(options);
  if (!checked) {
    return checked;
  }
  Result<TraceWriter> writer = TraceWriter::create(
      path, {options.iterations, options.layers, options.sources, options.experts});
  if (!writer) {
    return writer.error();
  }
  Status done = for_each_row(options, progress,
                             [&](std::span<const uint32_t> row) { return writer->append(row); });
  return done ? writer->commit(info_of(options)) : done;
}

}  // namespace mixnet::scenario
