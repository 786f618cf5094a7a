#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace hardware_interface
{
#if ROS2_CONTROL < 3
class CommandInterface
{
public:
  CommandInterface(const std::string & prefix_name, const std::string & interface_name, double * value_ptr = nullptr)
  : prefix_name_(prefix_name), interface_name_(interface_name), value_ptr_(value_ptr)
  {
  }
  CommandInterface(const CommandInterface & other) = delete;
  CommandInterface(CommandInterface && other) = default;
  virtual ~CommandInterface() = default;
  const std::string get_name() const { return prefix_name_ + "/" + interface_name_; }
  const std::string & get_prefix_name() const { return prefix_name_; }
  double get_value() const { return *value_ptr_; }
  void set_value(double value) { *value_ptr_ = value; }

private:
  std::string prefix_name_, interface_name_;
  double * value_ptr_;
};
#else
class CommandInterface
{
public:
  [[deprecated("Use InterfaceDescription for initializing the Interface")]]
  CommandInterface(const std::string & prefix_name, const std::string & interface_name, double * value_ptr)
  : prefix_name_(prefix_name), name_(prefix_name + "/" + interface_name), value_ptr_(value_ptr)
  {
  }
  explicit CommandInterface(
    const std::string & prefix_name, const std::string & interface_name, const std::string & = "double", const std::string & = "")
  : prefix_name_(prefix_name), name_(prefix_name + "/" + interface_name), own_(new double(std::numeric_limits<double>::quiet_NaN())),
    value_ptr_(own_.get())
  {
  }
  CommandInterface(const CommandInterface & other) = delete;
  CommandInterface(CommandInterface && other) = default;
  virtual ~CommandInterface() = default;
  const std::string & get_name() const { return name_; }
  const std::string & get_prefix_name() const { return prefix_name_; }

  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional() const
  {
    return *value_ptr_;
  }

  template <typename T>
  [[nodiscard]] bool set_value(const T & value)
  {
    *value_ptr_ = value;
    return true;
  }

  using SharedPtr = std::shared_ptr<CommandInterface>;

private:
  std::string prefix_name_, name_;
  std::unique_ptr<double> own_;
  double * value_ptr_;
};
#endif
}  // namespace hardware_interface
