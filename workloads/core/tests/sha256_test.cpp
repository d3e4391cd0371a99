#include "core/sha256.hpp"

#include <gtest/gtest.h>

namespace roundtrip {
namespace {

// Test vectors of NIST: FIPS 180-4 examples, and of the CAVP's SHA256LongMsg kind, a million 'a'.
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(sha256("\xc9\x8c\x8e\x55"),
            "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
}

// Lengths around which the padding needs another block; digests by sha256sum(1).
TEST(Sha256, PadsAtEveryLength) {
  EXPECT_EQ(sha256(std::string(55, '\0')),
            "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(sha256(std::string(56, '\0')),
            "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(sha256(std::string(57, '\0')),
            "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
  EXPECT_EQ(sha256(std::string(64, '\0')),
            "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

}  // namespace
}  // namespace roundtrip
