#pragma once
#include <limits>
#include <optional>

namespace hardware_interface
{
// Both hold the value itself; a state that is nan by `locked` cannot be read, as while another thread writes it.
class LoanedStateInterface
{
public:
  double value = std::numeric_limits<double>::quiet_NaN();
  bool locked = false;
#if ROS2_CONTROL < 3
  double get_value() const { return locked ? std::numeric_limits<double>::quiet_NaN() : value; }
#else
  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional(unsigned int = 10) const
  {
    if (locked) return std::nullopt;
    return value;
  }
#endif
};

class LoanedCommandInterface
{
public:
  double value = std::numeric_limits<double>::quiet_NaN();
#if ROS2_CONTROL < 3
  void set_value(double val) { value = val; }
#else
  template <typename T>
  [[nodiscard]] bool set_value(const T & val, unsigned int = 10)
  {
    value = val;
    return true;
  }
#endif
};
}  // namespace hardware_interface
