#pragma once
#include <cstdint>

namespace rclcpp
{
class Time
{
public:
  explicit Time(std::int64_t nanoseconds) : nanoseconds_(nanoseconds) {}
  std::int64_t nanoseconds() const { return nanoseconds_; }

private:
  std::int64_t nanoseconds_;
};
}  // namespace rclcpp
