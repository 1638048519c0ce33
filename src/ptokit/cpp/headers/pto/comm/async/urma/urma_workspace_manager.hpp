// Made by tools/headers.py.
#pragma once
#include <ptokit/engines.hpp>
