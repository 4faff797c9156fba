#include "cache/row_cache.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace row_store {
namespace {

// How many set lines are asked for ahead of the probe. Rows are asked for as soon as the probe
// knows them, and copied a block later.
constexpr uint32_t kSetsAhead = 32;

enum class Geometry { k12, k16, kWide };

Geometry geometry_of(const CacheConfig& config) {
  // A tag is id + 1 and 0 is an empty way, so the last id must be below 2^32 - 1.
  if (config.table_rows > std::numeric_limits<uint32_t>::max() - uint64_t{1})
    return Geometry::kWide;
  return config.ways <= 12 ? Geometry::k12 : Geometry::k16;
}

uint64_t line_bytes(Geometry geometry) {
  switch (geometry) {
    case Geometry::k12:
      return SetTable12::kLineBytes;
    case Geometry::k16:
      return SetTable16::kLineBytes;
    case Geometry::kWide:
      break;
  }
  return SetTableWide::kLineBytes;
}

template <typename Table>
void probe_rows(Table& table, const int64_t* ids, uint32_t count, Slot* slots) {
  // slots[] holds the set numbers first: they are needed twice, and mixing an id twice costs more.
  const uint32_t lead = std::min(kSetsAhead, count);
  for (uint32_t i = 0; i < lead; ++i) {
    slots[i] = table.set_of(static_cast<uint64_t>(ids[i]));
    table.prefetch_set(slots[i]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kSetsAhead < count) {
      slots[i + kSetsAhead] = table.set_of(static_cast<uint64_t>(ids[i + kSetsAhead]));
      table.prefetch_set(slots[i + kSetsAhead]);
    }
    slots[i] = table.probe(slots[i], static_cast<uint64_t>(ids[i]));
    if (slots[i] != kNoSlot) table.prefetch_slot(slots[i]);
  }
}

template <typename Table>
uint32_t copy_rows(Table& table, const int64_t* ids, const uint32_t* places, uint32_t count,
                   Slot* slots, uint8_t* weights, uint8_t* scales) {
  uint32_t copied = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (slots[i] == kNoSlot) continue;
    if (table.copy(slots[i], static_cast<uint64_t>(ids[i]), weights + places[i] * kWeightBytes,
                   scales + places[i] * kScaleBytes)) {
      ++copied;
    } else {
      slots[i] = kNoSlot;
    }
  }
  return copied;
}

}  // namespace

uint64_t RowCache::set_count(const CacheConfig& config, uint64_t slab_bytes) {
  const uint64_t line = line_bytes(geometry_of(config));
  const uint64_t rows = config.ways * kRowBytes;
  if (slab_bytes == 0) return config.budget_bytes / (line + rows);
  return std::min(config.budget_bytes / line, slab_bytes / rows);
}

Result<std::unique_ptr<RowCache>> RowCache::create(const CacheConfig& config,
                                                   std::unique_ptr<Slab> slab) {
  const Geometry geometry = geometry_of(config);
  const uint64_t sets = set_count(config, slab ? slab->bytes() : 0);
  // sets * (line + rows) is at most the budget, so none of these products wraps.
  Result<MemoryMap> index = MemoryMap::create(sets * line_bytes(geometry));
  if (!index.ok()) return index.status();
  if (config.huge_pages) index.value().prefer_huge_pages();
  if (!slab) {
    Result<MemoryMap> rows = MemoryMap::create(sets * config.ways * kRowBytes);
    if (!rows.ok()) return rows.status();
    slab = std::make_unique<MemorySlab>(rows.take());
  }
  const auto make = [&]<typename T>(std::in_place_type_t<T>) {
    // An anonymous mapping's zeros are a valid, empty set: atomics of lock-free integers.
    auto* lines = reinterpret_cast<typename T::Line*>(index.value().data());
    return Table(T(lines, slab->data(), sets, config.ways, slab->write_combined()));
  };
  Table table = geometry == Geometry::k12   ? make(std::in_place_type<SetTable12>)
                : geometry == Geometry::k16 ? make(std::in_place_type<SetTable16>)
                                            : make(std::in_place_type<SetTableWide>);
  return std::unique_ptr<RowCache>(
      new RowCache(table, sets, config.ways, index.take(), std::move(slab)));
}

RowCache::RowCache(Table table, uint64_t set_count, unsigned ways, MemoryMap index,
                   std::unique_ptr<Slab> slab)
    : table_(table),
      set_count_(set_count),
      ways_(ways),
      index_(std::move(index)),
      slab_(std::move(slab)) {}

void RowCache::probe_block(const int64_t* ids, uint32_t count, Slot* slots) {
  std::visit([&](auto& table) { probe_rows(table, ids, count, slots); }, table_);
}

uint32_t RowCache::copy_block(const int64_t* ids, const uint32_t* places, uint32_t count,
                              Slot* slots, uint8_t* weights, uint8_t* scales) {
  return std::visit(
      [&](auto& table) { return copy_rows(table, ids, places, count, slots, weights, scales); },
      table_);
}

void RowCache::find_block(const int64_t* ids, uint32_t count, bool* found) {
  std::visit(
      [&](auto& table) {
        for (uint32_t i = 0; i < count; ++i)
          table.prefetch_set(table.set_of(static_cast<uint64_t>(ids[i])));
        for (uint32_t i = 0; i < count; ++i) {
          const auto id = static_cast<uint64_t>(ids[i]);
          found[i] = table.find_coming(table.set_of(id), id);
        }
      },
      table_);
}

Slot RowCache::reserve(uint64_t id, bool* evicted) {
  return std::visit([&](auto& table) { return table.reserve(table.set_of(id), id, evicted); },
                    table_);
}

void RowCache::fill(Slot slot, uint64_t id, const uint8_t* weights, const uint8_t* scales) {
  std::visit([&](auto& table) { table.fill(slot, id, weights, scales); }, table_);
}

void RowCache::touch(Slot slot, uint64_t id) {
  std::visit([&](auto& table) { table.touch(slot, id); }, table_);
}

void RowCache::abandon() {
  index_.abandon();
  slab_->abandon();
}

}  // namespace row_store
