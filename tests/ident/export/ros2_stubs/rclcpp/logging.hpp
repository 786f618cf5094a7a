#pragma once
#include <cstdio>

namespace rclcpp
{
class Logger
{
};
}  // namespace rclcpp

#define RCLCPP_ERROR(logger, ...) \
  do { \
    static_cast<void>(logger); \
    std::fprintf(stderr, __VA_ARGS__); \
  } while (0)
