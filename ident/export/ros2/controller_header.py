"""C++ of the ROS 2 controller: the header of a chainable ros2_control
controller around the C header.

In the text, ``@P`` stands for the package, ``@A`` for the prefix of the C header, and ``@UP`` for
the package in capitals. Lines between ``//{ name`` and ``//}`` stand in the file only if the C
header has what the name says.
"""

HEADER = """\
// Adds the calibrated joint friction of @ARM to effort references. Written by stribeck; its README describes it.

#ifndef @UP__FRICTION_CONTROLLER_HPP_
#define @UP__FRICTION_CONTROLLER_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "hardware_interface/handle.hpp"
#include "rclcpp/duration.hpp"
#include "rclcpp/time.hpp"
#include "rclcpp_lifecycle/state.hpp"

#include "@P/@A_friction.h"

// Major version of ros2_control: 2 in Humble, 4 in Jazzy, 5 in Kilted, 6 in Lyrical. Older releases of Humble do not state it.
#if __has_include("controller_interface/version.h")
#include "controller_interface/version.h"
#define @UP_ROS2_CONTROL CONTROLLER_INTERFACE_VERSION_MAJOR
#else
#define @UP_ROS2_CONTROL 2
#endif

namespace @P
{
constexpr std::size_t JOINTS = @A_joint_count;
constexpr std::size_t LOADS = @A_load_count;
using Joints = std::array<double, JOINTS>;

class FrictionController : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override;

  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & previous_state) override;

  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & previous_state) override;

  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous_state) override;

  controller_interface::InterfaceConfiguration command_interface_configuration() const override;

  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
#if @UP_ROS2_CONTROL < 3
  controller_interface::return_type update_reference_from_subscribers() override;
#else
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
#endif

#if @UP_ROS2_CONTROL < 6
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override;
#else
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override;
#endif

private:
  enum Reference : std::size_t { EFFORT, POSITION, VELOCITY, ACCELERATION, REFERENCES };

  double reference(Reference which, std::size_t joint) const;

  void clear_references();

  // Friction of every joint at this state; joints that `follow` move by a velocity reference. NAN if not calibrated.
  Joints friction(const Joints & q, const Joints & dq, const Joints & ddq, const std::array<bool, JOINTS> & follow);

  std::vector<std::string> joints_;
  Joints effort_limits_{}, scale_{}, rest_velocity_{};
//{ sensor
  bool use_temperature_ = false;
//}
//{ memory
  @A_memory memory_{};
//}
//{ temperature
  Joints temperature_{};
//}
//{ warm
  @A_warmth warmth_{};
  std::int64_t last_update_ = 0;     // time of the last update [ns]; 0 before the first

  // Let joints cool over the time without updates before this one.
  void cool(const rclcpp::Time & time, double period);

  // Let friction heat the joints for one period.
  void heat(const Joints & q, const Joints & dq, const Joints & ddq, double period);
//}
};

}  // namespace @P

#endif  // @UP__FRICTION_CONTROLLER_HPP_
"""
