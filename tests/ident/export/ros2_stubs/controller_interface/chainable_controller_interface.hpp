#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hardware_interface/handle.hpp"
#include "hardware_interface/loaned_interfaces.hpp"
#include "rclcpp/duration.hpp"
#include "rclcpp/time.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

namespace controller_interface
{
using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;

enum class return_type : std::uint8_t { OK = 0, ERROR = 1 };

enum class interface_configuration_type : std::uint8_t { ALL = 0, INDIVIDUAL = 1, NONE = 2 };

struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names = {};
};

class ControllerInterfaceBase : public rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface
{
public:
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() { return node_; }
  std::shared_ptr<const rclcpp_lifecycle::LifecycleNode> get_node() const { return node_; }

  template <typename ParameterT>
  auto auto_declare(const std::string & name, const ParameterT & default_value)
  {
    return std::get<ParameterT>(node_->parameters.emplace(name, default_value).first->second);
  }

protected:
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>();
};

class ChainableControllerInterface : public ControllerInterfaceBase
{
public:
  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) final
  {
    if (!in_chained_mode_) {
#if ROS2_CONTROL < 3
      const auto given = update_reference_from_subscribers();
#else
      const auto given = update_reference_from_subscribers(time, period);
#endif
      if (given != return_type::OK) return given;
    }
    return update_and_write_commands(time, period);
  }

#if ROS2_CONTROL < 6
  std::vector<hardware_interface::CommandInterface> export_reference_interfaces()
  {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    auto interfaces = on_export_reference_interfaces();
#pragma GCC diagnostic pop
    if (interfaces.size() != reference_interfaces_.size()) throw std::runtime_error("sizes of reference interfaces differ");
    for (const auto & interface : interfaces) {
      if (interface.get_prefix_name() != get_node()->get_name()) throw std::runtime_error("prefix is not the controller's name");
    }
    return interfaces;
  }
#else
  std::vector<hardware_interface::CommandInterface::SharedPtr> export_reference_interfaces()
  {
    ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();
    for (const auto & interface : ordered_exported_reference_interfaces_) {
      if (interface->get_prefix_name().find(get_node()->get_name()) != 0) throw std::runtime_error("prefix lacks the controller's name");
    }
    return ordered_exported_reference_interfaces_;
  }
#endif

  bool set_chained_mode(bool chained_mode)
  {
    in_chained_mode_ = chained_mode;
    return true;
  }

protected:
#if ROS2_CONTROL < 3
  virtual std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() = 0;
  virtual return_type update_reference_from_subscribers() = 0;
#else
  virtual return_type update_reference_from_subscribers(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
#if ROS2_CONTROL < 6
  [[deprecated("Replaced by on_export_reference_interfaces_list()")]]
  virtual std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() = 0;
#endif
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() { return {}; }
#endif
  virtual return_type update_and_write_commands(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;

#if ROS2_CONTROL < 6
  std::vector<double> reference_interfaces_;
#else
  std::vector<hardware_interface::CommandInterface::SharedPtr> ordered_exported_reference_interfaces_;
#endif

private:
  bool in_chained_mode_ = false;
};
}  // namespace controller_interface
