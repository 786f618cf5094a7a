#pragma once
#include <cstdint>

namespace rclcpp
{
class Duration
{
public:
  explicit Duration(std::int64_t nanoseconds) : nanoseconds_(nanoseconds) {}
  double seconds() const { return 1e-9 * static_cast<double>(nanoseconds_); }

private:
  std::int64_t nanoseconds_;
};
}  // namespace rclcpp
