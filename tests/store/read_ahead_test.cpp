// Background reads, and lookups that come before, while and after they run.
#include "store/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/held_reader.h"
#include "support/temp_dir.h"
#include "support/test_table.h"

namespace {

using namespace row_store;

constexpr uint64_t kRows = 5'000;
constexpr uint32_t kDepth = 32;

const auto kGoOn = [] { return true; };

// A store's parts without the store, so that both sides can be held where a test wants them.
class Fixture {
 public:
  explicit Fixture(uint64_t budget = 0, bool packed = false)
      : table_(TestTable::checkpoint(dir_.file("t"), kRows, 3)),
        checkpoint_(TableFile::open(table_.path, EngineChoice::kPool).take()),
        staging_(Staging::create().take()) {
    if (budget != 0) cache_ = RowCache::create({kRows, budget, 12, false}, {}).take();
    sources_.table_rows = kRows;
    sources_.range = {0, kRows};
    sources_.cache = cache_.get();
    sources_.staging = staging_.get();
    sources_.checkpoint = checkpoint_.get();
    sources_.weight_offset = table_.weight_offset;
    sources_.scale_offset = table_.scale_offset;
    if (packed) attach();
    background_ = Context::create(kDepth, lookup_scratch_bytes()).take();
    foreground_ = Context::create(kDepth, lookup_scratch_bytes()).take();
    background_->set_reader(Engine::kPool, std::make_unique<HeldReader>(hold_));
    ahead_ = std::make_unique<ReadAhead>(*background_);
  }

  ReadAhead::Outcome read(const std::vector<int64_t>& ids,
                          const std::function<bool()>& go_on = kGoOn, uint32_t job = 1) {
    return ahead_->read(sources_, *staging_, job, ids, go_on, background_counts_);
  }
  // A lookup whose rows are all compared.
  BatchCounts look_up(const std::vector<int64_t>& ids) {
    staging_->begin_lookup();
    std::vector<uint8_t> weights(ids.size() * kWeightBytes), scales(ids.size() * kScaleBytes);
    const BatchCounts counts = row_store::look_up(
        sources_, {ids.data(), weights.data(), scales.data(), ids.size()}, *foreground_);
    for (size_t i = 0; i < ids.size(); ++i)
      wrong_ += !table_.row_is(ids[i], sources_.range.begin, sources_.range.end,
                               weights.data() + i * kWeightBytes, scales.data() + i * kScaleBytes);
    return counts;
  }
  uint64_t wrong() const { return wrong_; }

  Hold& hold() { return hold_; }
  Staging& staging() { return *staging_; }
  RowSources& sources() { return sources_; }
  RowCache* cache() { return cache_.get(); }
  const TestTable& table() const { return table_; }
  std::string shard() const { return dir_.file("p"); }
  const BatchCounts& background_counts() const { return background_counts_; }

 private:
  void attach() {
    table_.write_packed(shard(), PackedLayout::kDense, 1, 0, kRows);
    table_.add_sums(shard());
    packed_ = TableFile::open(shard(), EngineChoice::kPool).take();
    sources_.packed = packed_.get();
    sources_.packed_header = {PackedLayout::kDense, 1, {0, kRows}, kRows};
    const auto head = encode_packed_header(sources_.packed_header);
    sums_ = PackedSums::load(*packed_, sources_.packed_header, head, table_.source()).take();
    sources_.packed_sums = sums_.get();
  }

  TempDir dir_;
  TestTable table_;
  std::unique_ptr<TableFile> checkpoint_, packed_;
  std::unique_ptr<PackedSums> sums_;
  std::unique_ptr<RowCache> cache_;
  std::unique_ptr<Staging> staging_;
  RowSources sources_;
  Hold hold_;
  std::unique_ptr<Context> background_, foreground_;
  std::unique_ptr<ReadAhead> ahead_;
  BatchCounts background_counts_;
  uint64_t wrong_ = 0;
};

std::vector<int64_t> some_ids(int64_t count, int64_t salt = 0) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    ids[static_cast<size_t>(i)] = (i * 7'919 + salt) % static_cast<int64_t>(kRows);
  return ids;
}

}  // namespace

TEST_CASE("a lookup after its prefetch reads nothing, from any backing, with and without a cache",
          "[read_ahead]") {
  for (const bool packed : {false, true}) {
    for (const uint64_t budget : {uint64_t{0}, uint64_t{1} << 20}) {
      INFO("packed " << packed << ", budget " << budget);
      Fixture f(budget, packed);
      f.hold().let_go();
      const std::vector<int64_t> ids = some_ids(576);
      const ReadAhead::Outcome outcome = f.read(ids);
      CHECK(outcome.looked_at == 576);
      CHECK(outcome.read == 576);
      CHECK_FALSE(outcome.full);
      // Two parts a row of the checkpoint, fewer where pages are shared.
      CHECK(f.background_counts().reads <= (packed ? 576 : 1152));
      CHECK(f.background_counts().reads >= 300);
      const BatchCounts counts = f.look_up(ids);
      CHECK(counts.hits == 576);
      CHECK(counts.staged == 576);
      CHECK(counts.awaited == 0);
      CHECK(counts.misses == 0);
      CHECK(counts.reads == 0);
      // The next one finds them in the cache, or is prefetched anew.
      f.staging().settle(f.cache());
      CHECK(f.read(ids).read == (budget == 0 ? 576 : 0));
      CHECK(f.look_up(ids).reads == 0);
      CHECK(f.wrong() == 0);
    }
  }
}

