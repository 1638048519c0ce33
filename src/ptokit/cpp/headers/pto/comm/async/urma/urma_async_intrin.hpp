// Made by tools/headers.py.
#pragma once
#include <ptokit/comm.hpp>
