#include "ep/shared_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "ep/forked_test_support.h"

namespace mixnet::ep {
namespace {

using testing::HasSubstr;

SharedWindow new_window(uint64_t control, uint64_t window) {
  auto created = SharedWindow::create(control, window);
  CHECK(created, "memory for a test");
  return *std::move(created);
}

std::string opening_error(const SharedName& name) {
  const auto opened = SharedWindow::open(name, "rank 3");
  return opened ? "it was opened" : opened.error().message;
}

TEST(SharedWindow, IsTheSameMemoryInAnotherProcess) {
  const SharedWindow own = new_window(100, 5000);
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(own.name().control_bytes, page);
  EXPECT_EQ(own.window().bytes % page, 0U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(own.window().base.data) % page, 0U);
  ForkedRanks other(1, [&](int) {
    const auto opened = SharedWindow::open(own.name(), "rank 0");
    CHILD_EXPECT(opened.ok());
    CHILD_EXPECT(opened->control() != own.control());
    std::memcpy(opened->control(), "control", 8);
    std::memcpy(opened->window().base.data + 4999, "w", 1);
    return 0;
  });
  EXPECT_EQ(other.join(0), 0);
  EXPECT_EQ(std::memcmp(own.control(), "control", 8), 0);
  EXPECT_EQ(own.window().base.data[4999], std::byte{'w'});
}

TEST(SharedWindow, CostsAddressesUntilItIsTouched) {
  constexpr uint64_t kSixteenGiB = uint64_t{16} << 30;
  const SharedWindow own = new_window(4096, kSixteenGiB);
  ASSERT_EQ(own.window().bytes, kSixteenGiB);
  own.window().base.data[kSixteenGiB - 1] = std::byte{1};
  const auto second = SharedWindow::open(own.name(), "this rank");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->window().base.data[kSixteenGiB - 1], std::byte{1});
}

TEST(SharedWindow, CannotShrinkUnderItsUsers) {
  const SharedWindow own = new_window(4096, 4096);
  EXPECT_NE(ftruncate(own.name().fd, 0), 0);
  EXPECT_NE(ftruncate(own.name().fd, 1 << 20), 0);
}

TEST(SharedWindow, SaysWhyItCannotBeOpened) {
  const SharedWindow own = new_window(4096, 4096);
  const SharedName name = own.name();
  SharedName other = name;
  other.boot = "00000000-0000-0000-0000-000000000000";
  EXPECT_THAT(opening_error(other), HasSubstr("rank 3: it runs on another machine"));
  other = name;
  other.pid_namespace += 1;
  EXPECT_THAT(opening_error(other), HasSubstr("rank 3: it runs in another pid namespace"));
  other = name;
  other.pid = 0x3FFFFFF;
  EXPECT_THAT(opening_error(other), HasSubstr("its process 67108863 is not running"));
  other = name;
  other.inode += 1;
  EXPECT_THAT(opening_error(other), HasSubstr("is another one by now"));
  other = name;
  other.window_bytes += 4096;
  EXPECT_THAT(opening_error(other), HasSubstr("not of the size that it announced"));
}

TEST(SharedWindow, RefusesMemoryThatCouldShrink) {
  const net::UniqueFd memory(memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memory.get(), 8192), 0);
  struct stat info {};
  ASSERT_EQ(fstat(memory.get(), &info), 0);
  SharedName name = new_window(4096, 4096).name();
  name.fd = memory.get();
  name.inode = info.st_ino;
  EXPECT_THAT(opening_error(name), HasSubstr("not of the size that it announced"));
}

}  // namespace
}  // namespace mixnet::ep