TEST_CASE("a damaged row of the shard is never staged: the checkpoint's is", "[read_ahead]") {
  Fixture f(0, true);
  f.hold().let_go();
  damage(f.shard(), f.sources().packed_header.row_offset(77) + 30);
  CHECK(f.read({76, 77, 4'000}).read == 3);
  CHECK(f.background_counts().sum_failures == 2);  // of one block
  const BatchCounts counts = f.look_up({76, 77, 4'000});
  CHECK(counts.staged == 3);
  CHECK(counts.reads == 0);
  CHECK(f.wrong() == 0);
}

TEST_CASE("a lookup during its prefetch waits for what is coming and reads the rest",
          "[read_ahead]") {
  Fixture f(0, true);
  const std::vector<int64_t> ids = some_ids(576);
  std::atomic<bool> go_on{true};
  ReadAhead::Outcome outcome;
  std::thread background([&] { outcome = f.read(ids, [&] { return go_on.load(); }); });
  f.hold().wait_for(kDepth);  // and no more can be sent
  go_on = false;
  BatchCounts counts;
  std::atomic<bool> served{false};
  std::thread lookup([&] {
    counts = f.look_up(ids);
    served = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(served);  // its rows are held
  f.hold().let_go();
  lookup.join();
  background.join();
  CHECK(f.wrong() == 0);
  CHECK(outcome.read >= kDepth);
  CHECK(outcome.read < ids.size());
  CHECK(counts.awaited + counts.staged == outcome.read);
  CHECK(counts.awaited >= kDepth);
  CHECK(counts.misses == ids.size() - outcome.read);
  CHECK(f.hold().sent() == f.background_counts().reads);
}

TEST_CASE("a lookup before its prefetch leaves nothing to be read", "[read_ahead]") {
  Fixture f(kRows * 300);
  f.hold().let_go();
  const std::vector<int64_t> ids = some_ids(300);
  CHECK(f.look_up(ids).misses == 300);
  const ReadAhead::Outcome outcome = f.read(ids);
  CHECK(outcome.looked_at == 300);
  CHECK(outcome.read == 0);
  CHECK(f.hold().sent() == 0);
  CHECK(f.look_up(ids).hits == 300);
  CHECK(f.wrong() == 0);
}

TEST_CASE("a lookup that begins is looked at before a further row is begun", "[read_ahead]") {
  Fixture f;
  f.hold().let_go();
  const std::vector<int64_t> ids = some_ids(4'000);
  uint64_t asked = 0;
  bool told = false;
  const ReadAhead::Outcome outcome = f.read(ids, [&] {
    if (told) return false;
    if (++asked == 10) {
      f.staging().begin_lookup();  // between the question and the rows it is about
      told = true;
    }
    return true;
  });
  CHECK(asked == 10);
  CHECK(outcome.looked_at == 9 * 64);
  CHECK(outcome.read == 9 * 64);
}

TEST_CASE("rows outside the range are passed over", "[read_ahead]") {
  Fixture f;
  f.hold().let_go();
  f.sources().range = {1'000, 1'100};
  std::vector<int64_t> ids = {0, 999, 1'000, 1'099, 1'100, 4'999, -1, INT64_MAX, INT64_MIN};
  const ReadAhead::Outcome outcome = f.read(ids);
  CHECK(outcome.looked_at == ids.size());
  CHECK(outcome.read == 2);
  ids.resize(6);
  const BatchCounts counts = f.look_up(ids);
  CHECK(counts.staged == 2);
  CHECK(counts.zero_rows == 4);
  CHECK(f.wrong() == 0);
}

TEST_CASE("a repeated id is read once, and a full area ends the reading", "[read_ahead]") {
  Fixture f;
  f.hold().let_go();
  std::vector<int64_t> ids = some_ids(100);
  ids.insert(ids.end(), ids.begin(), ids.begin() + 50);
  CHECK(f.read(ids).read == 100);
  CHECK(f.look_up(ids).staged == 100);
  f.staging().settle(nullptr);
  // All slots but 500 are somebody else's.
  std::vector<int64_t> others(Staging::kRowsMax - 500);
  for (size_t i = 0; i < others.size(); ++i) others[i] = static_cast<int64_t>(1'000'000 + i);
  std::vector<uint32_t> slots(others.size());
  f.staging().begin(f.staging().lookups_begun(), 2, others.data(),
                    static_cast<uint32_t>(others.size()), slots.data());
  ids = some_ids(800);
  const ReadAhead::Outcome outcome = f.read(ids, kGoOn, 3);
  CHECK(outcome.full);
  CHECK(outcome.read == 500);
  CHECK(f.look_up(ids).staged == 500);
  CHECK(f.wrong() == 0);
}

TEST_CASE("a row of a shard that was cut short comes from the checkpoint", "[read_ahead]") {
  Fixture f(0, true);
  f.hold().let_go();
  std::filesystem::resize_file(f.shard(), 1 << 19);
  const std::vector<int64_t> ids = {1, 1'000, 3'000, 4'000};
  CHECK(f.read(ids).read == 4);
  CHECK(f.background_counts().packed_failures == 2);
  CHECK(f.look_up(ids).staged == 4);
  CHECK(f.wrong() == 0);
}

TEST_CASE("a row that cannot be read stops nothing and is not staged", "[read_ahead]") {
  Fixture f;
  f.hold().let_go();
  // The scales stand behind the weights: those of row 1 are there, those of row 4,000 are not.
  std::filesystem::resize_file(f.table().path, f.table().scale_offset + 4'096);
  const std::vector<int64_t> ids = {1, 4'000, 100};
  const ReadAhead::Outcome outcome = f.read(ids);
  CHECK(outcome.looked_at == 3);
  CHECK(outcome.read == 2);
  CHECK(f.look_up({1, 100}).staged == 2);
  CHECK(f.wrong() == 0);
  f.staging().settle(nullptr);
  CHECK(f.staging().is_empty());
}
