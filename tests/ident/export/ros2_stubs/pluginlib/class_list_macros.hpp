#pragma once
#include <memory>

#define PLUGINLIB_EXPORT_CLASS(derived, base) \
  std::unique_ptr<base> made_by_pluginlib() { return std::make_unique<derived>(); }
