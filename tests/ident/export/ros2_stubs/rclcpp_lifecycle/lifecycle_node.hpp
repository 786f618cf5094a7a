#pragma once
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rclcpp/logging.hpp"
#include "rclcpp_lifecycle/state.hpp"

namespace rclcpp
{
using Value = std::variant<bool, std::vector<double>, std::vector<std::string>>;

class Parameter
{
public:
  explicit Parameter(Value value) : value_(std::move(value)) {}
  bool as_bool() const { return std::get<bool>(value_); }
  std::vector<double> as_double_array() const { return std::get<std::vector<double>>(value_); }
  std::vector<std::string> as_string_array() const { return std::get<std::vector<std::string>>(value_); }

private:
  Value value_;
};
}  // namespace rclcpp

namespace rclcpp_lifecycle
{
namespace node_interfaces
{
class LifecycleNodeInterface
{
public:
  enum class CallbackReturn : unsigned char { SUCCESS = 97, FAILURE = 98, ERROR = 99 };
  virtual ~LifecycleNodeInterface() = default;
  virtual CallbackReturn on_configure(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_cleanup(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_activate(const State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_deactivate(const State &) { return CallbackReturn::SUCCESS; }
};
}  // namespace node_interfaces

class LifecycleNode
{
public:
  const char * get_name() const { return "friction_controller"; }
  rclcpp::Logger get_logger() const { return {}; }
  rclcpp::Parameter get_parameter(const std::string & name) const { return rclcpp::Parameter(parameters.at(name)); }

  std::map<std::string, rclcpp::Value> parameters;      // what a test overrides, then what was declared
};
}  // namespace rclcpp_lifecycle
