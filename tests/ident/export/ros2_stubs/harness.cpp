// Runs the exported controller row by row, as a controller manager would. Arguments: NAME=NUMBER,NUMBER,... override parameters,
// "unchained" leaves it outside a chain, "off" deactivates it after the last row. Rows: time and period [ns], then for each joint
// effort, position, velocity and acceleration reference, measured position, velocity and temperature. Prints the efforts of each row.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "friction_controller.cpp"

static long allocations = 0;

__attribute__((noinline)) void * operator new(std::size_t size)
{
  ++allocations;
  if (void * found = std::malloc(size)) return found;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void * pointer) noexcept { std::free(pointer); }
__attribute__((noinline)) void operator delete(void * pointer, std::size_t) noexcept { std::free(pointer); }

using controller_interface::CallbackReturn;
using PACKAGE::JOINTS;

class Run : public PACKAGE::FrictionController
{
public:
  // Handles by name, as the controller manager assigns them in the order of the names.
  std::map<std::string, std::size_t> claim()
  {
    std::map<std::string, std::size_t> place;
    const auto commands = command_interface_configuration().names, states = state_interface_configuration().names;
    command_interfaces_.resize(commands.size());
    state_interfaces_.resize(states.size());
    for (const auto & name : commands) std::printf("command %s\n", name.c_str());
    for (const auto & name : states) std::printf("state %s\n", name.c_str());
    for (std::size_t k = 0; k < states.size(); ++k) place[states[k]] = k;
    return place;
  }
  hardware_interface::LoanedStateInterface & state(std::size_t k) { return state_interfaces_[k]; }
  double effort(std::size_t j) const { return command_interfaces_[j].value; }
};

int main(int count, char ** arguments)
{
  Run controller;
  const auto node = controller.get_node();
  bool chained = true, off = false;
  for (int k = 1; k < count; ++k) {
    const std::string word = arguments[k];
    const auto equals = word.find('=');
    if (word == "unchained") chained = false;
    else if (word == "off") off = true;
    else if (word == "use_temperature") node->parameters[word] = true;
    else {
      std::vector<double> values;
      for (const char * at = arguments[k] + equals + 1; *at != 0;) {
        char * end = nullptr;
        values.push_back(std::strtod(at, &end));
        at = *end == ',' ? end + 1 : end;
      }
      node->parameters[word.substr(0, equals)] = values;
    }
  }
  const rclcpp_lifecycle::State state;
  if (controller.on_init() != CallbackReturn::SUCCESS || controller.on_configure(state) != CallbackReturn::SUCCESS) return 3;
  auto references = controller.export_reference_interfaces();
  const auto place = controller.claim();
  const auto joints = std::get<std::vector<std::string>>(node->parameters.at("joints"));
#if ROS2_CONTROL < 6
  const auto at = [&](std::size_t k) -> hardware_interface::CommandInterface & { return references[k]; };
#else
  const auto at = [&](std::size_t k) -> hardware_interface::CommandInterface & { return *references[k]; };
#endif
  for (std::size_t k = 0; k < references.size(); ++k) std::printf("reference %s\n", at(k).get_name().c_str());
  controller.set_chained_mode(chained);
  if (controller.on_activate(state) != CallbackReturn::SUCCESS) return 4;
  long long time = 0, period = 0;
  while (std::scanf("%lld %lld", &time, &period) == 2) {
    for (std::size_t j = 0; j < JOINTS; ++j) {
      double row[7] = {};
      for (double & value : row) if (std::scanf("%lf", &value) != 1) return 5;
      for (std::size_t k = 0; k < 4; ++k) static_cast<void>(at(k * JOINTS + j).set_value(row[k]));
      controller.state(place.at(joints[j] + "/position")).value = row[4];
      auto & velocity = controller.state(place.at(joints[j] + "/velocity"));
      velocity.value = row[5];
      velocity.locked = row[5] > 1e300;
      const auto found = place.find(joints[j] + "/temperature");
      if (found != place.end()) controller.state(found->second).value = row[6];
    }
    const long before = allocations;
    if (controller.update(rclcpp::Time(time), rclcpp::Duration(period)) != controller_interface::return_type::OK) return 6;
    if (allocations != before) return 7;
    for (std::size_t j = 0; j < JOINTS; ++j) std::printf("%.17g%c", controller.effort(j), j + 1 < JOINTS ? ' ' : '\n');
  }
  if (off) {
    if (controller.on_deactivate(state) != CallbackReturn::SUCCESS) return 8;
    for (std::size_t j = 0; j < JOINTS; ++j) std::printf("%.17g%c", controller.effort(j), j + 1 < JOINTS ? ' ' : '\n');
  }
  return 0;
}
