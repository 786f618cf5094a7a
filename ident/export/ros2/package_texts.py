"""Build files, parameters and README of the ROS 2 package of the controller.

In the texts, ``@P`` stands for the package, ``@A`` for the prefix of the C header,
and ``@ARM`` for the arm.
"""

PACKAGE = """\
<?xml version="1.0"?>
<?xml-model href="http://download.ros.org/schema/package_format3.xsd" schematypens="http://www.w3.org/2001/XMLSchema"?>
<package format="3">
  <name>@P</name>
  <version>1.0.0</version>
  <description>Chainable effort controller that adds the calibrated joint friction of @ARM.</description>
  <maintainer email="user@todo.todo">user</maintainer>
  <license>Apache-2.0</license>

  <buildtool_depend>ament_cmake</buildtool_depend>

  <depend>controller_interface</depend>
  <depend>hardware_interface</depend>
  <depend>pluginlib</depend>
  <depend>rclcpp</depend>
  <depend>rclcpp_lifecycle</depend>

  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(@P LANGUAGES CXX)

if(CMAKE_CXX_COMPILER_ID MATCHES "(GNU|Clang)")
  add_compile_options(-Wall -Wextra)
endif()

set(DEPENDENCIES controller_interface hardware_interface pluginlib rclcpp rclcpp_lifecycle)
find_package(ament_cmake REQUIRED)
foreach(dependency IN ITEMS ${DEPENDENCIES})
  find_package(${dependency} REQUIRED)
endforeach()

add_library(${PROJECT_NAME} SHARED src/friction_controller.cpp)
target_compile_features(${PROJECT_NAME} PUBLIC cxx_std_17)
set_target_properties(${PROJECT_NAME} PROPERTIES WINDOWS_EXPORT_ALL_SYMBOLS ON)
target_include_directories(${PROJECT_NAME} PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:include/${PROJECT_NAME}>
)
target_link_libraries(${PROJECT_NAME} PUBLIC
  controller_interface::controller_interface
  hardware_interface::hardware_interface
  pluginlib::pluginlib
  rclcpp::rclcpp
  rclcpp_lifecycle::rclcpp_lifecycle
)
pluginlib_export_plugin_description_file(controller_interface friction_controller.xml)

install(DIRECTORY include/ DESTINATION include/${PROJECT_NAME})
install(DIRECTORY config DESTINATION share/${PROJECT_NAME})
install(TARGETS ${PROJECT_NAME}
  EXPORT export_${PROJECT_NAME}
  ARCHIVE DESTINATION lib
  LIBRARY DESTINATION lib
  RUNTIME DESTINATION bin
)

ament_export_targets(export_${PROJECT_NAME} HAS_LIBRARY_TARGET)
ament_export_dependencies(${DEPENDENCIES})
ament_package()
"""

PLUGIN = """\
<library path="@P">
  <class name="@P/FrictionController" type="@P::FrictionController"
         base_class_type="controller_interface::ChainableControllerInterface">
    <description>Adds the calibrated joint friction of @ARM to effort references.</description>
  </class>
</library>
"""

PARAMETERS = """\
# Parameters of the friction controller, and a trajectory controller before it. Numbers are in the order of joints.
friction_controller:
  ros__parameters:
    type: @P/FrictionController
    joints: [@JOINTS]      # names in your robot description, in the order of the calibration
    effort_limits: [@LIMITS]      # N m, or N for sliding joints; the command stays within
    scale: [@SCALE]      # part of the friction that is added, 0 to 1
    rest_velocity: [@SLOWEST]      # rad/s or m/s; a slower measured velocity counts in part
@SENSOR
joint_trajectory_controller:
  ros__parameters:
    type: joint_trajectory_controller/JointTrajectoryController
    joints: [@JOINTS]
    command_joints: [@CHAINED]
    command_interfaces: [effort]
    state_interfaces: [position, velocity]
    gains:      # zero: no feedback; your own are effort per position error, its integral and its rate
@GAINS
"""

README = """\
# @P

A chainable ros2_control controller that adds the calibrated joint friction of @ARM to effort references:

    effort = effort reference + scale x friction(position, velocity, acceleration)

Gravity and inertia are not added: they are a matter of the controller before it. `config/controllers.yaml` has a trajectory
controller as an example, without gains.

Calibration: @ORIGIN.

Friction is computed by `include/@P/@A_friction.h`, in which a comment lists joints, laws and calibrated ranges.
@ABOUT

## Build and start

Put this folder into the `src` of a workspace, then

    colcon build --packages-select @P
    ros2 run controller_manager spawner --activate-as-group friction_controller joint_trajectory_controller \\
        --param-file $(ros2 pkg prefix --share @P)/config/controllers.yaml

The sources are for Humble, Jazzy, Kilted and Lyrical.

## Interfaces

| kind | names | |
|---|---|---|
| command | `<joint>/effort` | |
| state | `<joint>/position`, `<joint>/velocity`@STATES | |
| reference | `<controller>/<joint>/effort` | without it, the joint gets no effort |
| reference | `<controller>/<joint>/position`, `velocity`, `acceleration` | optional |

Friction is computed at the references where they are given. Without them, it is computed at the measured position and velocity
and at zero acceleration.

- **Give a velocity reference where you can.** Friction of a velocity reference is feed-forward, which cannot make the loop
  unstable. Friction of the measured velocity is positive feedback: it takes away damping, and what it adds beyond the true
  friction drives the joint. If the joint oscillates or drifts, lower `scale`.
- **Near rest**, the sign of a measured velocity is noise. Below `rest_velocity`, friction is on the straight line between its
  values at both ends: zero at rest. A velocity reference of zero adds no dry friction.
- **Not known.** If a position or velocity is not finite, no joint gets friction: references pass. Joints that were not
  calibrated pass their references always.
- **Limits.** The command stays within `effort_limits`. Outside a chain and after deactivation, the effort is zero.

Updates allocate no memory. Parameters are read when the controller is configured.
"""
