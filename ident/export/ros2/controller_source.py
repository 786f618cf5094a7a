"""C++ of the ROS 2 controller: its functions, see `controller_header`.

In the text, ``@P`` stands for the package, ``@A`` for the prefix of the C header, and ``@UP`` for
the package in capitals. Lines between ``//{ name`` and ``//}`` stand in the file only if the C
header has what the name says.
"""

SOURCE = """\
#include "@P/friction_controller.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/logging.hpp"

namespace @P
{
namespace
{
using controller_interface::CallbackReturn;
using controller_interface::return_type;

constexpr double UNKNOWN = std::numeric_limits<double>::quiet_NaN();
constexpr double UNLIMITED = std::numeric_limits<double>::infinity();

// Defaults of the parameters, in the order of the calibrated model.
const std::vector<std::string> NAMES = {@NAMES};
const std::vector<double> EFFORT_LIMITS = {@LIMITS};      // of the model
const std::vector<double> REST_VELOCITY = {@SLOWEST};      // slowest calibrated velocity
//{ memory
constexpr std::array<bool, JOINTS> REMEMBERS = {@REMEMBERS};     // friction has a memory, and is continuous at rest
//}
//{ sensor
constexpr std::array<bool, JOINTS> BY_SENSOR = {@SENSOR};     // friction depends on a measured temperature
//}
//{ warm
constexpr std::array<bool, JOINTS> WARMED = {@WARMED};     // friction depends on the temperature to which friction heats
//}

const std::array<const char *, 4> REFERENCE_NAMES = {
  hardware_interface::HW_IF_EFFORT, hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY,
  hardware_interface::HW_IF_ACCELERATION};

// Value of an interface: by get_optional, or by get_value in Humble.
template <typename Interface>
auto value_of(const Interface & interface, int) -> decltype(static_cast<void>(interface.get_optional()), double())
{
  return interface.get_optional().value_or(UNKNOWN);
}

template <typename Interface>
double value_of(const Interface & interface, long)
{
  return interface.get_value();
}

bool takes(Joints & values, const std::vector<double> & given, double least, double most)
{
  if (given.size() != JOINTS) return false;
  for (std::size_t j = 0; j < JOINTS; ++j) {
    if (!(given[j] >= least && given[j] <= most)) return false;
    values[j] = given[j];
  }
  return true;
}
}  // namespace

CallbackReturn FrictionController::on_init()
{
  try {
    auto_declare<std::vector<std::string>>("joints", NAMES);
    auto_declare<std::vector<double>>("effort_limits", EFFORT_LIMITS);
    auto_declare<std::vector<double>>("scale", std::vector<double>(JOINTS, 1.0));
    auto_declare<std::vector<double>>("rest_velocity", REST_VELOCITY);
//{ sensor
    auto_declare<bool>("use_temperature", false);
//}
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "Parameters: %s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn FrictionController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  joints_ = node->get_parameter("joints").as_string_array();
  if (joints_.size() != JOINTS) {
    RCLCPP_ERROR(
      node->get_logger(), "Parameter joints has %zu names; %zu are needed, in the order of the calibration.", joints_.size(),
      JOINTS);
    return CallbackReturn::FAILURE;
  }
  struct Bounded { const char * name; Joints * values; double least, most; };
  const Bounded all[] = {
    {"effort_limits", &effort_limits_, 0.0, UNLIMITED}, {"scale", &scale_, 0.0, 1.0},
    {"rest_velocity", &rest_velocity_, 0.0, UNLIMITED}};
  for (const auto & one : all) {
    if (!takes(*one.values, node->get_parameter(one.name).as_double_array(), one.least, one.most)) {
      RCLCPP_ERROR(
        node->get_logger(), "Parameter %s: %zu numbers from %g to %g are needed, one for each joint.", one.name, JOINTS,
        one.least, one.most);
      return CallbackReturn::FAILURE;
    }
  }
//{ sensor
  use_temperature_ = node->get_parameter("use_temperature").as_bool();
//}
  return CallbackReturn::SUCCESS;
}

CallbackReturn FrictionController::on_activate(const rclcpp_lifecycle::State &)
{
  clear_references();
//{ memory
  memory_ = @A_memory{};
//}
  return CallbackReturn::SUCCESS;
}

CallbackReturn FrictionController::on_deactivate(const rclcpp_lifecycle::State &)
{
  for (auto & command : command_interfaces_) static_cast<void>(command.set_value(0.0));
  return CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration FrictionController::command_interface_configuration() const
{
  std::vector<std::string> names;
  for (const auto & joint : joints_) names.push_back(joint + "/" + hardware_interface::HW_IF_EFFORT);
  return {controller_interface::interface_configuration_type::INDIVIDUAL, names};
}

controller_interface::InterfaceConfiguration FrictionController::state_interface_configuration() const
{
  std::vector<std::string> names;
  for (const auto & joint : joints_) names.push_back(joint + "/" + hardware_interface::HW_IF_POSITION);
  for (const auto & joint : joints_) names.push_back(joint + "/" + hardware_interface::HW_IF_VELOCITY);
//{ sensor
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    if (use_temperature_ && BY_SENSOR[j]) names.push_back(joints_[j] + "/temperature");
  }
//}
  return {controller_interface::interface_configuration_type::INDIVIDUAL, names};
}

// Interfaces <controller>/<joint>/<reference>, references one after the other, joints in their order.
#if @UP_ROS2_CONTROL < 6
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"     // in later releases of Jazzy and Kilted; Humble has no other way
std::vector<hardware_interface::CommandInterface> FrictionController::on_export_reference_interfaces()
{
  reference_interfaces_.assign(REFERENCES * JOINTS, UNKNOWN);
  std::vector<hardware_interface::CommandInterface> interfaces;
  interfaces.reserve(reference_interfaces_.size());
  for (const auto & name : REFERENCE_NAMES) {
    for (const auto & joint : joints_) {
      interfaces.emplace_back(get_node()->get_name(), joint + "/" + name, &reference_interfaces_[interfaces.size()]);
    }
  }
  return interfaces;
}
#pragma GCC diagnostic pop

double FrictionController::reference(Reference which, std::size_t joint) const
{
  return reference_interfaces_[which * JOINTS + joint];
}

void FrictionController::clear_references()
{
  std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), UNKNOWN);
}
#else
std::vector<hardware_interface::CommandInterface::SharedPtr> FrictionController::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces;
  interfaces.reserve(REFERENCES * JOINTS);
  for (const auto & name : REFERENCE_NAMES) {
    for (const auto & joint : joints_) {
      interfaces.push_back(
        std::make_shared<hardware_interface::CommandInterface>(std::string(get_node()->get_name()) + "/" + joint, name));
    }
  }
  return interfaces;
}

double FrictionController::reference(Reference which, std::size_t joint) const
{
  return ordered_exported_reference_interfaces_[which * JOINTS + joint]->get_optional().value_or(UNKNOWN);
}

void FrictionController::clear_references()
{
  for (auto & interface : ordered_exported_reference_interfaces_) static_cast<void>(interface->set_value(UNKNOWN));
}
#endif

// Outside a chain nobody gives references; those of an earlier chain are not valid any more.
#if @UP_ROS2_CONTROL < 3
return_type FrictionController::update_reference_from_subscribers()
#else
return_type FrictionController::update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &)
#endif
{
  clear_references();
  return return_type::OK;
}

return_type FrictionController::update_and_write_commands(
  const rclcpp::Time &@TIME, const rclcpp::Duration &@PERIOD)
{
  Joints q{}, dq{}, ddq{}, measured{}, added{};
  std::array<bool, JOINTS> follow{};
  bool known = true;
  for (std::size_t j = 0; j < JOINTS; ++j) {
    q[j] = value_of(state_interfaces_[j], 0);
    dq[j] = measured[j] = value_of(state_interfaces_[JOINTS + j], 0);
    known = known && std::isfinite(q[j]) && std::isfinite(dq[j]);
    const double position = reference(POSITION, j), velocity = reference(VELOCITY, j);
    const double acceleration = reference(ACCELERATION, j);
    follow[j] = std::isfinite(velocity);
    if (std::isfinite(position)) q[j] = position;
    if (follow[j]) dq[j] = velocity;
    if (std::isfinite(acceleration)) ddq[j] = acceleration;
  }
//{ temperature
  temperature_.fill(UNKNOWN);                             // friction of the reference temperature
//}
//{ sensor
  for (std::size_t j = 0, at = 2 * JOINTS; use_temperature_ && j < JOINTS; ++j) {
    if (BY_SENSOR[j]) temperature_[j] = value_of(state_interfaces_[at++], 0);
  }
//}
  if (known) {
//{ warm
    cool(time, period.seconds());
    for (std::size_t j = 0; j < JOINTS; ++j) {
      if (WARMED[j]) temperature_[j] = warmth_.state[j];
    }
//}
    added = friction(q, dq, ddq, follow);
//{ warm
    heat(q, measured, ddq, period.seconds());
//}
  }
  for (std::size_t j = 0; j < JOINTS; ++j) {
    const double given = reference(EFFORT, j);
    double command = 0.0;                                  // without a reference, no effort
    if (std::isfinite(given)) {
      command = std::isfinite(added[j]) ? given + scale_[j] * added[j] : given;
      command = std::max(-effort_limits_[j], std::min(effort_limits_[j], command));
    }
    static_cast<void>(command_interfaces_[j].set_value(command));
  }
  return return_type::OK;
}

Joints FrictionController::friction(
  const Joints & q, const Joints & dq, const Joints & ddq, const std::array<bool, JOINTS> & follow)
{
  Joints rigid{}, above = dq, below = dq, share{}, tau{}, other{};
  std::array<double, LOADS> load{};
  bool both = false;
  @A_loads(q.data(), dq.data(), ddq.data(), load.data(), rigid.data());

  // The sign of a measured velocity near zero is noise. There, friction is on the straight line between its values at
  // -rest_velocity and +rest_velocity. A velocity reference knows its direction, and a memory needs none.
  for (std::size_t j = 0; j < JOINTS; ++j) {
    const bool straight = !follow[j] && std::fabs(dq[j]) < rest_velocity_[j]@UNREMEMBERED;
    share[j] = straight ? 0.5 * (1.0 - dq[j] / rest_velocity_[j]) : 0.0;
    if (straight) {
      above[j] = rest_velocity_[j];
      below[j] = -rest_velocity_[j];
      both = true;
    }
  }
  const auto at = [&](const Joints & velocity, Joints & torque) {
    @A_friction(velocity.data(), load.data(), rigid.data(), torque.data());
//{ ripple
    @A_ripple(q.data(), velocity.data(), torque.data());
//}
//{ temperature
    @A_temperature(velocity.data(), load.data(), temperature_.data(), torque.data());
//}
  };
  at(above, tau);
  if (both) {
    at(below, other);
    for (std::size_t j = 0; j < JOINTS; ++j) tau[j] += share[j] * (other[j] - tau[j]);
  }
//{ memory
  @A_remember@WARMLY(q.data(), dq.data(), load.data(), @TEMPERATURES&memory_, tau.data());
//}
  return tau;
}

//{ warm
void FrictionController::cool(const rclcpp::Time & time, double period)
{
  const std::int64_t now = time.nanoseconds();
  const double idle = last_update_ == 0 ? 0.0 : 1e-9 * static_cast<double>(now - last_update_) - period;
  const Joints rest{};
  const std::array<double, LOADS> load{};
  if (idle > period) @A_warm(rest.data(), load.data(), idle, &warmth_);
  last_update_ = now;
}

void FrictionController::heat(const Joints & q, const Joints & dq, const Joints & ddq, double period)
{
  Joints rigid{};
  std::array<double, LOADS> load{};
  @A_loads(q.data(), dq.data(), ddq.data(), load.data(), rigid.data());
  @A_warm(dq.data(), load.data(), period, &warmth_);
}

//}
}  // namespace @P

PLUGINLIB_EXPORT_CLASS(@P::FrictionController, controller_interface::ChainableControllerInterface)
"""
