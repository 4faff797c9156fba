#include "engram/numpy_draw.h"

#include <vector>

#include "support/catch.h"

namespace row_store {
namespace {

std::vector<uint64_t> draw(uint64_t seed, uint64_t high, size_t count) {
  std::vector<uint64_t> out(count);
  numpy_integers(seed, high, out);
  return out;
}

using Values = std::vector<uint64_t>;

// All reference values: NumPy 1.24.2, np.random.default_rng(seed).integers(0, high, count).

TEST_CASE("a draw above 32 bits equals NumPy's") {
  CHECK(draw(30021, 9223372036854775, 5) == Values{2727703110629359, 8091777532450916,
                                                   1077915957631160, 6965864756390093,
                                                   4322011878431970});
  CHECK(draw(5, 4294967297, 5) ==
        Values{3457461231, 3470079269, 2213306431, 1227507580, 231630603});
  CHECK(draw(9, 4611686018427387907, 5) == Values{4013316086496403914, 1322710912993444104,
                                                  2781529890633132273, 3585743059053749952,
                                                  3302311357493332643});
}

TEST_CASE("a draw that must reject words equals NumPy's") {
  // Just above 3/4 of the range, a quarter of all words is drawn again.
  CHECK(draw(3, 6917529027641081857, 8) ==
        Values{651137615030404517, 1104998578845871980, 5081458767915139891, 786329497436903519,
               2706332364185237243, 3574565213031837689, 2978881831330691430, 5104014311283984508});
  CHECK(draw(3, 2147483649, 8) == Values{1742692732, 183930185, 385346042, 508546690, 1866662802,
                                         713397379, 930133021, 1334076657});
}

TEST_CASE("a draw of 32 bits or fewer takes NumPy's half words") {
  CHECK(draw(0, 1, 3) == Values{0, 0, 0});
  CHECK(draw(0, 1000, 5) == Values{850, 636, 511, 269, 307});
  CHECK(draw(5, 4294967295, 5) == Values{2881021351, 3457461229, 97294836, 3470079268, 2013703615});
}

TEST_CASE("a seed of more than 32 bits and a range of exactly 32 equal NumPy's") {
  CHECK(draw(12345678901234, 4294967296, 5) ==
        Values{2138777476, 1745378374, 3787842983, 112543447, 1388504786});
}

}  // namespace
}  // namespace row_store
